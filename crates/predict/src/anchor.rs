//! One measurement on the target: how far it is off corrects what is said of others there.

use crate::{
    Observation, Predicted,
    learn::{Quantiles, best_share, parts_of},
};
use std::collections::{BTreeSet, HashMap};

/// Weights that are this many times the caches come from memory.
const FROM_MEMORY: f64 = 2.0;
/// A measurement of work that differs by more than this factor says little; as a logarithm.
const FARTHEST: f64 = 4.0;

/// Fewer kinds of machine do not tell how much of an anchor's error is the machine's.
const FEW_MACHINES: usize = 5;
/// What is taken then: a machine is off by about as much as one of its models is by itself.
const USUAL_SHARE: f64 = 0.5;

/// How much of an anchor's error is taken, and how wide the interval then is, as a share of the one without.
#[derive(Debug, Clone)]
pub(crate) struct Anchoring {
    share: f64,
    quantiles: Quantiles,
}

impl Anchoring {
    /// Learned from what was said of rows whose group was held out; the answers for these rows too.
    pub(crate) fn learn(
        rows: &[Observation],
        held_out: &[Predicted],
        groups: &[String],
    ) -> (Anchoring, Vec<Option<Predicted>>) {
        let errors: Vec<f64> = rows
            .iter()
            .zip(held_out)
            .map(|(one, said)| one.log_seconds() - said.log_seconds)
            .collect();
        let anchors = anchors(rows);
        let others: Vec<Option<f64>> =
            anchors.iter().map(|anchor| anchor.map(|at| errors[at])).collect();
        let kinds = groups.iter().collect::<BTreeSet<_>>().len();
        let share = if kinds < FEW_MACHINES { USUAL_SHARE } else { best_share(&errors, &others) };
        let left: Vec<Option<f64>> = errors
            .iter()
            .zip(&others)
            .map(|(error, other)| Some(error - (*other)? * share))
            .collect();
        let scores: Vec<f64> = left
            .iter()
            .zip(held_out)
            .map(|(left, said)| left.map_or(f64::NAN, |left| left.abs() / said.log_half))
            .collect();
        let has = |at: usize| left[at].is_some();
        let quantiles = Quantiles::of(rows, &scores, groups, has);
        let (parts, count) = parts_of(groups, 5, 11);
        let others: Vec<Quantiles> = (0..count)
            .map(|part| {
                Quantiles::of(rows, &scores, groups, |at| {
                    has(at) && (count < 2 || parts[at] != part)
                })
            })
            .collect();
        let answers = (0..rows.len())
            .map(|at| {
                Some(Predicted {
                    log_seconds: rows[at].log_seconds() - left[at]?,
                    log_half: held_out[at].log_half * others[parts[at]].of_test(&rows[at].test),
                })
            })
            .collect();
        (Anchoring { share, quantiles }, answers)
    }

    /// What is said of rows of which one more each was measured on the same machine.
    pub(crate) fn apply(&self, rows: &[Observation], said: &[Predicted]) -> Vec<Option<Predicted>> {
        let anchor = |(at, anchor): (usize, Option<usize>)| {
            let measured = anchor?;
            let error = rows[measured].log_seconds() - said[measured].log_seconds;
            Some(self.correct(&rows[at].test, said[at], error))
        };
        anchors(rows).into_iter().enumerate().map(anchor).collect()
    }

    /// A prediction beside a measurement that is off by so much.
    pub(crate) fn correct(&self, test: &str, said: Predicted, error: f64) -> Predicted {
        Predicted {
            log_seconds: said.log_seconds + self.share * error,
            log_half: said.log_half * self.quantiles.of_test(test),
        }
    }
}

/// Of every row, the row that is its anchor: the same test on the same machine, another model of the same memory regime,
/// the most alike. Where there are hundreds of models, one of middle size is the anchor of all.
fn anchors(rows: &[Observation]) -> Vec<Option<usize>> {
    let mut together: HashMap<(&str, &str, &[String]), Vec<usize>> = HashMap::new();
    for (at, one) in rows.iter().enumerate() {
        together
            .entry((one.instance.as_str(), one.test.as_str(), one.setting.as_slice()))
            .or_default()
            .push(at);
    }
    let mut found = vec![None; rows.len()];
    for some in together.values() {
        let single = (some.len() > 20).then(|| middle(rows, some));
        for at in some {
            found[*at] = match single {
                Some(anchor) => Some(anchor).filter(|anchor| anchor != at),
                None => nearest(rows, some, *at),
            };
        }
    }
    found
}

fn middle(rows: &[Observation], some: &[usize]) -> usize {
    let mut sorted = some.to_vec();
    sorted.sort_by(|one, other| {
        rows[*one]
            .physics
            .total_cmp(&rows[*other].physics)
            .then(rows[*one].model.cmp(&rows[*other].model))
    });
    sorted[sorted.len() / 2]
}

fn nearest(rows: &[Observation], some: &[usize], at: usize) -> Option<usize> {
    let one = &rows[at];
    let distance = |other: usize| (rows[other].bounds[0] / one.bounds[0]).ln().abs();
    some.iter()
        .copied()
        .filter(|other| rows[*other].model != one.model && is_proper(one, &rows[*other]))
        .filter(|other| distance(*other) < FARTHEST)
        .min_by(|one, other| distance(*one).total_cmp(&distance(*other)))
}

/// Whether both come from memory, or both from caches.
pub(crate) fn is_proper(one: &Observation, other: &Observation) -> bool {
    let from_memory = |one: &Observation| one.pressure.map(|pressure| pressure > FROM_MEMORY);
    from_memory(one) == from_memory(other)
}
