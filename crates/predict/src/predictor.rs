//! Answers questions from tables of measured times, or says why it does not.

use crate::{
    Observation, Predicted, Score,
    anchor::Anchoring,
    learn::{Effort, Fit, PeersOf, Situation},
    score::score,
    seen::{ByTest, Seen, doubt, log_rates},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// How far outside of what was learned a question may lie, as a logarithm.
const BEYOND: f64 = 1.4;
/// How far the rates of new hardware may lie outside of those that were learned, as a logarithm: half an order of magnitude.
pub(crate) const TOO_FAR: f64 = 1.152;
/// Questions that were not answered.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub why: String,
    /// What could be answered instead.
    pub nearest: String,
    /// How many.
    pub rows: usize,
}

/// Answers questions of one domain; a fit is made when the first question needs it.
pub struct Predictor<'a> {
    rows: &'a [Observation],
    peers: PeersOf<'a>,
    effort: Effort,
    instances: HashSet<&'a str>,
    families: HashSet<&'a str>,
    pairs: HashSet<(&'a str, &'a str)>,
    tests: HashSet<&'a str>,
    machines: BTreeSet<&'a str>,
    makers: BTreeSet<&'static str>,
    range: [[f64; 2]; 2],
    /// Of every kind of test.
    hardware: ByTest<'a>,
    fits: BTreeMap<Situation, Option<Fit>>,
}

impl<'a> Predictor<'a> {
    /// Learns from rows of one domain.
    #[must_use]
    pub fn of(rows: &'a [Observation], effort: Effort) -> Predictor<'a> {
        let range =
            std::array::from_fn(|bound| span(rows.iter().map(|one| one.bounds[bound].ln())));
        Predictor {
            rows,
            peers: PeersOf::of(rows),
            effort,
            instances: rows.iter().map(|one| one.instance.as_str()).collect(),
            families: rows.iter().map(|one| one.family.as_str()).collect(),
            pairs: rows.iter().map(|one| (one.instance.as_str(), one.model.as_str())).collect(),
            tests: rows.iter().map(Observation::test_kind).collect(),
            machines: rows.iter().map(|one| one.machine.as_str()).collect(),
            makers: rows.iter().filter_map(|one| one.maker).collect(),
            range,
            hardware: Seen::by_test(rows.iter()),
            fits: BTreeMap::new(),
        }
    }

    /// What is new about a question.
    #[must_use]
    pub fn situation(&self, one: &Observation) -> Situation {
        if !self.machines.contains(one.machine.as_str()) {
            Situation::NewMachine
        } else if !self.instances.contains(one.instance.as_str()) {
            Situation::NewInstance
        } else if !self.families.contains(one.family.as_str()) {
            Situation::NewFamily
        } else if !self.pairs.contains(&(one.instance.as_str(), one.model.as_str())) {
            Situation::NewPair
        } else {
            Situation::Known
        }
    }

    /// The time of a question.
    ///
    /// # Errors
    ///
    /// The refusal, if it lies outside of what was learned or nothing could be held out to know how good the answer is.
    pub fn predict(&mut self, one: &Observation) -> Result<(Situation, Predicted), Refused> {
        if !self.tests.contains(one.test_kind()) {
            return Err(Refused {
                why: format!("no test of the kind `{}` was learned", one.test_kind()),
                nearest: self.nearest(one),
                rows: 1,
            });
        }
        for ([low, high], bound) in self.range.iter().zip(one.bounds) {
            let log = bound.ln();
            let beyond = (low - log).max(log - high);
            if beyond.is_nan() || beyond > BEYOND {
                return Err(Refused {
                    why: "its work is far larger or smaller than all that was learned".into(),
                    nearest: self.nearest(one),
                    rows: 1,
                });
            }
        }
        let situation = self.situation(one);
        if situation == Situation::NewMachine {
            self.check_hardware(one)?;
        }
        let mut said = self.answer(situation, one)?;
        if matches!(situation, Situation::NewMachine | Situation::NewInstance)
            && !self.families.contains(one.family.as_str())
        {
            // Both are new: the answer is as wrong as either alone makes it, together.
            let other = self.answer(Situation::NewFamily, one)?;
            said.log_half = said.log_half.hypot(other.log_half);
        }
        if situation == Situation::NewMachine {
            said.log_half = said.log_half.hypot(doubt(one, &self.hardware, &self.hardware));
        }
        Ok((situation, said))
    }

    /// Whether new hardware resembles any that was learned: errors of a few cards say nothing of one of another kind.
    fn check_hardware(&self, one: &Observation) -> Result<(), Refused> {
        if let Some(maker) = one.maker
            && !self.makers.is_empty()
            && !self.makers.contains(maker)
        {
            let known: Vec<&str> = self.makers.iter().copied().collect();
            return Err(Refused {
                why: format!(
                    "{} is made by {maker}; only hardware of {} was learned",
                    one.machine,
                    known.join(", ")
                ),
                nearest: self.nearest(one),
                rows: 1,
            });
        }
        let Some(seen) = self.hardware.get(one.test_kind()) else { return Ok(()) };
        let what = ["calculates", "reads from memory", "calculates for what it reads"];
        for ((at, own), what) in log_rates(one.rates).into_iter().enumerate().zip(what) {
            let [low, high] = span(seen.log_rates().map(|rates| rates[at]));
            let (beyond, than) = match own < low {
                true => (low - own, "less"),
                false => (own - high, "more"),
            };
            if beyond > TOO_FAR {
                return Err(Refused {
                    why: format!(
                        "{} {what} {:.1} times {than} than all hardware that was learned",
                        one.machine,
                        beyond.exp()
                    ),
                    nearest: self.nearest(one),
                    rows: 1,
                });
            }
        }
        Ok(())
    }

    /// The machines of which such tests were learned, in alphabetical order.
    #[must_use]
    pub fn machines(&self, one: &Observation) -> Vec<&'a str> {
        let seen = self.hardware.get(one.test_kind());
        seen.map(|seen| seen.machines.iter().copied().collect()).unwrap_or_default()
    }

