//! Tries advice: the cell as it is against the changed one, and what became of what was expected.

use super::{Proofs, gather};
use crate::{Duel, Error, Profiler, Session, duel::DuelOutcome, prepare::Prepared};
use analysis::advice::{Known, judge_trial, overlap, warmth};
use number::fixed;
use std::time::{Duration, Instant};
use types::{
    Advice, Change, Event, Goal, Interval, Outcome, Parity, Proof, Remark, RemarkCode, Run, Side,
    Trial, TrialVerdict, Turn, Warmup,
};

/// The most fresh processes per side; it ends as soon as it is answered.
const AT_MOST: u32 = 5;
/// Fresh processes per side where no time is the question, or several sides together are the answer.
const PROCESSES: u32 = 3;
/// Turns of each side in a process: forward and backward.
const TURNS: u32 = 2;
/// Samples that a turn takes at least.
const SAMPLES_A_TURN: f64 = 3.0;
/// A turn lasts no longer than this, however much time there is.
const LONGEST_TURN: Duration = Duration::from_millis(500);
/// And no shorter than this: less is a handful of samples.
const SHORTEST_TURN: Duration = Duration::from_millis(50);
/// Runs before the turns that are thrown away.
const WARMUP: u64 = 5;
/// And where an inference takes long.
const SHORT_WARMUP: u64 = 2;
/// Samples of a repeated run.
const RUNS: u64 = 11;
/// Peaks of memory within this of each other are the same.
const SAME_MEMORY: f64 = 0.02;

/// What all proofs start from.
pub(super) struct Stand<'a> {
    pub(super) base: &'a Profiler,
    pub(super) run: &'a Run,
    pub(super) budget: Duration,
}

/// What one proof found, before it is compared with what was expected.
#[derive(Debug, Clone)]
struct Finding {
    found: Option<f64>,
    interval: Option<Interval>,
    outcome: Outcome,
    p_value: Option<f64>,
    processes: u64,
    remarks: Vec<Remark>,
}

/// Tries every advice that is wanted; what was tried before with the same change is not tried again.
pub(super) fn prove(
    advice: &mut [Advice],
    wanted: &Proofs,
    stand: &Stand<'_>,
    ready: Known<&Prepared>,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) {
    let begin = Instant::now();
    let mut tried: Vec<(Proof, Goal, Finding)> = Vec::new();
    let mut findings: Vec<Option<Finding>> = Vec::new();
    let count = advice.iter().filter(|one| is_provable(one, wanted)).count().max(1) as u32;
    for one in advice.iter_mut() {
        let mut finding = None;
        if !wanted.wants(&one.rule) {
            // Nobody asked.
        } else if let Proof::Elsewhere { why } = &one.proof {
            one.trial = Some(untried(why.clone()));
        } else if let Err(missing) = &ready {
            one.trial = Some(untried(missing.why.clone()));
        } else if let Some(known) =
            tried.iter().find(|(proof, goal, _)| *proof == one.proof && *goal == one.gain.what)
        {
            finding = Some(known.2.clone());
        } else if begin.elapsed() > stand.budget {
            one.trial =
                Some(untried("the time for proofs was used up; give a longer `--budget`".into()));
        } else if let Ok(ready) = &ready {
            let found = attempt(one, stand, count, ready, session, sink);
            tried.push((one.proof.clone(), one.gain.what, found.clone()));
            finding = Some(found);
        }
        findings.push(finding);
    }
    correct(&mut findings);
    for (one, finding) in advice.iter_mut().zip(findings) {
        if let Some(finding) = finding {
            one.trial = Some(hold(one, finding));
        }
    }
}

fn is_provable(advice: &Advice, wanted: &Proofs) -> bool {
    wanted.wants(&advice.rule) && !matches!(advice.proof, Proof::Elsewhere { .. })
}

fn untried(why: String) -> Trial {
    Trial {
        verdict: TrialVerdict::NotTried,
        found: None,
        interval: None,
        processes: 0,
        remarks: vec![Remark::new(RemarkCode::NotTried, why)],
    }
}

/// Asking often is paid for: what is only sure alone is not sure (Benjamini and Hochberg).
fn correct(findings: &mut [Option<Finding>]) {
    let known: Vec<f64> = findings.iter().flatten().filter_map(|one| one.p_value).collect();
    let mut adjusted = stats::false_discovery(&known).into_iter();
    for one in findings.iter_mut().flatten().filter(|one| one.p_value.is_some()) {
        let sure = adjusted.next().is_some_and(|p| p < stats::SURE);
        if !sure && matches!(one.outcome, Outcome::Better | Outcome::Worse) {
            one.outcome = Outcome::CannotTell;
            one.remarks.push(Remark::new(
                RemarkCode::ManyComparisons,
                format!("significant alone, but not among {} trials", known.len()),
            ));
        }
    }
}

