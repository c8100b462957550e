//! What a node costs: floating point operations and bytes, from shapes alone.
//!
//! The convention, kept simple and the same everywhere:
//! - a multiply-add is 2; a convolution or product counts its multiply-adds and one addition an element for a bias;
//! - every elementwise function counts 1 an element, be it an addition, a comparison, `Exp`, `Erf`, `Tanh`, `Sqrt` or
//!   `Pow`; a fused one counts what its parts would;
//! - a reduction counts 1 an element it reads, a pool 1 an element of each window;
//! - operators that only move, pick, rename or convert elements count 0;
//! - masks and causality do not shorten attention: engines compute the whole square unless they say otherwise.

mod bytes;
mod movement;
mod nonzeros;
mod parameters;
mod pointwise;
mod products;
mod window;

pub use nonzeros::{count_nonzeros, nonzero_weights};
pub use parameters::{BUFFERS, Weights, count_weights};

pub(crate) use bytes::{is_view, traffic};
pub(crate) use movement::is_movement;
pub(crate) use parameters::parameter_test;

use crate::shapes::{Call, Value};

/// One node with what is known of everything around it.
pub(crate) struct Operation<'a> {
    /// The node and its inputs.
    pub(crate) call: Call<'a>,
    /// What is known of each output.
    pub(crate) outputs: Vec<Option<&'a Value>>,
}

impl Operation<'_> {
    fn op(&self) -> &str {
        &self.call.node.op_type
    }

    /// Elements of the first output.
    fn made(&self) -> Option<u64> {
        self.outputs.first().copied().flatten()?.elements()
    }

    /// Elements of an input.
    fn read(&self, index: usize) -> Option<u64> {
        self.call.inputs.get(index).copied().flatten()?.elements()
    }
}

/// The floating point operations of a node; `None` if nobody counts it or its shapes are unknown.
pub(crate) fn flops(operation: &Operation<'_>) -> Option<u64> {
    let node = operation.call.node;
    if is_movement(node) {
        return Some(0);
    }
    if !node.is_standard() && node.domain != "com.microsoft" {
        return None;
    }
    pointwise::flops(operation)
        .or_else(|| products::flops(operation))
        .or_else(|| window::flops(operation))
}

/// A product of sizes, held at the largest number.
fn product(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1u64, |product, size| product.saturating_mul(*size as u64))
}
