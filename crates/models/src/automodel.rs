//! A Hugging Face folder that we build no graph for: `transformers` makes the module, with the folder's own weights.
//!
//! What goes in is read off the configuration: the keys that a family of models has tell whether it takes tokens, images
//! or sound. Nothing is counted here; the worker does that.

use crate::{
    InputKind, ModelError, Progress, Resolved,
    architecture::ArchitectureError,
    checkpoint::Checkpoint,
    fingerprint::hash_files,
    folder::{self, MOST_CONFIG, read_regular},
    program,
    resolve::absolute,
};
use graph::{DataType, Dim, ValueInfo};
use serde_json::Value;
use std::path::{Path, PathBuf};
use types::{
    Bytes, Category, InputRole, ModelInfo, ModelSource, Module, Postprocess, Remark, RemarkCode,
    Weights,
};

/// A folder as it was found.
pub(crate) struct Found<'a> {
    pub(crate) path: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) config: &'a Value,
    pub(crate) files: &'a [PathBuf],
    pub(crate) checkpoint: &'a Checkpoint,
    pub(crate) source: ModelSource,
    /// Why there is no graph.
    pub(crate) why: ArchitectureError,
}

/// The folder as a program that only PyTorch runs.
pub(crate) fn resolved(
    found: Found<'_>,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    let Found { path, name, config, files, checkpoint, source, why } = found;
    let all: Vec<PathBuf> =
        std::iter::once(path.join("config.json")).chain(files.iter().cloned()).collect();
    let (fingerprint, size) = hash_files(&all, cache, progress)?;
    let (inputs, kinds): (Vec<ValueInfo>, Vec<InputKind>) =
        inputs(config, path).into_iter().unzip();
    let family = text(config, "model_type").unwrap_or_default();
    let info = ModelInfo {
        name: name.to_owned(),
        category: category(config, &kinds),
        architecture: family.to_owned(),
        source,
        weights: Weights::Real,
        parameters: checkpoint.numbers(),
        size: Bytes(size),
        fingerprint,
        made_from: None,
    };
    let mut model = program::nothing();
    model.graph.inputs = inputs;
    let mut resolved = Resolved {
        info,
        onnx: Default::default(),
        module: Some(Module::Folder { path: absolute(path)? }),
        model,
        kinds,
        tokenizer: folder::tokenizer(path),
        preprocessor: folder::preprocessor(path),
        postprocess: folder::postprocess(path).unwrap_or(Postprocess::None),
        max_length: folder::longest(part(config, "text_config").unwrap_or(config)),
        default_length: None,
        decoder: None,
        gguf: None,
        commit: None,
        stored: checkpoint.precision(),
        no_graph: Some(why.to_string()),
        remarks: vec![Remark::new(
            RemarkCode::NoGraph,
            format!(
                "run by `transformers` itself: no graph is built for `{family}`, so other engines cannot run it, its \
             outputs were not compared with a graph, and layers have times without FLOPs"
            ),
        )],
    };
    resolved.default_length = resolved.natural_length();
    Ok(resolved)
}

fn text<'a>(config: &'a Value, key: &str) -> Option<&'a str> {
    config.get(key)?.as_str()
}

fn number(config: &Value, key: &str) -> Option<usize> {
    usize::try_from(config.get(key)?.as_u64()?).ok()
}

fn part<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
    config.get(key).filter(|part| part.is_object())
}

fn has(config: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| config.get(key).is_some_and(|value| !value.is_null()))
}

/// What goes in; nothing where the configuration does not tell, and then the user must say it.
fn inputs(config: &Value, folder: &Path) -> Vec<(ValueInfo, InputKind)> {
    let mut inputs = main_inputs(config, folder);
    let decodes = config.get("is_encoder_decoder").and_then(Value::as_bool).unwrap_or(false);
    let is_sound = inputs.iter().any(|(_, kind)| kind.role == InputRole::Audio);
    if decodes && !inputs.is_empty() {
        let length = if is_sound { "decoder_length" } else { "sequence_length" };
        let name = "decoder_input_ids";
        inputs.push(tokens(name, InputRole::DecoderTokenIds, length, vocabulary(config)));
    }
    inputs
}

