//! The configuration that `transformers` would have, from the metadata of a file.

use super::{blocks::BlockFormat, file::Gguf};
use crate::ModelError;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A family whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Llama, Mistral and SmolLM.
    Llama {
        /// Width of a head.
        head: usize,
    },
    Qwen2,
    Gpt2,
    Gemma3,
}

/// The names of the families, as files have them.
const FAMILIES: [&str; 4] = ["llama", "qwen2", "gemma3", "gpt2"];

/// The largest published models have 126 blocks.
const MOST_BLOCKS: u64 = 1024;

/// The family of a file and its configuration.
pub(crate) fn config(gguf: &Gguf) -> Result<(Family, Value), ModelError> {
    let reader = Reader::new(gguf)?;
    let Some(tokens) = gguf.tensor("token_embd.weight") else {
        let (path, name) = (gguf.path.clone(), "token_embd.weight".into());
        return Err(ModelError::MissingTensor { path, name });
    };
    let mut config = Map::new();
    config.insert("model_type".into(), json!(reader.architecture));
    config.insert("vocab_size".into(), json!(tokens.dims.first()));
    config.insert("tie_word_embeddings".into(), json!(gguf.tensor("output.weight").is_none()));
    let family = match reader.architecture {
        "gpt2" => gpt2(&reader, &mut config)?,
        "gemma3" => gemma3(&reader, &mut config)?,
        architecture => llama(&reader, architecture, &mut config)?,
    };
    Ok((family, Value::Object(config)))
}

fn gpt2(reader: &Reader<'_>, config: &mut Map<String, Value>) -> Result<Family, ModelError> {
    config.insert("architectures".into(), json!(["GPT2LMHeadModel"]));
    for (theirs, ours) in [
        ("n_embd", "embedding_length"),
        ("n_layer", "block_count"),
        ("n_head", "attention.head_count"),
        ("n_inner", "feed_forward_length"),
        ("n_positions", "context_length"),
    ] {
        config.insert(theirs.into(), json!(reader.count(ours)?));
    }
    let epsilon = reader.number("attention.layer_norm_epsilon")?.unwrap_or(1e-5);
    config.insert("layer_norm_epsilon".into(), json!(epsilon));
    Ok(Family::Gpt2)
}

