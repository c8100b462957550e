//! The configuration of a changed model, and what it cannot say.
//!
//! `transformers` 5 has no way to say that single heads were pruned: a number of heads and their width are all it
//! knows, and in most families the width follows from the number. Where the configuration cannot say what was cut, the
//! weights for `transformers` keep the place with zeros, which computes the same; the ONNX graph is the smaller one.

use crate::Resolved;
use graph::{Block, BlockKind, Converted, TensorCut, native_precision};
use serde_json::{Value, json};
use types::{Module, ModuleTensor, Precision, Remark, RemarkCode};

/// Families whose configuration says the width of a head beside their number.
const WIDE_HEADS: [&str; 4] = ["llama", "mistral", "qwen2", "vit"];

/// What families call the number of neurons of a feed-forward block; others cannot say it.
const NEURONS: [(&str, &str); 16] = [
    ("bert", "intermediate_size"),
    ("roberta", "intermediate_size"),
    ("xlm-roberta", "intermediate_size"),
    ("camembert", "intermediate_size"),
    ("llama", "intermediate_size"),
    ("mistral", "intermediate_size"),
    ("qwen2", "intermediate_size"),
    ("vit", "intermediate_size"),
    ("yolos", "intermediate_size"),
    ("clip", "intermediate_size"),
    ("wav2vec2", "intermediate_size"),
    ("whisper", "encoder_ffn_dim"),
    ("distilbert", "hidden_dim"),
    ("gpt2", "n_inner"),
    ("t5", "d_ff"),
    ("modelmeter-encoder", "d_ff"),
];

/// What is written for `transformers`.
pub(super) struct Form<'a> {
    pub(super) config: Value,
    pub(super) tensors: &'a [ModuleTensor],
    /// Cuts that the configuration cannot say.
    pub(super) zeroed: Vec<&'a TensorCut>,
    zeroed_kinds: Vec<BlockKind>,
}

impl<'a> Form<'a> {
    /// `None` if no framework would load the weights.
    pub(super) fn of(
        resolved: &'a Resolved,
        blocks: &'a [Block],
        uniform: &[BlockKind],
        converted: &Converted,
    ) -> Option<Form<'a>> {
        let precision = native_precision(&converted.model);
        if precision == Precision::Int8 {
            return None;
        }
        let (mut config, tensors) = match resolved.module.as_ref()? {
            Module::Transformers { class, config, weights } => {
                let mut config: Value = serde_json::from_str(config).ok()?;
                config["architectures"] = json!([class]);
                (config, &weights.tensors)
            }
            Module::Encoder { config, weights } => {
                let mut config: Value = serde_json::from_str(config).ok()?;
                config["model_type"] = json!("modelmeter-encoder");
                (config, &weights.tensors)
            }
            Module::FeedForward { config, weights } => {
                let mut config: Value = serde_json::from_str(config).ok()?;
                config["model_type"] = json!("modelmeter-feed-forward");
                (config, &weights.tensors)
            }
            Module::Folder { .. } | Module::Factory { .. } | Module::Archive { .. } => return None,
        };
        if let Some(name) = torch_name(precision) {
            config["dtype"] = json!(name);
        }
        let mut form = Form { config, tensors, zeroed: Vec::new(), zeroed_kinds: Vec::new() };
        for kind in [BlockKind::Heads, BlockKind::Neurons] {
            let of_kind: Vec<&Block> = blocks.iter().filter(|block| block.kind == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            let said = uniform.contains(&kind) && say(&mut form.config, kind, &of_kind).is_some();
            if !said {
                form.zeroed.extend(of_kind.iter().flat_map(|block| &block.cuts));
                form.zeroed_kinds.push(kind);
            }
        }
        Some(form)
    }

    /// What a reader must know of the weights for `transformers`.
    pub(super) fn remark(&self) -> Option<Remark> {
        let kinds: Vec<&str> = self.zeroed_kinds.iter().map(|kind| kind.units()).collect();
        (!kinds.is_empty()).then(|| {
            let text = format!(
                "`config.json` cannot express that {} were removed: `model.safetensors` has zeros in their place, \
                 with the same outputs; `onnx/model.onnx` is smaller",
                kinds.join(" and ")
            );
            Remark::new(RemarkCode::ZerosInstead, text)
        })
    }
}

