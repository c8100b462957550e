//! How a graph that generates is written.

use serde::{Deserialize, Serialize};

/// How a graph that generates is written: the same mathematics in other operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecoderDialect {
    /// Standard operators, which every engine has.
    #[default]
    Standard,
    /// `GroupQueryAttention` of `com.microsoft` in each layer: rotary positions, cache, mask and softmax in one operator, and
    /// the cache can be appended in place. It reads several tokens behind a past for one text only.
    Fused,
}
