//! The codes of a block instead of its numbers: each is `scale · code + least`, with a scale and a least for 16 or 32 of them.

use super::blocks::{BlockFormat, half, six_bit_pair};

/// The most groups that a block has.
const GROUPS: usize = 16;

/// One block, taken apart.
pub(crate) struct Codes {
    /// By number, 0 to 255.
    pub(crate) codes: [u8; super::LARGEST_BLOCK],
    /// By group.
    pub(crate) scales: [f32; GROUPS],
    /// By group.
    pub(crate) least: [f32; GROUPS],
}

/// How a format's blocks come apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Numbers that share a scale.
    pub(crate) size: usize,
    /// Whether codes have more than 4 bits.
    pub(crate) is_wide: bool,
    /// Whether `least` is −8 times the scale in every group.
    pub(crate) is_centred: bool,
}

impl BlockFormat {
    /// How its blocks come apart; `None` for floats.
    pub(crate) fn groups(self) -> Option<Groups> {
        let groups = |size, is_wide| Some(Groups { size, is_wide, is_centred: false });
        match self {
            BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => None,
            BlockFormat::Q4_0 => Some(Groups { size: 32, is_wide: false, is_centred: true }),
            BlockFormat::Q4_1 | BlockFormat::Q4K => groups(32, false),
            BlockFormat::Q5_0 | BlockFormat::Q5_1 | BlockFormat::Q5K | BlockFormat::Q8_0 => {
                groups(32, true)
            }
            BlockFormat::Q6K => groups(16, true),
        }
    }

    /// Takes one block apart.
    pub(crate) fn take_apart(self, block: &[u8], out: &mut Codes) {
        let Codes { codes, scales, least } = out;
        match self {
            BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => {}
            BlockFormat::Q4_0 => {
                (scales[0], least[0]) = (half(block), -8.0 * half(block));
                nibbles(&block[2..18], codes);
            }
            BlockFormat::Q4_1 => {
                (scales[0], least[0]) = (half(block), half(&block[2..]));
                nibbles(&block[4..20], codes);
            }
            BlockFormat::Q5_0 => {
                (scales[0], least[0]) = (half(block), -16.0 * half(block));
                five_bits(&block[2..22], codes);
            }
            BlockFormat::Q5_1 => {
                (scales[0], least[0]) = (half(block), half(&block[2..]));
                five_bits(&block[4..24], codes);
            }
            BlockFormat::Q8_0 => {
                (scales[0], least[0]) = (half(block), -128.0 * half(block));
                for (code, q) in codes.iter_mut().zip(&block[2..34]) {
                    *code = q ^ 0x80;
                }
            }
            BlockFormat::Q4K | BlockFormat::Q5K => {
                let (scale, minimum) = (half(block), half(&block[2..]));
                let (packed, rest) = block[4..].split_at(12);
                let (high, low) = match self {
                    BlockFormat::Q5K => rest.split_at(32),
                    _ => (&[][..], rest),
                };
                for group in 0..8 {
                    let (step, below) = six_bit_pair(packed, group);
                    scales[group] = scale * f32::from(step);
                    least[group] = -(minimum * f32::from(below));
                    for index in 0..32 {
                        let q = low[32 * (group / 2) + index] >> (4 * (group % 2)) & 15;
                        let fifth = high.get(index).map_or(0, |high| (high >> group & 1) << 4);
                        codes[32 * group + index] = q | fifth;
                    }
                }
            }
            BlockFormat::Q6K => {
                let (low, rest) = block.split_at(128);
                let (high, rest) = rest.split_at(64);
                let (steps, scale) = rest.split_at(16);
                let scale = half(scale);
                for (group, step) in steps.iter().enumerate().take(GROUPS) {
                    scales[group] = scale * f32::from(*step as i8);
                    least[group] = -32.0 * scales[group];
                }
                for (place, code) in codes.iter_mut().enumerate() {
                    let (part, inside) = (place / 128, place % 128);
                    let (quarter, index) = (inside / 32, inside % 32);
                    let low =
                        low[64 * part + 32 * (quarter % 2) + index] >> (4 * (quarter / 2)) & 15;
                    *code = low | (high[32 * part + index] >> (2 * quarter) & 3) << 4;
                }
            }
        }
    }
}

impl Codes {
    pub(crate) fn new() -> Codes {
        Codes { codes: [0; super::LARGEST_BLOCK], scales: [0.0; GROUPS], least: [0.0; GROUPS] }
    }
}

fn nibbles(bytes: &[u8], codes: &mut [u8]) {
    for (index, q) in bytes.iter().enumerate() {
        (codes[index], codes[index + 16]) = (q & 15, q >> 4);
    }
}

fn five_bits(bytes: &[u8], codes: &mut [u8]) {
    let (high, low) = bytes.split_at(4);
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    nibbles(low, codes);
    for (index, code) in codes.iter_mut().enumerate().take(32) {
        *code |= ((high >> index & 1) as u8) << 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix;

    #[test]
    fn codes_scales_and_least_are_the_numbers_of_every_format() {
        let mut random = SplitMix::new(11);
        for kind in [2, 3, 6, 7, 8, 12, 13, 14] {
            let format = BlockFormat::of(kind).unwrap();
            let groups = format.groups().unwrap();
            for _ in 0..200 {
                let mut block: Vec<u8> =
                    (0..format.bytes()).map(|_| random.below(256) as u8).collect();
                // Halves that are no infinities.
                let halves: &[usize] = if kind == 14 { &[209] } else { &[1, 3] };
                halves.iter().for_each(|at| block[*at] &= 0x3b);
                let mut wanted = vec![0.0; format.elements()];
                format.read(&block, &mut wanted);
                let mut found = Codes::new();
                format.take_apart(&block, &mut found);
                for (place, wanted) in wanted.iter().enumerate() {
                    let group = place / groups.size;
                    let code = found.codes[place];
                    assert!(groups.is_wide || code < 16);
                    let value = found.scales[group] * f32::from(code) + found.least[group];
                    let near = 1e-5 * found.least[group].abs().max(wanted.abs()).max(1e-6);
                    assert!((value - wanted).abs() <= near, "{}: {value} {wanted}", format.name());
                    let centre = -8.0 * found.scales[group];
                    assert!(!groups.is_centred || found.least[group] == centre);
                }
            }
        }
    }
}
