//! Activation functions, written as the patterns that engines fuse into one kernel.

use crate::architecture::draft::{Draft, Value};

/// An activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::architecture) enum Activation {
    /// With the error function.
    Gelu,
    /// With the hyperbolic tangent instead.
    GeluTanh,
    /// With a sigmoid instead.
    QuickGelu,
    Relu,
    Silu,
    Tanh,
}

impl Activation {
    /// The transformers names we know, for errors.
    pub(in crate::architecture) const NAMES: &'static str =
        "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, silu, swish, tanh";

    /// The function with this transformers name.
    pub(in crate::architecture) fn parse(name: &str) -> Option<Activation> {
        match name {
            "gelu" | "gelu_python" => Some(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Some(Activation::GeluTanh),
            "quick_gelu" => Some(Activation::QuickGelu),
            "relu" => Some(Activation::Relu),
            "silu" | "swish" => Some(Activation::Silu),
            "tanh" => Some(Activation::Tanh),
            _ => None,
        }
    }

    /// Draws the function in the module `module`.
    pub(in crate::architecture) fn draw(self, draft: &mut Draft, module: &str, x: &str) -> Value {
        draft.within(module, |draft| match self {
            Activation::Gelu => gelu(draft, x),
            Activation::GeluTanh => gelu_tanh(draft, x),
            Activation::QuickGelu => {
                // 1.702 is the constant of the sigmoid approximation (Hendrycks and Gimpel, 2016).
                let steepness = draft.number(1.702);
                let scaled = draft.op("Mul", &[&steepness, x], &[]);
                let gate = draft.op("Sigmoid", &[&scaled], &[]);
                draft.op("Mul", &[x, &gate], &[])
            }
            Activation::Relu => draft.op("Relu", &[x], &[]),
            Activation::Silu => {
                let gate = draft.op("Sigmoid", &[x], &[]);
                draft.op("Mul", &[x, &gate], &[])
            }
            Activation::Tanh => draft.op("Tanh", &[x], &[]),
        })
    }
}

/// x · (erf(x / √2) + 1) · 0.5
fn gelu(draft: &mut Draft, x: &str) -> Value {
    let (root, one, half) =
        (draft.number(std::f32::consts::SQRT_2), draft.number(1.0), draft.number(0.5));
    let scaled = draft.op("Div", &[x, &root], &[]);
    let erf = draft.op("Erf", &[&scaled], &[]);
    let shifted = draft.op("Add", &[&erf, &one], &[]);
    let product = draft.op("Mul", &[x, &shifted], &[]);
    draft.op("Mul", &[&product, &half], &[])
}

/// 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
fn gelu_tanh(draft: &mut Draft, x: &str) -> Value {
    let (three, cubic) = (draft.number(3.0), draft.number(0.044_715));
    let root = draft.number((2.0 / std::f32::consts::PI).sqrt());
    let (one, half) = (draft.number(1.0), draft.number(0.5));
    let halved = draft.op("Mul", &[x, &half], &[]);
    let cube = draft.op("Pow", &[x, &three], &[]);
    let cube = draft.op("Mul", &[&cube, &cubic], &[]);
    let sum = draft.op("Add", &[x, &cube], &[]);
    let inner = draft.op("Mul", &[&sum, &root], &[]);
    let tanh = draft.op("Tanh", &[&inner], &[]);
    let shifted = draft.op("Add", &[&tanh, &one], &[]);
    draft.op("Mul", &[&halved, &shifted], &[])
}
