//! What became different in ONNX's operators from opset 14 to 23. An operator that is in none of these lists means the
//! same in all of these versions, or only takes more types.

use crate::Attribute;

/// Operators that are not there from the beginning, and since when they are.
pub(super) const SINCE: &[(&str, i64)] = &[
    ("AffineGrid", 20),
    ("Attention", 23),
    ("Bernoulli", 15),
    ("BitwiseAnd", 18),
    ("BitwiseNot", 18),
    ("BitwiseOr", 18),
    ("BitwiseXor", 18),
    ("BlackmanWindow", 17),
    ("CastLike", 15),
    ("CenterCropPad", 18),
    ("Col2Im", 18),
    ("DFT", 17),
    ("DeformConv", 19),
    ("Gelu", 20),
    ("GridSample", 16),
    ("GroupNormalization", 18),
    ("HammingWindow", 17),
    ("HannWindow", 17),
    ("HardSwish", 14),
    ("ImageDecoder", 20),
    ("LayerNormalization", 17),
    ("MelWeightMatrix", 17),
    ("Mish", 18),
    ("Optional", 15),
    ("OptionalGetElement", 15),
    ("OptionalHasElement", 15),
    ("RMSNormalization", 23),
    ("RegexFullMatch", 20),
    ("RotaryEmbedding", 23),
    ("STFT", 17),
    ("SequenceMap", 17),
    ("StringConcat", 20),
    ("StringSplit", 20),
    ("Trilu", 14),
];

/// Arguments that came later; without them an operator does what it always did.
pub(super) const ADDED: &[(&str, i64, &str)] = &[
    ("AveragePool", 19, "dilations"),
    ("BatchNormalization", 14, "training_mode"),
    ("Cast", 19, "saturate"),
    ("CastLike", 19, "saturate"),
    ("DequantizeLinear", 21, "block_size"),
    ("DequantizeLinear", 23, "output_dtype"),
    ("GRU", 14, "layout"),
    ("LSTM", 14, "layout"),
    ("LpPool", 18, "ceil_mode"),
    ("LpPool", 18, "dilations"),
    ("QuantizeLinear", 19, "saturate"),
    ("QuantizeLinear", 21, "block_size"),
    ("QuantizeLinear", 21, "output_dtype"),
    ("QuantizeLinear", 23, "precision"),
    ("RNN", 14, "layout"),
    ("Reshape", 14, "allowzero"),
    ("Resize", 18, "antialias"),
    ("Resize", 18, "axes"),
    ("Resize", 18, "keep_aspect_ratio_policy"),
    ("ScatterElements", 16, "reduction"),
    ("ScatterND", 16, "reduction"),
    ("Shape", 15, "end"),
    ("Shape", 15, "start"),
    ("Split", 18, "num_outputs"),
];

/// What is called in another way, and no rewrite is known for.
pub(super) const CHANGED: &[(&str, i64, &str)] = &[
    ("DFT", 20, "how `DFT` takes its axis"),
    ("GridSample", 20, "the modes of `GridSample`"),
    ("GroupNormalization", 21, "the scales of `GroupNormalization`"),
    ("RoiAlign", 16, "where `RoiAlign` samples by default"),
];

/// Whether a new argument says what was so before there was one.
pub(super) fn is_default(op: &str, attribute: &str, value: &Attribute) -> bool {
    match (op, attribute, value) {
        (
            _,
            "training_mode" | "layout" | "allowzero" | "antialias" | "ceil_mode" | "block_size",
            Attribute::Int(0),
        )
        | ("Shape", "start", Attribute::Int(0)) => true,
        // Only of 8-bit floats, which are no older than it.
        (_, "saturate", _) => true,
        (_, "dilations", Attribute::Ints(sizes)) => sizes.iter().all(|size| *size == 1),
        (_, "reduction", Attribute::String(text)) => text == b"none",
        (_, "keep_aspect_ratio_policy", Attribute::String(text)) => text == b"stretch",
        _ => false,
    }
}
