//! Attention as the plain products, sums and transpositions that exporters write, so that engines fuse them.

use super::{Linear, RotaryTables};
use crate::Layout;
use crate::architecture::{
    description::Stack,
    draft::{Draft, Value},
    naming::{AttentionNames, Projections},
};
use graph::Dim;

/// One attention block: its names and sizes.
pub(in crate::architecture) struct Attention<'a> {
    pub(in crate::architecture) names: &'a AttentionNames,
    pub(in crate::architecture) stack: &'a Stack,
    pub(in crate::architecture) linear: Layout,
    /// Which layer of the stack, for scaling.
    pub(in crate::architecture) layer: usize,
}

impl Attention<'_> {
    /// Attention of `queries` over `keys` (the same value for self-attention), with its output projection. With a past, new keys
    /// and values are appended to it, and the whole becomes outputs of the graph.
    pub(in crate::architecture) fn draw(
        &self,
        draft: &mut Draft,
        queries: &str,
        keys: &str,
        bias: Option<&str>,
        rotary: Option<&RotaryTables>,
        past: Option<&[Value; 2]>,
    ) -> Value {
        let stack = self.stack;
        let mixed = draft.within(self.names.module, |draft| {
            let [query, key, value] = self.project(draft, queries, keys);
            if let (Some(past), Some(positions)) = (past, draft.fused()) {
                return self.draw_fused(draft, [&query, &key, &value], past, &positions);
            }
            if let Some(past) = past {
                return self.draw_cached(draft, [query, key, value], past, bias, rotary);
            }
            let query = self.split_heads(draft, &query, stack.heads, &[0, 2, 1, 3]);
            let query = self.normalise(draft, "q_norm", query);
            let query = self.rotate(draft, query, rotary);
            let key = if rotary.is_none() && self.groups() == 1 && !stack.refinements.head_norm {
                // Nothing happens between the two transpositions: one does.
                self.split_heads(draft, &key, stack.key_heads, &[0, 2, 3, 1])
            } else {
                let key = self.split_heads(draft, &key, stack.key_heads, &[0, 2, 1, 3]);
                let key = self.normalise(draft, "k_norm", key);
                let key = self.rotate(draft, key, rotary);
                let key = self.repeat_heads(draft, key);
                draft.transpose(&key, &[0, 1, 3, 2])
            };
            let value = self.split_heads(draft, &value, stack.key_heads, &[0, 2, 1, 3]);
            let value = self.repeat_heads(draft, value);
            self.mix(draft, &query, &key, &value, bias)
        });
        self.linear(stack.heads * stack.head_dim, stack.hidden, stack.output_bias).draw(
            draft,
            self.names.output,
            &mixed,
        )
    }

    /// Attention over what is in the cache and what is new. Query heads that share a key head are rows of one product: so the
    /// cache is read once and never repeated.
    fn draw_cached(
        &self,
        draft: &mut Draft,
        [query, key, value]: [Value; 3],
        [past_key, past_value]: &[Value; 2],
        bias: Option<&str>,
        rotary: Option<&RotaryTables>,
    ) -> Value {
        let stack = self.stack;
        let (heads, key_heads) = (stack.heads as i64, stack.key_heads as i64);
        let width = stack.head_dim as i64;
        let query = self.split_heads(draft, &query, stack.heads, &[0, 2, 1, 3]);
        let query = self.normalise(draft, "q_norm", query);
        let query = self.rotate(draft, query, rotary);
        let key = self.split_heads(draft, &key, stack.key_heads, &[0, 2, 1, 3]);
        let key = self.normalise(draft, "k_norm", key);
        let key = self.rotate(draft, key, rotary);
        let value = self.split_heads(draft, &value, stack.key_heads, &[0, 2, 1, 3]);
        let key = draft.concat(&[past_key, &key], 2);
        let value = draft.concat(&[past_value, &value], 2);
        let dims = cache_dims(stack, "past_and_new");
        draft.output(format!("present.{}.key", self.layer), key.clone(), dims.clone());
        draft.output(format!("present.{}.value", self.layer), value.clone(), dims);
        let query = draft.reshape(&query, &[0, key_heads, -1, width]);
        let turned = draft.transpose(&key, &[0, 1, 3, 2]);
        let mut scores = draft.op("MatMul", &[&query, &turned], &[]);
        scores = draft.reshape(&scores, &[0, heads, -1, 0]);
        if let Some(divisor) = stack.scaling.divisor(stack.head_dim, self.layer) {
            let divisor = draft.number(divisor);
            scores = draft.op("Div", &[&scores, &divisor], &[]);
        }
        if let Some(bias) = bias {
            scores = draft.op("Add", &[&scores, bias], &[]);
        }
        let shares = draft.op("Softmax", &[&scores], &[("axis", (-1).into())]);
        let shares = draft.reshape(&shares, &[0, key_heads, -1, 0]);
        let mixed = draft.op("MatMul", &[&shares, &value], &[]);
        let mixed = draft.reshape(&mixed, &[0, heads, -1, width]);
        let mixed = draft.transpose(&mixed, &[0, 2, 1, 3]);
        draft.reshape(&mixed, &[0, 0, heads * width])
    }

    /// Query, key and value, each `[batch, sequence, heads × head_dim]`.
    fn project(&self, draft: &mut Draft, queries: &str, keys: &str) -> [Value; 3] {
        let stack = self.stack;
        let (query_width, key_width) =
            (stack.heads * stack.head_dim, stack.key_heads * stack.head_dim);
        let projection = |width| self.linear(stack.hidden, width, stack.projection_bias);
        let keys_bias = stack.projection_bias && stack.key_bias;
        match self.names.projections {
            Projections::Separate { query, key, value } => [
                projection(query_width).draw(draft, query, queries),
                self.linear(stack.hidden, key_width, keys_bias).draw(draft, key, keys),
                projection(key_width).draw(draft, value, keys),
            ],
            Projections::Fused { module, weight, bias } => {
                let all =
                    projection(3 * query_width).draw_named(draft, module, weight, bias, queries);
                draft.split_in_three(&all, query_width)
            }
        }
    }

    /// Scores, their softmax and the weighted sum, back as `[batch, sequence, heads × head_dim]`.
    fn mix(
        &self,
        draft: &mut Draft,
        query: &str,
        key: &str,
        value: &str,
        bias: Option<&str>,
    ) -> Value {
        let stack = self.stack;
        let mut scores = draft.op("MatMul", &[query, key], &[]);
        if let Some(divisor) = stack.scaling.divisor(stack.head_dim, self.layer) {
            let divisor = draft.number(divisor);
            scores = draft.op("Div", &[&scores, &divisor], &[]);
        }
        if let Some(bias) = bias {
            scores = draft.op("Add", &[&scores, bias], &[]);
        }
        let shares = draft.op("Softmax", &[&scores], &[("axis", (-1).into())]);
        let mixed = draft.op("MatMul", &[&shares, value], &[]);
        let mixed = draft.transpose(&mixed, &[0, 2, 1, 3]);
        draft.reshape(&mixed, &[0, 0, (stack.heads * stack.head_dim) as i64])
    }

    fn split_heads(&self, draft: &mut Draft, x: &str, heads: usize, order: &[i64]) -> Value {
        let apart = draft.reshape(x, &[0, 0, heads as i64, self.stack.head_dim as i64]);
        draft.transpose(&apart, order)
    }

    /// How many query heads share a key head.
    fn groups(&self) -> usize {
        self.stack.heads / self.stack.key_heads
    }

    /// Gives every query head its key head: `[batch, key_heads, …]` becomes `[batch, heads, …]`.
    fn repeat_heads(&self, draft: &mut Draft, x: Value) -> Value {
        if self.groups() == 1 {
            return x;
        }
        let apart = draft.unsqueeze(&x, &[2]);
        let shape = draft.integers(&[1, 1, self.groups() as i64, 1, 1]);
        let wide = draft.op("Expand", &[&apart, &shape], &[]);
        let shape = [0, self.stack.heads as i64, -1, self.stack.head_dim as i64];
        draft.reshape(&wide, &shape)
    }

    /// Turns each pair (i, i + half) of the head by its position's angle, where the model has rotary positions.
    fn rotate(&self, draft: &mut Draft, x: Value, tables: Option<&RotaryTables>) -> Value {
        let Some(tables) = tables else { return x };
        let (half, whole) = ((self.stack.head_dim / 2) as i64, self.stack.head_dim as i64);
        let straight = draft.op("Mul", &[&x, &tables.cosine], &[]);
        let first = draft.slice(&x, 0, half, 3);
        let second = draft.slice(&x, half, whole, 3);
        let second = draft.op("Neg", &[&second], &[]);
        let turned = draft.concat(&[&second, &first], 3);
        let turned = draft.op("Mul", &[&turned, &tables.sine], &[]);
        draft.op("Add", &[&straight, &turned], &[])
    }

    /// Normalises every head of queries or keys, where the model does.
    fn normalise(&self, draft: &mut Draft, module: &str, x: Value) -> Value {
        match self.stack.refinements.head_norm {
            true => self.stack.norm.draw(draft, module, &x, self.stack.head_dim),
            false => x,
        }
    }

    fn linear(&self, inputs: usize, outputs: usize, bias: bool) -> Linear {
        Linear { inputs, outputs, bias, layout: self.linear, init: self.stack.init }
    }
}

/// The shape of keys or values of one layer after so many tokens.
pub(in crate::architecture) fn cache_dims(stack: &Stack, tokens: &str) -> Vec<Dim> {
    let fixed = |size: usize| Dim::Fixed(size);
    vec![Dim::from("batch"), fixed(stack.key_heads), Dim::from(tokens), fixed(stack.head_dim)]
}
