//! The blocks every transformer is drawn from. Nothing here knows a family; names and sizes come in.

mod activation;
mod attention;
mod fused;
mod layer;
mod linear;
mod mask;
mod positions;

pub(super) use activation::Activation;
pub(super) use attention::{Attention, cache_dims};
pub(super) use fused::{FusedPositions, fused_positions, fused_reach};
pub(super) use layer::{Context, LayerBias, draw_layers};
pub(super) use linear::{Linear, SharedTable, embed, score_rows, soft_cap};
pub(super) use mask::{causal_bias, padding_bias};
pub(super) use positions::{
    RotaryTables, count_real_tokens, positions_with_past, relative_bias, rotary_tables,
    sequence_positions, sinusoidal_positions,
};
