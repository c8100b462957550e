//! Every picture with fixed material: as it was, well formed, painted, and unharmed by whatever is in the numbers and names.

mod hostile;
mod looks;
mod sample;