fn hold(advice: &Advice, finding: Finding) -> Trial {
    let mut remarks = finding.remarks;
    if let Outcome::Refused { code, why } = &finding.outcome {
        remarks.insert(0, Remark::new(*code, why.as_str()));
    }
    Trial {
        verdict: judge_trial(&advice.gain, finding.interval, &finding.outcome),
        found: finding.found,
        interval: finding.interval,
        processes: finding.processes,
        remarks,
    }
}

fn attempt(
    advice: &Advice,
    stand: &Stand<'_>,
    count: u32,
    ready: &Prepared,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Finding {
    let label = format!("trying {}", advice.rule);
    let mut named = |event: Event| sink(event.labelled(&label));
    let sink = &mut named;
    let found = match &advice.proof {
        Proof::Change { change } => changed(change, advice.gain.what, stand, count, session, sink),
        Proof::Buckets => buckets(stand, count, ready, session, sink),
        Proof::Repeat => repeated(advice.gain.what, stand, session, sink),
        Proof::Elsewhere { why } => Ok(refused(RemarkCode::NotTried, why.clone())),
    };
    found.unwrap_or_else(|error| {
        let causes = match &error {
            Error::Baseline { why, .. } => why.clone(),
            other => other.to_string(),
        };
        refused(RemarkCode::NotMeasured, causes)
    })
}

fn refused(code: RemarkCode, why: String) -> Finding {
    Finding {
        found: None,
        interval: None,
        outcome: Outcome::Refused { code, why },
        p_value: None,
        processes: 0,
        remarks: Vec::new(),
    }
}

/// A duel that fits its part of the budget.
fn duel(sides: Vec<Profiler>, stand: &Stand<'_>, count: u32) -> Duel {
    let cold = stand.run.cold;
    let starts = (cold.process_start + cold.load + cold.first_inference) * AT_MOST;
    let each = (stand.budget / count).saturating_sub(starts * sides.len() as u32);
    let inference = stand.run.headline().map_or(0.0, |summary| summary.median);
    let all = f64::from(AT_MOST * TURNS) * sides.len() as f64 * SAMPLES_A_TURN * inference;
    let is_slow = all > each.as_secs_f64();
    let warmup = if is_slow { SHORT_WARMUP } else { WARMUP };
    let turn = each / (AT_MOST * TURNS * sides.len() as u32);
    Duel::new(sides)
        .at_most(AT_MOST)
        .turns(TURNS)
        .turn(turn.clamp(SHORTEST_TURN, LONGEST_TURN))
        .warmup(warmup)
        .against_first()
}

/// As it is against changed.
fn changed(
    change: &Change,
    what: Goal,
    stand: &Stand<'_>,
    count: u32,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Finding, Error> {
    let sides = vec![stand.base.clone(), apply(stand.base.clone(), change)];
    let sizes = change.batch_size.is_some() || change.accumulation.is_some();
    let per_sample = sizes && what == Goal::Throughput;
    let duel = duel(sides, stand, count).per_sample(per_sample);
    let duel = match what {
        // It would end when the times are clear, and the question is another.
        Goal::Memory => duel.processes(PROCESSES),
        _ => duel,
    };
    let outcome = duel.measure_sides(session, sink)?;
    match what {
        Goal::Memory => by_memory(&outcome),
        _ => by_time(&outcome.duel, &outcome.baseline),
    }
}

fn apply(mut profiler: Profiler, change: &Change) -> Profiler {
    if let Some(batch_size) = change.batch_size {
        profiler = profiler.batch_size(batch_size);
    }
    if let Some(length) = change.sequence_length {
        profiler = profiler.sequence_length(length);
    }
    if let Some(precision) = change.precision {
        profiler = profiler.precision(precision);
    }
    if let Some(engine) = &change.engine {
        profiler = profiler.engine(engine);
    }
    if let Some(threads) = change.threads {
        profiler = profiler.threads(threads);
    }
    if let Some(options) = &change.options {
        profiler = profiler.options(options.clone());
    }
    if let Some(training) = &mut profiler.training {
        training.accumulation = change.accumulation.unwrap_or(training.accumulation);
        training.checkpointing = change.checkpointing.unwrap_or(training.checkpointing);
    }
    profiler
}

fn by_time(duel: &types::Duel, baseline: &str) -> Result<Finding, Error> {
    let report = analysis::compare_duel(duel, analysis::Baseline::Side(baseline))?;
    let processes = report.sides.iter().map(|side| side.processes).min().unwrap_or(0);
    let Some(comparison) = report.comparisons.into_iter().next() else {
        return Ok(refused(RemarkCode::NotMeasured, "the changed side was not measured".into()));
    };
    let speed_up = comparison.speed_up.as_ref();
    Ok(Finding {
        found: speed_up.map(|speed_up| speed_up.ratio),
        interval: speed_up.and_then(|speed_up| speed_up.interval),
        p_value: speed_up.and_then(|speed_up| speed_up.p_value),
        outcome: comparison.outcome,
        processes,
        remarks: comparison.remarks,
    })
}

/// Peaks of memory, process by process.
fn by_memory(outcome: &DuelOutcome) -> Result<Finding, Error> {
    let time = by_time(&outcome.duel, &outcome.baseline)?;
    if let Outcome::Refused { .. } = time.outcome {
        return Ok(time);
    }
    let [base, changed] = outcome.peaks.as_slice() else {
        return Ok(refused(
            RemarkCode::NotMeasured,
            "the memory of both sides was not measured".into(),
        ));
    };
    let pairs = base.iter().zip(changed).filter(|(_, changed)| **changed > 0.0);
    let factors: Vec<f64> = pairs.map(|(base, changed)| base / changed).collect();
    let mut finding = spread(&factors);
    if let Some(ratio) = time.found {
        finding.remarks.push(Remark::new(
            RemarkCode::SpeedChanged,
            format!("the speed changed by a factor of {} with it", fixed(ratio, 2)),
        ));
    }
    Ok(finding)
}

/// Factors that were found in one process each: their middle, and from the smallest to the largest.
fn spread(factors: &[f64]) -> Finding {
    let finite: Vec<f64> = factors.iter().copied().filter(|f| f.is_finite() && *f > 0.0).collect();
    if finite.is_empty() {
        return refused(RemarkCode::NotMeasured, "nothing could be measured".into());
    }
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(0.0, f64::max);
    let outcome = match () {
        () if low > 1.0 + SAME_MEMORY => Outcome::Better,
        () if high < 1.0 - SAME_MEMORY => Outcome::Worse,
        () => Outcome::CannotTell,
    };
    let logs: f64 = finite.iter().map(|factor| factor.ln()).sum();
    Finding {
        found: Some((logs / finite.len() as f64).exp()),
        interval: Some(Interval { low, high }),
        outcome,
        p_value: None,
        processes: finite.len() as u64,
        remarks: Vec::new(),
    }
}

/// The same numbers again, each from a fresh process.
fn repeated(
    what: Goal,
    stand: &Stand<'_>,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Finding, Error> {
    let mut profiler = stand.base.clone().runs(RUNS);
    profiler.rule.warmup = Warmup::Runs { count: WARMUP };
    let mut factors = Vec::new();
    for _ in 0..PROCESSES {
        let run = profiler.profile_in(session, sink)?.run;
        factors.extend(if what == Goal::Start { warmth(&run) } else { overlap(&run) });
    }
    Ok(spread(&factors))
}

/// The batch as it is against the same texts in two batches by length.
fn buckets(
    stand: &Stand<'_>,
    count: u32,
    ready: &Prepared,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Finding, Error> {
    let lines = match gather::by_length(stand.run, ready) {
        Ok(lines) => lines,
        Err(missing) => return Ok(refused(RemarkCode::NotTried, missing.why)),
    };
    let half = lines.len() / 2;
    let side = |lines: &[String]| {
        let mut side = stand.base.clone().batch_size(lines.len()).text(lines.to_vec());
        // Each batch is as long as its own longest text.
        side.sequence_length = None;
        side
    };
    let sides = vec![side(&lines), side(&lines[..half]), side(&lines[half..])];
    // Both parts together answer, not each for itself: it cannot end before all processes are measured.
    let duel = duel(sides, stand, count).processes(PROCESSES).rows(vec![0, 0, half]);
    let outcome = duel.measure_sides(session, sink)?;
    match joined(outcome.duel) {
        Some(duel) => by_time(&duel, &outcome.baseline),
        None => Ok(refused(RemarkCode::NotMeasured, "one of the batches was not measured".into())),
    }
}

/// Two sides that do one thing together become one.
fn joined(mut duel: types::Duel) -> Option<types::Duel> {
    let [whole, short, long] = <[Side; 3]>::try_from(std::mem::take(&mut duel.sides)).ok()?;
    let label = "by length";
    let rounds = short.rounds.iter().zip(&long.rounds);
    let both = |(a, b): (&Turn, &Turn)| Turn {
        samples: a.samples.iter().zip(&b.samples).map(|(a, b)| a + b).collect(),
        conditions: a.conditions,
        disturbed: a.disturbed.or(b.disturbed),
    };
    let rounds = rounds.map(|(a, b)| a.iter().zip(b).map(both).collect()).collect();
    let failed = short.info.failed.clone().or(long.info.failed);
    let mut info = short.info;
    (info.label, info.failed) = (label.into(), failed);
    if !long.info.verdict.valid {
        info.verdict = long.info.verdict;
    }
    let reference = whole.info.label.clone();
    let parity = std::mem::take(&mut duel.parity);
    duel.parity = vec![Parity {
        side: label.into(),
        holds: parity.len() == 2 && parity.iter().all(|entry| entry.holds),
        outputs: parity.into_iter().flat_map(|entry| entry.outputs).collect(),
        reference,
        first_difference: None,
    }];
    duel.sides = vec![whole, Side { info, rounds, load: short.load, first: short.first }];
    Some(duel)
}
