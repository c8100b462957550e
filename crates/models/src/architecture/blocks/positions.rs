//! Where a token stands, computed inside the graph so that no table limits the length.

use crate::{
    Init,
    architecture::{
        blocks::embed,
        description::RotaryScaling,
        draft::{Draft, Value},
    },
};
use graph::DataType;

/// 0, 1, 2, … as long as the ids are.
pub(in crate::architecture) fn sequence_positions(draft: &mut Draft, ids: &str) -> Value {
    let shape = draft.op("Shape", &[ids], &[]);
    let length = draft.pick(&shape, 1, 0);
    let (start, step) = (draft.integer(0), draft.integer(1));
    draft.op("Range", &[&start, &length, &step], &[])
}

/// 0, 1, 2, … up to the last of these positions: where everything stands that a cache holds, and what is new.
pub(in crate::architecture) fn positions_with_past(draft: &mut Draft, positions: &str) -> Value {
    let last = draft.pick(positions, -1, 0);
    let (start, step) = (draft.integer(0), draft.integer(1));
    let length = draft.op("Add", &[&last, &step], &[]);
    draft.op("Range", &[&start, &length, &step], &[])
}

/// Places counted over real tokens only, from one above the padding token's id; padding stays at that id.
pub(in crate::architecture) fn count_real_tokens(
    draft: &mut Draft,
    ids: &str,
    padding: i64,
) -> Value {
    let (padding, axis) = (draft.integer(padding), draft.integer(1));
    let equal = draft.op("Equal", &[ids, &padding], &[]);
    let real = draft.op("Not", &[&equal], &[]);
    let real = draft.cast(&real, DataType::Int64);
    let counted = draft.op("CumSum", &[&real, &axis], &[]);
    let counted = draft.op("Mul", &[&counted, &real], &[]);
    draft.op("Add", &[&counted, &padding], &[])
}

/// Cosines and sines for rotary positions, each `[sequence, head_dim]`.
#[derive(Debug, Clone)]
pub(in crate::architecture) struct RotaryTables {
    pub(in crate::architecture) cosine: Value,
    pub(in crate::architecture) sine: Value,
}

pub(in crate::architecture) fn rotary_tables(
    draft: &mut Draft,
    positions: &str,
    head_dim: usize,
    theta: f64,
    scaling: RotaryScaling,
) -> RotaryTables {
    let frequencies = rotary_frequencies(head_dim, theta, scaling);
    let angles = angles(draft, positions, &frequencies);
    let both = draft.concat(&[&angles, &angles], -1);
    let cosine = draft.op("Cos", &[&both], &[]);
    let sine = draft.op("Sin", &[&both], &[]);
    RotaryTables { cosine, sine }
}

/// By how much each pair of a head turns from one place to the next.
pub(super) fn rotary_frequencies(head_dim: usize, theta: f64, scaling: RotaryScaling) -> Vec<f32> {
    let frequency = |pair| {
        let exponent = (2 * pair) as f64 / head_dim as f64;
        stretch((1.0 / theta.powf(exponent)) as f32, scaling)
    };
    (0..head_dim / 2).map(frequency).collect()
}

/// Sine and cosine in turn, `[sequence, width]`, as in the first transformer.
pub(in crate::architecture) fn sinusoidal_positions(
    draft: &mut Draft,
    positions: &str,
    width: usize,
) -> Value {
    let frequencies: Vec<f32> = (0..width / 2)
        .map(|pair| 10_000_f64.powf(-((2 * pair) as f64) / width as f64) as f32)
        .collect();
    let angles = angles(draft, positions, &frequencies);
    let sine = draft.op("Sin", &[&angles], &[]);
    let sine = draft.unsqueeze(&sine, &[2]);
    let cosine = draft.op("Cos", &[&angles], &[]);
    let cosine = draft.unsqueeze(&cosine, &[2]);
    let pairs = draft.concat(&[&sine, &cosine], 2);
    draft.reshape(&pairs, &[0, width as i64])
}

