//! Hugging Face configurations of every family, read into one description.

use super::{
    ArchitectureError,
    blocks::Activation,
    description::{
        Norm, NormKind, NormOrder, Positions, Refinements, RotaryScaling, Scaling, Stack, Text,
        Vision, Window,
    },
    keys::Keys,
};
use crate::Init;

type Result<T> = std::result::Result<T, ArchitectureError>;

/// What a family calls the sizes that every transformer has, and what it leaves out.
struct Sizes {
    hidden: (&'static str, Option<usize>),
    layers: (&'static str, Option<usize>),
    heads: (&'static str, Option<usize>),
    intermediate: (&'static str, Option<usize>),
}

const BERT_SIZES: Sizes = Sizes {
    hidden: ("hidden_size", None),
    layers: ("num_hidden_layers", None),
    heads: ("num_attention_heads", None),
    intermediate: ("intermediate_size", None),
};
const DISTILBERT_SIZES: Sizes = Sizes {
    hidden: ("dim", None),
    layers: ("n_layers", None),
    heads: ("n_heads", None),
    intermediate: ("hidden_dim", None),
};
const T5_SIZES: Sizes = Sizes {
    hidden: ("d_model", None),
    layers: ("num_layers", None),
    heads: ("num_heads", None),
    intermediate: ("d_ff", None),
};
// CLIP's nested tables leave out what equals the defaults of transformers.
const CLIP_TEXT_SIZES: Sizes = Sizes {
    hidden: ("hidden_size", Some(512)),
    layers: ("num_hidden_layers", Some(12)),
    heads: ("num_attention_heads", Some(8)),
    intermediate: ("intermediate_size", Some(2048)),
};
const CLIP_VISION_SIZES: Sizes = Sizes {
    hidden: ("hidden_size", Some(768)),
    layers: ("num_hidden_layers", Some(12)),
    heads: ("num_attention_heads", Some(12)),
    intermediate: ("intermediate_size", Some(3072)),
};

/// A stack with LayerNorm after each block, biases everywhere, and the sizes read.
fn stack(keys: &Keys, sizes: &Sizes, activation: &str, epsilon: f64) -> Result<Stack> {
    let hidden = keys.width(sizes.hidden.0, size(keys, sizes.hidden)?)?;
    let heads = size(keys, sizes.heads)?;
    Ok(Stack {
        layers: keys.layers(sizes.layers.0, size(keys, sizes.layers)?)?,
        hidden,
        heads,
        key_heads: heads,
        head_dim: hidden / heads,
        intermediate: size(keys, sizes.intermediate)?,
        activation: keys.activation_or(activation, Activation::Gelu)?,
        gated: false,
        norm: Norm { kind: NormKind::Layer, epsilon: epsilon as f32 },
        order: NormOrder::After,
        scaling: Scaling::BY_WIDTH,
        refinements: Refinements::default(),
        projection_bias: true,
        key_bias: true,
        output_bias: true,
        mlp_bias: true,
        window: None,
        init: Init::Normal { std: keys.number_or("initializer_range", 0.02)? as f32 },
    })
}

fn size(keys: &Keys, (key, default): (&str, Option<usize>)) -> Result<usize> {
    match default {
        Some(default) => keys.count_or(key, default),
        None => keys.count(key),
    }
}

/// Heads must share the hidden width evenly.
fn divide_evenly(keys: &Keys, sizes: &Sizes, stack: Stack) -> Result<Stack> {
    if stack.hidden.is_multiple_of(stack.heads) {
        return Ok(stack);
    }
    let (hidden, width) = (sizes.hidden.0, stack.hidden);
    let expected = format!("a divisor of `{hidden}` ({width})");
    Err(keys.reject(sizes.heads.0, stack.heads, &expected))
}

pub(super) fn bert(keys: &Keys) -> Result<Text> {
    absolute_positions(keys)?;
    let stack = stack(keys, &BERT_SIZES, "hidden_act", keys.number_or("layer_norm_eps", 1e-12)?)?;
    Ok(Text {
        vocabulary: keys.count("vocab_size")?,
        positions: Positions::Learned { places: keys.count_or("max_position_embeddings", 512)? },
        token_types: keys.count_or("type_vocab_size", 2)?,
        stack: divide_evenly(keys, &BERT_SIZES, stack)?,
        tied: keys.flag_or("tie_word_embeddings", true)?,
    })
}

pub(super) fn roberta(keys: &Keys) -> Result<Text> {
    let text = bert(keys)?;
    let padding = keys.token_or("pad_token_id", 1)?;
    let Positions::Learned { places } = text.positions else { return Ok(text) };
    if padding < 0 || padding as usize + 1 >= places {
        return Err(keys.reject("pad_token_id", padding, "below `max_position_embeddings` - 1"));
    }
    Ok(Text { positions: Positions::LearnedAbovePadding { places, padding }, ..text })
}

pub(super) fn distilbert(keys: &Keys) -> Result<Text> {
    let stack = stack(keys, &DISTILBERT_SIZES, "activation", 1e-12)?;
    Ok(Text {
        vocabulary: keys.count("vocab_size")?,
        positions: Positions::Learned { places: keys.count_or("max_position_embeddings", 512)? },
        token_types: 0,
        stack: divide_evenly(keys, &DISTILBERT_SIZES, stack)?,
        tied: keys.flag_or("tie_word_embeddings", true)?,
    })
}

pub(super) fn gpt2(keys: &Keys) -> Result<Text> {
    let hidden = keys.count("n_embd")?;
    let sizes = Sizes {
        hidden: ("n_embd", None),
        layers: ("n_layer", None),
        heads: ("n_head", None),
        intermediate: ("n_inner", Some(4 * hidden)),
    };
    let scaling = Scaling {
        by_width: keys.flag_or("scale_attn_weights", true)?,
        by_layer: keys.flag_or("scale_attn_by_inverse_layer_idx", false)?,
        root_of: None,
    };
    let epsilon = keys.number_or("layer_norm_epsilon", 1e-5)?;
    let stack = divide_evenly(keys, &sizes, stack(keys, &sizes, "activation_function", epsilon)?)?;
    let activation = keys.activation_or("activation_function", Activation::GeluTanh)?;
    Ok(Text {
        vocabulary: keys.count("vocab_size")?,
        positions: Positions::Learned { places: keys.count_or("n_positions", 1024)? },
        token_types: 0,
        stack: Stack { activation, order: NormOrder::Before, scaling, ..stack },
        tied: keys.flag_or("tie_word_embeddings", true)?,
    })
}

/// Llama, Mistral and Qwen2, which always has biases on query, key and value.
pub(super) fn llama(keys: &Keys, model_type: &str) -> Result<Text> {
    let stack = stack(keys, &BERT_SIZES, "hidden_act", 1e-5)?;
    let stack = match keys.optional_count("head_dim")? {
        Some(head_dim) => Stack { head_dim: keys.width("head_dim", head_dim)?, ..stack },
        None => divide_evenly(keys, &BERT_SIZES, stack)?,
    };
    let key_heads = keys.count_or("num_key_value_heads", stack.heads)?;
    if !stack.heads.is_multiple_of(key_heads) {
        let expected = format!("a divisor of `num_attention_heads` ({})", stack.heads);
        return Err(keys.reject("num_key_value_heads", key_heads, &expected));
    }
    if !stack.head_dim.is_multiple_of(2) {
        let expected = "an even number: rotary positions rotate pairs";
        return Err(keys.reject("head_dim", stack.head_dim, expected));
    }
    let longest = keys.count_or("max_position_embeddings", 2048)?;
    let bias = keys.flag_or("attention_bias", false)?;
    Ok(Text {
        vocabulary: keys.count("vocab_size")?,
        positions: rotary(keys, longest)?,
        token_types: 0,
        stack: Stack {
            key_heads,
            activation: keys.activation_or("hidden_act", Activation::Silu)?,
            gated: true,
            norm: Norm {
                kind: NormKind::RootMeanSquare,
                epsilon: keys.number_or("rms_norm_eps", 1e-6)? as f32,
            },
            order: NormOrder::Before,
            projection_bias: model_type == "qwen2" || bias,
            output_bias: bias,
            mlp_bias: keys.flag_or("mlp_bias", false)?,
            window: window(keys, model_type, stack.layers, longest)?,
            ..stack
        },
        tied: keys.flag_or("tie_word_embeddings", false)?,
    })
}

/// Every so many layers of Gemma 3 see everything, where the configuration does not list them.
const GEMMA_PATTERN: usize = 6;

/// The text part of Gemma 3.
pub(super) fn gemma3(keys: &Keys) -> Result<Text> {
    let plain = llama(keys, "gemma3_text")?;
    let Positions::Rotary { longest, .. } = plain.positions else { return Ok(plain) };
    let stack = plain.stack;
    let tables = keys.table("rope_parameters")?;
    let (full, near) = (tables.table("full_attention")?, tables.table("sliding_attention")?);
    let positions = match full.has("rope_theta") {
        true => rotary_of(&full, full.number("rope_theta")?, longest)?,
        false => {
            let theta = keys.number_or("rope_theta", 1_000_000.0)?;
            rotary_of(&keys.table("rope_scaling")?, theta, longest)?
        }
    };
    let window_theta = match near.has("rope_theta") {
        true => near.number("rope_theta")?,
        false => keys.number_or("rope_local_base_freq", 10_000.0)?,
    };
    let kinds = keys.texts("layer_types")?;
    let pattern = keys.count_or("sliding_window_pattern", GEMMA_PATTERN)?;
    let slides = |layer: usize| match kinds.get(layer) {
        Some(kind) => *kind == "sliding_attention",
        None => !(layer + 1).is_multiple_of(pattern),
    };
    // Kept even where no text is longer than it: layers with a window turn by another base.
    let layers: Vec<bool> = (0..stack.layers).map(slides).collect();
    let window = Window { tokens: keys.count_or("sliding_window", 4096)?, layers };
    Ok(Text {
        positions,
        stack: Stack {
            activation: keys.activation_or("hidden_activation", Activation::GeluTanh)?,
            norm: Norm { kind: NormKind::RootMeanSquareAboveOne, ..stack.norm },
            scaling: Scaling {
                root_of: Some(keys.count_or("query_pre_attn_scalar", 256)?),
                ..Scaling::NONE
            },
            refinements: Refinements {
                head_norm: true,
                // `attn_logit_softcapping` is in the configuration, and neither transformers nor llama.cpp looks at it.
                final_cap: match keys.has("final_logit_softcapping") {
                    true => Some(keys.number("final_logit_softcapping")? as f32),
                    false => None,
                },
                embedding_scale: Some((stack.hidden as f32).sqrt()),
                window_theta: Some(window_theta),
            },
            window: window.layers.contains(&true).then_some(window),
            ..stack
        },
        tied: keys.flag_or("tie_word_embeddings", true)?,
        ..plain
    })
}

/// The sliding window, unless no text can be longer than it.
fn window(keys: &Keys, model_type: &str, layers: usize, longest: usize) -> Result<Option<Window>> {
    let Some(tokens) = keys.optional_count("sliding_window")? else { return Ok(None) };
    let sliding = match model_type {
        "mistral" => vec![true; layers],
        "qwen2" if keys.flag_or("use_sliding_window", false)? => {
            let kinds = keys.texts("layer_types")?;
            let first = keys.optional_count("max_window_layers")?.unwrap_or(0);
            (0..layers)
                .map(|layer| match kinds.get(layer) {
                    Some(kind) => *kind == "sliding_attention",
                    None => layer >= first,
                })
                .collect()
        }
        _ => return Ok(None),
    };
    let needed = tokens < longest && sliding.contains(&true);
    Ok(needed.then_some(Window { tokens, layers: sliding }))
}

/// Rotary positions as transformers 5 (`rope_parameters`) or 4 (`rope_theta`, `rope_scaling`) writes them.
fn rotary(keys: &Keys, longest: usize) -> Result<Positions> {
    let parameters = keys.table("rope_parameters")?;
    let older = keys.table("rope_scaling")?;
    let scaled = if parameters.has("rope_type") { parameters } else { older };
    let theta = match parameters.has("rope_theta") {
        true => parameters.number("rope_theta")?,
        false => keys.number_or("rope_theta", 10_000.0)?,
    };
    rotary_of(&scaled, theta, longest)
}

/// The same from the table that says how they are stretched.
fn rotary_of(scaled: &Keys, theta: f64, longest: usize) -> Result<Positions> {
    let kind = match scaled.text("rope_type")? {
        Some(kind) => Some(kind),
        None => scaled.text("type")?,
    };
    let number = |key| Ok::<f32, ArchitectureError>(scaled.number(key)? as f32);
    let scaling = match kind {
        None | Some("default") => RotaryScaling::None,
        Some("linear") => RotaryScaling::Linear { factor: number("factor")? },
        Some("llama3") => RotaryScaling::Llama3 {
            factor: number("factor")?,
            low: number("low_freq_factor")?,
            high: number("high_freq_factor")?,
            original_length: number("original_max_position_embeddings")?,
        },
        Some(other) => {
            return Err(scaled.reject("rope_type", other, "one of default, linear, llama3"));
        }
    };
    if scaled.number_or("partial_rotary_factor", 1.0)? != 1.0 {
        let found = scaled.number("partial_rotary_factor")?;
        return Err(scaled.reject(
            "partial_rotary_factor",
            found,
            "1: rotary positions apply to whole heads",
        ));
    }
    Ok(Positions::Rotary { theta, scaling, longest })
}

/// A T5: the encoder's description, the decoder's number of layers, and what its head does.
pub(super) struct EncoderDecoder {
    pub(super) text: Text,
    pub(super) decoder_layers: usize,
    /// Version 1.0 scales the decoder's output and shares the head's weight; version 1.1 does neither.
    pub(super) scaled_head: bool,
}

pub(super) fn t5(keys: &Keys) -> Result<EncoderDecoder> {
    let stack = stack(keys, &T5_SIZES, "", keys.number_or("layer_norm_epsilon", 1e-6)?)?;
    let (gated, activation) = feed_forward(keys)?;
    let head_dim = match keys.optional_count("d_kv")? {
        Some(head_dim) => keys.width("d_kv", head_dim)?,
        None => divide_evenly(keys, &T5_SIZES, stack.clone())?.head_dim,
    };
    let buckets = keys.count_or("relative_attention_num_buckets", 32)?;
    // Each distance below it has its place in a table.
    let longest_distance = keys.count_or("relative_attention_max_distance", 128)?;
    let longest_distance = keys.width("relative_attention_max_distance", longest_distance)?;
    if buckets < 4 || longest_distance <= buckets / 2 {
        let expected = "at least 4, and below twice `relative_attention_max_distance`";
        return Err(keys.reject("relative_attention_num_buckets", buckets, expected));
    }
    let scaled_head = match keys.has("scale_decoder_outputs") {
        true => keys.flag_or("scale_decoder_outputs", true)?,
        false => keys.flag_or("tie_word_embeddings", true)?,
    };
    let init = Init::Normal { std: (stack.hidden as f32).powf(-0.5) };
    let decoder = "num_decoder_layers";
    Ok(EncoderDecoder {
        decoder_layers: keys.layers(decoder, keys.count_or(decoder, stack.layers)?)?,
        scaled_head,
        text: Text {
            vocabulary: keys.count("vocab_size")?,
            positions: Positions::Relative { buckets, longest_distance },
            token_types: 0,
            stack: Stack {
                head_dim,
                activation,
                gated,
                norm: Norm { kind: NormKind::RootMeanSquare, ..stack.norm },
                order: NormOrder::Before,
                scaling: Scaling::NONE,
                projection_bias: false,
                output_bias: false,
                mlp_bias: false,
                init,
                ..stack
            },
            tied: scaled_head,
        },
    })
}

/// `relu`, `gated-gelu`: whether there is a gate, and the activation.
fn feed_forward(keys: &Keys) -> Result<(bool, Activation)> {
    let name = keys.text("feed_forward_proj")?.unwrap_or("relu");
    let (gated, activation) = match name.strip_prefix("gated-") {
        // T5 1.1 says gelu and means the tanh form.
        Some("gelu") => (true, Some(Activation::GeluTanh)),
        Some(rest) => (true, Activation::parse(rest)),
        None => (false, Activation::parse(name)),
    };
    match activation {
        Some(activation) => Ok((gated, activation)),
        None => {
            let expected = format!("one of {}, or that after `gated-`", Activation::NAMES);
            Err(keys.reject("feed_forward_proj", name, &expected))
        }
    }
}

pub(super) fn vit(keys: &Keys) -> Result<Vision> {
    let stack = stack(keys, &BERT_SIZES, "hidden_act", keys.number_or("layer_norm_eps", 1e-12)?)?;
    let stack = divide_evenly(keys, &BERT_SIZES, stack)?;
    let projection_bias = keys.flag_or("qkv_bias", true)?;
    vision(keys, Stack { order: NormOrder::Before, projection_bias, ..stack }, 16)
}

pub(super) fn clip_vision(keys: &Keys) -> Result<Vision> {
    vision(keys, clip_stack(keys, &CLIP_VISION_SIZES)?, 32)
}

fn vision(keys: &Keys, stack: Stack, default_patch: usize) -> Result<Vision> {
    let vision = Vision {
        image: image_size(keys, [224, 224])?,
        patch: keys.count_or("patch_size", default_patch)?,
        channels: keys.count_or("num_channels", 3)?,
        stack,
    };
    let smallest = vision.image[0].min(vision.image[1]);
    if vision.patch > smallest {
        let expected = format!("at most `image_size` ({smallest})");
        return Err(keys.reject("patch_size", vision.patch, &expected));
    }
    Ok(vision)
}

/// Height and width of images: one number for both, or a list.
fn image_size(keys: &Keys, default: [usize; 2]) -> Result<[usize; 2]> {
    match keys.counts_or("image_size", &default)?.as_slice() {
        [side] => Ok([*side; 2]),
        [height, width] => Ok([*height, *width]),
        other => {
            Err(keys.reject("image_size", format!("a list of {}", other.len()), "height and width"))
        }
    }
}

/// A YOLOS: image patches with tokens that become objects.
pub(super) struct Detector {
    pub(super) vision: Vision,
    /// How many objects it can find.
    pub(super) tokens: usize,
    /// Whether positions are added again after each layer.
    pub(super) between: bool,
}

pub(super) fn yolos(keys: &Keys) -> Result<Detector> {
    let stack = stack(keys, &BERT_SIZES, "hidden_act", keys.number_or("layer_norm_eps", 1e-12)?)?;
    let stack = divide_evenly(keys, &BERT_SIZES, stack)?;
    let projection_bias = keys.flag_or("qkv_bias", true)?;
    let vision = vision(keys, Stack { order: NormOrder::Before, projection_bias, ..stack }, 16)?;
    Ok(Detector {
        vision: Vision { image: image_size(keys, [512, 864])?, ..vision },
        tokens: keys.count_or("num_detection_tokens", 100)?,
        between: keys.flag_or("use_mid_position_embeddings", true)?,
    })
}

/// One convolution of Wav2Vec2's feature encoder.
pub(super) struct Step {
    pub(super) width: usize,
    pub(super) size: usize,
    pub(super) stride: usize,
}

/// A Wav2Vec2: convolutions over samples, then a transformer.
pub(super) struct Waves {
    pub(super) stack: Stack,
    pub(super) steps: Vec<Step>,
    /// Biases of the convolutions.
    pub(super) bias: bool,
    /// Whether every convolution is normalised, and not only the first.
    pub(super) norm_all: bool,
    pub(super) activation: Activation,
    /// Moments that tell where one stands.
    pub(super) position_size: usize,
    pub(super) position_groups: usize,
}

pub(super) fn wav2vec2(keys: &Keys) -> Result<Waves> {
    let sizes = Sizes {
        hidden: ("hidden_size", Some(768)),
        layers: ("num_hidden_layers", Some(12)),
        heads: ("num_attention_heads", Some(12)),
        intermediate: ("intermediate_size", Some(3072)),
    };
    let stack = stack(keys, &sizes, "hidden_act", keys.number_or("layer_norm_eps", 1e-5)?)?;
    let stack = divide_evenly(keys, &sizes, stack)?;
    let widths = keys.counts_or("conv_dim", &[512; 7])?;
    let windows = keys.counts_or("conv_kernel", &[10, 3, 3, 3, 3, 2, 2])?;
    let strides = keys.counts_or("conv_stride", &[5, 2, 2, 2, 2, 2, 2])?;
    for (key, list) in [("conv_kernel", &windows), ("conv_stride", &strides)] {
        if list.len() != widths.len() {
            let expected = format!("as many as `conv_dim` ({})", widths.len());
            return Err(keys.reject(key, format!("a list of {}", list.len()), &expected));
        }
    }
    let norm_all = match keys.text("feat_extract_norm")? {
        None | Some("group") => false,
        Some("layer") => true,
        Some(other) => return Err(keys.reject("feat_extract_norm", other, "group or layer")),
    };
    for key in ["add_adapter", "adapter_attn_dim"] {
        let is_off = !keys.has(key) || !keys.flag_or(key, true).unwrap_or(true);
        if !is_off {
            return Err(keys.reject(key, "set", "absent: adapters are not built"));
        }
    }
    let position_groups = keys.count_or("num_conv_pos_embedding_groups", 16)?;
    if !stack.hidden.is_multiple_of(position_groups) {
        let expected = format!("a divisor of `hidden_size` ({})", stack.hidden);
        return Err(keys.reject("num_conv_pos_embedding_groups", position_groups, &expected));
    }
    let order = match keys.flag_or("do_stable_layer_norm", false)? {
        true => NormOrder::Before,
        false => NormOrder::After,
    };
    let steps = widths.iter().zip(windows).zip(strides);
    Ok(Waves {
        stack: Stack { order, ..stack },
        steps: steps.map(|((&width, size), stride)| Step { width, size, stride }).collect(),
        bias: keys.flag_or("conv_bias", false)?,
        norm_all,
        activation: keys.activation_or("feat_extract_activation", Activation::Gelu)?,
        position_size: keys.count_or("num_conv_pos_embeddings", 128)?,
        position_groups,
    })
}

/// A Whisper encoder: mel spectrograms of a fixed length.
pub(super) struct Spectrogram {
    pub(super) stack: Stack,
    /// Bands of the spectrogram.
    pub(super) bands: usize,
    /// Vectors that the layers see; each comes from two frames.
    pub(super) places: usize,
}

pub(super) fn whisper(keys: &Keys) -> Result<Spectrogram> {
    let sizes = Sizes {
        hidden: ("d_model", Some(384)),
        layers: ("encoder_layers", Some(4)),
        heads: ("encoder_attention_heads", Some(6)),
        intermediate: ("encoder_ffn_dim", Some(1536)),
    };
    let stack = stack(keys, &sizes, "activation_function", 1e-5)?;
    let stack = divide_evenly(keys, &sizes, stack)?;
    Ok(Spectrogram {
        stack: Stack {
            order: NormOrder::Before,
            key_bias: false,
            init: Init::Normal { std: keys.number_or("init_std", 0.02)? as f32 },
            ..stack
        },
        bands: keys.count_or("num_mel_bins", 80)?,
        places: keys.count_or("max_source_positions", 1500)?,
    })
}

pub(super) fn clip_text(keys: &Keys) -> Result<Text> {
    Ok(Text {
        vocabulary: keys.count_or("vocab_size", 49_408)?,
        positions: Positions::Learned { places: keys.count_or("max_position_embeddings", 77)? },
        token_types: 0,
        stack: clip_stack(keys, &CLIP_TEXT_SIZES)?,
        tied: false,
    })
}

fn clip_stack(keys: &Keys, sizes: &Sizes) -> Result<Stack> {
    let stack = stack(keys, sizes, "hidden_act", keys.number_or("layer_norm_eps", 1e-5)?)?;
    let activation = keys.activation_or("hidden_act", Activation::QuickGelu)?;
    let stack = divide_evenly(keys, sizes, stack)?;
    Ok(Stack { order: NormOrder::Before, activation, ..stack })
}

/// Relative positions inside BERT's attention are no longer in transformers either.
fn absolute_positions(keys: &Keys) -> Result<()> {
    match keys.text("position_embedding_type")? {
        None | Some("absolute") => Ok(()),
        Some(other) => Err(keys.reject("position_embedding_type", other, "absolute")),
    }
}

/// How many classes a classifier tells apart.
pub(super) fn labels(keys: &Keys) -> Result<usize> {
    match keys.entries("id2label") {
        Some(count) if count > 0 => Ok(count),
        _ => keys.count_or("num_labels", 2),
    }
}
