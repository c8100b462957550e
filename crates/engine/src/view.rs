//! Outputs as the engine holds them: borrowed, so that looking at them costs no copy.

use types::{ElementType, Elements, HostTensor};

/// Borrowed elements of an output.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "one variant an element type")]
pub enum ElementsView<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    F16(&'a [u16]),
    Bf16(&'a [u16]),
    I64(&'a [i64]),
    I32(&'a [i32]),
    I16(&'a [i16]),
    I8(&'a [i8]),
    U8(&'a [u8]),
    Bool(&'a [u8]),
}

/// A borrowed output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputView<'a> {
    /// Its name in the graph.
    pub name: &'a str,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// Its elements.
    pub elements: ElementsView<'a>,
}

impl ElementsView<'_> {
    /// How many elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            ElementsView::F32(v) => v.len(),
            ElementsView::F64(v) => v.len(),
            ElementsView::F16(v) | ElementsView::Bf16(v) => v.len(),
            ElementsView::I64(v) => v.len(),
            ElementsView::I32(v) => v.len(),
            ElementsView::I16(v) => v.len(),
            ElementsView::I8(v) => v.len(),
            ElementsView::U8(v) | ElementsView::Bool(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        match self {
            ElementsView::F32(_) => ElementType::F32,
            ElementsView::F64(_) => ElementType::F64,
            ElementsView::F16(_) => ElementType::F16,
            ElementsView::Bf16(_) => ElementType::Bf16,
            ElementsView::I64(_) => ElementType::I64,
            ElementsView::I32(_) => ElementType::I32,
            ElementsView::I16(_) => ElementType::I16,
            ElementsView::I8(_) => ElementType::I8,
            ElementsView::U8(_) => ElementType::U8,
            ElementsView::Bool(_) => ElementType::Bool,
        }
    }

    /// Whether a floating point element is not a number or infinite.
    #[must_use]
    pub fn has_non_finite(&self) -> bool {
        match self {
            ElementsView::F32(v) => v.iter().any(|x| !x.is_finite()),
            ElementsView::F64(v) => v.iter().any(|x| !x.is_finite()),
            // All exponent bits set is infinity or not-a-number in both 16-bit formats.
            ElementsView::F16(v) => v.iter().any(|bits| bits & 0x7c00 == 0x7c00),
            ElementsView::Bf16(v) => v.iter().any(|bits| bits & 0x7f80 == 0x7f80),
            _ => false,
        }
    }
}

impl OutputView<'_> {
    /// The output copied into host memory of our own.
    #[must_use]
    pub fn to_host(&self) -> HostTensor {
        let elements = match self.elements {
            ElementsView::F32(v) => Elements::F32(v.to_vec()),
            ElementsView::F64(v) => Elements::F64(v.to_vec()),
            ElementsView::F16(v) => Elements::F16(v.to_vec()),
            ElementsView::Bf16(v) => Elements::Bf16(v.to_vec()),
            ElementsView::I64(v) => Elements::I64(v.to_vec()),
            ElementsView::I32(v) => Elements::I32(v.to_vec()),
            ElementsView::I16(v) => Elements::I16(v.to_vec()),
            ElementsView::I8(v) => Elements::I8(v.to_vec()),
            ElementsView::U8(v) => Elements::U8(v.to_vec()),
            ElementsView::Bool(v) => Elements::Bool(v.to_vec()),
        };
        HostTensor { name: self.name.to_owned(), dims: self.dims.clone(), elements }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_is_seen_in_every_float_format() {
        assert!(ElementsView::F32(&[0.0, f32::NAN]).has_non_finite());
        assert!(ElementsView::F64(&[f64::INFINITY]).has_non_finite());
        assert!(ElementsView::F16(&[0x7c00]).has_non_finite());
        assert!(ElementsView::Bf16(&[0xff80]).has_non_finite());
        assert!(!ElementsView::F16(&[0x3c00, 0x7bff]).has_non_finite());
        assert!(!ElementsView::I64(&[i64::MAX]).has_non_finite());
    }
}
