//! Operators that cost a fixed number an element: functions, normalisations, reductions.

use super::Operation;

/// The operations of such an operator; `None` if it is not one or its shapes are unknown.
pub(crate) fn flops(operation: &Operation<'_>) -> Option<u64> {
    if let Some(cost) = per_output(operation) {
        return Some(operation.made()?.saturating_mul(cost));
    }
    per_input(operation.op()).and_then(|cost| Some(operation.read(0)?.saturating_mul(cost)))
}

/// Operations for each element of the output.
fn per_output(operation: &Operation<'_>) -> Option<u64> {
    let has = |index: usize| u64::from(operation.call.has(index));
    Some(match operation.op() {
        "Abs" | "Acos" | "Acosh" | "Add" | "And" | "Asin" | "Asinh" | "Atan" | "Atanh"
        | "BitShift" | "BitwiseAnd" | "BitwiseNot" | "BitwiseOr" | "BitwiseXor" | "Ceil"
        | "Celu" | "Clip" | "Cos" | "Cosh" | "CumSum" | "Div" | "Elu" | "Equal" | "Erf" | "Exp"
        | "Floor" | "Greater" | "GreaterOrEqual" | "HardSigmoid" | "Hardmax" | "IsInf"
        | "IsNaN" | "LeakyRelu" | "Less" | "LessOrEqual" | "Log" | "Mod" | "Mul" | "Neg"
        | "Not" | "Or" | "PRelu" | "Pow" | "Reciprocal" | "Relu" | "Round" | "Selu" | "Shrink"
        | "Sigmoid" | "Sign" | "Sin" | "Sinh" | "Softplus" | "Softsign" | "Sqrt" | "Sub"
        | "Tan" | "Tanh" | "ThresholdedRelu" | "Xor" | "QLinearAdd" | "QLinearMul"
        | "QLinearSigmoid" | "QLinearLeakyRelu" => 1,
        // As many inputs, one operation less; a mean divides too.
        "Max" | "Min" | "Sum" => (operation.call.inputs.len() as u64).saturating_sub(1),
        "Mean" => operation.call.inputs.len() as u64,
        // x · sigmoid(x), and with a factor inside.
        "Swish" => 2,
        "QuickGelu" => 3,
        // x · tanh(softplus(x)).
        "Mish" => 3,
        // x · clip(a · x + b).
        "HardSwish" => 4,
        // 0.5 · x · (1 + erf(x ÷ √2)).
        "Gelu" => 5,
        "BiasGelu" => 6,
        // 0.5 · x · (1 + tanh(c · (x + 0.044715 · x³))), and the bias where there is one.
        "FastGelu" => 9 + has(1),
        // Maximum, difference, exponential, sum, quotient.
        "Softmax" | "LogSoftmax" | "QLinearSoftmax" => 5,
        // Mean, difference, square, sum, quotient, scale, shift.
        "LayerNormalization" | "InstanceNormalization" | "GroupNormalization" | "GroupNorm" => 7,
        // One addition more for the skip, one for a bias.
        "SkipLayerNormalization" => 8 + has(4),
        // Square, sum, quotient, scale.
        "SimplifiedLayerNormalization" | "RMSNormalization" => 4,
        "SkipSimplifiedLayerNormalization" => 5 + has(3),
        // Two additions of three embeddings, then a layer normalisation.
        "EmbedLayerNormalization" => 9,
        "MeanVarianceNormalization" => 6,
        "LpNormalization" => 3,
        "LRN" => {
            let size = u64::try_from(operation.call.int("size", 1)).unwrap_or(1);
            size.saturating_mul(2).saturating_add(3)
        }
        // Scale and shift: the statistics are constants.
        "BatchNormalization" => 2,
        "QuantizeLinear" | "DequantizeLinear" => 2,
        // Minimum, maximum, quotient, shift.
        "DynamicQuantizeLinear" => 4,
        // Two products and an addition.
        "RotaryEmbedding" => 3,
        _ => return None,
    })
}

/// Operations for each element of the first input.
fn per_input(op: &str) -> Option<u64> {
    Some(match op {
        "ReduceMean" | "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ReduceL1"
        | "ReduceLogSum" | "ArgMax" | "ArgMin" | "TopK" => 1,
        "ReduceL2" | "ReduceSumSquare" | "ReduceLogSumExp" => 2,
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool" => 1,
        _ => return None,
    })
}