    fn answer(&mut self, situation: Situation, one: &Observation) -> Result<Predicted, Refused> {
        let (rows, effort) = (self.rows, &self.effort);
        let fit = self.fits.entry(situation).or_insert_with(|| Fit::new(rows, situation, effort));
        let Some(fit) = fit else {
            return Err(Refused {
                why: format!(
                    "nothing could be held out to learn how good an answer for a {} is",
                    situation.words()
                ),
                nearest: self.nearest(one),
                rows: 1,
            });
        };
        Ok(fit.predict(one, self.rows, &self.peers))
    }

    /// How an anchor helps on a new machine.
    pub(crate) fn anchoring(&mut self) -> Option<Anchoring> {
        let fit = self.fits.get(&Situation::NewMachine)?.as_ref()?;
        let groups: Vec<String> = self.rows.iter().map(|one| one.machine.clone()).collect();
        Some(Anchoring::learn(self.rows, &fit.held_out, &groups).0)
    }

    /// How many groups an answer rests on.
    #[must_use]
    pub fn groups(&self, situation: Situation) -> usize {
        self.fits.get(&situation).and_then(Option::as_ref).map_or(0, |fit| fit.groups)
    }

    /// How good answers to such questions were, on the rows themselves with their group held out.
    #[must_use]
    pub fn score(&self, situation: Situation, test: &str) -> Option<Score> {
        let fit = self.fits.get(&situation)?.as_ref()?;
        let of_test = |is_any: bool| {
            let all = self.rows.iter().zip(&fit.held_out);
            let some = all.filter(|(one, _)| is_any || one.test == test);
            score(some.map(|(one, said)| (one, *said)))
        };
        of_test(false).or_else(|| of_test(true))
    }

    /// The measured question that is most alike.
    fn nearest(&self, one: &Observation) -> String {
        let distance = |other: &&Observation| {
            let bounds = one.bounds.iter().zip(&other.bounds);
            bounds.map(|(own, its)| (own / its).ln().abs()).sum::<f64>()
                + f64::from(u8::from(own_test(one) != own_test(other)))
        };
        let nearest = self.rows.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or_else(String::new, |near| {
            format!("`{}` on {}, {}", near.model, near.machine, near.test)
        })
    }
}

/// The smallest and the largest.
pub(crate) fn span(logs: impl Iterator<Item = f64>) -> [f64; 2] {
    logs.filter(|log| log.is_finite())
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], log| [low.min(log), high.max(log)])
}

fn own_test(one: &Observation) -> &str {
    &one.test
}
