//! Attention over a cache as one operator: `GroupQueryAttention` of `com.microsoft`.

use super::{Attention, attention::cache_dims, positions::rotary_frequencies};
use crate::architecture::{
    description::{Positions, Refinements, Stack},
    draft::{Draft, Value},
};
use graph::{Attribute, DataType};

/// The most places that the tables of a fused attention have: 2 × 8 MB for heads of 128 numbers.
const LONGEST: usize = 32_768;

/// Engines take heads whose width is a multiple of this.
const WIDTH: usize = 16;

/// No model has wider ones; a file that says so must not make large tables.
const WIDEST: usize = 512;

/// What the attentions of all layers share.
#[derive(Debug, Clone)]
pub(in crate::architecture) struct FusedPositions {
    /// How many tokens the graph can hold.
    pub(in crate::architecture) reach: usize,
    /// For each text, the place of its last token.
    last: Value,
    /// Tokens of the cache and new ones.
    total: Value,
    /// Cosines and sines of rotary positions, by place.
    pub(in crate::architecture) rotary: Option<[Value; 2]>,
}

/// How many tokens a fused graph of such a model can hold; `None` where it cannot be drawn so.
pub(in crate::architecture) fn fused_reach(stack: &Stack, positions: Positions) -> Option<usize> {
    let is_known = matches!(positions, Positions::Learned { .. } | Positions::Rotary { .. });
    // The operator knows no norms of heads, caps or second tables.
    let is_plain = stack.refinements == Refinements::default();
    let fits =
        is_known && is_plain && stack.head_dim.is_multiple_of(WIDTH) && stack.head_dim <= WIDEST;
    fits.then(|| positions.longest().unwrap_or(LONGEST).min(LONGEST))
}

/// Draws what all layers share: the lengths, and the tables of a model with rotary positions.
pub(in crate::architecture) fn fused_positions(
    draft: &mut Draft,
    ids: &str,
    places: &str,
    stack: &Stack,
    positions: Positions,
    reach: usize,
) -> FusedPositions {
    let last = draft.pick(places, -1, 0);
    let one = draft.integer(1);
    let total = draft.op("Add", &[&last, &one], &[]);
    let total = draft.cast(&total, DataType::Int32);
    let last = draft.cast(&last, DataType::Int32);
    let rows = draft.op("Shape", &[ids], &[("start", 0.into()), ("end", 1.into())]);
    let last = draft.op("Expand", &[&last, &rows], &[]);
    let rotary = match positions {
        Positions::Rotary { theta, scaling, .. } => {
            let frequencies = rotary_frequencies(stack.head_dim, theta, scaling);
            let dims = [reach, frequencies.len()];
            // In 32-bit floats, as the reference multiplies.
            let angles = || {
                let frequencies = &frequencies;
                (0..reach).flat_map(move |place| frequencies.iter().map(move |f| place as f32 * f))
            };
            let cosine: Vec<f32> = angles().map(|angle| f64::from(angle).cos() as f32).collect();
            let sine: Vec<f32> = angles().map(|angle| f64::from(angle).sin() as f32).collect();
            Some([draft.table(&dims, &cosine), draft.table(&dims, &sine)])
        }
        _ => None,
    };
    FusedPositions { reach, last, total, rotary }
}

impl Attention<'_> {
    /// Attention over what is in the cache and what is new, `[batch, sequence, heads × head_dim]`.
    pub(super) fn draw_fused(
        &self,
        draft: &mut Draft,
        [query, key, value]: [&str; 3],
        [past_key, past_value]: &[Value; 2],
        positions: &FusedPositions,
    ) -> Value {
        let stack = self.stack;
        let scale = 1.0 / stack.scaling.divisor(stack.head_dim, self.layer).unwrap_or(1.0);
        let mut attributes = vec![
            ("num_heads", Attribute::Int(stack.heads as i64)),
            ("kv_num_heads", Attribute::Int(stack.key_heads as i64)),
            ("scale", scale.into()),
        ];
        if let Some(window) = stack.window.as_ref().filter(|_| stack.slides(self.layer)) {
            attributes.push(("local_window_size", Attribute::Int(window.tokens as i64)));
        }
        let mut inputs =
            vec![query, key, value, past_key, past_value, &positions.last, &positions.total];
        if let Some([cosine, sine]) = &positions.rotary {
            attributes.push(("do_rotary", 1.into()));
            inputs.extend([cosine.as_str(), sine.as_str()]);
        }
        let made = draft.microsoft("GroupQueryAttention", &inputs, &attributes, 3);
        let [mixed, key, value]: [Value; 3] =
            made.try_into().expect("three outputs were asked for");
        let dims = cache_dims(stack, "past_and_new");
        draft.output(format!("present.{}.key", self.layer), key, dims.clone());
        draft.output(format!("present.{}.value", self.layer), value, dims);
        mixed
    }
}
