//! Our own small networks with known numbers: an encoder as PyTorch builds it, and a feed-forward network.

use super::{
    ArchitectureError,
    blocks::{
        Activation, Context, LayerBias, Linear, draw_layers, embed, padding_bias,
        sequence_positions, sinusoidal_positions,
    },
    description::{Norm, NormKind, NormOrder, Refinements, Scaling, Stack},
    draft::{Draft, Purpose, hidden_dims, vector_dims},
    keys::{MOST_COUNT, MOST_LAYERS, MOST_WIDTH, whole_number},
    naming::{self, CheckpointNames},
};
use crate::{Blueprint, Init, Origin};
use graph::{DataType, Dim};
use serde::{Deserialize, Serialize};
use types::{Category, InputRole, Postprocess};

/// How the reference encoder knows where a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionalEncoding {
    /// Sines and cosines, nothing learned.
    Sinusoidal,
    /// One learned vector for each place.
    Learned,
}

/// A transformer encoder: `torch.nn.TransformerEncoder` behind an embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// How many different tokens.
    pub vocab_size: usize,
    /// Width of the hidden states.
    pub d_model: usize,
    /// Attention heads; a divisor of `d_model`.
    pub num_heads: usize,
    /// Layers.
    pub num_layers: usize,
    /// Width inside the feed-forward blocks.
    pub d_ff: usize,
    /// Share of values dropped in training; inference drops none.
    pub dropout: f64,
    /// The longest sequence.
    pub max_seq_length: usize,
    /// How positions are told.
    pub positional_encoding: PositionalEncoding,
}

/// A feed-forward network: linear layers with ReLU between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedForwardConfig {
    /// Width of the input.
    pub input_size: usize,
    /// Widths of the hidden layers.
    pub hidden_layers: Vec<usize>,
    /// Width of the output.
    pub output_size: usize,
}

/// Parameters may lie below a module of the user's own.
const ENCODER_NAMES: CheckpointNames =
    CheckpointNames { base: "encoder", written: &[], kept_as: &[] };
const FEED_FORWARD_NAMES: CheckpointNames =
    CheckpointNames { base: "layers", written: &[], kept_as: &[] };

/// Builds a transformer encoder whose layers are `torch.nn.TransformerEncoderLayer`s (norm after each block, ReLU).
///
/// Token vectors are multiplied with √`d_model` before positions are added.
///
/// # Errors
/// Where a size is zero or absurd, heads do not divide the width, or the dropout is no share.
pub fn build_encoder(config: &EncoderConfig) -> Result<Blueprint, ArchitectureError> {
    check_encoder(config)?;
    let (width, init) = (config.d_model, Init::Normal { std: 0.02 });
    let stack = Stack {
        layers: config.num_layers,
        hidden: width,
        heads: config.num_heads,
        key_heads: config.num_heads,
        head_dim: width / config.num_heads,
        intermediate: config.d_ff,
        activation: Activation::Relu,
        gated: false,
        // PyTorch's default.
        norm: Norm { kind: NormKind::Layer, epsilon: 1e-5 },
        order: NormOrder::After,
        scaling: Scaling::BY_WIDTH,
        refinements: Refinements::default(),
        projection_bias: true,
        key_bias: true,
        output_bias: true,
        mlp_bias: true,
        window: None,
        init,
    };
    let mut draft = Draft::new("encoder", ENCODER_NAMES);
    let rows = config.vocab_size;
    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(rows));
    let mask = draft.token_ids("attention_mask", InputRole::AttentionMask, "sequence", None);
    let tokens = embed(&mut draft, "embedding", &ids, rows, width, init);
    let scale = draft.number((width as f32).sqrt());
    let tokens = draft.op("Mul", &[&tokens, &scale], &[]);
    let places = draft.within("positions", |draft| sequence_positions(draft, &ids));
    let places = match config.positional_encoding {
        PositionalEncoding::Sinusoidal => {
            draft.within("positions", |draft| sinusoidal_positions(draft, &places, width))
        }
        PositionalEncoding::Learned => {
            embed(&mut draft, "positions", &places, config.max_seq_length, width, init)
        }
    };
    let hidden = draft.op("Add", &[&tokens, &places], &[]);
    let bias = LayerBias { full: Some(padding_bias(&mut draft, &mask)), sliding: None };
    let context = Context { bias, ..Context::default() };
    let hidden = draw_layers(&mut draft, &naming::TORCH, &stack, &context, hidden);
    draft.output("last_hidden_state", hidden, hidden_dims("sequence", width));
    Ok(draft.finish(Purpose {
        architecture: "encoder".to_owned(),
        category: Category::Reference,
        postprocess: Postprocess::MeanPool,
        max_length: Some(config.max_seq_length),
        origin: Origin::Encoder(config.clone()),
    }))
}

