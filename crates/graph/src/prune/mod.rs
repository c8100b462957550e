//! Weights left out of a model: single ones set to zero, or whole heads and neurons cut away.
//!
//! - magnitude, global magnitude, random and n:m set numbers to zero. The graph stays as it is.
//! - structured removes attention heads and feed-forward neurons: weights, shapes and constants become smaller, what
//!   goes in and comes out of each block stays. They are found by following the data, so that graphs of other exporters
//!   are understood too (see `structured`).
//!
//! Weights are large: a [`Pruning`] holds a [`Plan`](crate::Plan) that makes one at a time out of the mapped original.

mod cutting;
mod error;
mod glob;
mod mask;
mod options;
mod select;
mod structured;
mod targets;
mod zero;

pub use error::{PruneError, Unfit};
pub use options::{Also, PruneMethod, PruneOptions, Scales};
pub use structured::{Block, BlockKind, Importance, TensorCut};
pub use targets::{Target, product_inputs};
use types::Remark;

pub(crate) use cutting::Cutting;
pub(crate) use mask::Mask;

use crate::{DataType, Model, Plan, native_precision};
use ::types::Precision;

/// The metadata key that says how a model was pruned structurally.
pub(crate) const STRUCTURED: &str = "modelmeter.pruned";

/// A pruning before its weights are made.
#[derive(Debug)]
pub struct Pruning<'m> {
    /// The new graph and how its weights are made.
    pub plan: Plan<'m>,
    /// The weights that lose numbers, in the graph's order; empty if blocks are cut.
    pub targets: Vec<Target>,
    /// The heads and neurons that are cut away; empty if numbers are set to zero.
    pub blocks: Vec<Block>,
    /// What every block of the model loses, and all alike.
    pub uniform: Vec<BlockKind>,
    /// What a reader of the results must know.
    pub remarks: Vec<Remark>,
}

/// Plans the pruning of an fp32 model; no weight is made yet.
///
/// # Errors
/// Where the options contradict themselves or the model, where nothing matches, and where weights cannot be read.
pub fn plan_pruning<'m>(
    model: &'m Model,
    options: &PruneOptions,
) -> Result<Pruning<'m>, PruneError> {
    options.check()?;
    let native = native_precision(model);
    if native != Precision::Fp32 {
        return Err(PruneError::Native { native });
    }
    if !model.graph.tensors().into_iter().any(|t| t.dtype == DataType::Float && t.elements() > 1) {
        return Err(PruneError::NoWeights);
    }
    match options.method {
        PruneMethod::Structured => structured::plan(model, options),
        _ => zero::plan(model, options),
    }
}