fn llama(
    reader: &Reader<'_>,
    architecture: &str,
    config: &mut Map<String, Value>,
) -> Result<Family, ModelError> {
    if reader.gguf.count(&reader.key("expert_count")).is_some_and(|experts| experts > 0) {
        return Err(reader.damaged("it is a mixture of experts, which has no graph builder"));
    }
    let class = if architecture == "qwen2" { "Qwen2ForCausalLM" } else { "LlamaForCausalLM" };
    config.insert("architectures".into(), json!([class]));
    for (theirs, ours) in [
        ("hidden_size", "embedding_length"),
        ("num_hidden_layers", "block_count"),
        ("num_attention_heads", "attention.head_count"),
        ("intermediate_size", "feed_forward_length"),
        ("max_position_embeddings", "context_length"),
    ] {
        config.insert(theirs.into(), json!(reader.count(ours)?));
    }
    let (heads, width) = (reader.count("attention.head_count")?, reader.count("embedding_length")?);
    let key_heads = reader.optional_count("attention.head_count_kv")?.unwrap_or(heads);
    config.insert("num_key_value_heads".into(), json!(key_heads));
    let epsilon = reader.number("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-6);
    config.insert("rms_norm_eps".into(), json!(epsilon));
    let head = reader.optional_count("attention.key_length")?.unwrap_or(width / heads.max(1));
    if reader.optional_count("attention.value_length")?.is_some_and(|value| value != head) {
        return Err(reader.damaged("its keys and values have different widths"));
    }
    if reader.optional_count("rope.dimension_count")?.is_some_and(|turned| turned != head) {
        return Err(reader.damaged("it turns a part of each head only"));
    }
    if head < 2 || !head.is_multiple_of(2) {
        return Err(reader.damaged(&format!("its heads are {head} wide")));
    }
    config.insert("head_dim".into(), json!(head));
    let biased = reader.gguf.tensor("blk.0.attn_output.bias").is_some();
    config.insert("attention_bias".into(), json!(biased));
    config.insert("rope_parameters".into(), rotary(reader, head)?);
    match architecture {
        "qwen2" => Ok(Family::Qwen2),
        _ => Ok(Family::Llama { head: usize::try_from(head).unwrap_or(usize::MAX) }),
    }
}

/// Layers of the largest Gemma 3, whose scores are divided by another root than that of the head's width.
const LARGEST_GEMMA: u64 = 62;

fn gemma3(reader: &Reader<'_>, config: &mut Map<String, Value>) -> Result<Family, ModelError> {
    llama(reader, "gemma3", config)?;
    let head = config.get("head_dim").and_then(Value::as_u64).unwrap_or(0);
    let (layers, heads) = (reader.count("block_count")?, reader.count("attention.head_count")?);
    // What llama.cpp goes by, too: files do not have the number.
    let divisor = match layers {
        LARGEST_GEMMA => reader.count("embedding_length")? / heads.max(1),
        _ => head,
    };
    let full = config.remove("rope_parameters").unwrap_or_default();
    let near = reader.number("rope.freq_base_swa")?.unwrap_or(10_000.0);
    let pattern = reader.optional_count("attention.sliding_window_pattern")?.unwrap_or(6);
    for (key, value) in [
        ("model_type", json!("gemma3_text")),
        ("architectures", json!(["Gemma3ForCausalLM"])),
        ("hidden_activation", json!("gelu_pytorch_tanh")),
        ("query_pre_attn_scalar", json!(divisor)),
        (
            "sliding_window",
            json!(reader.optional_count("attention.sliding_window")?.unwrap_or(1024)),
        ),
        ("layer_types", (0..layers.min(10_000)).map(|layer| kind_of(layer, pattern)).collect()),
        (
            "rope_parameters",
            json!({
                "full_attention": full,
                "sliding_attention": {"rope_type": "default", "rope_theta": near}
            }),
        ),
        ("final_logit_softcapping", json!(reader.number("final_logit_softcapping")?)),
    ] {
        config.insert(key.into(), value);
    }
    Ok(Family::Gemma3)
}

/// Every so many layers see everything.
fn kind_of(layer: u64, pattern: u64) -> Value {
    json!(if (layer + 1).is_multiple_of(pattern) { "full_attention" } else { "sliding_attention" })
}

/// Rotary positions: plain, stretched evenly, or as Llama 3 stretches them, which files keep as a tensor of divisors.
fn rotary(reader: &Reader<'_>, head: u64) -> Result<Value, ModelError> {
    let theta = reader.number("rope.freq_base")?.unwrap_or(10_000.0);
    let mut parameters = json!({"rope_type": "default", "rope_theta": theta});
    let kind = reader.gguf.text(&reader.key("rope.scaling.type"));
    let factor = reader.number("rope.scaling.factor")?;
    match (kind, factor) {
        (None | Some("none"), _) => {}
        (Some("linear"), Some(factor)) => {
            parameters = json!({"rope_type": "linear", "rope_theta": theta, "factor": factor});
        }
        (Some(kind), _) => {
            let why = format!("its positions are scaled by `{kind}`; `linear` is supported");
            return Err(reader.damaged(&why));
        }
    }
    let Some(divisors) = reader.gguf.tensor("rope_freqs.weight") else { return Ok(parameters) };
    let fits = divisors.dims.as_slice() == [usize::try_from(head / 2).unwrap_or(usize::MAX)];
    if divisors.format != Ok(BlockFormat::F32) || !fits {
        return Err(reader.damaged("`rope_freqs.weight` does not fit its heads"));
    }
    let bytes = reader.gguf.bytes(divisors);
    let mut kept = vec![0.0; bytes.len() / size_of::<f32>()];
    BlockFormat::F32.read(bytes, &mut kept);
    let factor = f64::from(kept.iter().copied().fold(1.0, f32::max));
    let known = |index: usize| llama3_divisor(theta, index, head, factor);
    let same =
        |(index, &divisor): (usize, &f32)| (known(index) / f64::from(divisor) - 1.0).abs() < 1e-3;
    if !kept.iter().enumerate().all(same) {
        return Err(reader.damaged("its positions are stretched in a way that is not supported"));
    }
    Ok(json!({
        "rope_type": "llama3", "rope_theta": theta, "factor": factor, "low_freq_factor": LOW,
        "high_freq_factor": HIGH, "original_max_position_embeddings": ORIGINAL
    }))
}

// What every published Llama 3 was stretched with.
const LOW: f64 = 1.0;
const HIGH: f64 = 4.0;
const ORIGINAL: f64 = 8192.0;

/// By how much the published Llama 3 models divide a frequency.
fn llama3_divisor(theta: f64, index: usize, head: u64, factor: f64) -> f64 {
    let frequency = theta.powf(-2.0 * index as f64 / head as f64);
    let turns = ORIGINAL * frequency / std::f64::consts::TAU;
    let smooth = ((turns - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    1.0 / ((1.0 - smooth) / factor + smooth)
}

/// Reads the keys of one family.
struct Reader<'a> {
    gguf: &'a Gguf,
    architecture: &'a str,
}

impl<'a> Reader<'a> {
    fn new(gguf: &'a Gguf) -> Result<Reader<'a>, ModelError> {
        let damaged = |why: String| ModelError::Header { path: gguf.path.clone(), why };
        let architecture = gguf
            .text("general.architecture")
            .ok_or_else(|| damaged("it lacks the key `general.architecture`".into()))?;
        if !FAMILIES.contains(&architecture) {
            return Err(ModelError::GgufFamily {
                path: gguf.path.clone(),
                family: architecture.chars().take(40).collect(),
                known: FAMILIES.to_vec(),
            });
        }
        let reader = Reader { gguf, architecture };
        if let Some(blocks) = reader.optional_count("block_count")? {
            reader.has_blocks(blocks)?;
        }
        Ok(reader)
    }

    /// Refuses blocks that the file does not have: a graph is drawn of every block before any tensor is looked for.
    fn has_blocks(&self, blocks: u64) -> Result<(), ModelError> {
        if blocks > MOST_BLOCKS {
            let why = format!("it has {blocks} blocks, and at most {MOST_BLOCKS} are supported");
            return Err(self.damaged(&why));
        }
        let number = |name: &str| name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok();
        let names = self.gguf.tensors().iter().map(|tensor| tensor.name.as_str());
        let present: BTreeSet<u64> = names.filter_map(number).collect();
        match (0..blocks).find(|block| !present.contains(block)) {
            None => Ok(()),
            Some(lost) => {
                let why = format!(
                    "it says that it has {blocks} blocks, and no tensor begins with `blk.{lost}.`"
                );
                Err(self.damaged(&why))
            }
        }
    }

    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    fn damaged(&self, why: &str) -> ModelError {
        ModelError::NotAModel { path: self.gguf.path.clone(), why: why.to_owned() }
    }

    fn count(&self, name: &str) -> Result<u64, ModelError> {
        self.optional_count(name)?
            .ok_or_else(|| self.damaged(&format!("it lacks the key `{}`", self.key(name))))
    }

    /// A number above zero; a list that says the same for every layer counts as that number.
    fn optional_count(&self, name: &str) -> Result<Option<u64>, ModelError> {
        let key = self.key(name);
        if let Some(list) = self.gguf.numbers(&key) {
            let first = list.first().copied().and_then(|first| u64::try_from(first).ok());
            if list.windows(2).any(|pair| pair[0] != pair[1]) || first.is_none() {
                return Err(self.damaged(&format!("`{key}` differs from layer to layer")));
            }
            return Ok(first);
        }
        match (self.gguf.value(&key), self.gguf.count(&key)) {
            (None, _) => Ok(None),
            (_, Some(count)) if count > 0 => Ok(Some(count)),
            _ => Err(self.damaged(&format!("`{key}` is not a number above 0"))),
        }
    }

    fn number(&self, name: &str) -> Result<Option<f64>, ModelError> {
        let number = self.gguf.number(&self.key(name));
        if number.is_some_and(|number| !number.is_finite()) {
            let key = self.key(name);
            return Err(self.damaged(&format!("`{key}` is not a finite number")));
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waves_stay_and_long_ones_are_stretched() {
        assert_eq!(llama3_divisor(500_000.0, 0, 128, 8.0), 1.0);
        assert_eq!(llama3_divisor(500_000.0, 63, 128, 8.0), 8.0);
        let between = llama3_divisor(500_000.0, 32, 128, 8.0);
        assert!((1.0..8.0).contains(&between), "{between}");
    }
}
