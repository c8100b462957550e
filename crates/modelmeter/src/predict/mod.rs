//! Predictions from the database: its cells as cases, and a question as one that was not measured.
//!
//! A prediction is never stored and never becomes a run.

mod case;
mod experience;
mod fits;
mod machines;
mod question;
mod target;

pub use experience::Experience;
pub use fits::Fits;
pub use machines::anchor;
pub use question::Question;
pub use target::Target;
