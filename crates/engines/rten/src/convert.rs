//! Between host tensors and the engine's values.

use engine::{ElementsView, EngineError, EngineErrorKind};
use rten::{DataType, Value, ValueType, ValueView};
use rten_tensor::{Tensor, prelude::*};
use types::{ElementType, Elements, HostTensor};

/// A host tensor as the engine takes it: it wants int32 where ONNX says int64 or bool.
pub(crate) fn to_value(tensor: &HostTensor) -> Result<Value, EngineError> {
    let dims = tensor.dims.as_slice();
    Ok(match &tensor.elements {
        Elements::F32(v) => Value::from(Tensor::from_data(dims, v.clone())),
        Elements::F64(v) => {
            Value::from(Tensor::from_data(dims, v.iter().map(|&x| x as f32).collect::<Vec<_>>()))
        }
        Elements::I32(v) => Value::from(Tensor::from_data(dims, v.clone())),
        Elements::I64(v) => {
            let narrow = v.iter().map(|&x| i32::try_from(x)).collect::<Result<Vec<_>, _>>();
            let narrow = narrow.map_err(|_| {
                EngineError::new(
                    EngineErrorKind::BadInput,
                    format!("input `{}` holds a number that does not fit 32 bits", tensor.name),
                )
            })?;
            Value::from(Tensor::from_data(dims, narrow))
        }
        Elements::I16(v) => Value::from(Tensor::from_data(
            dims,
            v.iter().map(|&x| i32::from(x)).collect::<Vec<_>>(),
        )),
        Elements::Bool(v) => Value::from(Tensor::from_data(
            dims,
            v.iter().map(|&x| i32::from(x)).collect::<Vec<_>>(),
        )),
        Elements::I8(v) => Value::from(Tensor::from_data(dims, v.clone())),
        Elements::U8(v) => Value::from(Tensor::from_data(dims, v.clone())),
        Elements::F16(_) | Elements::Bf16(_) => {
            return Err(EngineError::new(
                EngineErrorKind::Unsupported,
                format!(
                    "engine `rten` does not support 16-bit floats, which input `{}` needs",
                    tensor.name
                ),
            ));
        }
    })
}

/// The elements of a contiguous value and its shape; `None` for sequences and values laid out otherwise.
pub(crate) fn view(value: &Value) -> Option<(Vec<usize>, ElementsView<'_>)> {
    match value.as_view() {
        ValueView::FloatTensor(t) => Some((t.shape().to_vec(), ElementsView::F32(t.data()?))),
        ValueView::Int32Tensor(t) => Some((t.shape().to_vec(), ElementsView::I32(t.data()?))),
        ValueView::Int8Tensor(t) => Some((t.shape().to_vec(), ElementsView::I8(t.data()?))),
        ValueView::UInt8Tensor(t) => Some((t.shape().to_vec(), ElementsView::U8(t.data()?))),
        _ => None,
    }
}

/// The same value, contiguous.
pub(crate) fn contiguous(value: Value) -> Value {
    match value {
        Value::FloatTensor(t) if t.data().is_none() => Value::from(copy(&t)),
        Value::Int32Tensor(t) if t.data().is_none() => Value::from(copy(&t)),
        Value::Int8Tensor(t) if t.data().is_none() => Value::from(copy(&t)),
        Value::UInt8Tensor(t) if t.data().is_none() => Value::from(copy(&t)),
        other => other,
    }
}

fn copy<T: Copy>(tensor: &Tensor<T>) -> Tensor<T> {
    Tensor::from_data(tensor.shape(), tensor.to_vec())
}

/// The shape of any tensor value.
pub(crate) fn shape(value: &Value) -> Option<Vec<usize>> {
    match value.as_view() {
        ValueView::FloatTensor(t) => Some(t.shape().to_vec()),
        ValueView::Int32Tensor(t) => Some(t.shape().to_vec()),
        ValueView::Int8Tensor(t) => Some(t.shape().to_vec()),
        ValueView::UInt8Tensor(t) => Some(t.shape().to_vec()),
        _ => None,
    }
}

/// The engine's element type in our words.
pub(crate) fn element_type(dtype: ValueType) -> Option<ElementType> {
    match dtype {
        ValueType::Tensor(DataType::Float) => Some(ElementType::F32),
        ValueType::Tensor(DataType::Int32) => Some(ElementType::I32),
        ValueType::Tensor(DataType::Int8) => Some(ElementType::I8),
        ValueType::Tensor(DataType::UInt8) => Some(ElementType::U8),
        _ => None,
    }
}
