//! KServe version 2, which Triton, MLServer and others speak: tensors as JSON, or as bytes behind a head of JSON.

use crate::response::Head;
use serde::Deserialize;
use serde_json::{Value, json};
use stats::Generator;
use std::str::FromStr;

/// The most values of one tensor.
const MOST_VALUES: usize = 64 << 20;

/// A shape that the user fixed: `pixel_values=1x3x224x224`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The input.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<usize>,
}

/// A tensor that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// A shape that is no shape.
    #[error("`{0}` is not a shape; write NAME=1x3x224x224")]
    Shape(String),
    /// A type that is not known.
    #[error("input `{input}` has type {kind}, which cannot be drawn at random here")]
    Kind {
        /// The input.
        input: String,
        /// Its type.
        kind: String,
    },
    /// A type that JSON does not have.
    #[error("input `{input}` has type {kind}, which has no form in JSON")]
    NoJson {
        /// The input.
        input: String,
        /// Its type.
        kind: String,
    },
    /// A shape for an input that does not exist.
    #[error("the model has no input `{0}`; it has {1}")]
    NoInput(String, String),
    /// Too many values.
    #[error("input `{0}` would have more than {MOST_VALUES} values")]
    TooLarge(String),
}

impl FromStr for Shape {
    type Err = TensorError;

    fn from_str(text: &str) -> Result<Shape, TensorError> {
        let wrong = || TensorError::Shape(text.into());
        let (name, dims) = text.split_once('=').ok_or_else(wrong)?;
        let dims: Result<Vec<usize>, _> = dims.split(['x', '×']).map(str::parse).collect();
        let dims = dims.map_err(|_| wrong())?;
        let usable = !name.is_empty() && dims.iter().all(|dim| *dim > 0);
        if usable { Ok(Shape { name: name.into(), dims }) } else { Err(wrong()) }
    }
}

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) inputs: Vec<Input>,
}

/// One input of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) datatype: String,
    pub(crate) shape: Vec<i64>,
}

/// Values of one tensor, as both forms need them.
enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Flags(Vec<bool>),
    Texts(Vec<String>),
}

/// The only value of an input of integers, if its name says what it means: random numbers in a mask, or in the numbers of
/// segments, are an error of many a text model.
fn only_value(name: &str) -> Option<i64> {
    let name = name.to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match () {
        () if is(&["mask"]) => Some(1),
        () if is(&["token_type", "segment"]) => Some(0),
        () => None,
    }
}

/// Values in the range that any model takes: floats from −1 to 1, small integers, short words. A mask of integers is 1.
fn draw(input: &Input, count: usize, generator: &mut Generator) -> Result<Values, TensorError> {
    let mut unit = || (generator.number() >> 11) as f64 / (1u64 << 53) as f64;
    Ok(match input.datatype.as_str() {
        "FP16" | "BF16" | "FP32" | "FP64" => {
            Values::Floats((0..count).map(|_| unit() * 2.0 - 1.0).collect())
        }
        "INT8" | "INT16" | "INT32" | "INT64" | "UINT8" | "UINT16" | "UINT32" | "UINT64" => {
            let only = only_value(&input.name);
            let value = |_| only.unwrap_or_else(|| (unit() * 100.0) as i64);
            Values::Integers((0..count).map(value).collect())
        }
        "BOOL" => Values::Flags((0..count).map(|_| unit() < 0.5).collect()),
        "BYTES" => {
            Values::Texts((0..count).map(|_| format!("w{}", (unit() * 1e6) as u64)).collect())
        }
        kind => return Err(TensorError::Kind { input: input.name.clone(), kind: kind.into() }),
    })
}

impl Values {
    fn json(self) -> Value {
        match self {
            Values::Integers(values) => values.into(),
            // Six digits are enough for a random number and half the bytes of all.
            Values::Floats(values) => {
                values.into_iter().map(|x| (x * 1e6).round() / 1e6).collect::<Vec<f64>>().into()
            }
            Values::Flags(values) => values.into(),
            Values::Texts(values) => values.into(),
        }
    }

    fn bytes(&self, kind: &str) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Values::Integers(values) => {
                let width = match kind {
                    "INT8" | "UINT8" => 1,
                    "INT16" | "UINT16" => 2,
                    "INT32" | "UINT32" => 4,
                    _ => 8,
                };
                values
                    .iter()
                    .for_each(|value| out.extend_from_slice(&value.to_le_bytes()[..width]));
            }
            Values::Floats(values) => values.iter().for_each(|value| match kind {
                "FP64" => out.extend_from_slice(&value.to_le_bytes()),
                "FP32" => out.extend_from_slice(&(*value as f32).to_le_bytes()),
                // The upper half of a single number.
                "BF16" => out.extend_from_slice(&(*value as f32).to_le_bytes()[2..]),
                _ => out.extend_from_slice(&half(*value as f32).to_le_bytes()),
            }),
            Values::Flags(values) => out.extend(values.iter().map(|value| u8::from(*value))),
            Values::Texts(values) => values.iter().for_each(|value| {
                out.extend_from_slice(&(value.len() as u32).to_le_bytes());
                out.extend_from_slice(value.as_bytes());
            }),
        }
        out
    }
}

