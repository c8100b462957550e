//! How good predictions were: error, coverage and width, by kind of test and by machine, beside physics alone.

use crate::{Domain, Observation, Predicted, Refused, Situation, quantile};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How good some predictions were.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Score {
    /// Times.
    pub rows: usize,
    /// Kinds of machine among them.
    pub machines: usize,
    /// Median of |predicted ÷ measured − 1|.
    pub median_error: f64,
    /// Mean of the same.
    pub mean_error: f64,
    /// Share of times within their 90 % interval: every machine counts alike.
    pub coverage: f64,
    /// The interval is the prediction × ÷ this; the median of all.
    pub width: f64,
}

/// One kind of question.
#[derive(Debug, Clone, Serialize)]
pub struct KindScore {
    /// What was learned together.
    pub domain: Domain,
    /// The kind of test.
    pub test: String,
    /// What was new.
    pub situation: Situation,
    /// How good predictions were.
    pub score: Score,
    /// The same of the roofline with one learned efficiency per test.
    pub physics: Score,
    /// The same with one measurement on the target, for rows that have one to go by.
    pub anchored: Option<Score>,
}

/// One machine that was held out.
#[derive(Debug, Clone, Serialize)]
pub struct MachineScore {
    /// What was learned together.
    pub domain: Domain,
    /// The machine.
    pub machine: String,
    /// What was new.
    pub situation: Situation,
    /// How good predictions were.
    pub score: Score,
    /// The same of the roofline with one learned efficiency per test.
    pub physics: Score,
}

/// The whole backtest.
#[derive(Debug, Clone, Serialize)]
pub struct Backtest {
    /// Times that were learned from, of each domain.
    pub learned: Vec<(Domain, usize)>,
    /// Whether groups of the same files were held out in turn.
    pub is_cross_validation: bool,
    /// By kind of test.
    pub kinds: Vec<KindScore>,
    /// By machine.
    pub machines: Vec<MachineScore>,
    /// What was refused.
    pub refused: Vec<Refused>,
    /// Rows of files that were left out: why, and how many.
    pub left_out: BTreeMap<String, usize>,
}

/// How good all predictions of a backtest were: means of its kinds of question, weighted by their times.
#[derive(Debug, Clone, Copy)]
pub struct Overall {
    /// The median error.
    pub median_error: f64,
    /// The same of physics alone.
    pub physics_median_error: f64,
    /// Share of times within their 90 % interval.
    pub coverage: f64,
}

/// One answered question.
pub(crate) struct Answered {
    /// Without what it was learned from.
    pub(crate) one: Observation,
    pub(crate) situation: Situation,
    pub(crate) said: Predicted,
    pub(crate) physics: f64,
    pub(crate) anchored: Option<Predicted>,
}

/// An observation without what it was learned from, of which many are kept.
pub(crate) fn bare(one: &Observation) -> Observation {
    Observation {
        domain: one.domain,
        test: one.test.clone(),
        machine: one.machine.clone(),
        instance: String::new(),
        family: String::new(),
        model: String::new(),
        setting: Vec::new(),
        seconds: one.seconds,
        physics: one.physics,
        bounds: one.bounds,
        pressure: one.pressure,
        features: Vec::new(),
        balance_feature: None,
        rates: one.rates,
        maker: one.maker,
        is_doubtful: one.is_doubtful,
        hardware_features: 0,
    }
}

/// The roofline with one efficiency a test: what it is off by in the middle.
pub(crate) struct Physics {
    tests: HashMap<String, f64>,
    all: f64,
}

impl Physics {
    pub(crate) fn of(rows: &[Observation]) -> Physics {
        let mut by_test: HashMap<String, Vec<f64>> = HashMap::new();
        let learned = || rows.iter().filter(|one| !one.is_doubtful);
        for one in learned() {
            by_test.entry(one.test.clone()).or_default().push(one.log_residual());
        }
        let middle = |values: Vec<f64>| quantile::median(values.into_iter()).unwrap_or(0.0);
        Physics {
            all: middle(learned().map(Observation::log_residual).collect()),
            tests: by_test.into_iter().map(|(test, values)| (test, middle(values))).collect(),
        }
    }

