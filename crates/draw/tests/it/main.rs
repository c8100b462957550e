//! Every picture with fixed material: as it was, well formed, painted, and unharmed by whatever is in the numbers and names.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "../../../report/tests/it/encoder.rs"]
mod encoder;
mod flame;
mod history;
mod hostile;
mod looks;
mod sample;
