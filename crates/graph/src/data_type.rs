//! How wide an element is, and which number ONNX gives it.

use crate::DataType;

/// An element type number that ONNX has and we do not, or that nobody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown element type `{0}`")]
pub struct UnknownDataType(pub i32);

impl TryFrom<i32> for DataType {
    type Error = UnknownDataType;

    fn try_from(number: i32) -> Result<DataType, UnknownDataType> {
        DataType::ALL
            .into_iter()
            .find(|dtype| *dtype as i32 == number)
            .ok_or(UnknownDataType(number))
    }
}

impl DataType {
    /// Every element type in the order of ONNX's numbers.
    pub const ALL: [DataType; 24] = [
        DataType::Undefined,
        DataType::Float,
        DataType::Uint8,
        DataType::Int8,
        DataType::Uint16,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::String,
        DataType::Bool,
        DataType::Float16,
        DataType::Double,
        DataType::Uint32,
        DataType::Uint64,
        DataType::Complex64,
        DataType::Complex128,
        DataType::Bfloat16,
        DataType::Float8E4m3fn,
        DataType::Float8E4m3fnuz,
        DataType::Float8E5m2,
        DataType::Float8E5m2fnuz,
        DataType::Uint4,
        DataType::Int4,
        DataType::Float4E2m1,
    ];

    /// Bits of one element; 0 where the width is not fixed (strings, undefined).
    #[must_use]
    pub fn size_bits(self) -> usize {
        match self {
            DataType::Undefined | DataType::String => 0,
            DataType::Uint4 | DataType::Int4 | DataType::Float4E2m1 => 4,
            DataType::Uint8
            | DataType::Int8
            | DataType::Bool
            | DataType::Float8E4m3fn
            | DataType::Float8E4m3fnuz
            | DataType::Float8E5m2
            | DataType::Float8E5m2fnuz => 8,
            DataType::Uint16 | DataType::Int16 | DataType::Float16 | DataType::Bfloat16 => 16,
            DataType::Float | DataType::Int32 | DataType::Uint32 => 32,
            DataType::Double | DataType::Int64 | DataType::Uint64 | DataType::Complex64 => 64,
            DataType::Complex128 => 128,
        }
    }

    /// Bytes of `elements` elements packed as ONNX packs them, held at the largest number.
    #[must_use]
    pub fn size(self, elements: usize) -> u64 {
        let bits = (elements as u128) * (self.size_bits() as u128);
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }

    /// Whether it is a floating point type of any width.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(
            self,
            DataType::Float
                | DataType::Double
                | DataType::Float16
                | DataType::Bfloat16
                | DataType::Float8E4m3fn
                | DataType::Float8E4m3fnuz
                | DataType::Float8E5m2
                | DataType::Float8E5m2fnuz
                | DataType::Float4E2m1
        )
    }

    /// Whether quantised weights are kept in it.
    #[must_use]
    pub fn is_quantised(self) -> bool {
        matches!(self, DataType::Int8 | DataType::Uint8 | DataType::Int4 | DataType::Uint4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for dtype in DataType::ALL {
            assert_eq!(DataType::try_from(dtype as i32), Ok(dtype));
        }
        assert_eq!(DataType::try_from(99), Err(UnknownDataType(99)));
    }

    #[test]
    fn four_bit_elements_share_a_byte() {
        assert_eq!(DataType::Int4.size(3), 2);
        assert_eq!(DataType::Float.size(3), 12);
        assert_eq!(DataType::Complex128.size(usize::MAX), u64::MAX);
    }
}
