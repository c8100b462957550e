//! Reductions, and normalisations with more than one output.

use super::{
    dims::{axes, axis},
    value::{Call, Value, elements},
};
use crate::DataType;

/// Outputs of a reduction; `None` if it is not one.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    match call.node.op_type.as_str() {
        "ReduceMean" | "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ReduceL1"
        | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => reduce(call),
        "ArgMax" | "ArgMin" => {
            let data = call.dims(0);
            let dims = data.and_then(|data| {
                let at = axis(call.int("axis", 0), data.len())?;
                Some(without(data, &[at], call.int("keepdims", 1) != 0))
            });
            Some(vec![Value { dtype: DataType::Int64, dims, numbers: None }])
        }
        "LayerNormalization" | "SimplifiedLayerNormalization" | "RMSNormalization" => {
            let dims = call.dims(0).map(<[usize]>::to_vec);
            let inner = dims.as_ref().and_then(|dims| {
                let at = axis(call.int("axis", -1), dims.len())?;
                let mut inner = dims.clone();
                inner[at..].fill(1);
                Some(inner)
            });
            let statistic = Value { dtype: DataType::Float, dims: inner, numbers: None };
            let output = Value { dtype: call.dtype(0), dims, numbers: None };
            Some(vec![output, statistic.clone(), statistic])
        }
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" | "SkipGroupNorm" => {
            let dims = call.dims(0).map(<[usize]>::to_vec);
            let output = Value { dtype: call.dtype(0), dims, numbers: None };
            let statistic = Value::unknown(DataType::Float);
            Some(vec![output.clone(), statistic.clone(), statistic, output])
        }
        "BatchNormalization" => {
            let value = |index: usize| Value {
                dtype: call.dtype(index),
                dims: call.dims(index).map(<[usize]>::to_vec),
                numbers: None,
            };
            Some(vec![value(0), value(3), value(4), value(3), value(4)])
        }
        _ => None,
    }
}

fn without(data: &[usize], over: &[usize], keep: bool) -> Vec<usize> {
    let reduced = |at: &usize| over.contains(at);
    let places = 0..data.len();
    if keep {
        return places.map(|at| if reduced(&at) { 1 } else { data[at] }).collect();
    }
    places.filter(|at| !reduced(at)).map(|at| data[at]).collect()
}

fn reduce(call: &Call<'_>) -> Option<Vec<Value>> {
    let dtype = call.dtype(0);
    let unknown = Some(vec![Value::unknown(dtype)]);
    let (Some(data), Some(list)) = (call.dims(0), call.list("axes", 1)) else { return unknown };
    let over = match list {
        Some(list) if !list.is_empty() => axes(&list, data.len())?,
        _ if call.int("noop_with_empty_axes", 0) != 0 => Vec::new(),
        _ => (0..data.len()).collect(),
    };
    let dims = without(data, &over, call.int("keepdims", 1) != 0);
    // Only a whole reduction is followed as a number: that is what shape arithmetic uses.
    let whole = elements(&dims) == Some(1) && over.len() == data.len();
    let number = call.numbers(0).filter(|_| whole).and_then(|numbers| {
        let numbers = numbers.iter().copied();
        match call.node.op_type.as_str() {
            "ReduceSum" => Some(numbers.sum()),
            "ReduceProd" => Some(numbers.product()),
            "ReduceMax" => numbers.reduce(f64::max),
            "ReduceMin" => numbers.reduce(f64::min),
            _ => None,
        }
    });
    Some(vec![Value { dtype, dims: Some(dims), numbers: number.map(|number| vec![number]) }])
}