fn main_inputs(config: &Value, folder: &Path) -> Vec<(ValueInfo, InputKind)> {
    if let Some(sound) = sound(config) {
        return vec![sound];
    }
    if let (Some(words), Some(sight)) = (part(config, "text_config"), part(config, "vision_config"))
    {
        let mut inputs = text_inputs(words);
        // A model that writes text takes images as special tokens among the others; without them text is enough.
        if !generates(config) {
            inputs.extend(image(sight, folder));
        }
        return inputs;
    }
    if vocabulary(config).is_some() {
        return text_inputs(config);
    }
    image(config, folder).into_iter().collect()
}

/// Samples or a spectrogram, by the keys of what stands in front of the model.
fn sound(config: &Value) -> Option<(ValueInfo, InputKind)> {
    let bins = || number(config, "num_mel_bins").map(Dim::Fixed);
    let (name, dims) = match () {
        // Two frames become one place.
        () if has(config, &["num_mel_bins", "max_source_positions"]) => {
            let places = number(config, "max_source_positions")?;
            ("input_features", vec![bins()?, Dim::Fixed(places.saturating_mul(2))])
        }
        () if has(config, &["input_feat_per_channel", "max_source_positions"]) => {
            let width = number(config, "input_feat_per_channel")?;
            ("input_features", vec![Dim::Symbol("frames".into()), Dim::Fixed(width)])
        }
        () if has(config, &["num_mel_bins", "max_length"]) => {
            ("input_values", vec![Dim::Fixed(number(config, "max_length")?), bins()?])
        }
        () if has(config, &["conv_dim", "conv_kernel", "conv_stride"]) => {
            ("input_values", vec![Dim::Symbol("samples".into())])
        }
        () => return None,
    };
    Some(value(name, DataType::Float, InputRole::Audio, dims, None))
}

fn text_inputs(config: &Value) -> Vec<(ValueInfo, InputKind)> {
    let ids = tokens("input_ids", InputRole::TokenIds, "sequence_length", vocabulary(config));
    let mask = tokens("attention_mask", InputRole::AttentionMask, "sequence_length", None);
    vec![ids, mask]
}

fn vocabulary(config: &Value) -> Option<usize> {
    number(config, "vocab_size").or_else(|| number(part(config, "text_config")?, "vocab_size"))
}

fn tokens(
    name: &str,
    role: InputRole,
    length: &str,
    vocabulary: Option<usize>,
) -> (ValueInfo, InputKind) {
    value(name, DataType::Int64, role, vec![Dim::Symbol(length.into())], vocabulary)
}

/// Pictures of the size that the configuration or the preprocessor says; of a free size where neither does.
fn image(config: &Value, folder: &Path) -> Option<(ValueInfo, InputKind)> {
    let keys = ["image_size", "num_channels", "patch_size", "hidden_sizes"];
    if !keys.iter().any(|key| has(config, &[key])) {
        return None;
    }
    let channels = number(config, "num_channels").unwrap_or(3);
    let sides = config.get("image_size").and_then(sides).or_else(|| preprocessed(folder));
    let [height, width] = match sides {
        Some([height, width]) => [Dim::Fixed(height), Dim::Fixed(width)],
        None => [Dim::Symbol("height".into()), Dim::Symbol("width".into())],
    };
    let mut dims = vec![Dim::Fixed(channels), height, width];
    if let Some(frames) = number(config, "num_frames") {
        dims.insert(0, Dim::Fixed(frames));
    }
    Some(value("pixel_values", DataType::Float, InputRole::Image, dims, None))
}

/// `224`, `[224, 224]` or `{"height": 224, "width": 224}`.
fn sides(size: &Value) -> Option<[usize; 2]> {
    let whole = |value: &Value| usize::try_from(value.as_u64()?).ok().filter(|side| *side > 0);
    match size {
        Value::Array(both) => match both.as_slice() {
            [height, width] => Some([whole(height)?, whole(width)?]),
            _ => None,
        },
        Value::Object(_) => match (number(size, "height"), number(size, "width")) {
            (Some(height), Some(width)) => Some([height, width]),
            _ => number(size, "shortest_edge").map(|side| [side; 2]),
        },
        size => whole(size).map(|side| [side; 2]),
    }
}

