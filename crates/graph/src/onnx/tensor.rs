//! A tensor on the wire and in our hands: eight ways to write numbers become little-endian bytes.

use super::{ReadError, external, proto::EXTERNAL, proto::TensorProto};
use crate::{DataType, Tensor, TensorData};
use bytes::Bytes;

/// A tensor from its wire form; external locations are checked, not opened.
pub(crate) fn tensor_from(proto: TensorProto) -> Result<Tensor, ReadError> {
    let name = proto.name.clone().unwrap_or_default();
    let wrong = |why: String| ReadError::Tensor { name: name.clone(), why };
    let dtype = DataType::try_from(proto.data_type.unwrap_or(0))
        .map_err(|error| wrong(error.to_string()))?;
    let dims = proto
        .dims
        .iter()
        .map(|dim| usize::try_from(*dim))
        .collect::<Result<Vec<usize>, _>>()
        .map_err(|_| wrong(format!("a dimension is negative: `{:?}`", proto.dims)))?;
    let elements = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    let elements = elements.ok_or_else(|| wrong(format!("`{dims:?}` has too many elements")))?;
    let data = if proto.data_location == Some(EXTERNAL) {
        external::location(&name, &proto.external_data, dtype.size(elements))?
    } else if dtype == DataType::String {
        TensorData::Strings(proto.string_data.iter().map(|s| s.to_vec()).collect())
    } else {
        TensorData::Inline(inline(proto, dtype))
    };
    let (present, needed, unit) = match &data {
        TensorData::Inline(bytes) => (bytes.len() as u64, dtype.size(elements), "bytes"),
        TensorData::External { length, .. } => (*length, dtype.size(elements), "bytes"),
        TensorData::Strings(strings) => (strings.len() as u64, elements as u64, "strings"),
    };
    if present != needed {
        let why = format!("`{dims:?}` needs {needed} {unit}, but {present} are there");
        return Err(wrong(why));
    }
    Ok(Tensor { name, dtype, dims, data })
}

/// The bytes of a tensor that is not external and not of strings.
fn inline(proto: TensorProto, dtype: DataType) -> Bytes {
    if let Some(raw) = proto.raw_data {
        return raw;
    }
    fn collect<T, const N: usize>(values: &[T], convert: impl Fn(&T) -> [u8; N]) -> Bytes {
        values.iter().flat_map(convert).collect::<Vec<u8>>().into()
    }
    let integers = &proto.int32_data;
    match dtype {
        // A complex number is two entries, the real part first.
        DataType::Float | DataType::Complex64 => collect(&proto.float_data, |v| v.to_le_bytes()),
        DataType::Double | DataType::Complex128 => collect(&proto.double_data, |v| v.to_le_bytes()),
        DataType::Int64 => collect(&proto.int64_data, |v| v.to_le_bytes()),
        DataType::Uint64 => collect(&proto.uint64_data, |v| v.to_le_bytes()),
        DataType::Uint32 => collect(&proto.uint64_data, |v| (*v as u32).to_le_bytes()),
        DataType::Int32 => collect(integers, |v| v.to_le_bytes()),
        // 16-bit floats are stored as their bits.
        DataType::Int16 | DataType::Uint16 | DataType::Float16 | DataType::Bfloat16 => {
            collect(integers, |v| (*v as u16).to_le_bytes())
        }
        // One entry a byte; for 4-bit types a byte holds two elements.
        DataType::Int8
        | DataType::Uint8
        | DataType::Bool
        | DataType::Float8E4m3fn
        | DataType::Float8E4m3fnuz
        | DataType::Float8E5m2
        | DataType::Float8E5m2fnuz
        | DataType::Uint4
        | DataType::Int4
        | DataType::Float4E2m1 => collect(integers, |v| (*v as u8).to_le_bytes()),
        DataType::Undefined | DataType::String => Bytes::new(),
    }
}

