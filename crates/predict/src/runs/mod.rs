//! Learns from the cells of a database, and answers for cells that are not in it.
//!
//! Physics first, a process over what cells share on top, and intervals from cells that were held out in the way in which
//! the question is new: another setting, another pair, another family of models, another machine.

mod case;
mod explore;
mod kept;
mod process;
mod said;

pub use case::{Case, Known};
pub use explore::{Exploration, explore};
pub use kept::Kept;
pub use said::{Answer, Calibrated, Next, Reach};

use crate::{
    Error, Refused, Situation,
    catalogue::maker,
    learn::{HIGHEST_LEVEL, LEVEL, parts_of},
    predictor::{TOO_FAR, span},
    quantile,
};
use case::Key;
use process::Process;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// So many cells are learned from; of more, every second or third.
const MOST: usize = 600;
/// Fewer groups that were held out say nothing of the next.
const FEW: usize = 3;
/// Fewer cells than this are no database to learn from.
const FEWEST: usize = 4;
/// How far outside of what was measured a question may lie, as a logarithm.
const BEYOND: f64 = 1.4;

/// What was learned of one kind of hardware: processors or GPUs.
#[derive(Debug, Clone)]
pub struct Learned {
    known: Vec<Known>,
    seconds: Process,
    memory: Option<Process>,
    calibrated: BTreeMap<Situation, Calibrated>,
    of_memory: BTreeMap<Situation, Calibrated>,
    /// Cells that were measured in all.
    measured: usize,
    /// Measured cells that were not learned from, since there are very many.
    rest: Vec<Known>,
}

/// The cells that are learned from, of very many an even part, and the others.
struct Chosen {
    known: Vec<Known>,
    rest: Vec<Known>,
}

impl Chosen {
    fn of(all: Vec<Known>) -> Chosen {
        let all: Vec<Known> = all.into_iter().filter(Known::is_possible).collect();
        let step = all.len().div_ceil(MOST).max(1);
        let mut found = Chosen { known: Vec::new(), rest: Vec::new() };
        for (at, one) in all.into_iter().enumerate() {
            if at % step == 0 { found.known.push(one) } else { found.rest.push(one) }
        }
        found
    }
}

const SITUATIONS: [Situation; 4] =
    [Situation::Known, Situation::NewPair, Situation::NewFamily, Situation::NewMachine];

impl Learned {
    /// Learns from cells of one kind of hardware.
    ///
    /// # Errors
    /// If there are too few cells to learn from.
    pub fn fit(known: Vec<Known>) -> Result<Learned, Error> {
        let Chosen { known, rest } = Chosen::of(known);
        let measured = known.len() + rest.len();
        if known.len() < FEWEST {
            let words =
                if known.len() == 1 { "1 cell".into() } else { format!("{} cells", known.len()) };
            return Err(Error::TooLittle(format!(
                "{words} of this kind of hardware with a valid run: too few to learn from"
            )));
        }
        let cases: Vec<&Case> = known.iter().map(|one| &one.case).collect();
        let targets = known.iter().map(Known::time_target).collect();
        let seconds = Process::fit(&cases, targets);
        let calibrated = calibrate(&seconds, &known, &|one| {
            (one.time_target(), one.case.physics().map(|own| (own / one.seconds).ln()))
        });
        let with_memory: Vec<Known> =
            known.iter().filter(|one| one.memory.is_some()).cloned().collect();
        let (memory, of_memory) = if with_memory.len() < FEWEST {
            (None, BTreeMap::new())
        } else {
            let cases: Vec<&Case> = with_memory.iter().map(|one| &one.case).collect();
            let memory =
                Process::fit(&cases, with_memory.iter().map(Known::memory_target).collect());
            let calibrated = calibrate(&memory, &with_memory, &|one| (one.memory_target(), None));
            (Some(memory), calibrated)
        };
        Ok(Learned { known, seconds, memory, calibrated, of_memory, measured, rest })
    }

    /// The cells that were learned from.
    #[must_use]
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// Cells that were measured, of which some may be left out where there are very many.
    #[must_use]
    pub fn measured(&self) -> usize {
        self.measured
    }

    /// How good answers were while their group was held out.
    #[must_use]
    pub fn calibrated(&self) -> &BTreeMap<Situation, Calibrated> {
        &self.calibrated
    }

