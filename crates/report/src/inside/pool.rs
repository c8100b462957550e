//! The same place in every layer put together, as a tree whose lines each say something.

use crate::flame::pooling;
use types::{Bound, Layer, Spent};

/// Above this share of the memory's ceiling data cannot have gone through it; the slack is that of the ceilings.
const ABOVE: f64 = 1.05;

/// Modules that are the same place in layers that do the same work: `encoder.layer.*.attention`.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    /// The path, with `*` for every number.
    pub(super) path: String,
    /// How many modules.
    pub(super) modules: u64,
    pub(super) spent: Sum,
    pub(super) inside: Vec<Pool>,
}

/// Time and work of several parts together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) calls: f64,
    pub(super) total: f64,
    pub(super) own: f64,
    pub(super) share: f64,
    pub(super) flops: Option<u64>,
    pub(super) bytes: Option<u64>,
    /// Time the roofline allows, by what bounds it.
    pub(super) compute: f64,
    pub(super) memory: f64,
}

impl Sum {
    pub(super) fn add(&mut self, spent: &Spent) {
        let plus = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        self.calls += spent.calls;
        self.total += spent.total.0;
        self.own += spent.own.0;
        self.share += spent.share.0;
        plus(&mut self.flops, spent.flops.map(|flops| flops.0));
        plus(&mut self.bytes, spent.bytes.map(|bytes| bytes.0));
        if let Some(place) = spent.roofline {
            let allowed = place.attained.0 * spent.total.0;
            match place.bound {
                Bound::Compute => self.compute += allowed,
                Bound::Memory => self.memory += allowed,
            }
        }
    }

    fn join(&mut self, other: &Sum) {
        self.calls += other.calls;
        self.total += other.total;
        self.own += other.own;
        self.share += other.share;
        self.compute += other.compute;
        self.memory += other.memory;
        self.flops = match (self.flops, other.flops) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.bytes = match (self.bytes, other.bytes) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
    }

    /// The share reached of what the machine allows, and what most of it is bound by.
    pub(super) fn attained(&self) -> Option<(f64, &'static str)> {
        let allowed = self.compute + self.memory;
        if allowed <= 0.0 || self.total <= 0.0 {
            return None;
        }
        let word = if self.compute >= self.memory { "compute" } else { "memory" };
        Some((allowed / self.total, word))
    }

    /// Whether it took less time than its data would need through memory.
    pub(super) fn is_kept_near(&self) -> bool {
        self.attained().is_some_and(|(share, bound)| bound == "memory" && share > ABOVE)
    }

    pub(super) fn flops_per_second(&self) -> Option<f64> {
        let flops = self.flops.filter(|flops| *flops > 0)?;
        (self.total > 0.0).then(|| flops as f64 / self.total)
    }

    pub(super) fn intensity(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| *bytes > 0)?;
        self.flops.map(|flops| flops as f64 / bytes as f64)
    }
}

impl From<&Spent> for Sum {
    fn from(spent: &Spent) -> Sum {
        let mut sum = Sum::default();
        sum.add(spent);
        sum
    }
}

/// The pooled tree of layers.
pub(super) fn pools(layers: &[&Layer]) -> Vec<Pool> {
    let pooling = pooling(layers.iter().copied());
    let mut top: Vec<Pool> = Vec::new();
    for layer in layers {
        let path = pooling.path(&layer.path);
        let mut siblings = &mut top;
        let mut prefix = String::new();
        let parts: Vec<&str> = path.split('.').collect();
        for (depth, part) in parts.iter().enumerate() {
            if depth > 0 {
                prefix.push('.');
            }
            prefix.push_str(part);
            let at = siblings.iter().position(|pool| pool.path == prefix).unwrap_or_else(|| {
                siblings.push(Pool {
                    path: prefix.clone(),
                    modules: 0,
                    spent: Sum::default(),
                    inside: Vec::new(),
                });
                siblings.len() - 1
            });
            let pool = &mut siblings[at];
            if depth + 1 == parts.len() {
                pool.modules += 1;
                pool.spent.add(&layer.spent);
            }
            siblings = &mut pool.inside;
        }
    }
    top.into_iter().map(shorten).collect()
}

/// A module that has nothing of its own and one module inside says nothing: the inner one takes its place.
fn shorten(mut pool: Pool) -> Pool {
    while pool.inside.len() == 1 && pool.spent.own <= 0.0 {
        pool = pool.inside.remove(0);
    }
    pool.inside = pool.inside.into_iter().map(shorten).collect();
    pool
}

/// Small ones put together, so that what is shown still adds up: the large ones and the sum of the rest.
pub(super) fn fold(pools: Vec<Pool>, least: f64) -> (Vec<Pool>, Option<(usize, Sum)>) {
    let (large, small): (Vec<Pool>, Vec<Pool>) =
        pools.into_iter().partition(|pool| pool.spent.share >= least);
    let small: Vec<Pool> = small.into_iter().filter(|pool| pool.spent.total > 0.0).collect();
    let mut rest = Sum::default();
    small.iter().for_each(|pool| rest.join(&pool.spent));
    let rest = (!small.is_empty()).then_some((small.len(), rest));
    (large, rest)
}
