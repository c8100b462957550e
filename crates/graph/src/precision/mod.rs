//! Another number format as a transformation of the graph, so that every engine computes the same thing.
//!
//! - fp16 and bf16: weights and everything computed from them in 16 bits; inputs and outputs of the graph stay 32-bit
//!   floats, with a `Cast` at the border. What ONNX or arithmetic does not allow in 16 bits stays in 32 (see `policy`).
//! - int8: every matrix product with a constant weight becomes a product of integers, the weight rounded once for each
//!   of its columns, the activations at every run. All else stays in 32-bit floats.
//!
//! Weights are large: a [`Plan`] says which there will be and makes one at a time, in pieces, out of the mapped
//! original; [`convert`] makes them all in memory. Where files lie is nobody's business here.

mod blocks;
mod error;
mod halve;
mod names;
mod native;
mod plan;
mod policy;
mod quantise;
mod recast;
mod report;
mod scope;
mod siblings;
mod types;
mod why_left;

pub use blocks::{BlockMatrix, BlockPart, Repack, plan_blocks};
pub use error::ConvertError;
pub use native::native_precision;
pub(crate) use plan::Made;
pub use plan::{Plan, PlannedWeight, Tally};
pub(crate) use recast::Recast;
pub use report::{Converted, Left, Report};
pub(crate) use scope::with_constants_as_weights;
pub use why_left::WhyLeft;

use crate::Model;
use ::types::Precision;
use std::collections::HashMap;

/// Products of weights with fewer numbers than this are not worth it: reading and writing the activations once more
/// costs what the product saves.
const SMALLEST_WEIGHT: usize = 1024;

/// How products become products of integers.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Int8 {
    /// Activations are rounded at every run, by the range they have then.
    #[default]
    Dynamic,
    /// Activations are rounded by a range that is known before: by value, the smallest and the largest number. Those
    /// without one are rounded at every run.
    Static(HashMap<String, (f32, f32)>),
    /// Only weights are kept as integers, and widened before each product.
    WeightsOnly,
}

/// What a caller may want differently.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertOptions {
    /// Nodes and modules that keep their format: names of nodes, or paths of modules with all that is inside.
    pub exclude: Vec<String>,
    /// For int8: products with weights of fewer numbers stay as they are.
    pub smallest_weight: usize,
    /// For int8: whether each column of a weight has its own scale.
    pub per_channel: bool,
    /// For int8: how.
    pub int8: Int8,
}

impl Default for ConvertOptions {
    fn default() -> ConvertOptions {
        ConvertOptions {
            exclude: Vec::new(),
            smallest_weight: SMALLEST_WEIGHT,
            per_channel: true,
            int8: Int8::Dynamic,
        }
    }
}

impl ConvertOptions {
    /// Whether a node of this name and module path keeps its format.
    fn excludes(&self, name: &str, path: &str) -> bool {
        self.exclude.iter().any(|excluded| {
            let inside = path.strip_prefix(excluded.as_str());
            name == excluded || inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// Plans the conversion of an fp32 model; no weight is made yet.
///
/// # Errors
/// Where the model computes in another format already, where nothing in it could be converted, where its operator set
/// is too old, and where weights cannot be read.
pub fn plan_conversion<'m>(
    model: &'m Model,
    to: Precision,
    options: &ConvertOptions,
) -> Result<Plan<'m>, ConvertError> {
    let native = native_precision(model);
    if native != Precision::Fp32 || matches!(to, Precision::Fp32 | Precision::Stored) {
        return Err(ConvertError::Native { native, asked: to });
    }
    match to {
        Precision::Fp16 => halve::plan(model, recast::Half::Fp16, options),
        Precision::Bf16 => halve::plan(model, recast::Half::Bf16, options),
        Precision::Int8 | Precision::Fp32 | Precision::Stored => quantise::plan(model, options),
    }
}

/// Converts an fp32 model with all its new weights in memory; for large models there is [`plan_conversion`].
///
/// # Errors
/// As [`plan_conversion`], and where weights cannot be read.
pub fn convert(
    model: &Model,
    to: Precision,
    options: &ConvertOptions,
) -> Result<Converted, ConvertError> {
    plan_conversion(model, to, options)?.finish_inline()
}
