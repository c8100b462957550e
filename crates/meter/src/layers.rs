//! The pass with instruments, in turns with runs that have none, so that its cost is measured and not guessed.

use crate::{
    Job, Launch, Link, MeterError, derive, disturbance, measure,
    recorder::{Recorded, Recorder},
    sampling,
};
use engine::{Detail, NodeProfile, Reply, Request};
use probe::{Moment, Series};
use std::time::{Duration, Instant};
use types::{
    Cell, DeviceTurn, Event, GpuProfile, Machine, Phase, Reason, Remark, RemarkCode, Samples,
    Stage, StoppingRule, Timeline,
};

/// Turns, each a stretch without and one with instruments; the interval of the cost rests on their number.
const TURNS: usize = 8;

/// How long a stretch should last: a machine's drift is slower than this, a single hiccup shorter.
const STRETCH: Duration = Duration::from_millis(300);

/// Runs in a stretch at least and at most; below, one hiccup decides; above, an engine's own record may fill up.
const RUNS: (u64, u64) = (2, 500);

/// No turn begins after this, once there are enough for an interval.
const LONGEST: Duration = Duration::from_secs(90);

/// Turns below which nothing can be said of the cost.
const FEWEST: usize = 4;

/// What the turns gave.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerPass {
    /// One entry per turn: the inferences without instruments, in nanoseconds.
    pub plain: Vec<Vec<u64>>,
    /// One entry per turn: the same inferences with them.
    pub profiled: Vec<NodeProfile>,
    /// One entry per turn if the device kept records: the times of the nodes are those of the device then.
    pub device: Vec<DeviceTurn>,
    /// What the device did in the last turn, if it kept records.
    pub gpu: Option<GpuProfile>,
    /// What else took the machine meanwhile.
    pub disturbance: Option<Reason>,
}

