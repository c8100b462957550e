//! Making tensors from numbers and reading them back. Only what is inline is read here; bytes in other files come
//! from [`Model::resolve`](crate::Model::resolve).

use crate::{DataType, Tensor, TensorData};
use bytes::Bytes;

impl Tensor {
    /// A tensor of 64-bit integers; `values` must be as many as `dims` say.
    #[must_use]
    pub fn from_i64s(name: impl Into<String>, dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::inline(name, DataType::Int64, dims, values.iter().flat_map(|v| v.to_le_bytes()))
    }

    /// A tensor of 32-bit floats; `values` must be as many as `dims` say.
    #[must_use]
    pub fn from_f32s(name: impl Into<String>, dims: &[usize], values: &[f32]) -> Tensor {
        Tensor::inline(name, DataType::Float, dims, values.iter().flat_map(|v| v.to_le_bytes()))
    }

    /// A tensor of bytes of any type that is one byte wide.
    #[must_use]
    pub fn from_bytes(
        name: impl Into<String>,
        dtype: DataType,
        dims: &[usize],
        bytes: impl Into<Bytes>,
    ) -> Tensor {
        Tensor {
            name: name.into(),
            dtype,
            dims: dims.to_vec(),
            data: TensorData::Inline(bytes.into()),
        }
    }

    fn inline(
        name: impl Into<String>,
        dtype: DataType,
        dims: &[usize],
        bytes: impl Iterator<Item = u8>,
    ) -> Tensor {
        Tensor::from_bytes(name, dtype, dims, bytes.collect::<Vec<u8>>())
    }

    /// How many elements, held at the largest number.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.dims.iter().fold(1usize, |product, dim| product.saturating_mul(*dim))
    }

    /// How many bytes its elements take; strings count their characters.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.data {
            TensorData::Strings(strings) => strings.iter().map(|s| s.len() as u64).sum(),
            TensorData::Inline(_) | TensorData::External { .. } => self.dtype.size(self.elements()),
        }
    }

    /// The elements as 32-bit floats, where the tensor is inline and of a floating point type.
    #[must_use]
    pub fn f32s(&self) -> Option<Vec<f32>> {
        let floating = self.dtype.is_float();
        floating.then(|| self.numbers())?.map(|v| v.into_iter().map(|x| x as f32).collect())
    }

    /// The elements as 64-bit integers, where the tensor is inline and of an integer type or boolean.
    #[must_use]
    pub fn i64s(&self) -> Option<Vec<i64>> {
        match (&self.data, self.dtype) {
            (TensorData::Inline(bytes), DataType::Int64) => {
                self.chunks(bytes).map(|c| c.map(i64::from_le_bytes).collect())
            }
            (_, dtype) if dtype.is_float() => None,
            _ => self.numbers().map(|v| v.into_iter().map(|x| x as i64).collect()),
        }
    }

    /// The strings, where it holds strings.
    #[must_use]
    pub fn strings(&self) -> Option<&[Vec<u8>]> {
        match &self.data {
            TensorData::Strings(strings) => Some(strings),
            TensorData::Inline(_) | TensorData::External { .. } => None,
        }
    }

    /// The elements as numbers, where the tensor is inline and its type is a plain number or boolean.
    ///
    /// 64-bit integers beyond 2⁵³ are rounded.
    #[must_use]
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let TensorData::Inline(bytes) = &self.data else { return None };
        numbers(self.dtype, bytes, self.elements())
    }

    fn chunks<'a, const N: usize>(
        &self,
        bytes: &'a [u8],
    ) -> Option<impl Iterator<Item = [u8; N]> + use<'a, N>> {
        chunks(bytes, self.elements())
    }
}

fn chunks<const N: usize>(
    bytes: &[u8],
    elements: usize,
) -> Option<impl Iterator<Item = [u8; N]> + use<'_, N>> {
    let (parts, rest) = bytes.as_chunks::<N>();
    (parts.len() == elements && rest.is_empty()).then(|| parts.iter().copied())
}

/// The elements of little-endian `bytes`; `None` if they are not exactly `elements` plain numbers.
pub(crate) fn numbers(dtype: DataType, bytes: &[u8], elements: usize) -> Option<Vec<f64>> {
    macro_rules! read {
        ($convert:expr) => {
            chunks(bytes, elements).map(|c| c.map($convert).collect())
        };
    }
    match dtype {
        DataType::Float => read!(|c| f64::from(f32::from_le_bytes(c))),
        DataType::Double => read!(f64::from_le_bytes),
        DataType::Float16 => read!(|c| f64::from(half::f16::from_le_bytes(c))),
        DataType::Bfloat16 => read!(|c| f64::from(half::bf16::from_le_bytes(c))),
        DataType::Int64 => read!(|c| i64::from_le_bytes(c) as f64),
        DataType::Uint64 => read!(|c| u64::from_le_bytes(c) as f64),
        DataType::Int32 => read!(|c| f64::from(i32::from_le_bytes(c))),
        DataType::Uint32 => read!(|c| f64::from(u32::from_le_bytes(c))),
        DataType::Int16 => read!(|c| f64::from(i16::from_le_bytes(c))),
        DataType::Uint16 => read!(|c| f64::from(u16::from_le_bytes(c))),
        DataType::Int8 => read!(|c| f64::from(i8::from_le_bytes(c))),
        DataType::Uint8 => read!(|c| f64::from(u8::from_le_bytes(c))),
        DataType::Bool => read!(|c| f64::from(u8::from_le_bytes(c) != 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_read_back() {
        let integers = Tensor::from_i64s("shape", &[2], &[-1, i64::MAX]);
        assert_eq!(integers.i64s(), Some(vec![-1, i64::MAX]));
        assert_eq!(integers.f32s(), None);
        let floats = Tensor::from_f32s("w", &[1, 2], &[0.5, -2.0]);
        assert_eq!(floats.f32s(), Some(vec![0.5, -2.0]));
        assert_eq!((floats.elements(), floats.size()), (2, 8));
    }

    #[test]
    fn half_floats_are_widened() {
        let half = Tensor::from_bytes("h", DataType::Float16, &[1], vec![0x00, 0x3e]);
        assert_eq!(half.f32s(), Some(vec![1.5]));
    }

    #[test]
    fn bytes_that_do_not_fit_the_dims_give_nothing() {
        assert_eq!(Tensor::from_bytes("x", DataType::Int64, &[2], vec![0; 15]).i64s(), None);
        assert_eq!(Tensor::from_bytes("x", DataType::Float, &[3], vec![0; 8]).f32s(), None);
    }
}
