//! How an input is filled, once its meaning and shape are known.

use crate::{
    InputKind, ModelError, NoValues,
    signature::{is_past, is_sampling_rate, is_state},
};
use graph::{DataType, ValueInfo};
use types::{ElementType, Fill, InputRole, ValueRange};

/// Token ids stay below this where the vocabulary is not to be found.
pub(crate) const SMALL_VOCABULARY: usize = 100;

/// The rate that speech models are made for.
const SAMPLING_RATE: f64 = 16_000.0;

/// The element type of an input, if its values can be generated.
pub(crate) fn element_type(input: &ValueInfo) -> Result<ElementType, ModelError> {
    Ok(match input.dtype {
        DataType::Float => ElementType::F32,
        DataType::Double => ElementType::F64,
        DataType::Float16 => ElementType::F16,
        DataType::Bfloat16 => ElementType::Bf16,
        DataType::Int64 => ElementType::I64,
        DataType::Int32 => ElementType::I32,
        DataType::Int16 => ElementType::I16,
        DataType::Int8 => ElementType::I8,
        DataType::Uint8 => ElementType::U8,
        DataType::Bool => ElementType::Bool,
        other => {
            return Err(ModelError::InputType {
                input: input.name.clone(),
                values: match other {
                    DataType::String => NoValues::Strings,
                    // The reader knows types of tensors only.
                    DataType::Undefined => NoValues::NoTensor,
                    other => NoValues::Numbers(other),
                },
            });
        }
    })
}

/// A recipe for values in a range that the user gave; what the input cannot hold is refused.
pub(crate) fn ranged(
    input: &str,
    (dtype, role): (ElementType, InputRole),
    range: &ValueRange,
) -> Result<Fill, ModelError> {
    let (low, high) = range.bounds();
    let is_index = matches!(role, InputRole::TokenIds | InputRole::DecoderTokenIds);
    let (what, least, most) = match dtype {
        ElementType::F32 | ElementType::F64 | ElementType::F16 | ElementType::Bf16 => {
            match is_index {
                // Some models take ids as floats.
                true => ("ids", 0.0, 9e15),
                false => return Ok(Fill::Uniform { low, high }),
            }
        }
        // What a double counts exactly.
        ElementType::I64 => ("64-bit integers", -9e15, 9e15),
        ElementType::I32 => ("32-bit integers", f64::from(i32::MIN), f64::from(i32::MAX)),
        ElementType::I16 => ("16-bit integers", f64::from(i16::MIN), f64::from(i16::MAX)),
        ElementType::I8 => ("8-bit integers", f64::from(i8::MIN), f64::from(i8::MAX)),
        ElementType::U8 => ("bytes", 0.0, 255.0),
        ElementType::Bool => ("booleans", 0.0, 1.0),
    };
    if !range.is_whole() || low < least || high > most {
        let (input, range) = (input.to_owned(), range.to_string());
        return Err(ModelError::Range { input, dtype: what, range });
    }
    Ok(Fill::Integers { low: low as i64, high: high as i64 + 1 })
}

/// What the other inputs of the model tell about one that counts them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    /// Tokens or samples in a row.
    pub(crate) length: usize,
    /// Width and height of the image.
    pub(crate) side: usize,
}

/// How to fill an input.
pub(crate) fn fill(
    kind: &InputKind,
    dtype: ElementType,
    dims: &[usize],
    around: Surroundings,
) -> Fill {
    let constant = |value: f64| Fill::Constant { value };
    let integer = !matches!(
        dtype,
        ElementType::F32 | ElementType::F64 | ElementType::F16 | ElementType::Bf16
    );
    match kind.role {
        InputRole::TokenIds | InputRole::DecoderTokenIds => {
            let high = kind.vocabulary.unwrap_or(SMALL_VOCABULARY);
            Fill::Integers { low: 0, high: high.max(1) as i64 }
        }
        InputRole::AttentionMask => constant(1.0),
        InputRole::TokenTypes => constant(0.0),
        InputRole::Image if dtype == ElementType::U8 => Fill::Integers { low: 0, high: 256 },
        InputRole::Image => Fill::Uniform { low: 0.0, high: 1.0 },
        // Quiet noise: loud enough to be no silence, far from clipping.
        InputRole::Audio if integer => Fill::Integers { low: -1000, high: 1000 },
        InputRole::Audio => Fill::Normal { mean: 0.0, std: 0.05 },
        InputRole::Other => other(&kind.name.to_lowercase(), dtype, integer, dims, around),
    }
}

fn other(
    name: &str,
    dtype: ElementType,
    integer: bool,
    dims: &[usize],
    around: Surroundings,
) -> Fill {
    let constant = |value: f64| Fill::Constant { value };
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if is_sampling_rate(name) {
        return constant(SAMPLING_RATE);
    }
    if dtype == ElementType::Bool || is_past(name) || is_state(name) {
        return constant(0.0);
    }
    if integer && has(&["position"]) {
        return Fill::Positions;
    }
    if has(&["length", "lens"]) || name.ends_with("_len") {
        return constant(around.length as f64);
    }
    if has(&["scale"]) {
        return constant(1.0);
    }
    if dims.len() <= 2 && has(&["size", "shape"]) {
        return constant(around.side as f64);
    }
    match (integer, dims.len()) {
        // A single number steers something: 1 is the mildest choice.
        (_, 0 | 1) => constant(1.0),
        (true, _) if dtype == ElementType::U8 || has(&["byte"]) => {
            Fill::Integers { low: 0, high: if dtype == ElementType::I8 { 128 } else { 256 } }
        }
        (true, _) => Fill::Integers { low: 0, high: 2 },
        (false, _) => Fill::Normal { mean: 0.0, std: 1.0 },
    }
}