/// Runs a job in a fresh worker, in turns without and with instruments; `None` if its engine has none.
///
/// On a GPU the instruments are its own records, wherever they can be had.
///
/// # Errors
/// When the worker or the engine fails.
pub fn layer_pass(
    job: &Job<'_>,
    launch: &Launch,
    rule: &StoppingRule,
    machine: &Machine,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<LayerPass>, MeterError> {
    let Some((recorder, with_recorder)) = Recorder::attach(launch, job.cell.device) else {
        return turns(job, launch, rule, machine, sink);
    };
    let Some(mut pass) = turns(job, &with_recorder, rule, machine, sink)? else { return Ok(None) };
    let recorded = recorder.read();
    let problem = match &recorded {
        Some(recorded) => recorded.problem(),
        None => Some("the worker told it of no run".to_owned()),
    };
    let is_told = problem.is_none() && recorded.is_some_and(|recorded| pass.take(&recorded));
    if is_told {
        return Ok(Some(pass));
    }
    // Without records the engine's own clocks are better than nothing.
    let is_timed = pass.profiled.iter().all(|profile| profile.parts.is_none());
    if !is_timed {
        let Some(again) = turns(job, launch, rule, machine, sink)? else { return Ok(None) };
        pass = again;
    }
    let why = problem.unwrap_or_else(|| "it saw no work of the device".into());
    let text = format!(
        "the GPU's own records could not be used ({why}): the times are those of the engine's clocks, and contain their cost"
    );
    if let Some(profile) = pass.profiled.first_mut() {
        profile.remarks.push(Remark::new(RemarkCode::NoDeviceRecords, text));
    }
    Ok(Some(pass))
}

impl LayerPass {
    /// Takes over what a recorder saw; false if that is not all of it.
    fn take(&mut self, recorded: &Recorded) -> bool {
        let Some(last) = self.profiled.last() else { return false };
        let numbers = last.parts.clone().unwrap_or_default();
        let paths: Vec<String> = last.nodes.iter().map(|node| node.path.clone()).collect();
        self.gpu = recorded.profile(&numbers, &paths);
        // The first turn of the recording found out whether there are instruments at all.
        let turns = self.profiled.iter_mut().enumerate();
        let device: Option<Vec<DeviceTurn>> =
            turns.map(|(turn, profile)| recorded.turn(turn + 1, profile)).collect();
        self.device = device.unwrap_or_default();
        !self.device.is_empty()
    }
}

fn turns(
    job: &Job<'_>,
    launch: &Launch,
    rule: &StoppingRule,
    machine: &Machine,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<LayerPass>, MeterError> {
    let stage = Stage::Layers;
    sink(Event::stage(stage));
    let mut link = Link::open(launch, rule.timeout)?;
    measure::load(&mut link, job)?;
    measure::first_inference(&mut link)?;
    // An engine without instruments says so before time is spent on it.
    if profile(&mut link, 1, Detail::Times)?.is_none() {
        link.close();
        return Ok(None);
    }
    let warm = sampling::warm_up(&mut link, &job.cell, rule, &mut |_| {})?;
    let count = runs_in(STRETCH, &warm.nanos);
    let phase = derive::model_phase(&job.cell);
    let mut pass = LayerPass {
        plain: Vec::new(),
        profiled: Vec::new(),
        device: Vec::new(),
        gpu: None,
        disturbance: None,
    };
    let before = Moment::take(link.pid());
    let begin = Instant::now();
    for turn in 0..TURNS {
        if turn >= FEWEST && begin.elapsed() > LONGEST {
            break;
        }
        let note = format!("turn {} of {TURNS}", turn + 1);
        sink(Event::progress(stage, turn as u64, Some(TURNS as u64), note));
        // ABBA: what drifts in one direction falls on both sides alike.
        if turn % 2 == 0 {
            pass.plain.push(plain(&mut link, &job.cell, count, phase)?);
        }
        pass.profiled.extend(profile(&mut link, count, Detail::Times)?);
        if turn % 2 == 1 {
            pass.plain.push(plain(&mut link, &job.cell, count, phase)?);
        }
    }
    pass.disturbance = disturbed(job, machine, &before, &Moment::take(link.pid()));
    link.close();
    Ok(Some(pass))
}

/// What disturbed the work between two moments.
fn disturbed(job: &Job<'_>, machine: &Machine, before: &Moment, after: &Moment) -> Option<Reason> {
    let conditions = before.until(after).conditions();
    let other_work = disturbance::other_work(&conditions, job.threads(), machine);
    other_work.or_else(|| disturbance::stolen(conditions.steal))
}

/// How long a timeline should be: several inferences, and still a file that opens at once.
const TIMELINE: Duration = Duration::from_secs(1);

/// Inferences on a timeline at least and at most.
const TIMELINE_RUNS: (u64, u64) = (3, 20);

/// What happens when in a few warm inferences, in a fresh worker, with its memory and processors beside, and what disturbed
/// them; `None` if its engine cannot tell.
///
/// # Errors
/// When the worker or the engine fails.
pub fn timeline(
    job: &Job<'_>,
    launch: &Launch,
    rule: &StoppingRule,
    machine: &Machine,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<(Timeline, Option<Reason>)>, MeterError> {
    sink(Event::stage(Stage::Layers));
    let mut link = Link::open(launch, rule.timeout)?;
    measure::load(&mut link, job)?;
    measure::first_inference(&mut link)?;
    let warm = sampling::warm_up(&mut link, &job.cell, rule, &mut |_| {})?;
    let count = runs_in(TIMELINE, &warm.nanos).clamp(TIMELINE_RUNS.0, TIMELINE_RUNS.1);
    let series = Series::start(link.pid());
    let before = Moment::take(link.pid());
    let profile = profile(&mut link, count, Detail::Timeline)?;
    let Some(mut timeline) = profile.and_then(|profile| profile.timeline) else { return Ok(None) };
    timeline.counters.extend(series.stop(timeline.began_at));
    let disturbance = disturbed(job, machine, &before, &Moment::take(link.pid()));
    link.close();
    Ok(Some((timeline, disturbance)))
}

/// So many runs that they fill a stretch, by what the last ones of the warm-up took.
fn runs_in(stretch: Duration, warm: &[u64]) -> u64 {
    let last = &warm[warm.len().saturating_sub(5)..];
    let typical = stats::median(last).unwrap_or(stretch.as_secs_f64());
    let fitting = stretch.as_secs_f64() / typical.max(1e-9);
    (fitting as u64).clamp(RUNS.0, RUNS.1)
}

fn plain(link: &mut Link, cell: &Cell, count: u64, phase: Phase) -> Result<Vec<u64>, MeterError> {
    let mut all: Vec<Samples> = Vec::new();
    let taken = |all: &[Samples]| {
        let of = all.iter().find(|samples| samples.phase == phase);
        of.map_or(&[][..], |samples| samples.nanos.as_slice()).to_vec()
    };
    while (taken(&all).len() as u64) < count {
        let missing = count - taken(&all).len() as u64;
        sampling::append(&mut all, sampling::window(link, cell, missing, STRETCH)?);
    }
    Ok(taken(&all))
}

fn profile(link: &mut Link, count: u64, detail: Detail) -> Result<Option<NodeProfile>, MeterError> {
    let doing = "measure its layers";
    match link.ask(&Request::Profile { count, detail }, doing)? {
        Reply::Profiled { profile } => Ok(profile),
        other => Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_holds_as_many_runs_as_fit_and_never_one() {
        assert_eq!(runs_in(STRETCH, &[9_000_000_000, 69_000_000, 69_000_000, 69_000_000]), 4);
        assert_eq!(runs_in(STRETCH, &[3_000_000_000]), 2);
        assert_eq!(runs_in(STRETCH, &[1_000]), 500);
        assert_eq!(runs_in(STRETCH, &[]), 2);
    }
}