    /// How much every part matters, for whoever wants to look.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        self.seconds.variances()
    }

    /// What is new about a cell.
    #[must_use]
    pub fn situation(&self, case: &Case) -> Situation {
        let any = |is: &dyn Fn(&Case) -> bool| self.known.iter().any(|one| is(&one.case));
        if !any(&|known| known.machine == case.machine) {
            Situation::NewMachine
        } else if any(&|known| known.is_same_pair(case)) {
            Situation::Known
        } else if any(&|known| known.model == case.model || known.family == case.family) {
            Situation::NewPair
        } else {
            Situation::NewFamily
        }
    }

    /// The time and memory of a cell.
    ///
    /// # Errors
    /// The refusal, if it lies outside of what was measured, or nothing could be held out to know how good the answer is.
    pub fn answer(&self, case: &Case) -> Result<Answer, Refused> {
        let mut measured = self.known.iter().chain(&self.rest);
        if let Some(known) = measured.find(|known| known.case.is_same_cell(case)) {
            return Ok(Answer::measured(known));
        }
        self.check(case)?;
        let situation = self.situation(case);
        let seconds =
            self.reach(&self.seconds, &self.calibrated, situation, case, case.origin())?;
        let memory = self.memory.as_ref().and_then(|memory| {
            self.reach(memory, &self.of_memory, situation, case, case.memory_origin()).ok()
        });
        Ok(Answer {
            situation,
            is_measured: false,
            seconds,
            memory,
            physics: case.physics(),
            rests_on: self.nearest(case, 3),
            calibrated: self.calibrated.get(&situation).cloned(),
            cells: self.known.len(),
        })
    }

    /// The same after one more measurement on the target, with what was learned before.
    ///
    /// # Errors
    /// If the measurement is of another regime of memory than the question, or as [`Learned::answer`].
    pub fn with_anchor(&self, anchor: Known, case: &Case) -> Result<Learned, Refused> {
        if anchor.case.machine != case.machine {
            return Err(refusal(
                format!(
                    "the anchor was measured on {}, the question is of {}",
                    anchor.case.hardware, case.hardware
                ),
                format!("the same with a run on {}", case.hardware),
            ));
        }
        let regime = |case: &Case| case.cache.map(|cache| case.weights > 2.0 * cache);
        if let (Some(own), Some(its)) = (regime(case), regime(&anchor.case))
            && own != its
        {
            let (of_anchor, of_model) = match its {
                true => ("come from memory", "stay in the caches"),
                false => ("stay in the caches", "come from memory"),
            };
            return Err(refusal(
                format!(
                    "the weights of the anchor `{}` {of_anchor}, those of `{}` {of_model}: it says nothing of them",
                    anchor.case.model, case.model
                ),
                "an anchor whose weights are about as large as those of the model".into(),
            ));
        }
        let mut more = self.clone();
        more.seconds = self.seconds.and(&anchor.case, anchor.seconds.ln() - anchor.case.origin());
        if let (Some(memory), Some(bytes)) = (&self.memory, anchor.memory) {
            more.memory = Some(memory.and(&anchor.case, bytes.ln() - anchor.case.memory_origin()));
        }
        more.known.push(anchor);
        Ok(more)
    }

    /// The middle of what could be said of a cell, without asking whether anything is known of how good it is: for benches
    /// that compare ways to learn.
    #[must_use]
    pub fn guess(&self, case: &Case) -> f64 {
        (self.seconds.say(case).mean + case.origin()).exp()
    }

    /// Which of these cells, measured next, would narrow the interval most.
    #[must_use]
    pub fn next(&self, case: &Case, candidates: &[Case]) -> Option<Next> {
        let measured = self.known.iter().chain(&self.rest).map(|known| &known.case);
        let mut settled: HashSet<Key<'_>> = measured.chain([case]).map(Case::key).collect();
        let open: Vec<&Case> =
            candidates.iter().filter(|candidate| settled.insert(candidate.key())).collect();
        let (at, left) = self.seconds.best_next(case, &open)?;
        Some(Next { case: open[at].clone(), left: left.sqrt() })
    }

    fn process(&self) -> &Process {
        &self.seconds
    }

    fn check(&self, case: &Case) -> Result<(), Refused> {
        let nearest = || {
            let found = self.nearest(case, 1);
            found.first().map_or_else(String::new, |known| known.case.words())
        };
        if !self.known.iter().any(|known| known.case.mode == case.mode) {
            return Err(refusal(
                format!("nothing was measured in the mode `{}`", case.mode),
                nearest(),
            ));
        }
        if !self.known.iter().any(|known| known.case.engine == case.engine) {
            let mut engines: Vec<&str> =
                self.known.iter().map(|known| known.case.engine.as_str()).collect();
            engines.sort_unstable();
            engines.dedup();
            return Err(refusal(
                format!("nothing was measured with the engine `{}`", case.engine),
                format!("the same with {}", engines.join(", ")),
            ));
        }
        for bound in 0..2 {
            let Some(own) = case.bounds()[bound] else { continue };
            let known = self.known.iter().filter_map(|known| known.case.bounds()[bound]);
            let (low, high) = known
                .fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
            if high > 0.0 && (low / own).ln().max((own / high).ln()) > BEYOND {
                return Err(refusal(
                    "its work is more than four times beyond all that was measured".into(),
                    nearest(),
                ));
            }
        }
        if self.situation(case) == Situation::NewMachine
            && let Some(why) = self.other_hardware(case)
        {
            return Err(refusal(why, nearest()));
        }
        Ok(())
    }

    /// Why new hardware resembles none that was measured; `None` if it does, or nothing is known of it.
    fn other_hardware(&self, case: &Case) -> Option<String> {
        let hardware = &case.hardware;
        let makers: BTreeSet<&str> =
            self.known.iter().filter_map(|known| maker(&known.case.hardware)).collect();
        if case.is_gpu
            && let Some(own) = maker(hardware)
            && !makers.is_empty()
            && !makers.contains(own)
        {
            let makers: Vec<&str> = makers.into_iter().collect();
            let makers = makers.join(", ");
            return Some(format!(
                "{hardware} is made by {own}; only hardware of {makers} was measured"
            ));
        }
        let rates = |case: &Case| {
            let (peak, bandwidth) = case.peak.zip(case.bandwidth)?;
            Some([peak.ln(), bandwidth.ln(), (peak / bandwidth).ln()])
        };
        let own = rates(case)?;
        let what = ["calculates", "reads from memory", "calculates for what it reads"];
        (0..own.len()).find_map(|at| {
            let same = self.known.iter().filter(|known| known.case.precision == case.precision);
            let [low, high] = span(same.filter_map(|known| Some(rates(&known.case)?[at])));
            let beyond = (low - own[at]).max(own[at] - high);
            let than = if own[at] < low { "less" } else { "more" };
            (low <= high && beyond > TOO_FAR).then(|| {
                let times = beyond.exp();
                format!(
                    "{hardware} {} {times:.1} times {than} than all hardware that was measured",
                    what[at]
                )
            })
        })
    }

    fn reach(
        &self,
        process: &Process,
        calibrated: &BTreeMap<Situation, Calibrated>,
        situation: Situation,
        case: &Case,
        origin: f64,
    ) -> Result<Reach, Refused> {
        let said = process.say(case);
        let half = |situation: Situation| {
            calibrated.get(&situation).map(|found| said.variance.sqrt() * found.factor)
        };
        let is_new_family = !self.known.iter().any(|known| known.case.family == case.family);
        let found = match half(situation) {
            Some(half) if situation == Situation::NewMachine && is_new_family => {
                half.hypot(self_or(calibrated, Situation::NewFamily, said.variance.sqrt()))
            }
            Some(half) => half,
            None => {
                let what = situation.words();
                let known: Vec<String> = calibrated
                    .keys()
                    .map(|situation| format!("a {} of what was measured", situation.words()))
                    .collect();
                let nearest = match known.is_empty() {
                    true => {
                        "none yet: measure three models with two engines or batch sizes each".into()
                    }
                    false => known.join(", "),
                };
                return Err(refusal(
                    format!(
                        "too few groups could be held out to learn how good an answer for a {what} is"
                    ),
                    nearest,
                ));
            }
        };
        let middle = (said.mean + origin).exp();
        Ok(Reach { middle, low: middle * (-found).exp(), high: middle * found.exp() })
    }

    /// The cells that say most of this one.
    fn nearest(&self, case: &Case, count: usize) -> Vec<Known> {
        let apart = |one: &Known| {
            let other = &one.case;
            let log = |a: f64, b: f64| if a > 0.0 && b > 0.0 { (a / b).ln().abs() } else { 0.0 };
            let size = log(case.batch, other.batch)
                + log(case.flops.unwrap_or(0.0), other.flops.unwrap_or(0.0));
            let differs = |is_same: bool, cost: f64| if is_same { 0.0 } else { cost };
            size + differs(case.model == other.model, 1.5)
                + differs(case.engine == other.engine, 2.0)
                + differs(case.precision == other.precision, 1.0)
                + differs(case.machine == other.machine, 3.0)
                + differs(case.mode == other.mode, 5.0)
        };
        let mut all: Vec<&Known> = self.known.iter().collect();
        all.sort_by(|one, other| apart(one).total_cmp(&apart(other)));
        all.into_iter().take(count).cloned().collect()
    }
}

