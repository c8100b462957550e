//! Attention heads and feed-forward neurons cut away, so that the graph computes less.
//!
//! A head or a neuron is one index of an axis that begins at a weight and ends at a weight: the columns of the
//! projections before, the rows of the projection behind, and everything between keeps them apart. `flow` follows such
//! an axis through the graph, operator by operator (`rules`), from a softmax over scores (heads) or from a product that
//! widens (neurons), and gives up where an operator mixes what shall be told apart. `find` collects what could be
//! followed, `importance` ranks the units of each block, `apply` writes the smaller graph and checks its shapes.

mod apply;
mod find;
mod flow;
mod importance;
mod patch;
mod rules;

use super::{
    PruneError, PruneOptions, Pruning, STRUCTURED, Unfit,
    glob::matches,
    targets::{left_whole, not_cut},
};
use crate::{Model, infer, precision::with_constants_as_weights, sound};
use find::Found;
use std::collections::HashSet;
use types::{Remark, RemarkCode};

/// Kept neurons are a multiple of this where there are many: what the widest vectors hold.
const LANES: usize = 8;

/// What is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Attention heads, or groups of them that share a key.
    Heads,
    /// Neurons between two products.
    Neurons,
}

impl BlockKind {
    /// What one block loses.
    #[must_use]
    pub fn units(self) -> &'static str {
        match self {
            BlockKind::Heads => "heads",
            BlockKind::Neurons => "neurons",
        }
    }

    /// What is looked for in a graph.
    #[must_use]
    pub fn pattern(self) -> &'static str {
        match self {
            BlockKind::Heads => "attention (projections, scores, softmax, sum, projection)",
            BlockKind::Neurons => "feed-forward pair (a product that widens, functions, a product)",
        }
    }
}

/// By what units were ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// The size of their weights.
    Magnitude,
    /// The size of what they add to the output on given inputs.
    Activation,
}

/// A weight that was cut along an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorCut {
    /// The weight's name in the old graph.
    pub tensor: String,
    /// The axis.
    pub axis: usize,
    /// The weight's dimensions before.
    pub dims: Vec<usize>,
    /// The indices that stay.
    pub keep: Vec<usize>,
}

/// A block that lost heads or neurons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The module that all of it lies in.
    pub label: String,
    /// What it lost.
    pub kind: BlockKind,
    /// How many there were.
    pub units: usize,
    /// Those that stay, in order.
    pub kept: Vec<usize>,
    /// By what they were ranked.
    pub importance: Importance,
    /// The weights that became smaller.
    pub cuts: Vec<TensorCut>,
}

/// Plans which heads and neurons go.
pub(super) fn plan<'m>(
    source: &'m Model,
    options: &PruneOptions,
) -> Result<Pruning<'m>, PruneError> {
    if let Some(how) = source.metadata.get(STRUCTURED) {
        return Err(PruneError::AlreadyCut { how: how.clone() });
    }
    let model = with_constants_as_weights(source);
    let shapes = infer(&model, &options.inputs);
    sound::check(&model, &shapes, &rules::follows)?;
    let (mut found, unfit) = find::find(&model, &shapes);
    let mut remarks = Vec::new();
    let missing = |kind: BlockKind| !found.iter().any(|one| one.kind == kind);
    let kinds: Vec<BlockKind> =
        [BlockKind::Heads, BlockKind::Neurons].into_iter().filter(|kind| missing(*kind)).collect();
    if kinds.len() == 2 {
        let unfit = unfit.into_iter().map(|(_, unfit)| unfit).collect();
        return Err(PruneError::NotFound { kinds, unfit });
    }
    for kind in kinds {
        let why: Vec<Unfit> =
            unfit.iter().filter(|(of, _)| *of == kind).map(|(_, unfit)| unfit.clone()).collect();
        let error = PruneError::NotFound { kinds: vec![kind], unfit: why };
        remarks.push(Remark::new(RemarkCode::NotCut, format!("{error}")));
    }
    let all = found.len();
    let unfollowed = unfit.iter().any(|(kind, _)| *kind == BlockKind::Heads);
    restrict(&mut found, options)?;
    let is_whole = found.len() == all;
    let mut chosen = Vec::new();
    for one in found {
        let keep = kept_units(one.kind, one.trace.units, options.sparsity);
        if keep == 0 {
            let (block, kind, units) = (one.label, one.kind, one.trace.units);
            return Err(PruneError::AllGone { block, kind, units });
        }
        if keep < one.trace.units {
            let (kept, importance) = importance::rank(source, &model, &one, keep, options)?;
            chosen.push((one, kept, importance));
        } else {
            let share = number::percent(options.sparsity);
            let text = format!("{share} of {} {} is less than one", keep, one.kind.units());
            let remark = Remark::new(RemarkCode::NotCut, text);
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    if chosen.is_empty() {
        return Err(PruneError::Nothing {
            why: "not a single head or neuron would be removed".into(),
        });
    }
    let whole = with_constants_as_weights(source);
    let (plan, blocks) = apply::apply(source, model, &shapes, chosen, options)?;
    if is_whole {
        let cuts: HashSet<&str> =
            blocks.iter().flat_map(|block| &block.cuts).map(|cut| cut.tensor.as_str()).collect();
        remarks.extend(left_whole(&whole, &|name| cuts.contains(name), &not_cut));
    }
    let is_uniform = |kind: &BlockKind| {
        let whole = is_whole && !(*kind == BlockKind::Heads && unfollowed);
        whole && blocks.iter().any(|block| block.kind == *kind)
    };
    let uniform = [BlockKind::Heads, BlockKind::Neurons].into_iter().filter(is_uniform).collect();
    Ok(Pruning { plan, targets: Vec::new(), blocks, uniform, remarks })
}

/// How many units stay.
fn kept_units(kind: BlockKind, units: usize, sparsity: f64) -> usize {
    let gone = (units as f64 * sparsity).round() as usize;
    let kept = units.saturating_sub(gone);
    if kind == BlockKind::Neurons && units >= 64 && units.is_multiple_of(LANES) && gone > 0 {
        return kept.next_multiple_of(LANES).min(units);
    }
    kept
}

/// Leaves the blocks that the patterns choose.
fn restrict(found: &mut Vec<Found>, options: &PruneOptions) -> Result<(), PruneError> {
    let names = |one: &Found, pattern: &str| {
        matches(pattern, &one.label)
            || one.trace.cuts.values().any(|cut| matches(pattern, &cut.tensor))
    };
    for pattern in options.layers.iter().chain(&options.exclude) {
        if !found.iter().any(|one| names(one, pattern)) {
            let near = found.iter().take(3).map(|one| one.label.clone()).collect();
            return Err(PruneError::NoMatch { pattern: pattern.clone(), near });
        }
    }
    let any = |one: &Found, patterns: &[String]| patterns.iter().any(|p| names(one, p));
    found.retain(|one| {
        (options.layers.is_empty() || any(one, &options.layers)) && !any(one, &options.exclude)
    });
    if found.is_empty() {
        return Err(PruneError::Nothing { why: "every block was excluded".into() });
    }
    Ok(())
}
