//! Training on engines that run graphs: weights live in our own memory, the engine computes forward, loss and backward,
//! and one kernel of ours moves the weights.
//!
//! Values pass between the graphs where they lie: what the forward graph left behind is read by the backward graph
//! without a copy, under the dims it wants, and gradients are read by the optimiser where the engine put them.
//!
//! An engine whose memory is not ours keeps the weights itself and does the same there: `keeper`.

mod factors;
mod keeper;
mod mask;
mod memory;
mod prepare;
mod profile;
mod refusal;
mod serve;
mod state;
mod threads;
mod trainer;
mod turn;
mod update;

pub use factors::UpdateFactors;
pub(crate) use serve::serve;
pub use state::first_values;