/// A number between −1 and 1 as half precision, cut off.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let exponent = ((bits >> 23) & 0xff) as i32 - 127 + 15;
    match exponent {
        ..=0 => sign,
        1..=30 => sign | (exponent as u16) << 10 | ((bits >> 13) & 0x3ff) as u16,
        _ => sign | 0x7bff,
    }
}

/// The dimensions of an input: those the user fixed, otherwise the model's own with `batch` in the place of the first open one
/// and `length` in that of the others.
fn dims(
    input: &Input,
    shapes: &[Shape],
    batch: usize,
    length: usize,
) -> Result<Vec<usize>, TensorError> {
    let fixed = shapes.iter().find(|shape| shape.name == input.name);
    let dims: Vec<usize> = match fixed {
        Some(shape) => shape.dims.clone(),
        None => {
            let own = |(place, dim): (usize, &i64)| match usize::try_from(*dim) {
                Ok(dim) => dim,
                Err(_) if place == 0 => batch,
                Err(_) => length,
            };
            input.shape.iter().enumerate().map(own).collect()
        }
    };
    let count = dims.iter().try_fold(1usize, |all, dim| all.checked_mul(*dim));
    match count.filter(|count| *count <= MOST_VALUES) {
        Some(_) => Ok(dims),
        None => Err(TensorError::TooLarge(input.name.clone())),
    }
}

/// The body of a request, and how long its JSON is where tensors follow as bytes.
pub(crate) fn request(
    metadata: &Metadata,
    shapes: &[Shape],
    (batch, length): (usize, usize),
    binary: bool,
    generator: &mut Generator,
) -> Result<(Vec<u8>, Option<usize>), TensorError> {
    let known = |shape: &&Shape| metadata.inputs.iter().all(|input| input.name != shape.name);
    if let Some(unknown) = shapes.iter().find(known) {
        let names: Vec<&str> = metadata.inputs.iter().map(|input| input.name.as_str()).collect();
        return Err(TensorError::NoInput(unknown.name.clone(), names.join(", ")));
    }
    let mut inputs = Vec::new();
    let mut tail = Vec::new();
    for input in &metadata.inputs {
        let dims = dims(input, shapes, batch, length)?;
        let values = draw(input, dims.iter().product(), generator)?;
        let mut entry = json!({ "name": input.name, "shape": dims, "datatype": input.datatype });
        if binary {
            let bytes = values.bytes(&input.datatype);
            entry["parameters"] = json!({ "binary_data_size": bytes.len() });
            tail.extend(bytes);
        } else if matches!(input.datatype.as_str(), "FP16" | "BF16") {
            let (input, kind) = (input.name.clone(), input.datatype.clone());
            return Err(TensorError::NoJson { input, kind });
        } else {
            entry["data"] = values.json();
        }
        inputs.push(entry);
    }
    let mut body = json!({ "inputs": inputs });
    if binary {
        body["parameters"] = json!({ "binary_data_output": true });
    }
    let mut bytes = body.to_string().into_bytes();
    let head = binary.then_some(bytes.len());
    bytes.extend(tail);
    Ok((bytes, head))
}

