//! Masks as biases that are added to the attention scores, computed once for all layers.

use crate::architecture::draft::{Draft, Value};
use graph::DataType;

/// What a hidden score gets: far below any real score, and still a number in 16-bit floats.
const HIDDEN: f32 = -10_000.0;

/// `[batch, 1, 1, sequence]`: 0 where a token is real, far below zero where it is padding.
pub(in crate::architecture) fn padding_bias(draft: &mut Draft, mask: &str) -> Value {
    let wide = draft.unsqueeze(mask, &[1]);
    let wide = draft.unsqueeze(&wide, &[2]);
    let real = draft.cast(&wide, DataType::Float);
    let (one, hidden) = (draft.number(1.0), draft.number(HIDDEN));
    let padding = draft.op("Sub", &[&one, &real], &[]);
    draft.op("Mul", &[&padding, &hidden], &[])
}

/// A bias that hides what comes later, what is padding (`mask`), and what is `window` tokens back or further.
///
/// `queries` and `keys` are positions. `[queries, keys]`, or `[batch, 1, queries, keys]` with a mask. The conditions are joined before they
/// become a number: two of them added could pass the range of a 16-bit float.
pub(in crate::architecture) fn causal_bias(
    draft: &mut Draft,
    queries: &str,
    keys: &str,
    mask: Option<&str>,
    window: Option<usize>,
) -> Value {
    let query = draft.unsqueeze(queries, &[1]);
    let key = draft.unsqueeze(keys, &[0]);
    let mut seen = draft.op("LessOrEqual", &[&key, &query], &[]);
    if let Some(window) = window {
        let distance = draft.op("Sub", &[&query, &key], &[]);
        let window = draft.integer(window as i64);
        let near = draft.op("Less", &[&distance, &window], &[]);
        seen = draft.op("And", &[&seen, &near], &[]);
    }
    if let Some(mask) = mask {
        let wide = draft.unsqueeze(mask, &[1, 2]);
        let real = draft.cast(&wide, DataType::Bool);
        seen = draft.op("And", &[&real, &seen], &[]);
    }
    let (visible, hidden) = (draft.number(0.0), draft.number(HIDDEN));
    draft.op("Where", &[&seen, &visible, &hidden], &[])
}
