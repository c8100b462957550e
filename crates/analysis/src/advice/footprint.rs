//! How much memory another batch size would need, from what this one needed.

use super::facts::{Facts, Known, Missing};
use types::key;

/// Of the memory that is available, so much may be planned with: the rest is for what grows unseen.
pub(crate) const PLANNED_SHARE: f64 = 0.9;

/// Memory as a fixed part and a part for every sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Footprint {
    /// What a batch of none would need: weights, engine, process.
    pub(crate) fixed: f64,
    /// Activations of one sample, and its cache.
    pub(crate) per_sample: f64,
    /// Memory that may be planned with.
    pub(crate) limit: f64,
    /// Memory that is available.
    pub(crate) available: f64,
}

impl Footprint {
    /// From the run's peak and the activations counted on its graph.
    pub(crate) fn of(facts: &Facts<'_>) -> Known<Footprint> {
        let run = facts.run;
        let memory = facts.memory.as_ref().map_err(Clone::clone)?;
        // A training step keeps what its forward pass computed.
        let kept = run.training.as_ref().map(|training| training.memory.activations);
        let activations = kept.or(run.work.activation_peak).ok_or_else(|| {
            let why = run.unknown.get("work.activation_peak").map(String::as_str);
            let why = why.unwrap_or("some shapes stay unknown");
            Missing::because(format!("the activations could not be counted: {why}"))
        })?;
        let peak = facts.metric(key::MEMORY_PEAK);
        let peak = peak.ok_or_else(|| Missing::because("the run's memory was not measured"))?;
        // So is the cache of a language model.
        let whole = run.cell.generation.map_or(0, types::Generation::context);
        let cache = run.generation.as_ref().map_or(0.0, |report| {
            let of_one = report.shape.cache(whole, 1).0 as f64;
            let each = report.shape.cache_per_token(1).0.max(1) as f64;
            of_one * report.cache_per_token.0 as f64 / each * run.cell.batch_size as f64
        });
        let activations = activations.0 as f64 + cache;
        let available = memory.available.0 as f64;
        Ok(Footprint {
            fixed: (peak - activations).max(0.0),
            per_sample: activations / run.cell.batch_size.max(1) as f64,
            limit: available * PLANNED_SHARE,
            available,
        })
    }

    /// Memory at a batch size.
    pub(crate) fn at(&self, batch_size: usize) -> f64 {
        self.fixed + self.per_sample * batch_size as f64
    }

    /// Whether twice this batch no longer fits: memory is the limit.
    pub(crate) fn is_limit(&self, batch_size: usize) -> bool {
        self.at(batch_size.saturating_mul(2)) > self.limit
    }

    /// The largest batch that fits, at least 1.
    pub(crate) fn largest_batch(&self) -> usize {
        let room = (self.limit - self.fixed).max(0.0);
        if self.per_sample <= 0.0 { usize::MAX } else { ((room / self.per_sample) as usize).max(1) }
    }
}
