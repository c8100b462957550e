//! Which numbers of a weight become zero, decided while it streams by.

use super::select::Threshold;
use stats::SplitMix;
use std::sync::Arc;

/// Elements that are made at once, about: large enough to stream, small enough for the caches.
const PIECE: usize = 1 << 18;

/// By how much the numbers of a weight count beside their magnitude.
#[derive(Debug, Clone)]
pub(crate) enum Factors {
    /// All alike.
    One,
    /// One for each index along all axes but the last.
    Rows(Arc<[f32]>),
    /// One for each index along the last axis.
    Columns(Arc<[f32]>),
}

/// Which numbers become zero.
#[derive(Debug, Clone)]
pub(crate) enum Mask {
    /// Those whose score is below a threshold, and the first few that reach it exactly.
    Below { threshold: Threshold, factors: Factors },
    /// So many of all, drawn from a seed.
    Random { seed: u64, zeroed: u64 },
    /// All but the `keep` largest of every `of` along the first or the last axis of a matrix.
    Groups { keep: usize, of: usize, along: usize },
}

impl Mask {
    /// Hands over the new bytes in order, a piece at a time.
    pub(crate) fn run<E>(
        &self,
        bytes: &[u8],
        dims: &[usize],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = dims.last().copied().unwrap_or(1).max(1);
        let elements = bytes.as_chunks::<4>().0;
        let mut values: Vec<f32> = Vec::new();
        let mut out: Vec<u8> = Vec::new();
        let mut emit = |values: &[f32]| {
            out.clear();
            out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            sink(&out)
        };
        let read = |values: &mut Vec<f32>, piece: &[[u8; 4]]| {
            values.clear();
            values.extend(piece.iter().map(|element| f32::from_le_bytes(*element)));
        };
        match self {
            Mask::Below { threshold, factors } => {
                let mut ties = threshold.ties;
                let rows_at_once = (PIECE / columns).max(1);
                for (at, piece) in elements.chunks(rows_at_once * columns).enumerate() {
                    read(&mut values, piece);
                    for (row, values) in values.chunks_mut(columns).enumerate() {
                        factors.visit(at * rows_at_once + row, values, &mut |value, score| {
                            if score < threshold.bits || (score == threshold.bits && ties > 0) {
                                ties -= u64::from(score == threshold.bits);
                                *value = 0.0;
                            }
                        });
                    }
                    emit(&values)?;
                }
            }
            Mask::Random { seed, zeroed } => {
                let mut random = SplitMix::new(*seed);
                let (mut left, mut wanted) = (elements.len() as u64, *zeroed);
                for piece in elements.chunks(PIECE) {
                    read(&mut values, piece);
                    for value in &mut values {
                        // Each of those that are left has the same chance to be among those still wanted.
                        if random.below(left) < wanted {
                            *value = 0.0;
                            wanted -= 1;
                        }
                        left -= 1;
                    }
                    emit(&values)?;
                }
            }
            Mask::Groups { keep, of, along } => {
                let (group, at_once) = match along {
                    0 => (of * columns, of * columns * (PIECE / (of * columns)).max(1)),
                    _ => (columns, columns * (PIECE / columns).max(1)),
                };
                for piece in elements.chunks(at_once) {
                    read(&mut values, piece);
                    for block in values.chunks_mut(group) {
                        let (stride, starts) = match along {
                            0 => (columns, 0..columns),
                            _ => (1, 0..block.len() / of),
                        };
                        // What does not fill a group stays.
                        if *along == 0 && block.len() < group {
                            continue;
                        }
                        for start in starts {
                            let start = if *along == 0 { start } else { start * of };
                            zero_group(block, start, stride, *keep, *of);
                        }
                    }
                    emit(&values)?;
                }
            }
        }
        Ok(())
    }
}