/// The wire form of a tensor, without its raw bytes where it is inline: those are `raw` of the answer.
pub(crate) fn tensor_to(tensor: &Tensor) -> (TensorProto, Bytes) {
    let mut proto = TensorProto {
        dims: tensor.dims.iter().map(|dim| *dim as i64).collect(),
        data_type: Some(tensor.dtype as i32),
        name: (!tensor.name.is_empty()).then(|| tensor.name.clone()),
        ..TensorProto::default()
    };
    let mut raw = Bytes::new();
    match &tensor.data {
        TensorData::Inline(bytes) => raw = bytes.clone(),
        TensorData::Strings(strings) => {
            proto.string_data = strings.iter().map(|s| Bytes::copy_from_slice(s)).collect();
        }
        TensorData::External { path, offset, length } => {
            proto.data_location = Some(EXTERNAL);
            proto.external_data = external::entries(path, *offset, *length);
        }
    }
    (proto, raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proto(dtype: DataType, dims: &[i64]) -> TensorProto {
        TensorProto { dims: dims.to_vec(), data_type: Some(dtype as i32), ..TensorProto::default() }
    }

    fn bytes(proto: TensorProto) -> Vec<u8> {
        match tensor_from(proto).unwrap().data {
            TensorData::Inline(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_way_to_write_numbers_becomes_bytes() {
        let floats = TensorProto { float_data: vec![1.5], ..proto(DataType::Float, &[1]) };
        assert_eq!(bytes(floats), 1.5f32.to_le_bytes());
        let doubles = TensorProto { double_data: vec![2.5], ..proto(DataType::Double, &[]) };
        assert_eq!(bytes(doubles), 2.5f64.to_le_bytes());
        let longs = TensorProto { int64_data: vec![-2], ..proto(DataType::Int64, &[1]) };
        assert_eq!(bytes(longs), (-2i64).to_le_bytes());
        let unsigned = TensorProto { uint64_data: vec![7], ..proto(DataType::Uint32, &[1]) };
        assert_eq!(bytes(unsigned), 7u32.to_le_bytes());
        let halves = TensorProto { int32_data: vec![0x3e00], ..proto(DataType::Float16, &[1]) };
        assert_eq!(bytes(halves), [0x00, 0x3e]);
        let flags = TensorProto { int32_data: vec![1, 0], ..proto(DataType::Bool, &[2]) };
        assert_eq!(bytes(flags), [1, 0]);
        let signed = TensorProto { int32_data: vec![-1], ..proto(DataType::Int8, &[1]) };
        assert_eq!(bytes(signed), [0xff]);
        let fours = TensorProto { int32_data: vec![0x21, 0x03], ..proto(DataType::Int4, &[3]) };
        assert_eq!(bytes(fours), [0x21, 0x03]);
        let complex =
            TensorProto { float_data: vec![1.0, 2.0], ..proto(DataType::Complex64, &[1]) };
        assert_eq!(bytes(complex).len(), 8);
    }

    #[test]
    fn strings_stay_strings() {
        let strings = TensorProto {
            string_data: vec![Bytes::from_static(b"ab"), Bytes::new()],
            ..proto(DataType::String, &[2])
        };
        let tensor = tensor_from(strings).unwrap();
        assert_eq!(tensor.strings(), Some(&[b"ab".to_vec(), vec![]][..]));
    }

    #[test]
    fn too_few_bytes_and_impossible_dims_are_named() {
        let short = TensorProto {
            name: Some("w".into()),
            raw_data: Some(Bytes::from_static(&[0; 7])),
            ..proto(DataType::Float, &[2])
        };
        let error = tensor_from(short).unwrap_err();
        assert_eq!(error.to_string(), "tensor `w`: `[2]` needs 8 bytes, but 7 are there");
        assert!(tensor_from(proto(DataType::Float, &[-1])).is_err());
        assert!(tensor_from(proto(DataType::Float, &[i64::MAX, i64::MAX])).is_err());
    }
}
