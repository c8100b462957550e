//! What must hold for any list of samples, and how often the intervals are right.

mod changes;
mod coverage;
mod duels;
mod properties;
