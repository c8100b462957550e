//! Makes models smaller and says whether that helped: pruning, quantisation, and the proof of both.
//!
//! A [`Pruner`] or a [`Quantizer`] writes a changed model into a folder; a [`Prover`] lets it compete with the one
//! before, in turns, and holds their answers against each other. An [`Optimizer`] tries several changes and keeps the
//! best that does not drift too far.

mod activations;
mod changed;
mod compress;
mod config;
mod drift;
mod prover;
mod pruner;
mod quantizer;
mod search;

pub use changed::Changed;
pub use config::{PruningConfig, QuantizationConfig, Schedule};
pub use prover::Prover;
pub use pruner::Pruner;
pub use quantizer::Quantizer;
pub use search::Optimizer;
