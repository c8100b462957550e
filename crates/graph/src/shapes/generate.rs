//! Operators that make values out of numbers: constants, ranges, random draws.

use super::{
    dims::{axis, sizes},
    value::{Call, MOST_NUMBERS, Value, elements},
};
use crate::{Attribute, DataType, Node};

/// Outputs of a generating operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    match call.node.op_type.as_str() {
        "ConstantOfShape" => {
            let fill = call.node.tensor("value");
            let dtype = fill.map_or(DataType::Float, |tensor| tensor.dtype);
            let Some(dims) = call.ints(0).and_then(|list| sizes(&list)) else {
                return Some(vec![Value::unknown(dtype)]);
            };
            let number = match fill {
                Some(tensor) => tensor.numbers().and_then(|numbers| numbers.first().copied()),
                None => Some(0.0),
            };
            let count = elements(&dims).filter(|count| *count <= MOST_NUMBERS);
            let numbers = number.zip(count).map(|(number, count)| vec![number; count]);
            Some(vec![Value { dtype, dims: Some(dims), numbers }])
        }
        "Range" => range(call),
        "OneHot" => {
            let depth = usize::try_from(*call.ints(1)?.first()?).ok()?;
            let mut dims = call.dims(0)?.to_vec();
            let rank = dims.len() + 1;
            dims.insert(axis(call.int("axis", -1), rank)?, depth);
            call.like(2, Some(dims))
        }
        "EyeLike" | "RandomNormalLike" | "RandomUniformLike" => {
            let dtype = asked_type(call.node, "dtype").unwrap_or(call.dtype(0));
            let dims = call.dims(0).map(<[usize]>::to_vec);
            Some(vec![Value { dtype, dims, numbers: None }])
        }
        "RandomNormal" | "RandomUniform" => {
            let dtype = asked_type(call.node, "dtype").unwrap_or(DataType::Float);
            Some(vec![Value::new(dtype, sizes(call.node.ints("shape")?)?)])
        }
        "Multinomial" => {
            let dtype = asked_type(call.node, "dtype").unwrap_or(DataType::Int32);
            let draws = usize::try_from(call.int("sample_size", 1)).ok()?;
            Some(vec![Value::new(dtype, vec![*call.dims(0)?.first()?, draws])])
        }
        "NonMaxSuppression" => Some(vec![Value::unknown(DataType::Int64)]),
        _ => None,
    }
}

fn asked_type(node: &Node, name: &str) -> Option<DataType> {
    DataType::try_from(i32::try_from(node.int(name)?).ok()?).ok()
}

fn range(call: &Call<'_>) -> Option<Vec<Value>> {
    let dtype = call.dtype(0);
    let number = |index: usize| call.numbers(index).and_then(|numbers| numbers.first().copied());
    let (Some(start), Some(limit), Some(delta)) = (number(0), number(1), number(2)) else {
        return Some(vec![Value::unknown(dtype)]);
    };
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() {
        return Some(vec![Value::unknown(dtype)]);
    }
    let count = count as usize;
    if count > MOST_NUMBERS {
        return Some(vec![Value::new(dtype, vec![count])]);
    }
    let numbers = (0..count).map(|i| start + i as f64 * delta).collect();
    Some(vec![Value::known(dtype, vec![count], numbers)])
}

/// A `Constant` node whose value is not a tensor argument.
pub(crate) fn constant(node: &Node) -> Option<Value> {
    node.attributes.iter().find_map(|(name, attribute)| match (name.as_str(), attribute) {
        ("value_int", Attribute::Int(value)) => {
            Some(Value::known(DataType::Int64, vec![], vec![*value as f64]))
        }
        ("value_float", Attribute::Float(value)) => {
            Some(Value::known(DataType::Float, vec![], vec![f64::from(*value)]))
        }
        ("value_ints", Attribute::Ints(values)) => {
            let numbers = values.iter().map(|value| *value as f64).collect();
            Some(Value::known(DataType::Int64, vec![values.len()], numbers))
        }
        ("value_floats", Attribute::Floats(values)) => {
            let numbers = values.iter().map(|value| f64::from(*value)).collect();
            Some(Value::known(DataType::Float, vec![values.len()], numbers))
        }
        ("value_string", _) => Some(Value::new(DataType::String, vec![])),
        ("value_strings", Attribute::Strings(values)) => {
            Some(Value::new(DataType::String, vec![values.len()]))
        }
        ("sparse_value", Attribute::Opaque(wire)) => {
            crate::onnx::sparse_type(wire).map(|(dtype, dims)| Value::new(dtype, dims))
        }
        _ => None,
    })
}
