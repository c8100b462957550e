//! Between host tensors and the library's values, without copies.

use crate::runtime::checked;
use engine::ElementsView;
use ort::{
    AsPointer,
    memory::{Allocator, MemoryInfo},
    value::{DynValue, TensorElementType, ValueType},
};
use std::{
    ffi::c_void,
    ptr::{self, NonNull},
};
use types::{ElementType, HostTensor};

/// A value that lies in a tensor's own memory.
///
/// # Safety
/// The tensor must neither move its elements nor go away while the value lives.
pub(crate) unsafe fn value_of(tensor: &HostTensor) -> Result<DynValue, ort::Error> {
    let view = engine::view_of(tensor);
    // SAFETY: the caller's promise.
    unsafe { raw_value(&view.elements, &view.dims) }
}

/// A value that lies in borrowed memory.
///
/// # Safety
/// The elements must stay where they are while the value lives.
pub(crate) unsafe fn raw_value(
    elements: &ElementsView<'_>,
    dims: &[usize],
) -> Result<DynValue, ort::Error> {
    let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
    let data: *const c_void = match elements {
        ElementsView::F32(v) => v.as_ptr().cast(),
        ElementsView::F64(v) => v.as_ptr().cast(),
        ElementsView::F16(v) | ElementsView::Bf16(v) => v.as_ptr().cast(),
        ElementsView::I64(v) => v.as_ptr().cast(),
        ElementsView::I32(v) => v.as_ptr().cast(),
        ElementsView::I16(v) => v.as_ptr().cast(),
        ElementsView::I8(v) => v.as_ptr().cast(),
        ElementsView::U8(v) | ElementsView::Bool(v) => v.as_ptr().cast(),
    };
    let dtype = elements.element_type();
    let bytes = elements.len() * dtype.size();
    let mut value = ptr::null_mut();
    let create = ort::api().CreateTensorWithDataAsOrtValue;
    let memory = MemoryInfo::default();
    // SAFETY: the memory is as long as said, and the library only reads inputs.
    unsafe {
        checked(create(
            memory.ptr(),
            data.cast_mut(),
            bytes,
            dims.as_ptr(),
            dims.len(),
            ort_type(dtype).into(),
            &raw mut value,
        ))?;
        let value =
            NonNull::new(value).ok_or_else(|| ort::Error::new("the output has no value"))?;
        Ok(DynValue::from_ptr(value, Some(&Allocator::default())))
    }
}

/// A value's shape and elements; `None` for what is no tensor of our types.
///
/// # Safety
/// The memory behind the value must live as long as `'v`, which the value itself need not.
pub(crate) unsafe fn view_of<'v>(
    value: &DynValue,
) -> Result<Option<(Vec<usize>, ElementsView<'v>)>, ort::Error> {
    let ValueType::Tensor { ty, shape, .. } = value.dtype() else { return Ok(None) };
    let Some(dtype) = element_type(*ty) else { return Ok(None) };
    let dims: Vec<usize> = shape.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect();
    let length: usize = dims.iter().product();
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the value lives during the call.
    unsafe {
        checked((ort::api().GetTensorMutableData)(value.ptr().cast_mut(), &raw mut data))?;
    }
    // SAFETY: the library holds `length` elements of this type there, aligned for them.
    let elements = unsafe {
        match dtype {
            ElementType::F32 => ElementsView::F32(slice(data, length)),
            ElementType::F64 => ElementsView::F64(slice(data, length)),
            ElementType::F16 => ElementsView::F16(slice(data, length)),
            ElementType::Bf16 => ElementsView::Bf16(slice(data, length)),
            ElementType::I64 => ElementsView::I64(slice(data, length)),
            ElementType::I32 => ElementsView::I32(slice(data, length)),
            ElementType::I16 => ElementsView::I16(slice(data, length)),
            ElementType::I8 => ElementsView::I8(slice(data, length)),
            ElementType::U8 => ElementsView::U8(slice(data, length)),
            ElementType::Bool => ElementsView::Bool(slice(data, length)),
        }
    };
    Ok(Some((dims, elements)))
}

/// # Safety
/// As of [`std::slice::from_raw_parts`], but an empty tensor may have no memory.
unsafe fn slice<'v, T>(data: *mut c_void, length: usize) -> &'v [T] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data.cast_const().cast(), length) }
}

/// The library's element type in our words.
pub(crate) fn element_type(dtype: TensorElementType) -> Option<ElementType> {
    Some(match dtype {
        TensorElementType::Float32 => ElementType::F32,
        TensorElementType::Float64 => ElementType::F64,
        TensorElementType::Float16 => ElementType::F16,
        TensorElementType::Bfloat16 => ElementType::Bf16,
        TensorElementType::Int64 => ElementType::I64,
        TensorElementType::Int32 => ElementType::I32,
        TensorElementType::Int16 => ElementType::I16,
        TensorElementType::Int8 => ElementType::I8,
        TensorElementType::Uint8 => ElementType::U8,
        TensorElementType::Bool => ElementType::Bool,
        _ => return None,
    })
}

fn ort_type(dtype: ElementType) -> TensorElementType {
    match dtype {
        ElementType::F32 => TensorElementType::Float32,
        ElementType::F64 => TensorElementType::Float64,
        ElementType::F16 => TensorElementType::Float16,
        ElementType::Bf16 => TensorElementType::Bfloat16,
        ElementType::I64 => TensorElementType::Int64,
        ElementType::I32 => TensorElementType::Int32,
        ElementType::I16 => TensorElementType::Int16,
        ElementType::I8 => TensorElementType::Int8,
        ElementType::U8 => TensorElementType::Uint8,
        ElementType::Bool => TensorElementType::Bool,
    }
}