fn torch_name(precision: Precision) -> Option<&'static str> {
    match precision {
        Precision::Fp32 => Some("float32"),
        Precision::Fp16 => Some("float16"),
        Precision::Bf16 => Some("bfloat16"),
        Precision::Int8 | Precision::Stored => None,
    }
}

/// Writes the new sizes into a configuration; `None`, and nothing written, where they cannot be said.
fn say(config: &mut Value, kind: BlockKind, blocks: &[&Block]) -> Option<()> {
    let family = config.get("model_type")?.as_str()?.to_owned();
    if family == "clip" {
        let sections = [("text_config", "text_model"), ("vision_config", "vision_model")];
        let mut changed = config.clone();
        for (section, module) in sections {
            let inside = |block: &&&Block| block.label.split('.').any(|part| part == module);
            let own: Vec<&Block> = blocks.iter().filter(inside).copied().collect();
            say_one(changed.get_mut(section)?, &family, kind, &own)?;
        }
        *config = changed;
        return Some(());
    }
    say_one(config, &family, kind, blocks)
}

fn say_one(config: &mut Value, family: &str, kind: BlockKind, blocks: &[&Block]) -> Option<()> {
    let first = blocks.first()?;
    let (units, kept) = (first.units, first.kept.len());
    if blocks.iter().any(|block| (block.units, block.kept.len()) != (units, kept)) {
        return None;
    }
    let number = |config: &Value, key: &str| {
        config.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
    };
    match kind {
        BlockKind::Neurons => {
            let key = NEURONS.iter().find(|(name, _)| *name == family)?.1;
            // An absent key has its family's default, which is what was built.
            let is_known = number(config, key).is_none_or(|size| size == units);
            is_known.then(|| config[key] = json!(kept))
        }
        BlockKind::Heads if family == "t5" => {
            // One table of biases serves all layers, so that all keep the same heads.
            let heads = number(config, "num_heads").filter(|heads| *heads == units)?;
            let width =
                number(config, "d_kv").or_else(|| Some(number(config, "d_model")? / heads))?;
            config["d_kv"] = json!(width);
            config["num_heads"] = json!(kept);
            Some(())
        }
        BlockKind::Heads if WIDE_HEADS.contains(&family) => {
            let heads = number(config, "num_attention_heads")?;
            let keys = number(config, "num_key_value_heads").unwrap_or(heads);
            let width = number(config, "head_dim")
                .or_else(|| Some(number(config, "hidden_size")? / heads))?;
            if !heads.is_multiple_of(units) || !keys.is_multiple_of(units) {
                return None;
            }
            config["head_dim"] = json!(width);
            config["num_attention_heads"] = json!(heads / units * kept);
            if family != "vit" {
                config["num_key_value_heads"] = json!(keys / units * kept);
            }
            Some(())
        }
        BlockKind::Heads => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::Importance;

    fn feed_forward(units: usize, kept: usize) -> Block {
        Block {
            kind: BlockKind::Neurons,
            label: "layers.0".into(),
            units,
            kept: (0..kept).collect(),
            importance: Importance::Magnitude,
            cuts: Vec::new(),
        }
    }

    #[test]
    fn every_family_says_its_neurons_under_its_own_key_and_others_say_nothing() {
        let block = feed_forward(8, 5);
        let said = |config: Value| {
            let mut config = config;
            let is_said = say(&mut config, BlockKind::Neurons, &[&block]).is_some();
            (is_said, config)
        };
        let sound = json!({ "model_type": "whisper", "encoder_ffn_dim": 8, "decoder_ffn_dim": 8 });
        let cut = json!({ "model_type": "whisper", "encoder_ffn_dim": 5, "decoder_ffn_dim": 8 });
        assert_eq!(said(sound), (true, cut));
        let picture = json!({ "model_type": "yolos", "intermediate_size": 8 });
        let cut = json!({ "model_type": "yolos", "intermediate_size": 5 });
        assert_eq!(said(picture), (true, cut));
        // Where the key is not known nothing is written: a wrong one would be ignored, and the weights would not fit.
        for config in [
            json!({ "model_type": "resnet" }),
            json!({ "model_type": "of tomorrow", "intermediate_size": 8 }),
            json!({ "model_type": "modelmeter-feed-forward" }),
        ] {
            assert_eq!(said(config.clone()), (false, config));
        }
    }
}
