//! Block formats: so many numbers together with their scales, and how they become floats again.

use half::{bf16, f16};
use types::Precision;

/// How the numbers of a tensor are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockFormat {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// Numbers in a block of the simple formats, and in one of those with scales of scales.
const SMALL: usize = 32;
const LARGE: usize = 256;

/// The most numbers a block has.
pub(crate) const LARGEST_BLOCK: usize = LARGE;

impl BlockFormat {
    /// The format with this number in files.
    pub(in crate::gguf) fn of(kind: u32) -> Option<BlockFormat> {
        Some(match kind {
            0 => BlockFormat::F32,
            1 => BlockFormat::F16,
            2 => BlockFormat::Q4_0,
            3 => BlockFormat::Q4_1,
            6 => BlockFormat::Q5_0,
            7 => BlockFormat::Q5_1,
            8 => BlockFormat::Q8_0,
            12 => BlockFormat::Q4K,
            13 => BlockFormat::Q5K,
            14 => BlockFormat::Q6K,
            30 => BlockFormat::Bf16,
            _ => return None,
        })
    }

    /// Its name in llama.cpp.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlockFormat::F32 => "F32",
            BlockFormat::F16 => "F16",
            BlockFormat::Bf16 => "BF16",
            BlockFormat::Q4_0 => "Q4_0",
            BlockFormat::Q4_1 => "Q4_1",
            BlockFormat::Q5_0 => "Q5_0",
            BlockFormat::Q5_1 => "Q5_1",
            BlockFormat::Q8_0 => "Q8_0",
            BlockFormat::Q4K => "Q4_K",
            BlockFormat::Q5K => "Q5_K",
            BlockFormat::Q6K => "Q6_K",
        }
    }

    /// The names of all formats.
    pub(crate) const NAMES: &str = "F32, F16, BF16, Q8_0, Q5_0, Q5_1, Q4_0, Q4_1, Q4_K, Q5_K, Q6_K";

    /// Numbers in a block.
    pub(crate) fn elements(self) -> usize {
        match self {
            BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => 1,
            BlockFormat::Q4K | BlockFormat::Q5K | BlockFormat::Q6K => LARGE,
            _ => SMALL,
        }
    }

    /// Bytes of a block.
    pub(crate) fn bytes(self) -> usize {
        match self {
            BlockFormat::F32 => 4,
            BlockFormat::F16 | BlockFormat::Bf16 => 2,
            BlockFormat::Q4_0 => 18,
            BlockFormat::Q4_1 => 20,
            BlockFormat::Q5_0 => 22,
            BlockFormat::Q5_1 => 24,
            BlockFormat::Q8_0 => 34,
            BlockFormat::Q4K => 144,
            BlockFormat::Q5K => 176,
            BlockFormat::Q6K => 210,
        }
    }

    /// The float format it is, if it is one.
    pub(crate) fn precision(self) -> Option<Precision> {
        match self {
            BlockFormat::F32 => Some(Precision::Fp32),
            BlockFormat::F16 => Some(Precision::Fp16),
            BlockFormat::Bf16 => Some(Precision::Bf16),
            _ => None,
        }
    }

    /// The numbers of whole blocks; `values` has as many places as `bytes` has numbers.
    pub(crate) fn read(self, bytes: &[u8], values: &mut [f32]) {
        let blocks = bytes.chunks_exact(self.bytes()).zip(values.chunks_exact_mut(self.elements()));
        match self {
            BlockFormat::F32 => {
                blocks.for_each(|(b, x)| x[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }
            BlockFormat::F16 => blocks.for_each(|(b, x)| x[0] = half(b)),
            BlockFormat::Bf16 => {
                blocks.for_each(|(b, x)| x[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32())
            }
            BlockFormat::Q4_0 => {
                blocks.for_each(|(b, x)| nibbles(&b[2..], x, half(b), -8.0 * half(b)))
            }
            BlockFormat::Q4_1 => {
                blocks.for_each(|(b, x)| nibbles(&b[4..], x, half(b), half(&b[2..])))
            }
            BlockFormat::Q5_0 => {
                blocks.for_each(|(b, x)| five_bits(&b[2..], x, half(b), -16.0 * half(b)))
            }
            BlockFormat::Q5_1 => {
                blocks.for_each(|(b, x)| five_bits(&b[4..], x, half(b), half(&b[2..])))
            }
            BlockFormat::Q8_0 => blocks.for_each(|(b, x)| {
                let scale = half(b);
                for (x, &q) in x.iter_mut().zip(&b[2..]) {
                    *x = scale * f32::from(q as i8);
                }
            }),
            BlockFormat::Q4K => blocks.for_each(|(b, x)| {
                let (scales, low) = b[4..].split_at(12);
                scaled_twice(half(b), half(&b[2..]), scales, low, None, x);
            }),
            BlockFormat::Q5K => blocks.for_each(|(b, x)| {
                let (scales, rest) = b[4..].split_at(12);
                let (high, low) = rest.split_at(32);
                scaled_twice(half(b), half(&b[2..]), scales, low, Some(high), x);
            }),
            BlockFormat::Q6K => blocks.for_each(|(b, x)| six_bits(b, x)),
        }
    }
}

pub(super) fn half(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// Sixteen bytes hold the first sixteen numbers in their low halves and the others in their high halves.
fn nibbles(bytes: &[u8], values: &mut [f32], scale: f32, least: f32) {
    let (first, second) = values.split_at_mut(SMALL / 2);
    for ((first, second), &q) in first.iter_mut().zip(second).zip(bytes) {
        *first = scale * f32::from(q & 15) + least;
        *second = scale * f32::from(q >> 4) + least;
    }
}

/// As `nibbles`, with a fifth bit for each number in four bytes before them.
fn five_bits(bytes: &[u8], values: &mut [f32], scale: f32, least: f32) {
    let (high, low) = bytes.split_at(4);
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    let bit = |index: usize| ((high >> index & 1) as u8) << 4;
    let (first, second) = values.split_at_mut(SMALL / 2);
    for (index, ((first, second), &q)) in first.iter_mut().zip(second).zip(low).enumerate() {
        *first = scale * f32::from(q & 15 | bit(index)) + least;
        *second = scale * f32::from(q >> 4 | bit(index + SMALL / 2)) + least;
    }
}

/// Eight groups of 32, each with a scale and a minimum of six bits; `high` has the fifth bit of each number.
fn scaled_twice(
    scale: f32,
    minimum: f32,
    scales: &[u8],
    low: &[u8],
    high: Option<&[u8]>,
    values: &mut [f32],
) {
    for (pair, (values, low)) in values.chunks_exact_mut(64).zip(low.chunks_exact(32)).enumerate() {
        let (first, second) = values.split_at_mut(32);
        for (group, values, shift) in [(2 * pair, first, 0), (2 * pair + 1, second, 4)] {
            let (step, least) = six_bit_pair(scales, group);
            let (step, least) = (scale * f32::from(step), minimum * f32::from(least));
            for (index, (value, q)) in values.iter_mut().zip(low).enumerate() {
                let fifth = high.map_or(0, |high| (high[index] >> group & 1) << 4);
                *value = step * f32::from(q >> shift & 15 | fifth) - least;
            }
        }
    }
}

/// The scale and the minimum of one of eight groups, packed into twelve bytes.
pub(super) fn six_bit_pair(packed: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (packed[group] & 63, packed[group + 4] & 63);
    }
    let high = |byte: u8| (byte >> 6) << 4;
    let both = packed[group + 4];
    (both & 15 | high(packed[group - 4]), both >> 4 | high(packed[group]))
}

/// Sixteen groups of 16 with a scale of eight bits each; four bits of each number apart from the other two.
fn six_bits(block: &[u8], values: &mut [f32]) {
    let (low, rest) = block.split_at(128);
    let (high, rest) = rest.split_at(64);
    let (scales, scale) = rest.split_at(16);
    let scale = half(scale);
    for (part, values) in values.chunks_exact_mut(128).enumerate() {
        let (low, high) = (&low[64 * part..], &high[32 * part..]);
        let scales = &scales[8 * part..];
        for (quarter, values) in values.chunks_exact_mut(32).enumerate() {
            for (index, value) in values.iter_mut().enumerate() {
                let low = low[32 * (quarter % 2) + index] >> (4 * (quarter / 2)) & 15;
                let q = low | (high[index] >> (2 * quarter) & 3) << 4;
                let step = scale * f32::from(scales[2 * quarter + index / 16] as i8);
                *value = step * (f32::from(q) - 32.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [u32; 11] = [0, 1, 30, 2, 3, 6, 7, 8, 12, 13, 14];

    #[test]
    fn every_format_has_its_number_and_its_name() {
        for kind in ALL {
            let format = BlockFormat::of(kind).unwrap();
            assert!(BlockFormat::NAMES.split(", ").any(|name| name == format.name()));
            assert!(format.elements() <= LARGEST_BLOCK);
        }
        assert_eq!(BlockFormat::NAMES.split(", ").count(), ALL.len());
        assert_eq!(BlockFormat::of(99), None);
    }

    #[test]
    fn numbers_of_four_and_five_bits_lie_where_they_should() {
        let mut block = f16::from_f32(0.5).to_le_bytes().to_vec();
        block.extend((0..16).map(|index| index | (15 - index) << 4));
        let mut values = [0.0; 32];
        BlockFormat::Q4_0.read(&block, &mut values);
        assert_eq!((values[0], values[15], values[16], values[31]), (-4.0, 3.5, 3.5, -4.0));
        let mut block = [f16::from_f32(2.0), f16::from_f32(-1.0)].map(f16::to_le_bytes).concat();
        block.extend((1u32 << 31 | 1).to_le_bytes());
        block.extend([0x21; 16]);
        BlockFormat::Q5_1.read(&block, &mut values);
        assert_eq!((values[0], values[1], values[16], values[31]), (33.0, 1.0, 3.0, 35.0));
    }
}