/// Whether an answer is one: it has outputs.
pub(crate) fn check_answer(head: &Head, body: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow, default)]
        outputs: Option<Vec<Output<'a>>>,
        #[serde(default)]
        error: Option<Value>,
    }
    #[derive(Deserialize)]
    struct Output<'a> {
        #[serde(borrow)]
        #[expect(dead_code, reason = "that it is there is all that is asked")]
        name: std::borrow::Cow<'a, str>,
    }
    let json = match head.inference_header {
        Some(length) => body.get(..length).ok_or("its head is longer than the whole answer")?,
        None => body,
    };
    let answer: Answer<'_> = serde_json::from_slice(json)
        .map_err(|error| format!("the answer is not that of KServe: {error}"))?;
    match (answer.error, answer.outputs) {
        (Some(error), _) => Err(format!("the server reports {error}")),
        (None, Some(outputs)) if !outputs.is_empty() => Ok(()),
        _ => Err("the answer has no outputs".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        serde_json::from_str(
            r#"{"name":"m","versions":["1"],"platform":"x","inputs":[
                {"name":"ids","datatype":"INT64","shape":[-1,-1]},
                {"name":"x","datatype":"FP32","shape":[-1,3]},
                {"name":"on","datatype":"BOOL","shape":[1]}],"outputs":[]}"#,
        )
        .unwrap()
    }

    #[test]
    fn tensors_as_json_have_the_models_own_shapes() {
        let mut generator = Generator::new(1);
        let (body, head) = request(&metadata(), &[], (2, 5), false, &mut generator).unwrap();
        assert_eq!(head, None);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["inputs"][0]["shape"], json!([2, 5]));
        assert_eq!(body["inputs"][0]["data"].as_array().unwrap().len(), 10);
        assert_eq!(body["inputs"][1]["data"].as_array().unwrap().len(), 6);
        assert!(body["inputs"][2]["data"][0].is_boolean());
    }

    #[test]
    fn masks_are_one_and_segments_zero() {
        let metadata: Metadata = serde_json::from_str(
            r#"{"inputs":[{"name":"input_ids","datatype":"INT64","shape":[1,64]},
                {"name":"attention_mask","datatype":"INT64","shape":[1,64]},
                {"name":"Segment_IDs","datatype":"INT32","shape":[1,64]},
                {"name":"token_type_ids","datatype":"INT32","shape":[1,64]}]}"#,
        )
        .unwrap();
        let mut generator = Generator::new(1);
        let (body, _) = request(&metadata, &[], (1, 1), false, &mut generator).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let all = |at: usize, value: i64| {
            body["inputs"][at]["data"].as_array().unwrap().iter().all(|one| *one == value)
        };
        assert!(all(1, 1) && all(2, 0) && all(3, 0), "{body}");
        assert!(!all(0, 0) && !all(0, 1), "{body}");
    }

    #[test]
    fn tensors_as_bytes_follow_the_head_in_order() {
        let shapes = ["ids=1x4".parse().unwrap()];
        let mut generator = Generator::new(1);
        let (body, head) = request(&metadata(), &shapes, (1, 1), true, &mut generator).unwrap();
        let head = head.unwrap();
        let json: Value = serde_json::from_slice(&body[..head]).unwrap();
        let sizes: Vec<u64> = json["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|input| input["parameters"]["binary_data_size"].as_u64().unwrap())
            .collect();
        assert_eq!(sizes, [32, 12, 1]);
        assert_eq!(body.len() - head, 45);
        let first = f32::from_le_bytes(body[head + 32..head + 36].try_into().unwrap());
        assert!((-1.0..=1.0).contains(&first) && first != 0.0);
    }

    #[test]
    fn what_cannot_be_made_is_named() {
        let mut generator = Generator::new(1);
        let mut ask = |text: &str, shapes: &[Shape]| {
            let metadata: Metadata = serde_json::from_str(text).unwrap();
            request(&metadata, shapes, (1, 1), false, &mut generator).unwrap_err().to_string()
        };
        let one = |kind: &str, dim: i64| {
            format!(r#"{{"inputs":[{{"name":"x","datatype":"{kind}","shape":[{dim}]}}]}}"#)
        };
        assert!(ask(&one("FP16", 1), &[]).contains("no form in JSON"));
        assert!(ask(&one("COMPLEX", 1), &[]).contains("COMPLEX"));
        assert!(ask(&one("FP32", 1 << 40), &[]).contains("more than"));
        assert!(ask(&one("FP32", 1), &["y=1".parse().unwrap()]).contains("no input `y`; it has x"));
        for wrong in ["x", "=1", "x=", "x=0", "x=1x-2", "x=ax3"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn half_precision_is_the_upper_part_of_a_number() {
        for (value, bits) in
            [(0.0, 0), (1.0, 0x3c00), (-1.0, 0xbc00), (0.5, 0x3800), (0.333_251_95, 0x3555)]
        {
            assert_eq!(half(value), bits, "{value}");
        }
    }

    #[test]
    fn an_answer_without_outputs_is_none() {
        let check = |text: &str| check_answer(&Head::default(), text.as_bytes());
        assert!(
            check(r#"{"model_name":"m","outputs":[{"name":"y","shape":[1],"data":[1]}]}"#).is_ok()
        );
        assert!(check(r#"{"outputs":[]}"#).unwrap_err().contains("no outputs"));
        assert!(check(r#"{"error":"bad"}"#).unwrap_err().contains("bad"));
        assert!(check("<html>").unwrap_err().contains("KServe"));
        let mut binary = Head::default();
        binary.inference_header = Some(99);
        assert!(check_answer(&binary, b"{}").is_err());
    }
}
