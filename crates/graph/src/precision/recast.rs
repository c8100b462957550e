//! The numbers of a weight in another format, a piece at a time.

use super::Repack;
use crate::{
    DataType, Tensor,
    prune::{Cutting, Mask},
};
use half::{bf16, f16, slice::HalfFloatSliceExt};
use std::{convert::Infallible, sync::Arc};
use types::Precision;

/// Elements that are made at once: large enough to stream, small enough for the caches.
const PIECE: usize = 1 << 18;

/// The largest 8-bit integer used on either side of 0, so that both sides are alike.
const LARGEST: f32 = 127.0;

/// A 16-bit float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Fp16,
    Bf16,
}

impl Half {
    pub(super) fn dtype(self) -> DataType {
        match self {
            Half::Fp16 => DataType::Float16,
            Half::Bf16 => DataType::Bfloat16,
        }
    }

    pub(super) fn precision(self) -> Precision {
        match self {
            Half::Fp16 => Precision::Fp16,
            Half::Bf16 => Precision::Bf16,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.precision().name()
    }

    /// A tensor of one value, clamped as weights are.
    pub(super) fn scalar(self, value: f32) -> Tensor {
        let mut data = Vec::new();
        let Ok(_) = narrow::<Infallible>(self, &value.to_le_bytes(), &mut |piece| {
            data.extend_from_slice(piece);
            Ok(())
        });
        Tensor::from_bytes("", self.dtype(), &[1], data)
    }

    /// The largest finite value.
    fn largest(self) -> f32 {
        match self {
            Half::Fp16 => f16::MAX.to_f32(),
            Half::Bf16 => bf16::MAX.to_f32(),
        }
    }

    /// The smallest value above 0.
    fn smallest(self) -> f32 {
        match self {
            Half::Fp16 => f16::MIN_POSITIVE_SUBNORMAL.to_f32(),
            Half::Bf16 => bf16::MIN_POSITIVE_SUBNORMAL.to_f32(),
        }
    }

    /// Whether a value would become infinite: it is beyond the middle between the largest and what would follow.
    fn is_beyond(self, value: f32) -> bool {
        let rounded = match self {
            Half::Fp16 => f16::from_f32(value).is_infinite(),
            Half::Bf16 => bf16::from_f32(value).is_infinite(),
        };
        rounded && value.is_finite()
    }
}

/// How a weight becomes another one.
#[derive(Debug, Clone)]
pub(crate) enum Recast {
    /// As it is.
    Copy,
    /// In 16 bits.
    Narrow(Half),
    /// In 8 bits, with a scale for each column of the result.
    Quantise {
        scales: Vec<f32>,
        /// Whether the original is transposed: a row of it is a column of the result.
        turned: bool,
    },
    /// With some numbers set to zero.
    Zero(Mask),
    /// With some rows, columns or the like left out.
    Cut(Cutting),
    /// As somebody else makes it.
    Repack(Arc<dyn Repack>),
}

impl Recast {
    /// Hands over the new bytes in order, a piece at a time, and gives the number of clamped values.
    pub(super) fn run<E>(
        &self,
        bytes: &[u8],
        dims: &[usize],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        match self {
            Recast::Copy => {
                for piece in bytes.chunks(PIECE) {
                    sink(piece)?;
                }
                Ok(0)
            }
            Recast::Narrow(half) => narrow(*half, bytes, sink),
            Recast::Quantise { scales, turned } => {
                let columns = dims.last().copied().unwrap_or(1);
                quantise(bytes, columns, scales, *turned, sink)?;
                Ok(0)
            }
            Recast::Zero(mask) => mask.run(bytes, dims, sink).map(|()| 0),
            Recast::Cut(cutting) => cutting.run(bytes, sink).map(|()| 0),
            Recast::Repack(repack) => {
                let mut result = Ok(());
                repack.run(bytes, &mut |piece| {
                    if result.is_ok() {
                        result = sink(piece);
                    }
                });
                result.map(|()| 0)
            }
        }
    }
}

fn floats(bytes: &[u8]) -> &[[u8; 4]] {
    bytes.as_chunks::<4>().0
}

fn narrow<E>(
    half: Half,
    bytes: &[u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let elements = floats(bytes);
    // A lone number is a constant of a formula, and one that must not become 0: it may be what keeps a divisor from it.
    let lone = elements.len() == 1;
    let mut clamped = 0;
    let mut wide = Vec::with_capacity(PIECE.min(elements.len()));
    let mut out = Vec::with_capacity(2 * wide.capacity());
    for piece in elements.chunks(PIECE) {
        wide.clear();
        wide.extend(piece.iter().map(|element| f32::from_le_bytes(*element)));
        for value in &mut wide {
            let near_zero = lone && *value != 0.0 && value.abs() < half.smallest();
            let beyond = value.abs() >= half.largest() && half.is_beyond(*value);
            if beyond || near_zero {
                let nearest = if beyond { half.largest() } else { half.smallest() };
                *value = nearest.copysign(*value);
                clamped += 1;
            }
        }
        out.clear();
        match half {
            Half::Fp16 => {
                let mut narrow = vec![f16::ZERO; wide.len()];
                narrow.convert_from_f32_slice(&wide);
                out.extend(narrow.iter().flat_map(|value| value.to_le_bytes()));
            }
            Half::Bf16 => {
                let mut narrow = vec![bf16::ZERO; wide.len()];
                narrow.convert_from_f32_slice(&wide);
                out.extend(narrow.iter().flat_map(|value| value.to_le_bytes()));
            }
        }
        sink(&out)?;
    }
    Ok(clamped)
}

/// A scale for each column, so that its largest value becomes 127; `None` if a value is not finite.
///
/// A matrix of `columns` columns lies in `bytes` row by row, or column by column where it is `turned`.
pub(super) fn column_scales(bytes: &[u8], columns: usize, turned: bool) -> Option<Vec<f32>> {
    let elements = floats(bytes);
    let mut largest = vec![0.0f32; columns];
    let mut finite = true;
    let mut see = |largest: &mut f32, element: &[u8; 4]| {
        let value = f32::from_le_bytes(*element).abs();
        finite &= value.is_finite();
        *largest = largest.max(value);
    };
    if columns > 0 && turned {
        let rows = elements.len() / columns;
        for (largest, column) in largest.iter_mut().zip(elements.chunks(rows.max(1))) {
            column.iter().for_each(|element| see(largest, element));
        }
    } else if columns > 0 {
        for row in elements.chunks(columns) {
            largest.iter_mut().zip(row).for_each(|(largest, element)| see(largest, element));
        }
    }
    let scale = |largest: f32| match largest / LARGEST {
        // All of the column is 0, or so small that the scale would be.
        scale if scale < f32::MIN_POSITIVE => f32::MIN_POSITIVE,
        scale => scale,
    };
    finite.then(|| largest.into_iter().map(scale).collect())
}

/// The nearest of the 255 steps.
fn step(value: f32, scale: f32) -> i8 {
    (value / scale).round_ties_even().clamp(-LARGEST, LARGEST) as i8
}

fn quantise<E>(
    bytes: &[u8],
    columns: usize,
    scales: &[f32],
    turned: bool,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let elements = floats(bytes);
    if elements.is_empty() || columns == 0 {
        return Ok(());
    }
    let rows = elements.len() / columns;
    let at_once = (PIECE / columns).max(1);
    let mut out = Vec::new();
    for first in (0..rows).step_by(at_once) {
        let count = at_once.min(rows - first);
        out.clear();
        out.resize(count * columns, 0u8);
        if turned {
            for (column, scale) in scales.iter().enumerate() {
                let start = column * rows + first;
                for (row, element) in elements[start..start + count].iter().enumerate() {
                    let value = f32::from_le_bytes(*element);
                    out[row * columns + column] = step(value, *scale) as u8;
                }
            }
        } else {
            let piece = &elements[first * columns..(first + count) * columns];
            for (made, row) in out.chunks_mut(columns).zip(piece.chunks(columns)) {
                for ((made, element), scale) in made.iter_mut().zip(row).zip(scales) {
                    *made = step(f32::from_le_bytes(*element), *scale) as u8;
                }
            }
        }
        sink(&out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn run(recast: &Recast, values: &[f32], dims: &[usize]) -> (Vec<u8>, u64) {
        let mut made = Vec::new();
        let clamped = recast.run::<Infallible>(&bytes_of(values), dims, &mut |piece| {
            made.extend_from_slice(piece);
            Ok(())
        });
        (made, clamped.unwrap())
    }

    fn halves(half: Half, values: &[f32]) -> (Vec<f64>, u64) {
        let (bytes, clamped) = run(&Recast::Narrow(half), values, &[values.len()]);
        (crate::tensor::numbers(half.dtype(), &bytes, values.len()).unwrap(), clamped)
    }

    #[test]
    fn what_is_beyond_the_range_becomes_the_last_finite_value() {
        let masks = [f32::MIN, -1e9, 65519.0, 65520.0, f32::NEG_INFINITY, 1.5];
        let (values, clamped) = halves(Half::Fp16, &masks);
        assert_eq!(values, [-65504.0, -65504.0, 65504.0, 65504.0, f64::NEG_INFINITY, 1.5]);
        assert_eq!(clamped, 3);
        let (values, clamped) = halves(Half::Bf16, &masks);
        assert_eq!(values[0], f64::from(bf16::MIN));
        assert_eq!((values[1], clamped), (f64::from(bf16::from_f32(-1e9)), 1));
        assert!(halves(Half::Fp16, &[f32::NAN, 0.0]).0[0].is_nan());
    }

    #[test]
    fn a_lone_small_number_does_not_become_nothing() {
        assert_eq!(halves(Half::Fp16, &[1e-12]), (vec![2f64.powi(-24)], 1));
        assert_eq!(halves(Half::Fp16, &[-1e-12]), (vec![-2f64.powi(-24)], 1));
        assert_eq!(halves(Half::Fp16, &[0.0]), (vec![0.0], 0));
        assert_eq!(halves(Half::Fp16, &[1e-12, 0.0]), (vec![0.0, 0.0], 0));
        assert_eq!(halves(Half::Bf16, &[1e-12]).1, 0);
    }

    #[test]
    fn long_weights_come_in_pieces_and_whole() {
        let values: Vec<f32> = (0..PIECE + 5).map(|n| (n % 2048) as f32).collect();
        let (made, _) = halves(Half::Fp16, &values);
        assert!(made.iter().zip(&values).all(|(made, value)| *made == f64::from(*value)));
        let (copied, _) = run(&Recast::Copy, &values, &[values.len()]);
        assert_eq!(copied, bytes_of(&values));
    }

    #[test]
    fn a_column_of_zeros_and_one_that_is_not_finite() {
        let scales = column_scales(&bytes_of(&[0.0, 1.27, 0.0, -2.54]), 2, false).unwrap();
        assert_eq!(scales[0], f32::MIN_POSITIVE);
        assert!((scales[1] - 0.02).abs() < 1e-9);
        assert_eq!(column_scales(&bytes_of(&[0.0, f32::INFINITY]), 2, false), None);
        assert_eq!(column_scales(&bytes_of(&[f32::NAN, 0.0]), 1, false), None);
    }

    fn matrix() -> impl Strategy<Value = (usize, Vec<f32>)> {
        (1usize..6, 1usize..9).prop_flat_map(|(rows, columns)| {
            // Any exponent: weights are small, but what is written must hold for all of them.
            let value =
                (-1.0f32..1.0, -30i32..30).prop_map(|(x, exponent)| x * 2f32.powi(exponent));
            (Just(columns), prop::collection::vec(value, rows * columns))
        })
    }

    proptest! {
        #[test]
        fn no_weight_moves_by_more_than_half_a_step((columns, values) in matrix(), turned: bool) {
            let rows = values.len() / columns;
            let scales = column_scales(&bytes_of(&values), columns, turned).unwrap();
            let recast = Recast::Quantise { scales: scales.clone(), turned };
            let (made, _) = run(&recast, &values, &[rows, columns]);
            prop_assert_eq!(made.len(), values.len());
            for row in 0..rows {
                for column in 0..columns {
                    let place = if turned { column * rows + row } else { row * columns + column };
                    let scale = f64::from(scales[column]);
                    let back = f64::from(made[row * columns + column] as i8) * scale;
                    let moved = (back - f64::from(values[place])).abs();
                    // The quotient is rounded to a 32-bit float before it is rounded to a step.
                    prop_assert!(moved <= scale * (0.5 + 1e-5), "{moved} of {scale}");
                }
            }
        }
    }
}
