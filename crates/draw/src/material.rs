//! What pictures are drawn from.

use crate::{Paper, Steps};
use std::collections::BTreeMap;
use types::{Bytes, Ceilings, CellKey, LoadMetric, NotValidCell, Phase, PooledCell, Work};

/// So many samples show the shape of a distribution.
pub const MOST_SAMPLES: usize = 2000;

/// What pictures are drawn from: cells with their runs pooled, and what more is known of some of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Material {
    /// Every cell, in the order of their keys.
    pub cells: Vec<PooledCell>,
    /// What machines are called, by their keys.
    pub machines: BTreeMap<String, String>,
    /// Samples of the pooled runs in seconds, in the order of their size; see [`crate::wanted_samples`].
    pub samples: BTreeMap<CellKey, Vec<f64>>,
    /// What the newest run says; see [`crate::wanted_details`].
    pub details: BTreeMap<CellKey, Detail>,
    /// What machines can do at best, by their keys.
    pub ceilings: BTreeMap<String, Vec<Ceilings>>,
    /// Cells that were measured but have no valid run, so that nobody takes them for not measured.
    pub not_valid: Vec<NotValidCell>,
    /// The command that measures the newest of those again.
    pub again: Option<String>,
    /// Whether what does not fit in a picture gets numbered pages.
    pub has_pages: bool,
    /// What it is drawn for.
    pub paper: Paper,
    /// Which page is drawn, from 0; `None` is the best of every model, as far as there is room.
    pub page: Option<usize>,
}

/// What one run knows and a pooled cell does not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detail {
    /// The work of one inference.
    pub work: Option<Work>,
    /// What the weights take.
    pub weights: Option<Bytes>,
    /// What gradients and the optimiser take, in training.
    pub gradients: Option<Bytes>,
    /// The most that activations take at once, by the graph.
    pub activations: Option<Bytes>,
    /// What the worker was held to.
    pub limit: Option<Bytes>,
    /// Medians of the phases of a training step in seconds.
    pub phases: Vec<(Phase, f64)>,
    /// Every step of a model that writes, over the tokens in its cache.
    pub steps: Option<Steps>,
    /// What users waited under load.
    pub load: Option<LoadDetail>,
}

/// What users waited under load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadDetail {
    /// Median, 95th and 99th percentile of whole answers, first tokens and times between tokens, in seconds; `None` where
    /// there were too few requests.
    pub times: Vec<(LoadMetric, [Option<f64>; 3])>,
    /// Whether every limit held; `None` if there was none, or it could not be told.
    pub held: Option<bool>,
}

/// So many of the samples that their distribution stays: in order of size, evenly chosen, the smallest and the largest kept.
#[must_use]
pub fn thin(mut samples: Vec<f64>, most: usize) -> Vec<f64> {
    samples.retain(|sample| sample.is_finite());
    samples.sort_by(f64::total_cmp);
    if samples.len() <= most || most < 2 {
        samples.truncate(most);
        return samples;
    }
    let last = samples.len() - 1;
    // Whole numbers only, so that the same samples are chosen everywhere.
    (0..most).map(|index| samples[index * last / (most - 1)]).collect()
}

/// The value below which this share of the samples lies; they are in the order of their size.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_middle() {
        let many: Vec<f64> = (0..100_001).rev().map(f64::from).collect();
        let few = thin(many, 2001);
        assert_eq!(few.len(), 2001);
        assert_eq!((few[0], few[1000], few[2000]), (0.0, 50_000.0, 100_000.0));
        assert_eq!(thin(vec![3.0, f64::NAN, 1.0], 10), [1.0, 3.0]);
        assert!(thin(Vec::new(), 10).is_empty());
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
