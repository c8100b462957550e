//! Quantisation and the operators that work on quantised values.

use super::{
    dims::{axis, broadcast},
    matrix::product,
    value::{Call, Value},
};
use crate::DataType;

/// Outputs of a quantised operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let own = || call.dims(0).map(<[usize]>::to_vec);
    match call.node.op_type.as_str() {
        "QuantizeLinear" => {
            let asked = call.node.int("output_dtype").filter(|number| *number != 0);
            let asked = asked.and_then(|number| DataType::try_from(number as i32).ok());
            let given = call.has(2).then(|| call.dtype(2));
            let dtype = asked.or(given).unwrap_or(DataType::Uint8);
            Some(vec![Value { dtype, dims: own(), numbers: None }])
        }
        "DequantizeLinear" => {
            let dtype = call.dtype(1);
            Some(vec![Value { dtype, dims: own(), numbers: None }])
        }
        "DynamicQuantizeLinear" => Some(vec![
            Value { dtype: DataType::Uint8, dims: own(), numbers: None },
            Value::new(DataType::Float, vec![]),
            Value::new(DataType::Uint8, vec![]),
        ]),
        "QLinearMatMul" => {
            Some(vec![Value::new(call.dtype(7), product(call.dims(0)?, call.dims(3)?)?)])
        }
        "QLinearAdd" | "QLinearMul" => call.like(0, broadcast(call.dims(0)?, call.dims(3)?)),
        "QGemm" => {
            let turned = |dims, name| super::matrix::turned(dims, call.int(name, 0) != 0);
            let (a, b) = (call.dims(0)?, call.dims(3)?);
            let dims = product(&turned(a, "transA"), &turned(b, "transB"))?;
            let dtype = if call.has(8) { call.dtype(8) } else { DataType::Float };
            Some(vec![Value::new(dtype, dims)])
        }
        "QLinearConcat" => {
            // Inputs: the output's scale and zero point, then value, scale and zero point of each part.
            let mut dims = call.dims(2)?.to_vec();
            let at = axis(call.int("axis", 0), dims.len())?;
            dims[at] = 0;
            for index in (2..call.inputs.len()).step_by(3) {
                dims[at] = dims[at].checked_add(*call.dims(index)?.get(at)?)?;
            }
            call.like(2, Some(dims))
        }
        _ => None,
    }
}
