//! Warms up until it settles, then samples until it is enough.

use crate::{Link, MeterError, derive};
use engine::{Reply, Request};
use std::time::{Duration, Instant};
use types::{Cell, Event, Phase, Samples, Stage, StopReason, StoppingRule, Warmup, WarmupReport};

/// How long one window of warm-up lasts: long enough for its median to mean something, short enough to stop soon.
const WARMUP_WINDOW: Duration = Duration::from_millis(60);

/// How long one window of sampling lasts: the parent looks at the interval between windows.
const SAMPLE_WINDOW: Duration = Duration::from_millis(250);

/// How far the last three windows may differ when warm.
const WARM_TOLERANCE: f64 = 0.10;

/// Runs a window and returns its samples by phase: at least one of every phase that the cell's numbers rest on, and as many
/// of each. A worker that never times them would be asked for ever.
pub(crate) fn window(
    link: &mut Link,
    cell: &Cell,
    count: u64,
    budget: Duration,
) -> Result<Vec<Samples>, MeterError> {
    let wrong = |said: String| MeterError::Protocol { doing: "run", said };
    let samples = match link.ask(&Request::Run { count, budget }, "run")? {
        Reply::Window(window) => window.samples,
        other => return Err(wrong(format!("{other:?}").chars().take(200).collect())),
    };
    let count = samples.first().map_or(0, |first| first.nanos.len());
    let is_whole = samples.iter().enumerate().all(|(place, one)| {
        one.nanos.len() == count && samples[..place].iter().all(|other| other.phase != one.phase)
    });
    if count == 0 || !is_whole {
        return Err(wrong(
            "a window without samples, or with more of one phase than of another".into(),
        ));
    }
    for phase in [derive::headline_phase(cell), derive::model_phase(cell)] {
        if samples.iter().all(|one| one.phase != phase) {
            return Err(wrong(format!("a window without samples of `{}`", phase.name())));
        }
    }
    Ok(samples)
}

/// The samples of the model itself: of a whole step where it is trained.
fn inference_of(samples: &[Samples]) -> &[u64] {
    let of = |phase: Phase| samples.iter().find(|samples| samples.phase == phase);
    of(Phase::Inference).or_else(|| of(Phase::Total)).map_or(&[], |found| &found.nanos)
}

/// Warms up as the rule says; every warm-up sample is kept, none is counted.
pub(crate) fn warm_up(
    link: &mut Link,
    cell: &Cell,
    rule: &StoppingRule,
    sink: &mut dyn FnMut(Event),
) -> Result<WarmupReport, MeterError> {
    sink(Event::stage(Stage::Warmup));
    let mut nanos = Vec::new();
    let settled = match rule.warmup {
        Warmup::Runs { count } => {
            while (nanos.len() as u64) < count {
                let samples = window(link, cell, count - nanos.len() as u64, SAMPLE_WINDOW)?;
                nanos.extend_from_slice(inference_of(&samples));
                progress(sink, Stage::Warmup, nanos.len() as u64, Some(count), &nanos);
            }
            true
        }
        Warmup::Settle { cap } => {
            let begin = Instant::now();
            let mut medians = Vec::new();
            loop {
                let samples = window(link, cell, u64::MAX, WARMUP_WINDOW)?;
                nanos.extend_from_slice(inference_of(&samples));
                medians.extend(stats::median(inference_of(&samples)));
                progress(sink, Stage::Warmup, nanos.len() as u64, None, &nanos);
                if stats::windows_agree(&medians, WARM_TOLERANCE) {
                    break true;
                }
                if begin.elapsed() >= cap {
                    break false;
                }
            }
        }
    };
    Ok(WarmupReport { runs: nanos.len() as u64, settled, nanos })
}

/// Samples until both minima are reached and the interval is tight, or a cap is hit.
pub(crate) fn sample(
    link: &mut Link,
    cell: &Cell,
    rule: &StoppingRule,
    sink: &mut dyn FnMut(Event),
) -> Result<(Vec<Samples>, StopReason), MeterError> {
    sink(Event::stage(Stage::Sample));
    let begin = Instant::now();
    let mut all: Vec<Samples> = Vec::new();
    loop {
        let taken = inference_of(&all).len() as u64;
        let remaining = rule.max_runs.saturating_sub(taken);
        append(&mut all, window(link, cell, remaining, SAMPLE_WINDOW)?);
        let elapsed = begin.elapsed();
        report(sink, rule, inference_of(&all), elapsed);
        sink(sampled(inference_of(&all), taken as usize, rule));
        if let Some(stop) = is_enough(rule, inference_of(&all), elapsed) {
            return Ok((all, stop));
        }
    }
}

pub(crate) fn append(all: &mut Vec<Samples>, window: Vec<Samples>) {
    for samples in window {
        match all.iter_mut().find(|known| known.phase == samples.phase) {
            Some(known) => known.nanos.extend(samples.nanos),
            None => all.push(samples),
        }
    }
}

