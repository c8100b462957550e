//! The owner of a tensor, and OpenVINO's element types in our words.

use crate::{
    api::{Api, Shape},
    fault::Fault,
};
use engine::ElementsView;
use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    slice,
};
use types::{ElementType, Elements};

/// OpenVINO's numbers since 2025.1.
const CODES: [(ElementType, c_int); 10] = [
    (ElementType::Bool, 1),
    (ElementType::Bf16, 2),
    (ElementType::F16, 3),
    (ElementType::F32, 4),
    (ElementType::F64, 5),
    (ElementType::I8, 7),
    (ElementType::I16, 8),
    (ElementType::I32, 9),
    (ElementType::I64, 10),
    (ElementType::U8, 16),
];

/// One of our element types, or `None` for OpenVINO's others.
pub(crate) fn element_type(code: c_int) -> Option<ElementType> {
    CODES.iter().find(|(_, known)| *known == code).map(|(dtype, _)| *dtype)
}

fn code(dtype: ElementType) -> Result<c_int, Fault> {
    let found = CODES.iter().find(|(known, _)| *known == dtype).map(|(_, code)| *code);
    found.ok_or_else(|| Fault(format!("OpenVINO has no {dtype:?}")))
}

/// A reference to a tensor in OpenVINO's memory.
pub(crate) struct Tensor {
    api: &'static Api,
    handle: *mut c_void,
}

impl Tensor {
    /// Room for a tensor.
    pub(crate) fn new(
        api: &'static Api,
        dtype: ElementType,
        dims: &[usize],
    ) -> Result<Tensor, Fault> {
        let large = |_| Fault(format!("{dims:?} is too large for OpenVINO"));
        let mut wide: Vec<i64> =
            dims.iter().map(|&d| i64::try_from(d)).collect::<Result<_, _>>().map_err(large)?;
        let rank = i64::try_from(wide.len()).map_err(large)?;
        let shape = Shape { rank, dims: wide.as_mut_ptr() };
        let mut handle = null_mut();
        // SAFETY: the dimensions outlive the call, which copies them; the tensor is ours from then on.
        api.check(unsafe { (api.ov_tensor_create)(code(dtype)?, shape, &raw mut handle) })?;
        Ok(Tensor { api, handle })
    }

    /// Takes over a reference that OpenVINO has just made.
    pub(crate) fn own(api: &'static Api, handle: *mut c_void) -> Tensor {
        Tensor { api, handle }
    }

    pub(crate) fn handle(&self) -> *mut c_void {
        self.handle
    }

    /// Copies elements in; they must be as many bytes as the tensor has.
    pub(crate) fn fill(&mut self, elements: &Elements) -> Result<(), Fault> {
        let size = self.byte_size()?;
        let (from, bytes) = memory(elements);
        if bytes != size {
            return Err(Fault(format!("{bytes} bytes do not fit a tensor of {size}")));
        }
        if size > 0 {
            // SAFETY: both sides have `size` bytes, and ours are not OpenVINO's.
            unsafe { self.data()?.copy_from_nonoverlapping(from, size) };
        }
        Ok(())
    }

    /// Its dimensions.
    pub(crate) fn dims(&self) -> Result<Vec<usize>, Fault> {
        let mut shape = Shape { rank: 0, dims: null_mut() };
        // SAFETY: the tensor is alive; OpenVINO writes `rank` dimensions, which live until they are freed.
        unsafe {
            self.api.check((self.api.ov_tensor_get_shape)(self.handle, &raw mut shape))?;
            let rank = usize::try_from(shape.rank).unwrap_or(0);
            let dims =
                (0..rank).map(|i| usize::try_from(*shape.dims.add(i)).unwrap_or(0)).collect();
            (self.api.ov_shape_free)(&raw mut shape);
            Ok(dims)
        }
    }

    /// Its elements where they lie; `None` for element types that are not ours.
    pub(crate) fn elements(&self) -> Result<Option<ElementsView<'_>>, Fault> {
        let mut code = 0;
        // SAFETY: the tensor is alive and the number is written to our variable.
        self.api
            .check(unsafe { (self.api.ov_tensor_get_element_type)(self.handle, &raw mut code) })?;
        let Some(dtype) = element_type(code) else { return Ok(None) };
        Ok(Some(match dtype {
            ElementType::F32 => ElementsView::F32(self.slice()?),
            ElementType::F64 => ElementsView::F64(self.slice()?),
            ElementType::F16 => ElementsView::F16(self.slice()?),
            ElementType::Bf16 => ElementsView::Bf16(self.slice()?),
            ElementType::I64 => ElementsView::I64(self.slice()?),
            ElementType::I32 => ElementsView::I32(self.slice()?),
            ElementType::I16 => ElementsView::I16(self.slice()?),
            ElementType::I8 => ElementsView::I8(self.slice()?),
            ElementType::U8 => ElementsView::U8(self.slice()?),
            ElementType::Bool => ElementsView::Bool(self.slice()?),
        }))
    }

    fn slice<T: Copy>(&self) -> Result<&[T], Fault> {
        let count = self.byte_size()? / size_of::<T>();
        if count == 0 {
            return Ok(&[]);
        }
        let data = self.data()?.cast::<T>();
        if data.is_null() || !data.is_aligned() {
            return Err(Fault("OpenVINO's tensor is in memory that cannot be read".into()));
        }
        // SAFETY: the memory has `count` elements of this type, any bits are a value of it, and it stays while the
        // reference does: nothing runs while the tensor is borrowed.
        Ok(unsafe { slice::from_raw_parts(data, count) })
    }

    fn byte_size(&self) -> Result<usize, Fault> {
        let mut size = 0;
        // SAFETY: the tensor is alive and the size is written to our variable.
        self.api
            .check(unsafe { (self.api.ov_tensor_get_byte_size)(self.handle, &raw mut size) })?;
        Ok(size)
    }

    fn data(&self) -> Result<*mut u8, Fault> {
        let mut data = null_mut();
        // SAFETY: the tensor is alive and the address is written to our variable.
        self.api.check(unsafe { (self.api.ov_tensor_data)(self.handle, &raw mut data) })?;
        Ok(data.cast())
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: we own the reference and it is used no more.
        unsafe { (self.api.ov_tensor_free)(self.handle) }
    }
}

/// Where elements lie and how many bytes they take.
fn memory(elements: &Elements) -> (*const u8, usize) {
    fn of<T>(elements: &[T]) -> (*const u8, usize) {
        (elements.as_ptr().cast(), size_of_val(elements))
    }
    match elements {
        Elements::F32(v) => of(v),
        Elements::F64(v) => of(v),
        Elements::F16(v) | Elements::Bf16(v) => of(v),
        Elements::I64(v) => of(v),
        Elements::I32(v) => of(v),
        Elements::I16(v) => of(v),
        Elements::I8(v) => of(v),
        Elements::U8(v) | Elements::Bool(v) => of(v),
    }
}
