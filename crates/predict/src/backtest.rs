//! How good predictions are, on times that were held out: error, coverage and width, beside physics alone.

use crate::{
    Catalogue, Domain, Error, Observation, Predicted, Tables,
    anchor::Anchoring,
    learn::{Effort, Fit, PeersOf, Situation},
    quantile,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
};

/// How far outside of what was learned a question may lie, as a logarithm.
const BEYOND: f64 = 1.4;
/// How far the rates of new hardware may lie outside of those that were learned, as a logarithm: half an order of magnitude.
pub(crate) const TOO_FAR: f64 = 1.152;
/// Fewer machines do not tell how much another one differs.
const FEW_MACHINES: usize = 3;
/// What an answer may be off by for a distance from the nearest machine, both as logarithms. Between an RTX 3090 and an RTX 4090,
/// nine of ten answers of timm's `amp nchw` are off by less.
const DOUBT: f64 = 0.5;

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
struct Answered {
    /// Without what it was learned from.
    one: Observation,
    situation: Situation,
    said: Predicted,
    physics: f64,
    anchored: Option<Predicted>,
}

/// Learns from the first files and predicts the second, or holds out groups of the first in turn.
///
/// # Errors
///
/// If a file cannot be read or understood, or there is nothing to learn from.
pub fn backtest<P: AsRef<Path>>(
    files: &[P],
    held_out: &[P],
    catalogue: &Catalogue,
    effort: &Effort,
) -> Result<Backtest, Error> {
    let mut learned = Tables::read(files, catalogue)?;
    let mut asked = Tables::read(held_out, catalogue)?;
    learned.finish(Some(&asked), catalogue);
    asked.finish(Some(&learned), catalogue);
    leave_out_same(&mut learned, &asked);
    learned.mark_doubtful();
    let mut all_left_out = learned.left_out.clone();
    for (why, count) in &asked.left_out {
        *all_left_out.entry(why.clone()).or_default() += count;
    }
    if learned.observations.is_empty() {
        let reasons = all_left_out.keys().map(|why| format!("; {why}")).collect::<String>();
        return Err(Error::TooLittle(format!(
            "no row of these files can be learned from{reasons}"
        )));
    }
    let mut result = match held_out.is_empty() {
        true => cross_validate(learned.observations, effort),
        false => predict_all(learned.observations, asked.observations, effort),
    };
    result.left_out = all_left_out;
    Ok(result)
}

/// What is asked is not learned from: nothing would be predicted.
fn leave_out_same(learned: &mut Tables, asked: &Tables) {
    type Key<'a> = (&'a str, &'a str, &'a str, &'a [String]);
    fn key(one: &Observation) -> Key<'_> {
        (&one.instance, &one.test, &one.model, &one.setting)
    }
    let held_out: HashSet<Key<'_>> = asked.observations.iter().map(key).collect();
    let before = learned.observations.len();
    learned.observations.retain(|one| !held_out.contains(&key(one)));
    let same = before - learned.observations.len();
    if same > 0 {
        let why = "the files to predict have the same time, so it is not learned from";
        *learned.left_out.entry(why.to_owned()).or_default() += same;
    }
}

/// Every group of the times is held out in turn.
#[must_use]
pub fn cross_validate(observations: Vec<Observation>, effort: &Effort) -> Backtest {
    let by_domain = by_domain(observations);
    let mut result = empty(&by_domain, true);
    // A machine may have answers of several parts.
    let mut all = Vec::new();
    for ((domain, _), rows) in &by_domain {
        let physics = Physics::of(rows);
        let situations: &[Situation] = match domain {
            Domain::GenerationOnProcessors | Domain::GenerationOnGpus => {
                &[Situation::NewMachine, Situation::NewFamily]
            }
            _ => &[Situation::NewMachine, Situation::NewFamily, Situation::NewPair],
        };
        let mut some = false;
        for situation in situations {
            let Some(fit) = Fit::new(rows, *situation, effort) else { continue };
            some = true;
            let mut lonely = 0;
            let anchored = match situation {
                Situation::NewMachine => {
                    let groups: Vec<String> = rows.iter().map(|one| one.machine.clone()).collect();
                    Anchoring::learn(rows, &fit.held_out, &groups).1
                }
                _ => vec![None; rows.len()],
            };
            for ((one, said), anchored) in rows.iter().zip(&fit.held_out).zip(anchored) {
                let physics = physics.log_seconds(one);
                if said.log_seconds.is_nan() {
                    lonely += 1;
                    continue;
                }
                let (situation, said) = (*situation, *said);
                all.push(Answered { one: bare(one), situation, said, physics, anchored });
            }
            if lonely > 0 {
                result.refused.push(Refused {
                    why: format!(
                        "{domain}, {}: no other group has a test of the kind",
                        situation.words()
                    ),
                    nearest: "the same with such times of another group".into(),
                    rows: lonely,
                });
            }
        }
        if !some {
            result.refused.push(Refused {
                why: format!(
                    "{domain}: one machine and one family alone, so nothing can be held out"
                ),
                nearest: "the same with times of another machine or family".into(),
                rows: rows.len(),
            });
        }
    }
    result.add(&all);
    result
}