/// Whether sampling may stop, and why.
fn is_enough(rule: &StoppingRule, nanos: &[u64], elapsed: Duration) -> Option<StopReason> {
    let taken = nanos.len() as u64;
    if taken >= rule.max_runs {
        let exact = rule.min_runs == rule.max_runs;
        return Some(if exact { StopReason::RunsDone } else { StopReason::RunsCap });
    }
    if taken >= rule.min_runs && elapsed >= rule.min_duration {
        let error = stats::median_error(nanos);
        if error.is_some_and(|error| error <= rule.target_error) {
            return Some(StopReason::Settled);
        }
    }
    (elapsed >= rule.max_duration).then_some(StopReason::DurationCap)
}

fn report(sink: &mut dyn FnMut(Event), rule: &StoppingRule, nanos: &[u64], elapsed: Duration) {
    let taken = nanos.len() as u64;
    // The bar shows whichever minimum is further away; past both, the way to the cap.
    let by_runs = taken as f64 / rule.min_runs.max(1) as f64;
    let by_time = elapsed.as_secs_f64() / rule.min_duration.as_secs_f64().max(1e-9);
    let to_minimum = by_runs.min(by_time);
    let to_cap = (elapsed.as_secs_f64() / rule.max_duration.as_secs_f64().max(1e-9))
        .max(taken as f64 / rule.max_runs as f64);
    let share = if to_minimum < 1.0 { to_minimum } else { to_cap };
    let done = (share.clamp(0.0, 1.0) * 1000.0) as u64;
    progress(sink, Stage::Sample, done, Some(1000), nanos);
}

fn progress(
    sink: &mut dyn FnMut(Event),
    stage: Stage,
    done: u64,
    total: Option<u64>,
    nanos: &[u64],
) {
    sink(Event::progress(stage, done, total, spell_runs(nanos)));
}

/// So many samples of a window are told at most: enough for a picture, and cheap to write down.
const MOST_TOLD: usize = 128;

/// The samples of the last window, which begin after `before` others.
fn sampled(nanos: &[u64], before: usize, rule: &StoppingRule) -> Event {
    let newest = nanos.get(before..).unwrap_or_default();
    let step = newest.len().div_ceil(MOST_TOLD).max(1);
    let newest = newest.iter().step_by(step).copied().collect();
    Event::Sampled { taken: nanos.len() as u64, newest, target: rule.target_error }
}

/// `12 runs, median 216 ms`.
fn spell_runs(nanos: &[u64]) -> String {
    let runs = if nanos.len() == 1 { "1 run".into() } else { format!("{} runs", nanos.len()) };
    match stats::median(nanos) {
        Some(median) => format!("{runs}, median {}", number::seconds(median)),
        None => runs,
    }
}

/// How many of the last runs of a warm-up speak for it.
const LATEST: usize = 3;

/// The last runs of a warm-up: the warmest.
pub(crate) fn latest(warmup: &WarmupReport) -> &[u64] {
    &warmup.nanos[warmup.nanos.len().saturating_sub(LATEST)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(min_runs: u64, max_runs: u64) -> StoppingRule {
        StoppingRule {
            min_runs,
            max_runs,
            min_duration: Duration::from_secs(1),
            max_duration: Duration::from_secs(10),
            ..StoppingRule::default()
        }
    }

    const STEADY: [u64; 100] = [1_000_000; 100];

    #[test]
    fn the_newest_samples_are_told_and_of_very_many_only_some() {
        let nanos: Vec<u64> = (0..1000).collect();
        let Event::Sampled { taken, newest, .. } = sampled(&nanos, 990, &rule(1, 2)) else {
            panic!("another event")
        };
        assert_eq!((taken, newest), (1000, (990..1000).collect()));
        let Event::Sampled { newest, .. } = sampled(&nanos, 0, &rule(1, 2)) else {
            panic!("another event")
        };
        assert_eq!((newest.len(), newest[1]), (125, 8));
    }

    #[test]
    fn both_minima_must_be_reached() {
        let rule = rule(50, 1000);
        assert_eq!(is_enough(&rule, &STEADY, Duration::from_millis(500)), None);
        assert_eq!(is_enough(&rule, &STEADY[..20], Duration::from_secs(2)), None);
        let settled = is_enough(&rule, &STEADY, Duration::from_secs(2));
        assert_eq!(settled, Some(StopReason::Settled));
    }

    #[test]
    fn a_wide_interval_goes_on_to_the_cap() {
        let wide: Vec<u64> = (0..100).map(|i| 1_000_000 + (i % 2) * 1_000_000).collect();
        let rule = rule(50, 1000);
        assert_eq!(is_enough(&rule, &wide, Duration::from_secs(2)), None);
        assert_eq!(is_enough(&rule, &wide, Duration::from_secs(10)), Some(StopReason::DurationCap));
    }

    #[test]
    fn an_exact_count_is_done_and_an_open_one_is_capped() {
        let exact = is_enough(&rule(100, 100), &STEADY, Duration::ZERO);
        assert_eq!(exact, Some(StopReason::RunsDone));
        let capped = is_enough(&rule(5, 100), &STEADY, Duration::ZERO);
        assert_eq!(capped, Some(StopReason::RunsCap));
    }
}
