//! The same place in every layer put together, as a tree whose lines each say something.

use types::{Bound, Layer, ModuleWork, Pooling, Spent};

/// Above this share of the memory's ceiling data cannot have gone through it; the slack is that of the ceilings.
const ABOVE: f64 = 1.05;

/// Modules that are the same place in layers that do the same work: `encoder.layer.*.attention`.
#[derive(Debug, Clone)]
pub struct LayerPool {
    /// The path, with `*` for every number.
    pub path: String,
    /// How many modules.
    pub modules: u64,
    /// Their time and work together.
    pub spent: LayerSum,
    /// What lies inside them.
    pub inside: Vec<LayerPool>,
}

/// Time and work of several parts together.
#[derive(Debug, Clone, Copy, Default)]
pub struct LayerSum {
    /// Calls in a run.
    pub calls: f64,
    /// Time with everything inside, in seconds.
    pub total: f64,
    /// Time without the modules inside, in seconds.
    pub own: f64,
    /// The share of what all layers sum to.
    pub share: f64,
    /// FLOPs, where they are known.
    pub flops: Option<u64>,
    /// Bytes read and written, where they are known.
    pub bytes: Option<u64>,
    /// Time the roofline allows what is bound by compute, in seconds.
    pub compute: f64,
    /// Time the roofline allows what is bound by memory, in seconds.
    pub memory: f64,
    /// Time of the host with everything inside, in seconds, where the times above are a device's.
    pub host: Option<f64>,
}

impl LayerSum {
    fn add(&mut self, spent: &Spent) {
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
        if let Some(host) = spent.host {
            self.host = Some(self.host.unwrap_or(0.0) + host.0);
        }
        if let Some(place) = spent.roofline {
            let allowed = place.attained.0 * spent.total.0;
            match place.bound {
                Bound::Compute => self.compute += allowed,
                Bound::Memory => self.memory += allowed,
            }
        }
    }

    /// What it spends outside the modules inside it: time and its share, for the work is not known apart.
    #[must_use]
    pub fn itself(&self) -> LayerSum {
        let own = self.own;
        let share = if self.total > 0.0 { self.share * own / self.total } else { 0.0 };
        LayerSum { total: own, own, share, ..LayerSum::default() }
    }

    fn join(&mut self, other: &LayerSum) {
        self.calls += other.calls;
        self.total += other.total;
        self.own += other.own;
        self.share += other.share;
        self.compute += other.compute;
        self.memory += other.memory;
        if let Some(host) = other.host {
            self.host = Some(self.host.unwrap_or(0.0) + host);
        }
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
    #[must_use]
    pub fn attained(&self) -> Option<(f64, Bound)> {
        let allowed = self.compute + self.memory;
        if allowed <= 0.0 || self.total <= 0.0 {
            return None;
        }
        let bound = if self.compute >= self.memory { Bound::Compute } else { Bound::Memory };
        Some((allowed / self.total, bound))
    }

    /// Whether it took less time than its data would need through memory.
    #[must_use]
    pub fn is_kept_near(&self) -> bool {
        self.attained().is_some_and(|(share, bound)| bound == Bound::Memory && share > ABOVE)
    }

    /// FLOPs in a second, if there are any.
    #[must_use]
    pub fn flops_per_second(&self) -> Option<f64> {
        let flops = self.flops.filter(|flops| *flops > 0)?;
        (self.total > 0.0).then(|| flops as f64 / self.total)
    }

    /// FLOPs for each byte read or written.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| *bytes > 0)?;
        self.flops.map(|flops| flops as f64 / bytes as f64)
    }
}

impl<'a> FromIterator<&'a Spent> for LayerSum {
    fn from_iter<T: IntoIterator<Item = &'a Spent>>(parts: T) -> LayerSum {
        let mut sum = LayerSum::default();
        parts.into_iter().for_each(|spent| sum.add(spent));
        sum
    }
}

/// Which of these layers one line may stand for: those that do the same work.
pub(crate) fn pooling<'a>(layers: impl Iterator<Item = &'a Layer>) -> Pooling {
    let work = |layer: &'a Layer| {
        let Spent { flops, bytes, .. } = layer.spent;
        (flops.is_some() || bytes.is_some()).then(|| {
            let (flops, bytes) = (flops.map_or(0, |flops| flops.0), bytes.map_or(0, |b| b.0));
            (layer.path.as_str(), ModuleWork { flops, bytes })
        })
    };
    Pooling::of(layers.filter_map(work))
}

/// The pooled tree of layers.
#[must_use]
pub fn pool_layers(layers: &[&Layer]) -> Vec<LayerPool> {
    let pooling = pooling(layers.iter().copied());
    let mut top: Vec<LayerPool> = Vec::new();
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
                siblings.push(LayerPool {
                    path: prefix.clone(),
                    modules: 0,
                    spent: LayerSum::default(),
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
fn shorten(mut pool: LayerPool) -> LayerPool {
    while pool.inside.len() == 1 && pool.spent.own <= 0.0 {
        pool = pool.inside.remove(0);
    }
    pool.inside = pool.inside.into_iter().map(shorten).collect();
    pool
}

/// Small ones put together, so that what is shown still adds up: the large ones and the sum of the rest.
#[must_use]
pub fn fold_small(
    pools: Vec<LayerPool>,
    least: f64,
) -> (Vec<LayerPool>, Option<(usize, LayerSum)>) {
    let (large, small): (Vec<LayerPool>, Vec<LayerPool>) =
        pools.into_iter().partition(|pool| pool.spent.share >= least);
    let small: Vec<LayerPool> = small.into_iter().filter(|pool| pool.spent.total > 0.0).collect();
    let mut rest = LayerSum::default();
    small.iter().for_each(|pool| rest.join(&pool.spent));
    let rest = (!small.is_empty()).then_some((small.len(), rest));
    (large, rest)
}