fn self_or(
    calibrated: &BTreeMap<Situation, Calibrated>,
    situation: Situation,
    deviation: f64,
) -> f64 {
    // Where no family could be held out, a family may be off by anything within a factor of about two.
    calibrated.get(&situation).map_or(0.7, |found| deviation * found.factor)
}

fn refusal(why: String, nearest: String) -> Refused {
    Refused { why, nearest, rows: 1 }
}

/// What is held out together, and whose errors count as one.
fn block(situation: Situation, case: &Case) -> String {
    match situation {
        Situation::NewMachine | Situation::NewInstance => case.machine.clone(),
        Situation::NewFamily => case.family.clone(),
        Situation::NewPair => {
            format!("{}\n{}\n{}", case.machine, case.model, case.way().join("\n"))
        }
        Situation::Known => format!(
            "{}\n{}\n{}\n{}\n{:?}\n{}",
            case.machine,
            case.model,
            case.way().join("\n"),
            case.batch,
            case.length,
            case.threads
        ),
    }
}

/// How many deviations an interval must be wide in every situation, from cells that were held out.
fn calibrate(
    process: &Process,
    known: &[Known],
    target: &dyn Fn(&Known) -> (f64, Option<f64>),
) -> BTreeMap<Situation, Calibrated> {
    let inverse = process.inverse();
    let mut found = BTreeMap::new();
    for situation in SITUATIONS {
        let mut blocks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, one) in known.iter().enumerate() {
            blocks.entry(block(situation, &one.case)).or_default().push(at);
        }
        // Held out, a cell must be new in this way and no other.
        let is_fair = |block: &[usize]| {
            let case = &known[block[0]].case;
            let others = || known.iter().enumerate().filter(|(at, _)| !block.contains(at));
            let any = |is: &dyn Fn(&Case) -> bool| others().any(|(_, one)| is(&one.case));
            match situation {
                Situation::Known => any(&|other| other.is_same_pair(case)),
                Situation::NewPair => {
                    any(&|other| other.machine == case.machine && other.engine == case.engine)
                        && any(&|other| other.model == case.model || other.family == case.family)
                }
                Situation::NewFamily => {
                    any(&|other| other.machine == case.machine && other.engine == case.engine)
                }
                Situation::NewMachine | Situation::NewInstance => {
                    any(&|other| other.engine == case.engine)
                }
            }
        };
        let mut errors: Vec<(usize, f64, f64)> = Vec::new();
        for block in blocks.values().filter(|block| is_fair(block)) {
            for (at, said) in block.iter().zip(process.without(&inverse, block)) {
                let error = target(&known[*at]).0 - said.mean;
                errors.push((*at, error, said.variance.max(1e-12).sqrt()));
            }
        }
        let groups: Vec<String> = errors
            .iter()
            .map(|(at, ..)| match situation {
                // Settings of one pair are one group of errors, though each was held out alone.
                Situation::Known => self::block(Situation::NewPair, &known[*at].case),
                _ => self::block(situation, &known[*at].case),
            })
            .collect();
        if groups.iter().collect::<BTreeSet<_>>().len() < FEW {
            continue;
        }
        let factor = |may: &dyn Fn(usize) -> bool| {
            let some: Vec<usize> = (0..errors.len()).filter(|at| may(*at)).collect();
            let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
            some.iter().for_each(|at| *sizes.entry(&groups[*at]).or_default() += 1.0);
            let level = (LEVEL * (1.0 + 1.0 / sizes.len().max(1) as f64)).min(HIGHEST_LEVEL);
            let pairs = some.iter().map(|at| {
                let (_, error, deviation) = errors[*at];
                (error.abs() / deviation, 1.0 / sizes[groups[*at].as_str()])
            });
            quantile::weighted(pairs.collect(), level).unwrap_or(f64::INFINITY)
        };
        // The interval of a group rests on the errors of others.
        let (parts, count) = parts_of(&groups, 5, 1);
        let factors: Vec<f64> = (0..count).map(|part| factor(&|at| parts[at] != part)).collect();
        let held = |at: usize| errors[at].1.abs() <= errors[at].2 * factors[parts[at]];
        let inside = (0..errors.len()).filter(|at| held(*at)).count();
        let share = |log: f64| log.exp_m1().abs();
        let of_physics = errors.iter().filter_map(|(at, ..)| target(&known[*at]).1);
        let factor = factor(&|_| true);
        found.insert(
            situation,
            Calibrated {
                cells: errors.len(),
                groups: groups.iter().collect::<BTreeSet<_>>().len(),
                median_error: quantile::median(errors.iter().map(|(_, error, _)| share(-error)))
                    .unwrap_or(f64::NAN),
                mean_error: errors.iter().map(|(_, error, _)| share(-error)).sum::<f64>()
                    / errors.len() as f64,
                coverage: inside as f64 / errors.len() as f64,
                width: quantile::median(errors.iter().map(|(_, _, deviation)| deviation * factor))
                    .map_or(f64::INFINITY, f64::exp),
                physics_error: quantile::median(of_physics.map(share)),
                factor,
            },
        );
    }
    found
}

#[cfg(test)]
mod tests;
