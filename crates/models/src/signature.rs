//! What the inputs of a bare `.onnx` file mean, read from names, types, shapes and the nodes that use them.

use crate::InputKind;
use graph::{Attribute, DataType, Dim, Graph, Model, ValueInfo};
use std::collections::HashMap;
use types::{Category, InputRole};

/// From this many values on, a row of floats is sound and not a table: a quarter of a second at 16 kHz.
const SOUND: usize = 4000;

/// The meaning of every input.
pub(crate) fn read_inputs(model: &Model, name: &str) -> Vec<InputKind> {
    let graph = &model.graph;
    let names: Vec<String> = graph.inputs.iter().map(|input| input.name.to_lowercase()).collect();
    let model_name = name.to_lowercase();
    let samples_sound = names.iter().any(|name| is_sampling_rate(name))
        || ["vad", "speech", "audio", "voice", "wav2vec"]
            .iter()
            .any(|part| model_name.contains(part));
    let tables = Tables::new(graph);
    graph
        .inputs
        .iter()
        .map(|input| {
            let can_index = is_index(input.dtype) || is_float(input.dtype);
            let vocabulary = can_index.then(|| tables.indexed_by(&input.name)).flatten();
            let role = role(input, vocabulary.is_some(), samples_sound);
            InputKind { name: input.name.clone(), role, vocabulary }
        })
        .collect()
}

/// What the model is for, as far as its inputs and outputs tell.
pub(crate) fn category(model: &Model, kinds: &[InputKind]) -> Category {
    let has = |role| kinds.iter().any(|kind| kind.role == role);
    let generates = has(InputRole::DecoderTokenIds)
        || model.graph.outputs.iter().any(|output| output.name.starts_with("present"))
        || kinds.iter().any(|kind| is_past(&kind.name.to_lowercase()));
    match (has(InputRole::TokenIds), has(InputRole::Image), has(InputRole::Audio)) {
        (true, false, false) if generates => Category::Generation,
        (true, false, false) => Category::Text,
        (false, true, false) => Category::Vision,
        (false, false, true) => Category::Audio,
        (false, false, false) => Category::Other,
        _ => Category::Multimodal,
    }
}

fn role(input: &ValueInfo, indexes: bool, samples_sound: bool) -> InputRole {
    let name = input.name.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if is_past(&name) || is_state(&name) || is_sampling_rate(&name) {
        return InputRole::Other;
    }
    if has(&["mask"]) {
        return InputRole::AttentionMask;
    }
    if is_index(input.dtype) || indexes {
        return match () {
            () if has(&["token_type", "segment"]) => InputRole::TokenTypes,
            () if has(&["position"]) => InputRole::Other,
            () if has(&["decoder"]) && (indexes || has(&["ids"])) => InputRole::DecoderTokenIds,
            // Bytes of a file are no text, though they pick rows of a table as well.
            () if has(&["byte"]) => InputRole::Other,
            () if indexes || has(&["input_ids", "token"]) => InputRole::TokenIds,
            () => InputRole::Other,
        };
    }
    let Some(shape) = &input.shape else { return InputRole::Other };
    if is_image(shape, input.dtype, has(&["image", "pixel", "img"])) {
        return InputRole::Image;
    }
    if input.dtype == DataType::Uint8 || input.dtype == DataType::Bool || shape.is_empty() {
        return InputRole::Other;
    }
    let named = has(&[
        "audio",
        "wav",
        "speech",
        "sound",
        "signal",
        "pcm",
        "input_values",
        "input_features",
        "mel",
        "spectrogram",
        "fbank",
    ]);
    let long = shape.iter().any(|dim| matches!(dim, Dim::Fixed(size) if *size >= SOUND))
        && shape.iter().skip(1).filter(|dim| **dim != Dim::Fixed(1)).count() == 1;
    let named_rate = samples_sound && shape.len() <= 2;
    if named || long || named_rate { InputRole::Audio } else { InputRole::Other }
}

/// Which axis of an image holds the colours.
pub(crate) fn channel_axis(shape: &[Dim]) -> Option<usize> {
    let colours = |dim: &Dim| matches!(dim, Dim::Fixed(1 | 3 | 4));
    match shape.len() {
        4 if colours(&shape[1]) => Some(1),
        4 if colours(&shape[3]) => Some(3),
        3 if colours(&shape[2]) => Some(2),
        // One of something in front is a batch of one rather than one colour.
        3 if matches!(shape[0], Dim::Fixed(3 | 4)) => Some(0),
        _ => None,
    }
}