impl Factors {
    /// Shows each number of a row with its score; scores order like the numbers they are the bits of.
    pub(super) fn visit(
        &self,
        row: usize,
        values: &mut [f32],
        see: &mut impl FnMut(&mut f32, u32),
    ) {
        match self {
            Factors::One => values.iter_mut().for_each(|value| {
                let score = value.to_bits() & 0x7fff_ffff;
                see(value, score);
            }),
            Factors::Rows(factors) => {
                let factor = factors.get(row).copied().unwrap_or(1.0);
                values.iter_mut().for_each(|value| {
                    let score = (value.abs() * factor).to_bits();
                    see(value, score);
                });
            }
            Factors::Columns(factors) => {
                values.iter_mut().zip(factors.iter()).for_each(|(value, factor)| {
                    let score = (value.abs() * factor).to_bits();
                    see(value, score);
                });
            }
        }
    }
}

/// Sets all but the `keep` largest of a group to zero.
fn zero_group(values: &mut [f32], start: usize, stride: usize, keep: usize, of: usize) {
    let mut order = [0usize; 64];
    let order = &mut order[..of];
    order.iter_mut().enumerate().for_each(|(place, entry)| *entry = place);
    // Groups are of a handful: sorting one is all there is to do. Of equals the first stays.
    let size = |place: &usize| values[start + place * stride].abs();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    for place in &order[keep..] {
        values[start + place * stride] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mask: &Mask, values: &[f32], dims: &[usize]) -> Vec<f32> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut made = Vec::new();
        mask.run::<()>(&bytes, dims, &mut |piece| {
            made.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        made.as_chunks::<4>().0.iter().map(|c| f32::from_le_bytes(*c)).collect()
    }

    #[test]
    fn groups_lie_along_the_axis_that_is_summed() {
        let values = [1.0, 8.0, -2.0, 7.0, 3.0, 6.0, -4.0, 5.0];
        let down = Mask::Groups { keep: 2, of: 4, along: 0 };
        assert_eq!(run(&down, &values, &[4, 2]), [0.0, 8.0, 0.0, 7.0, 3.0, 0.0, -4.0, 0.0]);
        let across = Mask::Groups { keep: 2, of: 4, along: 1 };
        assert_eq!(run(&across, &values, &[2, 4]), [0.0, 8.0, 0.0, 7.0, 0.0, 6.0, 0.0, 5.0]);
    }

    #[test]
    fn what_does_not_fill_a_group_stays() {
        let down = Mask::Groups { keep: 1, of: 2, along: 0 };
        assert_eq!(run(&down, &[1.0, 2.0, 3.0], &[3, 1]), [0.0, 2.0, 3.0]);
        let across = Mask::Groups { keep: 1, of: 2, along: 1 };
        assert_eq!(run(&across, &[1.0, 2.0, 3.0], &[1, 3]), [0.0, 2.0, 3.0]);
    }

    #[test]
    fn exactly_so_many_are_drawn_and_the_same_ones_again() {
        let values = vec![1.0f32; 10_007];
        let mask = Mask::Random { seed: 3, zeroed: 4_000 };
        let made = run(&mask, &values, &[10_007]);
        assert_eq!(made.iter().filter(|value| **value == 0.0).count(), 4_000);
        assert_eq!(made, run(&mask, &values, &[10_007]));
        let other = Mask::Random { seed: 4, zeroed: 4_000 };
        assert_ne!(made, run(&other, &values, &[10_007]));
        let first = made[..1_000].iter().filter(|value| **value == 0.0).count();
        assert!((300..500).contains(&first), "{first} of the first thousand");
    }

    #[test]
    fn equals_of_the_threshold_go_until_there_are_enough() {
        let threshold = Threshold { bits: 2.0f32.to_bits(), ties: 1 };
        let mask = Mask::Below { threshold, factors: Factors::One };
        let made = run(&mask, &[-1.0, 2.0, -2.0, 3.0], &[4]);
        assert_eq!(made, [0.0, 0.0, -2.0, 3.0]);
    }
}
