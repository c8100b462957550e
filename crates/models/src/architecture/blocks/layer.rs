//! A stack of layers: attention, feed-forward block, norms and residuals, in the order the description says.

use super::{Attention, Linear, RotaryTables};
use crate::architecture::{
    description::{NormOrder, Stack},
    draft::{Draft, Value},
    naming::{AttentionNames, LayerNames, MlpNames},
};

/// The bias on a layer's attention scores.
#[derive(Debug, Clone, Default)]
pub(in crate::architecture) struct LayerBias {
    /// In layers that see everything they may.
    pub(in crate::architecture) full: Option<Value>,
    /// In layers that see a window only.
    pub(in crate::architecture) sliding: Option<Value>,
}

/// What all layers of a stack share.
#[derive(Debug, Clone, Default)]
pub(in crate::architecture) struct Context {
    pub(in crate::architecture) bias: LayerBias,
    pub(in crate::architecture) rotary: Option<RotaryTables>,
    /// The same for layers that see a window only, where theirs differ.
    pub(in crate::architecture) window_rotary: Option<RotaryTables>,
    /// What is added after each layer but the last, drawn where the list of layers is.
    pub(in crate::architecture) between: Vec<Value>,
    /// The encoder's output and the bias of attention over it.
    pub(in crate::architecture) encoder: Option<(Value, Value)>,
    /// Keys and values of what was read before, layer by layer; new ones are appended, and both become outputs.
    pub(in crate::architecture) past: Vec<[Value; 2]>,
}

/// Draws all layers and gives the last one's hidden states.
pub(in crate::architecture) fn draw_layers(
    draft: &mut Draft,
    names: &LayerNames,
    stack: &Stack,
    context: &Context,
    mut hidden: Value,
) -> Value {
    for index in 0..stack.layers {
        let layer = Layer { names, stack, context, index };
        hidden =
            draft.within(&format!("{}.{index}", names.list), |draft| layer.draw(draft, &hidden));
        if let Some(more) = context.between.get(index) {
            let owner = names.list.rsplit_once('.').map_or("", |(owner, _)| owner);
            hidden = draft.within(owner, |draft| draft.op("Add", &[&hidden, more], &[]));
        }
    }
    hidden
}

struct Layer<'a> {
    names: &'a LayerNames,
    stack: &'a Stack,
    context: &'a Context,
    index: usize,
}

impl Layer<'_> {
    fn draw(&self, draft: &mut Draft, hidden: &str) -> Value {
        let bias = &self.context.bias;
        let bias = if self.stack.slides(self.index) { &bias.sliding } else { &bias.full };
        let names = &self.names.attention;
        let [after_attention, after_mlp] =
            self.names.after.map_or([None; 2], |both| both.map(Some));
        let around = (names.norm, after_attention);
        let mut hidden = self.block(draft, around, names.residual, hidden, |draft, x| {
            let of_window = self.context.window_rotary.as_ref();
            let of_window = of_window.filter(|_| self.stack.slides(self.index));
            let rotary = of_window.or(self.context.rotary.as_ref());
            let past = self.context.past.get(self.index);
            self.attention(names).draw(draft, x, x, bias.as_deref(), rotary, past)
        });
        if let (Some(names), Some((encoder, bias))) = (&self.names.cross, &self.context.encoder) {
            hidden = self.block(draft, (names.norm, None), names.residual, &hidden, |draft, x| {
                self.attention(names).draw(draft, x, encoder, Some(bias), None, None)
            });
        }
        let names = &self.names.mlp;
        let around = (names.norm, after_mlp);
        self.block(draft, around, names.residual, &hidden, |draft, x| self.mlp(draft, names, x))
    }

    /// A block with its residual, normalised before or after; `norm` has the name of that, and of one more between the block and
    /// its residual.
    fn block(
        &self,
        draft: &mut Draft,
        (norm, inner): (&str, Option<&str>),
        residual: &str,
        hidden: &str,
        work: impl FnOnce(&mut Draft, &str) -> Value,
    ) -> Value {
        let stack = self.stack;
        let add = |draft: &mut Draft, value: &str| {
            draft.within(residual, |draft| draft.op("Add", &[value, hidden], &[]))
        };
        match stack.order {
            NormOrder::Before => {
                let normal = stack.norm.draw(draft, norm, hidden, stack.hidden);
                let mut value = work(draft, &normal);
                if let Some(inner) = inner {
                    value = stack.norm.draw(draft, inner, &value, stack.hidden);
                }
                add(draft, &value)
            }
            NormOrder::After => {
                let value = work(draft, hidden);
                let sum = add(draft, &value);
                stack.norm.draw(draft, norm, &sum, stack.hidden)
            }
        }
    }

    fn attention<'b>(&'b self, names: &'b AttentionNames) -> Attention<'b> {
        Attention { names, stack: self.stack, linear: self.names.linear, layer: self.index }
    }

    fn mlp(&self, draft: &mut Draft, names: &MlpNames, x: &str) -> Value {
        let stack = self.stack;
        let linear = |inputs, outputs| Linear {
            inputs,
            outputs,
            bias: stack.mlp_bias,
            layout: self.names.linear,
            init: stack.init,
        };
        let wide = linear(stack.hidden, stack.intermediate);
        let inner = if stack.gated {
            let gate = wide.draw(draft, names.gate, x);
            let gate = stack.activation.draw(draft, names.activation, &gate);
            let up = wide.draw(draft, names.up, x);
            draft.within(names.module, |draft| draft.op("Mul", &[&gate, &up], &[]))
        } else {
            let up = wide.draw(draft, names.up, x);
            stack.activation.draw(draft, names.activation, &up)
        };
        linear(stack.intermediate, stack.hidden).draw(draft, names.down, &inner)
    }
}