fn is_image(shape: &[Dim], dtype: DataType, named: bool) -> bool {
    if !matches!(dtype, DataType::Float | DataType::Float16 | DataType::Uint8 | DataType::Double) {
        return false;
    }
    let channels = channel_axis(shape);
    match shape.len() {
        4 => named || channels.is_some(),
        // Without a name, three dimensions are an image only where both sides are known to be large.
        3 => channels.is_some_and(|axis| {
            let sides = shape.iter().enumerate().filter(|(place, _)| *place != axis);
            named
                || sides.into_iter().all(|(_, dim)| matches!(dim, Dim::Fixed(size) if *size >= 32))
        }),
        _ => false,
    }
}

pub(crate) fn is_sampling_rate(name: &str) -> bool {
    matches!(name, "sr" | "sample_rate" | "sampling_rate" | "samplerate")
}

pub(crate) fn is_past(name: &str) -> bool {
    name.contains("past") || name.contains("cache")
}

pub(crate) fn is_state(name: &str) -> bool {
    name.contains("state") && !name.contains("hidden_states")
        || matches!(name, "h" | "c" | "h0" | "c0" | "hidden" | "hn" | "cn")
}

fn is_float(dtype: DataType) -> bool {
    matches!(dtype, DataType::Float | DataType::Double)
}

fn is_index(dtype: DataType) -> bool {
    matches!(dtype, DataType::Int64 | DataType::Int32)
}

/// Finds the table that an input picks rows from: its number of rows is the vocabulary.
struct Tables<'a> {
    graph: &'a Graph,
    producers: HashMap<&'a str, usize>,
}

impl<'a> Tables<'a> {
    fn new(graph: &'a Graph) -> Tables<'a> {
        let outputs = |(index, node): (usize, &'a graph::Node)| {
            node.outputs.iter().map(move |output| (output.as_str(), index)).collect::<Vec<_>>()
        };
        let producers = graph.nodes.iter().enumerate().flat_map(outputs).collect();
        Tables { graph, producers }
    }

    /// The rows of the smallest table that `input` picks from, through nodes that do not change its values.
    fn indexed_by(&self, input: &str) -> Option<usize> {
        let mut names = vec![input];
        let mut rows: Option<usize> = None;
        for node in &self.graph.nodes {
            let Some(place) = node.inputs.iter().position(|name| names.contains(&name.as_str()))
            else {
                continue;
            };
            let mut bound = |found: Option<usize>| {
                if let Some(found) = found {
                    rows = Some(rows.map_or(found, |known| known.min(found)));
                }
            };
            match node.op_type.as_str() {
                "Gather"
                    if place == 1
                        && !matches!(node.attributes.get("axis"), Some(Attribute::Int(axis)) if *axis != 0) =>
                {
                    bound(self.rows(&node.inputs[0]));
                }
                "OneHot" if place == 0 => {
                    bound(node.inputs.get(1).and_then(|name| self.number(name)));
                }
                "Cast" | "Identity" | "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten"
                | "Transpose"
                    if place == 0 =>
                {
                    names.extend(node.outputs.iter().map(String::as_str));
                }
                _ => {}
            }
        }
        rows
    }

    /// A constant that is one positive number.
    fn number(&self, name: &str) -> Option<usize> {
        let known = self.graph.initializers.iter().find(|tensor| tensor.name == name);
        let tensor = match known {
            Some(tensor) => tensor,
            None => {
                let node = &self.graph.nodes[*self.producers.get(name)?];
                match node.attributes.get("value") {
                    Some(Attribute::Tensor(tensor)) if node.op_type == "Constant" => tensor,
                    _ if node.op_type == "Cast" => return self.number(node.inputs.first()?),
                    _ => return None,
                }
            }
        };
        let value = tensor.i64s()?.first().copied()?;
        usize::try_from(value).ok().filter(|value| *value > 1)
    }

    fn rows(&self, table: &str) -> Option<usize> {
        if let Some(tensor) = self.graph.initializers.iter().find(|tensor| tensor.name == table) {
            // One row or a list of numbers is no vocabulary.
            return (tensor.dims.len() >= 2 && tensor.dims[0] > 1).then(|| tensor.dims[0]);
        }
        let node = &self.graph.nodes[*self.producers.get(table)?];
        match (node.op_type.as_str(), node.attributes.get("value")) {
            ("Constant", Some(Attribute::Tensor(tensor))) => {
                (tensor.dims.len() >= 2).then(|| tensor.dims[0])
            }
            // A quantised table is unpacked before it is used.
            ("DequantizeLinear" | "Cast" | "Identity" | "Mul" | "Sub" | "Add", _) => {
                node.inputs.iter().filter_map(|input| self.rows(input)).max()
            }
            _ => None,
        }
    }
}
