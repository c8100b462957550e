//! Where the time of a feed goes: the library computes up to the end of each module, tells us, and goes on.

use crate::{
    api::{Handle, Text, Watcher, copied},
    model::Model,
};
use engine::{NodeCall, RunRecord};
use std::{ffi::c_void, time::Instant};

/// Times the modules of a context that was made with its watcher; must live longer than that.
pub(crate) struct Instruments(*mut Watch);

/// What the watcher writes to, on the thread that feeds.
struct Watch {
    names: Names,
    name_of: unsafe extern "C" fn(Handle) -> Text,
    feeds: Vec<Feed>,
}

struct Feed {
    begin: Instant,
    /// When what runs now began; `None` between two graphs.
    last: Option<Instant>,
    calls: Vec<NodeCall>,
}

impl Instruments {
    pub(crate) fn new(model: &Model) -> Instruments {
        let names = Names::of(&model.family());
        let name_of = model.runtime.api.ggml_get_name;
        Instruments(Box::into_raw(Box::new(Watch { names, name_of, feeds: Vec::new() })))
    }

    /// What a context is made with.
    pub(crate) fn watcher(&self) -> (Watcher, Handle) {
        (watch, self.0.cast())
    }

    /// A feed begins.
    pub(crate) fn begin(&mut self) {
        let feed = Feed { begin: Instant::now(), last: None, calls: Vec::new() };
        // SAFETY: the memory is ours until this is dropped, and the library does not call meanwhile.
        unsafe { (*self.0).feeds.push(feed) }
    }

    /// Everything since the last call, feed by feed.
    pub(crate) fn take(&mut self) -> Vec<RunRecord> {
        // SAFETY: as above.
        let feeds = unsafe { std::mem::take(&mut (*self.0).feeds) };
        let record = |feed: Feed| RunRecord { calls: feed.calls, ..RunRecord::default() };
        feeds.into_iter().map(record).collect()
    }
}

impl Drop for Instruments {
    fn drop(&mut self) {
        // SAFETY: it came out of a box, and no context that knows it is left.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The library asks whether the result of an operator is wanted, or tells that it is there.
///
/// # Safety
/// `data` must be the memory of [`Instruments`], whose owner does nothing with it meanwhile.
unsafe extern "C" fn watch(tensor: Handle, is_question: bool, data: *mut c_void) -> bool {
    // SAFETY: the caller promises it; the tensor lives during the call, and its name ends with a zero.
    let (watch, name) = unsafe {
        let watch = &mut *data.cast::<Watch>();
        let name = copied((watch.name_of)(tensor));
        (watch, name)
    };
    let Some(feed) = watch.feeds.last_mut() else { return !is_question };
    let now = Instant::now();
    let began = *feed.last.get_or_insert(now);
    let Some((path, kind)) = watch.names.module_that_ends(&name) else { return !is_question };
    if !is_question {
        let nanos = |from: Instant, to: Instant| {
            u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
        };
        let length = nanos(began, now);
        let start = nanos(feed.begin, began);
        feed.calls.push(NodeCall {
            path,
            kind: kind.into(),
            thread: 0,
            start,
            length,
            own: length,
        });
        // The graph of the next tokens is made before it runs.
        feed.last = (name != LAST).then_some(now);
    }
    true
}

/// The name of the last result of a graph.
const LAST: &str = "result_output";

/// How a family calls its modules.
struct Names {
    base: &'static str,
    list: &'static str,
    /// Results at which a module ends, with its name and kind.
    parts: &'static [(&'static str, &'static str, &'static str)],
    /// The same outside of layers.
    whole: [(&'static str, &'static str, &'static str); 3],
}

const LLAMA: &[(&str, &str, &str)] = &[
    ("attn_norm", "input_layernorm", "RMSNorm"),
    ("ffn_inp", "self_attn", "Attention"),
    ("ffn_norm", "post_attention_layernorm", "RMSNorm"),
    ("l_out", "mlp", "MLP"),
];

const GEMMA3: &[(&str, &str, &str)] = &[
    ("attn_norm", "input_layernorm", "RMSNorm"),
    ("attn_out", "self_attn", "Attention"),
    ("attn_post_norm", "post_attention_layernorm", "RMSNorm"),
    ("ffn_norm", "pre_feedforward_layernorm", "RMSNorm"),
    ("ffn_out", "mlp", "MLP"),
    ("ffn_post_norm", "post_feedforward_layernorm", "RMSNorm"),
];

const GPT2: &[(&str, &str, &str)] = &[
    ("attn_norm", "ln_1", "LayerNorm"),
    ("ffn_inp", "attn", "Attention"),
    ("ffn_norm", "ln_2", "LayerNorm"),
    ("l_out", "mlp", "MLP"),
];

impl Names {
    fn of(family: &str) -> Names {
        match family {
            "gpt2" => Names {
                base: "transformer",
                list: "h",
                parts: GPT2,
                whole: [
                    ("inpL", "transformer.wte", "Embedding"),
                    ("result_norm", "transformer.ln_f", "LayerNorm"),
                    (LAST, "lm_head", "Linear"),
                ],
            },
            _ => Names {
                base: "model",
                list: "layers",
                parts: if family == "gemma3" { GEMMA3 } else { LLAMA },
                whole: [
                    ("inp_embd", "model.embed_tokens", "Embedding"),
                    ("result_norm", "model.norm", "RMSNorm"),
                    (LAST, "lm_head", "Linear"),
                ],
            },
        }
    }

    /// The module whose last result this is, and its kind.
    fn module_that_ends(&self, result: &str) -> Option<(String, &'static str)> {
        if let Some((_, path, kind)) = self.whole.iter().find(|(name, ..)| *name == result) {
            return Some(((*path).to_owned(), kind));
        }
        let (stem, layer) = result.rsplit_once('-')?;
        let (_, part, kind) = self.parts.iter().find(|(name, ..)| *name == stem)?;
        let layer: u32 = layer.parse().ok()?;
        Some((format!("{}.{}.{layer}.{part}", self.base, self.list), kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_end_modules() {
        let end = |family: &str, name: &str| Names::of(family).module_that_ends(name);
        assert_eq!(end("llama", "l_out-12"), Some(("model.layers.12.mlp".to_owned(), "MLP")));
        assert_eq!(
            end("gpt2", "ffn_inp-0"),
            Some(("transformer.h.0.attn".to_owned(), "Attention"))
        );
        assert_eq!(end("qwen2", "result_output"), Some(("lm_head".to_owned(), "Linear")));
        for name in ["Qcur-3", "l_out", "ffn_inp-x", "node_7", ""] {
            assert_eq!(end("llama", name), None, "{name}");
        }
    }
}