/// Every position times every frequency.
fn angles(draft: &mut Draft, positions: &str, frequencies: &[f32]) -> Value {
    let places = draft.cast(positions, DataType::Float);
    let column = draft.unsqueeze(&places, &[1]);
    let frequencies = draft.numbers(frequencies);
    draft.op("Mul", &[&column, &frequencies], &[])
}

fn stretch(frequency: f32, scaling: RotaryScaling) -> f32 {
    match scaling {
        RotaryScaling::None => frequency,
        RotaryScaling::Linear { factor } => frequency / factor,
        RotaryScaling::Llama3 { factor, low, high, original_length } => {
            let wavelength = 2.0 * std::f32::consts::PI / frequency;
            if wavelength < original_length / high {
                frequency
            } else if wavelength > original_length / low {
                frequency / factor
            } else {
                let smooth = (original_length / wavelength - low) / (high - low);
                (1.0 - smooth) * frequency / factor + smooth * frequency
            }
        }
    }
}

/// A bias for each head and distance, `[1, heads, queries, keys]`: T5's positions.
pub(in crate::architecture) fn relative_bias(
    draft: &mut Draft,
    positions: &str,
    buckets: usize,
    longest_distance: usize,
    heads: usize,
    both_ways: bool,
    init: Init,
) -> Value {
    let query = draft.unsqueeze(positions, &[1]);
    let key = draft.unsqueeze(positions, &[0]);
    let back = draft.op("Sub", &[&query, &key], &[]);
    let side = if both_ways { buckets / 2 } else { buckets };
    let distance = if both_ways {
        draft.op("Abs", &[&back], &[])
    } else {
        let zero = draft.integer(0);
        draft.op("Max", &[&back, &zero], &[])
    };
    let furthest = draft.integer(longest_distance as i64);
    let distance = draft.op("Min", &[&distance, &furthest], &[]);
    // A table of buckets instead of logarithms in the graph: engines round those differently at the borders.
    let table: Vec<i64> = (0..=longest_distance)
        .map(|distance| distance_bucket(distance, side, longest_distance) as i64)
        .collect();
    let table = draft.integers(&table);
    let mut bucket = draft.op("Gather", &[&table, &distance], &[("axis", 0.into())]);
    if both_ways {
        let zero = draft.integer(0);
        let ahead = draft.op("Less", &[&back, &zero], &[]);
        let ahead = draft.cast(&ahead, DataType::Int64);
        let offset = draft.integer(side as i64);
        let offset = draft.op("Mul", &[&ahead, &offset], &[]);
        bucket = draft.op("Add", &[&bucket, &offset], &[]);
    }
    let bias = embed(draft, "relative_attention_bias", &bucket, buckets, heads, init);
    let bias = draft.transpose(&bias, &[2, 0, 1]);
    draft.unsqueeze(&bias, &[0])
}

/// Small distances have a bucket each, larger ones share buckets of logarithmic width.
fn distance_bucket(distance: usize, buckets: usize, longest: usize) -> usize {
    let exact = buckets / 2;
    if distance < exact {
        return distance;
    }
    // In 32-bit floats, as the reference computes it: the borders must fall where its borders fall.
    let ratio = (distance as f32 / exact as f32).ln() / (longest as f64 / exact as f64).ln() as f32;
    let further = (ratio * (buckets - exact) as f32) as usize;
    (exact + further).min(buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_beyond_the_exact_ones_share_buckets() {
        let buckets: Vec<usize> =
            [0, 7, 8, 11, 12, 15, 16, 32, 64, 127, 128].map(|d| distance_bucket(d, 16, 128)).into();
        assert_eq!(buckets, [0, 7, 8, 8, 9, 9, 10, 12, 14, 15, 15]);
    }

    #[test]
    fn llama3_scaling_keeps_short_waves_and_stretches_long_ones() {
        let scaling =
            RotaryScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original_length: 8192.0 };
        assert_eq!(stretch(1.0, scaling), 1.0);
        assert_eq!(stretch(1e-5, scaling), 1e-5 / 8.0);
        let between = stretch(0.002, scaling);
        assert!(between < 0.002 && between > 0.002 / 8.0, "{between}");
    }
}
