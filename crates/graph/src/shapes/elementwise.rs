//! Operators that work on each element: same dims out, or dims spread over each other.

use super::{
    dims::{broadcast, each, spread_offset},
    value::{Call, Value},
};
use crate::DataType;

/// Outputs of an elementwise operator; `None` if it is not one.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let op = call.node.op_type.as_str();
    match op {
        "Cast" | "CastLike" => Some(vec![cast(call)]),
        "IsNaN" | "IsInf" | "Not" => Some(vec![unary(call, DataType::Bool)]),
        "Abs"
        | "Neg"
        | "Floor"
        | "Ceil"
        | "Round"
        | "Sqrt"
        | "Exp"
        | "Log"
        | "Sign"
        | "Reciprocal"
        | "Relu"
        | "Clip"
        | "Identity"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "BitwiseNot"
        | "Celu"
        | "Cos"
        | "Cosh"
        | "Elu"
        | "Erf"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "LeakyRelu"
        | "LogSoftmax"
        | "LpNormalization"
        | "LRN"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Gelu"
        | "FastGelu"
        | "QuickGelu"
        | "BiasGelu"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "ThresholdedRelu"
        | "Trilu"
        | "CumSum"
        | "Bernoulli"
        | "InstanceNormalization"
        | "GroupNormalization"
        | "GroupNorm"
        | "RotaryEmbedding"
        | "QLinearSigmoid"
        | "QLinearLeakyRelu"
        | "QLinearSoftmax"
        | "ScatterElements"
        | "ScatterND"
        | "Scatter"
        | "TensorScatter"
        | "ReverseSequence" => Some(vec![unary(call, call.dtype(0))]),
        "Dropout" => {
            let mask = Value { dtype: DataType::Bool, dims: own(call, 0), numbers: None };
            Some(vec![unary(call, call.dtype(0)), mask])
        }
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" => {
            Some(vec![spread(call, DataType::Bool, 0..2)])
        }
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Pow" | "PRelu" | "BitShift" | "BitwiseAnd"
        | "BitwiseOr" | "BitwiseXor" => Some(vec![spread(call, call.dtype(0), 0..2)]),
        "Min" | "Max" | "Sum" | "Mean" => {
            Some(vec![spread(call, call.dtype(0), 0..call.inputs.len())])
        }
        "Where" => Some(vec![spread(call, call.dtype(1), 0..3)]),
        _ => None,
    }
}

fn own(call: &Call<'_>, index: usize) -> Option<Vec<usize>> {
    call.dims(index).map(<[usize]>::to_vec)
}

fn unary(call: &Call<'_>, dtype: DataType) -> Value {
    let apply: Option<fn(f64) -> f64> = match call.node.op_type.as_str() {
        "Identity" => Some(|x| x),
        "Abs" => Some(f64::abs),
        "Neg" => Some(|x| -x),
        "Floor" => Some(f64::floor),
        "Ceil" => Some(f64::ceil),
        "Round" => Some(f64::round_ties_even),
        "Sqrt" => Some(f64::sqrt),
        "Exp" => Some(f64::exp),
        "Log" => Some(f64::ln),
        "Sign" => Some(|x| if x == 0.0 { 0.0 } else { x.signum() }),
        "Reciprocal" => Some(f64::recip),
        "Relu" => Some(|x| x.max(0.0)),
        "Not" => Some(|x| f64::from(x == 0.0)),
        _ => None,
    };
    let numbers = apply.and_then(|apply| {
        Some(call.numbers(0)?.iter().map(|x| rounded(dtype, apply(*x))).collect())
    });
    Value { dtype, dims: own(call, 0), numbers }
}

fn cast(call: &Call<'_>) -> Value {
    let to = match call.node.op_type.as_str() {
        "CastLike" => call.dtype(1),
        _ => {
            let number = i32::try_from(call.int("to", 0)).unwrap_or(0);
            DataType::try_from(number).unwrap_or(DataType::Undefined)
        }
    };
    let numbers = call.numbers(0).map(|numbers| numbers.iter().map(|x| rounded(to, *x)).collect());
    Value { dtype: to, dims: own(call, 0), numbers }
}

/// A number as its type can hold it.
fn rounded(dtype: DataType, value: f64) -> f64 {
    match dtype {
        DataType::Float => f64::from(value as f32),
        DataType::Float16 => f64::from(half::f16::from_f64(value)),
        DataType::Bfloat16 => f64::from(half::bf16::from_f64(value)),
        DataType::Bool => f64::from(value != 0.0),
        DataType::Double | DataType::Undefined => value,
        _ => value.trunc(),
    }
}

fn spread(call: &Call<'_>, dtype: DataType, inputs: std::ops::Range<usize>) -> Value {
    let dims = inputs.clone().try_fold(Vec::new(), |dims: Vec<usize>, index| {
        call.dims(index).and_then(|other| broadcast(&dims, other))
    });
    let numbers = dims.as_ref().and_then(|dims| {
        let sources: Vec<(&[usize], &[f64])> =
            inputs.map(|index| call.dims(index).zip(call.numbers(index))).collect::<Option<_>>()?;
        each(dims, |index| {
            let values: Vec<f64> = sources
                .iter()
                .map(|(dims, numbers)| numbers.get(spread_offset(dims, index)).copied())
                .collect::<Option<_>>()?;
            combine(&call.node.op_type, call, &values).map(|x| rounded(dtype, x))
        })
    });
    Value { dtype, dims, numbers }
}

fn combine(op: &str, call: &Call<'_>, values: &[f64]) -> Option<f64> {
    let flag = |condition: bool| Some(f64::from(condition));
    match (op, values) {
        ("Sum", values) => Some(values.iter().sum()),
        ("Min", values) => values.iter().copied().reduce(f64::min),
        ("Max", values) => values.iter().copied().reduce(f64::max),
        ("Where", [condition, yes, no]) => Some(if *condition != 0.0 { *yes } else { *no }),
        ("Add", [a, b]) => Some(a + b),
        ("Sub", [a, b]) => Some(a - b),
        ("Mul", [a, b]) => Some(a * b),
        ("Div", [a, b]) if *b != 0.0 || call.dtype(0).is_float() => Some(a / b),
        ("Mod", [a, b]) if *b != 0.0 => {
            // `fmod` follows the dividend's sign, the integer operator the divisor's.
            let rest = a % b;
            let fmod = call.int("fmod", 0) == 1;
            Some(if fmod || rest == 0.0 || (rest < 0.0) == (*b < 0.0) { rest } else { rest + b })
        }
        ("Pow", [a, b]) => Some(a.powf(*b)),
        ("Equal", [a, b]) => flag(a == b),
        ("Greater", [a, b]) => flag(a > b),
        ("GreaterOrEqual", [a, b]) => flag(a >= b),
        ("Less", [a, b]) => flag(a < b),
        ("LessOrEqual", [a, b]) => flag(a <= b),
        ("And", [a, b]) => flag(*a != 0.0 && *b != 0.0),
        ("Or", [a, b]) => flag(*a != 0.0 || *b != 0.0),
        ("Xor", [a, b]) => flag((*a != 0.0) != (*b != 0.0)),
        _ => None,
    }
}
