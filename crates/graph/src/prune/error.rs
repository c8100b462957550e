//! Why a model cannot be pruned as asked.

use super::BlockKind;
use crate::{ConvertError, ReadError, Unsound};
use types::Precision;

/// A place in a graph where heads or neurons could not be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Where the search began: a node's name.
    pub node: String,
    /// Why it ended.
    pub why: String,
}

/// Why a model cannot be pruned as asked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum PruneError {
    #[error("the sparsity is {asked}; it must be at least 0 and below 1")]
    Sparsity { asked: f64 },
    #[error("the pattern {keep}:{of} keeps nothing or everything; 2:4 and 4:8 are usual")]
    Groups { keep: usize, of: usize },
    #[error("it computes in {native}; only fp32 models are pruned")]
    Native { native: Precision },
    #[error("it has no weights")]
    NoWeights,
    #[error("no weight matches `{pattern}`")]
    NoMatch { pattern: String, near: Vec<String> },
    #[error("nothing is left to prune: {why}")]
    Nothing { why: String },
    #[error(
        "it was pruned already: {} of the chosen weights are zero, {} were requested",
        number::percent(*share),
        number::percent(*asked)
    )]
    AlreadySparse { share: f64, asked: f64 },
    #[error("it was pruned already: {how}")]
    AlreadyCut { how: String },
    #[error("no {} was found: {}", kinds.iter().map(|kind| kind.pattern()).collect::<Vec<_>>().join(" and no "), spelt(unfit))]
    NotFound { kinds: Vec<BlockKind>, unfit: Vec<Unfit> },
    #[error("all {units} {} of `{block}` would be removed", kind.units())]
    AllGone { block: String, kind: BlockKind, units: usize },
    #[error("could not read the weight `{name}`")]
    Read {
        name: String,
        #[source]
        source: ReadError,
    },
    #[error(transparent)]
    Unsound(#[from] Unsound),
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

fn spelt(unfit: &[Unfit]) -> String {
    match unfit {
        [] => "it has no softmax over scores and no pair of products".into(),
        [first] => format!("at `{}` {}", first.node, first.why),
        [first, rest @ ..] => {
            format!("at `{}` {}, and {} more places", first.node, first.why, rest.len())
        }
    }
}