/// The size that the folder's preprocessor makes pictures: what it cuts out, else what it scales to.
fn preprocessed(folder: &Path) -> Option<[usize; 2]> {
    let file = read_regular(&folder.join("preprocessor_config.json"), MOST_CONFIG).ok()?;
    let preprocessor: Value = serde_json::from_slice(&file).ok()?;
    let cuts = preprocessor.get("do_center_crop").and_then(Value::as_bool).unwrap_or(false);
    let cut = preprocessor.get("crop_size").filter(|_| cuts).and_then(sides);
    cut.or_else(|| preprocessor.get("size").and_then(sides))
}

fn value(
    name: &str,
    dtype: DataType,
    role: InputRole,
    behind: Vec<Dim>,
    vocabulary: Option<usize>,
) -> (ValueInfo, InputKind) {
    let shape = std::iter::once(Dim::Symbol("batch".into())).chain(behind).collect();
    let info = ValueInfo { name: name.to_owned(), dtype, shape: Some(shape) };
    (info, InputKind { name: name.to_owned(), role, vocabulary })
}

fn generates(config: &Value) -> bool {
    let class = config.get("architectures").and_then(|names| names.get(0)?.as_str());
    class.is_some_and(|class| {
        ["ForCausalLM", "LMHeadModel", "ForConditionalGeneration"]
            .iter()
            .any(|ending| class.ends_with(ending))
    })
}

fn category(config: &Value, kinds: &[InputKind]) -> Category {
    let has = |role| kinds.iter().any(|kind| kind.role == role);
    match (has(InputRole::TokenIds), has(InputRole::Image), has(InputRole::Audio)) {
        (true, true, _) => Category::Multimodal,
        (true, false, _) if generates(config) => Category::Generation,
        (true, false, _) => Category::Text,
        (false, true, _) => Category::Vision,
        (false, false, true) => Category::Audio,
        (false, false, false) => Category::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shapes(config: Value) -> Vec<String> {
        let show = |(info, _): &(ValueInfo, InputKind)| {
            let dims = info.shape.as_ref().unwrap().iter().map(|dim| match dim {
                Dim::Fixed(size) => size.to_string(),
                Dim::Symbol(symbol) => symbol.clone(),
                Dim::Unknown => "?".into(),
            });
            format!("{}={}", info.name, dims.collect::<Vec<_>>().join("x"))
        };
        inputs(&config, Path::new("/nowhere")).iter().map(show).collect()
    }

    #[test]
    fn the_configuration_tells_what_goes_in() {
        let text = ["input_ids=batchxsequence_length", "attention_mask=batchxsequence_length"];
        assert_eq!(shapes(json!({"model_type": "albert", "vocab_size": 60})), text);
        let both = shapes(json!({"vocab_size": 60, "is_encoder_decoder": true}));
        assert_eq!(both[2], "decoder_input_ids=batchxsequence_length");
        let resnet = json!({"hidden_sizes": [8], "num_channels": 1});
        assert_eq!(shapes(resnet), ["pixel_values=batchx1xheightxwidth"]);
        let swin = json!({"image_size": [32, 48], "patch_size": 4});
        assert_eq!(shapes(swin), ["pixel_values=batchx3x32x48"]);
        let sound =
            json!({"vocab_size": 30, "conv_dim": [8], "conv_kernel": [3], "conv_stride": [2]});
        assert_eq!(shapes(sound), ["input_values=batchxsamples"]);
        let whisper = json!({
            "vocab_size": 100, "num_mel_bins": 80, "max_source_positions": 1500, "is_encoder_decoder": true,
        });
        let expected = ["input_features=batchx80x3000", "decoder_input_ids=batchxdecoder_length"];
        assert_eq!(shapes(whisper), expected);
        let siglip = json!({"text_config": {"vocab_size": 9}, "vision_config": {"image_size": 32}});
        assert_eq!(shapes(siglip)[2], "pixel_values=batchx3x32x32");
        assert!(shapes(json!({"model_type": "timeseries"})).is_empty());
    }
}
