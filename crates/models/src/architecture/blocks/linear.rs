//! Linear layers, norms, embeddings and the head that shares its weight with an embedding.

use crate::{
    Init, Layout,
    architecture::{
        description::{Norm, NormKind},
        draft::{Draft, Value},
    },
};
use graph::Attribute;

/// The shape of a linear layer.
#[derive(Debug, Clone, Copy)]
pub(in crate::architecture) struct Linear {
    pub(in crate::architecture) inputs: usize,
    pub(in crate::architecture) outputs: usize,
    pub(in crate::architecture) bias: bool,
    /// How the checkpoint keeps the weight.
    pub(in crate::architecture) layout: Layout,
    pub(in crate::architecture) init: Init,
}

impl Linear {
    /// A `torch.nn.Linear` with a bias.
    pub(in crate::architecture) fn torch(inputs: usize, outputs: usize, init: Init) -> Linear {
        Linear { inputs, outputs, bias: true, layout: Layout::Transposed, init }
    }

    /// The same without a bias.
    pub(in crate::architecture) fn without_bias(self) -> Linear {
        Linear { bias: false, ..self }
    }

    /// Draws the layer as the module `module`.
    pub(in crate::architecture) fn draw(self, draft: &mut Draft, module: &str, x: &str) -> Value {
        self.draw_named(draft, module, "weight", "bias", x)
    }

    /// Draws the layer with parameters that are called differently.
    pub(in crate::architecture) fn draw_named(
        self,
        draft: &mut Draft,
        module: &str,
        weight: &str,
        bias: &str,
        x: &str,
    ) -> Value {
        draft.within(module, |draft| {
            let dims = [self.inputs, self.outputs];
            let weight = draft.weight(weight, &dims, self.layout, self.init);
            let product = draft.op("MatMul", &[x, &weight], &[]);
            if !self.bias {
                return product;
            }
            let zero = Init::Constant(0.0);
            let bias = draft.weight(bias, &[self.outputs], Layout::AsStored, zero);
            draft.op("Add", &[&product, &bias], &[])
        })
    }
}

impl Norm {
    /// Draws the norm over the last axis as the module `module`.
    pub(in crate::architecture) fn draw(
        self,
        draft: &mut Draft,
        module: &str,
        x: &str,
        width: usize,
    ) -> Value {
        draft.within(module, |draft| {
            let usual = match self.kind {
                NormKind::RootMeanSquareAboveOne => Init::Constant(0.0),
                NormKind::Layer | NormKind::RootMeanSquare => Init::Constant(1.0),
            };
            let scale = draft.weight("weight", &[width], Layout::AsStored, usual);
            match self.kind {
                NormKind::Layer => {
                    let zero = Init::Constant(0.0);
                    let bias = draft.weight("bias", &[width], Layout::AsStored, zero);
                    let attributes =
                        [("axis", Attribute::Int(-1)), ("epsilon", self.epsilon.into())];
                    draft.op("LayerNormalization", &[x, &scale, &bias], &attributes)
                }
                NormKind::RootMeanSquare => root_mean_square(draft, x, &scale, self.epsilon),
                NormKind::RootMeanSquareAboveOne => {
                    let one = draft.number(1.0);
                    let scale = draft.op("Add", &[&scale, &one], &[]);
                    root_mean_square(draft, x, &scale, self.epsilon)
                }
            }
        })
    }
}

/// x · 1/√(mean(x²) + ε) · scale, in the order that engines fuse.
fn root_mean_square(draft: &mut Draft, x: &str, scale: &str, epsilon: f32) -> Value {
    let (two, epsilon) = (draft.number(2.0), draft.number(epsilon));
    let square = draft.op("Pow", &[x, &two], &[]);
    let attributes = [("axes", Attribute::Ints(vec![-1])), ("keepdims", 1.into())];
    let mean = draft.op("ReduceMean", &[&square], &attributes);
    let shifted = draft.op("Add", &[&mean, &epsilon], &[]);
    let root = draft.op("Sqrt", &[&shifted], &[]);
    let inverse = draft.op("Reciprocal", &[&root], &[]);
    let normal = draft.op("Mul", &[x, &inverse], &[]);
    draft.op("Mul", &[&normal, scale], &[])
}

/// Keeps values within ± `cap`, smoothly.
pub(in crate::architecture) fn soft_cap(draft: &mut Draft, x: &str, cap: f32) -> Value {
    let cap = draft.number(cap);
    let share = draft.op("Div", &[x, &cap], &[]);
    let bounded = draft.op("Tanh", &[&share], &[]);
    draft.op("Mul", &[&bounded, &cap], &[])
}

/// An embedding: one row for each id, as the module `module`.
pub(in crate::architecture) fn embed(
    draft: &mut Draft,
    module: &str,
    ids: &str,
    rows: usize,
    width: usize,
    init: Init,
) -> Value {
    draft.within(module, |draft| {
        let table = draft.weight("weight", &[rows, width], Layout::AsStored, init);
        draft.op("Gather", &[&table, ids], &[("axis", 0.into())])
    })
}

/// A table that a head shares with an embedding.
#[derive(Debug, Clone)]
pub(in crate::architecture) struct SharedTable {
    pub(in crate::architecture) weight: Value,
    pub(in crate::architecture) rows: usize,
    pub(in crate::architecture) width: usize,
}

/// Scores for every row of an embedding, without a second, transposed copy of it.
pub(in crate::architecture) fn score_rows(
    draft: &mut Draft,
    x: &str,
    table: &SharedTable,
    bias: Option<&str>,
    ids: &str,
) -> Value {
    let flat = draft.reshape(x, &[-1, table.width as i64]);
    let mut inputs = vec![flat.as_str(), table.weight.as_str()];
    inputs.extend(bias);
    let scores = draft.op("Gemm", &inputs, &[("transB", 1.into())]);
    let leading = draft.op("Shape", &[ids], &[]);
    let rows = draft.integers(&[table.rows as i64]);
    let shape = draft.concat(&[&leading, &rows], 0);
    draft.op("Reshape", &[&scores, &shape], &[])
}