    pub(crate) fn log_seconds(&self, one: &Observation) -> f64 {
        one.physics.ln() + self.tests.get(&one.test).copied().unwrap_or(self.all)
    }
}

/// The score of answers; `None` without any.
pub(crate) fn score<'a>(
    answers: impl Iterator<Item = (&'a Observation, Predicted)>,
) -> Option<Score> {
    let mut errors = Vec::new();
    let mut halves = Vec::new();
    let mut held: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (one, said) in answers {
        let error = said.log_seconds - one.log_seconds();
        errors.push(error.exp_m1().abs());
        halves.push(said.log_half);
        let (inside, all) = held.entry(&one.machine).or_default();
        *inside += f64::from(u8::from(error.abs() <= said.log_half));
        *all += 1.0;
    }
    let median_error = quantile::median(errors.iter().copied())?;
    Some(Score {
        rows: errors.len(),
        machines: held.len(),
        median_error,
        mean_error: errors.iter().sum::<f64>() / errors.len() as f64,
        coverage: held.values().map(|(inside, all)| inside / all).sum::<f64>() / held.len() as f64,
        width: quantile::median(halves.into_iter()).map_or(f64::INFINITY, f64::exp),
    })
}

impl Backtest {
    pub(crate) fn add(&mut self, all: &[Answered]) {
        let physics = |one: &Answered| Predicted { log_seconds: one.physics, log_half: f64::NAN };
        type Kind = (Domain, Situation, (String, u64));
        let mut kinds: BTreeMap<Kind, Vec<&Answered>> = BTreeMap::new();
        let mut machines: BTreeMap<(Domain, Situation, &str), Vec<&Answered>> = BTreeMap::new();
        for one in all {
            let (domain, situation) = (one.one.domain, one.situation);
            kinds.entry((domain, situation, in_order(&one.one.test))).or_default().push(one);
            machines.entry((domain, situation, one.one.machine.as_str())).or_default().push(one);
        }
        let whole = |some: &[&Answered]| {
            let said = score(some.iter().map(|one| (&one.one, one.said))).unwrap_or_default();
            let alone = score(some.iter().map(|one| (&one.one, physics(one)))).unwrap_or_default();
            let anchored = score(some.iter().filter_map(|one| Some((&one.one, one.anchored?))));
            (said, alone, anchored)
        };
        for ((domain, situation, _), some) in kinds {
            let test = some[0].one.test.clone();
            let (score, physics, anchored) = whole(&some);
            self.kinds.push(KindScore { domain, test, situation, score, physics, anchored });
        }
        for ((domain, situation, machine), some) in machines {
            let (score, physics, _) = whole(&some);
            let machine = machine.to_owned();
            self.machines.push(MachineScore { domain, machine, situation, score, physics });
        }
    }

    /// How many questions were answered.
    #[must_use]
    pub fn answered(&self) -> usize {
        self.kinds.iter().map(|kind| kind.score.rows).sum()
    }

    /// How good all predictions were; not numbers if there are none.
    #[must_use]
    pub fn overall(&self) -> Overall {
        let rows = self.answered() as f64;
        let mean = |of: fn(&KindScore) -> f64| {
            self.kinds.iter().map(|kind| of(kind) * kind.score.rows as f64).sum::<f64>() / rows
        };
        Overall {
            median_error: mean(|kind| kind.score.median_error),
            physics_median_error: mean(|kind| kind.physics.median_error),
            coverage: mean(|kind| kind.score.coverage),
        }
    }

    /// The kinds of machine among the answers.
    #[must_use]
    pub fn machine_count(&self) -> usize {
        self.machines.iter().map(|one| &one.machine).collect::<BTreeSet<_>>().len()
    }
}

/// `tg128` after `tg16`: letters, then number.
fn in_order(test: &str) -> (String, u64) {
    let letters = test.trim_end_matches(|last: char| last.is_ascii_digit());
    (letters.to_owned(), test[letters.len()..].parse().unwrap_or(0))
}