/// Learns from the first times and predicts the second.
#[must_use]
pub fn predict_all(
    learned: Vec<Observation>,
    asked: Vec<Observation>,
    effort: &Effort,
) -> Backtest {
    let learned = by_domain(learned);
    let mut result = empty(&learned, false);
    let mut all = Vec::new();
    for ((domain, part), questions) in by_domain(asked) {
        let Some(rows) = learned.get(&(domain, part.clone())) else {
            let mut known: Vec<String> = learned
                .keys()
                .map(|(domain, part)| format!("{domain} {part}").trim_end().to_owned())
                .collect();
            known.dedup();
            let words = format!("{domain} {part}");
            result.refused.push(Refused {
                why: format!("{}: nothing of the kind was learned", words.trim_end()),
                nearest: format!("questions of {}", known.join(", ")),
                rows: questions.len(),
            });
            continue;
        };
        let mut predictor = Predictor::of(rows, *effort);
        let mut answered: Vec<(Observation, Situation, Predicted)> = Vec::new();
        // Of thousands of questions that are refused alike, the first nearest one is told.
        let mut refused: BTreeMap<(String, String), (String, usize)> = BTreeMap::new();
        for one in questions {
            match predictor.predict(&one) {
                Ok((situation, said)) => answered.push((one, situation, said)),
                Err(Refused { why, nearest, .. }) => {
                    refused.entry((why, one.test)).or_insert((nearest, 0)).1 += 1;
                }
            }
        }
        result.refused.extend(refused.into_iter().map(|((why, test), (nearest, rows))| Refused {
            why: format!("{test}: {why}"),
            nearest,
            rows,
        }));
        let physics = Physics::of(rows);
        let targets: Vec<Observation> = answered.iter().map(|(one, ..)| one.clone()).collect();
        let said: Vec<Predicted> = answered.iter().map(|(.., said)| *said).collect();
        let mut anchored = vec![None; answered.len()];
        if let Some(anchoring) = predictor.anchoring() {
            anchored = anchoring.apply(&targets, &said);
        }
        all.extend(answered.iter().zip(anchored).map(|((one, situation, said), anchored)| {
            Answered {
                one: bare(one),
                situation: *situation,
                said: *said,
                physics: physics.log_seconds(one),
                anchored: anchored.filter(|_| *situation == Situation::NewMachine),
            }
        }));
    }
    result.add(&all);
    result
}

/// An observation without what it was learned from, of which many are kept.
fn bare(one: &Observation) -> Observation {
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

fn empty(learned: &BTreeMap<Part, Vec<Observation>>, is_cross_validation: bool) -> Backtest {
    let mut rows_of: BTreeMap<Domain, usize> = BTreeMap::new();
    for ((domain, _), rows) in learned {
        *rows_of.entry(*domain).or_default() += rows.len();
    }
    Backtest {
        learned: rows_of.into_iter().collect(),
        is_cross_validation,
        kinds: Vec::new(),
        machines: Vec::new(),
        refused: Vec::new(),
        left_out: BTreeMap::new(),
    }
}

/// What is learned together.
type Part = (Domain, String);

pub(crate) fn by_domain(observations: Vec<Observation>) -> BTreeMap<Part, Vec<Observation>> {
    let mut all: BTreeMap<Part, Vec<Observation>> = BTreeMap::new();
    for one in observations {
        all.entry((one.domain, one.part().to_owned())).or_default().push(one);
    }
    all
}

/// The roofline with one efficiency a test: what it is off by in the middle.
struct Physics {
    tests: HashMap<String, f64>,
    all: f64,
}

impl Physics {
    fn of(rows: &[Observation]) -> Physics {
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

    fn log_seconds(&self, one: &Observation) -> f64 {
        one.physics.ln() + self.tests.get(&one.test).copied().unwrap_or(self.all)
    }
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
    hardware: HashMap<&'a str, Seen<'a>>,
    fits: BTreeMap<Situation, Option<Fit>>,
}

impl<'a> Predictor<'a> {
    /// Learns from rows of one domain.
    #[must_use]
    pub fn of(rows: &'a [Observation], effort: Effort) -> Predictor<'a> {
        let range =
            std::array::from_fn(|bound| span(rows.iter().map(|one| one.bounds[bound].ln())));
        let mut hardware: HashMap<&str, Seen<'a>> = HashMap::new();
        for one in rows {
            let seen = hardware.entry(one.test_kind()).or_default();
            seen.machines.insert(&one.machine);
            seen.rates.insert(one.rates.map(f64::to_bits));
        }
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
            hardware,
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
            said.log_half = said.log_half.hypot(self.doubt(one));
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

    /// How much more an answer on new hardware may be off, where too few machines were held out to tell: more, the further the
    /// hardware is from the nearest one that was learned. As a logarithm.
    fn doubt(&self, one: &Observation) -> f64 {
        let Some(seen) = self.hardware.get(one.test_kind()) else { return 0.0 };
        if seen.machines.len() >= FEW_MACHINES {
            return 0.0;
        }
        let own = log_rates(one.rates);
        let away = |other: [f64; 3]| {
            let apart = own.iter().zip(other).map(|(own, its)| (own - its).abs());
            apart.fold(0.0, f64::max)
        };
        DOUBT * seen.log_rates().map(away).fold(TOO_FAR, f64::min)
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

/// The hardware that a kind of test was measured on.
#[derive(Default)]
struct Seen<'a> {
    machines: BTreeSet<&'a str>,
    /// Different rates, as bits.
    rates: HashSet<[u64; 2]>,
}

impl Seen<'_> {
    fn log_rates(&self) -> impl Iterator<Item = [f64; 3]> {
        self.rates.iter().map(|rates| log_rates(rates.map(f64::from_bits)))
    }
}

/// Rates of hardware as logarithms: calculation, reading, and how much it calculates for what it reads.
fn log_rates(rates: [f64; 2]) -> [f64; 3] {
    let [calculation, reading] = rates.map(f64::ln);
    [calculation, reading, calculation - reading]
}

/// The smallest and the largest.
pub(crate) fn span(logs: impl Iterator<Item = f64>) -> [f64; 2] {
    logs.filter(|log| log.is_finite())
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], log| [low.min(log), high.max(log)])
}

fn own_test(one: &Observation) -> &str {
    &one.test
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
    fn add(&mut self, all: &[Answered]) {
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