fn check_encoder(config: &EncoderConfig) -> Result<(), ArchitectureError> {
    for (key, size, most) in [
        ("vocab_size", config.vocab_size, MOST_COUNT),
        ("d_model", config.d_model, MOST_WIDTH),
        ("num_heads", config.num_heads, MOST_COUNT),
        ("num_layers", config.num_layers, MOST_LAYERS),
        ("d_ff", config.d_ff, MOST_COUNT),
        ("max_seq_length", config.max_seq_length, MOST_COUNT),
    ] {
        within(key, size, most)?;
    }
    if !config.d_model.is_multiple_of(config.num_heads) {
        let expected = format!("a divisor of `d_model` ({})", config.d_model);
        return Err(invalid("num_heads", config.num_heads, &expected));
    }
    let sinusoidal = config.positional_encoding == PositionalEncoding::Sinusoidal;
    if sinusoidal && !config.d_model.is_multiple_of(2) {
        let expected = "an even number: sinusoidal positions are pairs of sine and cosine";
        return Err(invalid("d_model", config.d_model, expected));
    }
    if !(0.0..1.0).contains(&config.dropout) {
        return Err(invalid("dropout", config.dropout, "at least 0 and below 1"));
    }
    Ok(())
}

/// Builds a feed-forward network whose layers are called as in a `torch.nn.Sequential` named `layers`.
///
/// # Errors
/// Where a width is zero or absurd.
pub fn build_feed_forward(config: &FeedForwardConfig) -> Result<Blueprint, ArchitectureError> {
    within("input_size", config.input_size, MOST_COUNT)?;
    within("output_size", config.output_size, MOST_COUNT)?;
    if config.hidden_layers.len() > MOST_LAYERS {
        let found = format!("a list of {}", config.hidden_layers.len());
        return Err(invalid("hidden_layers", found, &format!("at most {MOST_LAYERS} widths")));
    }
    for width in &config.hidden_layers {
        within("hidden_layers", *width, MOST_COUNT)?;
    }
    let mut draft = Draft::new("feed-forward", FEED_FORWARD_NAMES);
    let dims = [Dim::from("batch"), Dim::from(config.input_size)];
    let mut x = draft.input("input", InputRole::Other, DataType::Float, &dims, None);
    let mut inputs = config.input_size;
    let widths = config.hidden_layers.iter().copied().chain([config.output_size]);
    for (index, outputs) in widths.enumerate() {
        let init = Init::Normal { std: (inputs as f32).powf(-0.5) };
        let layer = Linear::torch(inputs, outputs, init);
        x = layer.draw(&mut draft, &format!("layers.{}", 2 * index), &x);
        if index < config.hidden_layers.len() {
            x = Activation::Relu.draw(&mut draft, &format!("layers.{}", 2 * index + 1), &x);
        }
        inputs = outputs;
    }
    draft.output("output", x, vector_dims(config.output_size));
    Ok(draft.finish(Purpose {
        architecture: "feed-forward".to_owned(),
        category: Category::Reference,
        postprocess: Postprocess::None,
        max_length: None,
        origin: Origin::FeedForward(config.clone()),
    }))
}

fn within(key: &str, size: usize, most: usize) -> Result<(), ArchitectureError> {
    if (1..=most).contains(&size) { Ok(()) } else { Err(invalid(key, size, &whole_number(most))) }
}

fn invalid(key: &str, value: impl ToString, expected: &str) -> ArchitectureError {
    ArchitectureError::InvalidKey {
        key: key.to_owned(),
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder() -> EncoderConfig {
        EncoderConfig {
            vocab_size: 30,
            d_model: 6,
            num_heads: 3,
            num_layers: 1,
            d_ff: 12,
            dropout: 0.1,
            max_seq_length: 10,
            positional_encoding: PositionalEncoding::Learned,
        }
    }

    fn key_of(error: ArchitectureError) -> String {
        match error {
            ArchitectureError::InvalidKey { key, .. } => key,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn wrong_sizes_are_named() {
        let sinusoidal = PositionalEncoding::Sinusoidal;
        for (key, config) in [
            ("num_heads", EncoderConfig { num_heads: 4, ..encoder() }),
            ("d_ff", EncoderConfig { d_ff: 0, ..encoder() }),
            ("dropout", EncoderConfig { dropout: 1.0, ..encoder() }),
            ("d_model", EncoderConfig { d_model: 9, positional_encoding: sinusoidal, ..encoder() }),
        ] {
            assert_eq!(key_of(build_encoder(&config).unwrap_err()), key);
        }
        let config = FeedForwardConfig { input_size: 2, hidden_layers: vec![3, 0], output_size: 1 };
        assert_eq!(key_of(build_feed_forward(&config).unwrap_err()), "hidden_layers");
    }

    #[test]
    fn sinusoidal_positions_have_no_weight() {
        let sinusoidal =
            EncoderConfig { positional_encoding: PositionalEncoding::Sinusoidal, ..encoder() };
        let learned = build_encoder(&encoder()).unwrap().weights.len();
        assert_eq!(build_encoder(&sinusoidal).unwrap().weights.len() + 1, learned);
    }

    #[test]
    fn a_network_without_hidden_layers_is_one_linear_layer() {
        let config = FeedForwardConfig { input_size: 2, hidden_layers: vec![], output_size: 1 };
        let nodes = build_feed_forward(&config).unwrap().model.graph.nodes;
        let kinds: Vec<&str> = nodes.iter().map(|node| node.op_type.as_str()).collect();
        assert_eq!(kinds, ["MatMul", "Add"]);
    }
}
