//! One engine in one precision: the largest batch that fits, and what batches up to it are worth.

use super::{Standing, estimate::Estimate, is_stopped};
use crate::{
    Error, Profiler, Session,
    error::spell,
    largest::{self, Bracket, Found, Tried, kind_of, over},
    prepare::Prepared,
};
use analysis::Climb;
use std::time::Duration;
use types::{
    Bytes, Event, FitCell, FitOutcome, FitTry, FitWay, Interval, Pooled, ReasonCode, Refusal,
    RefusalKind, Run, Seconds, Warmup, key,
};

/// How exactly the largest batch is found, as a share of it: closer costs more short runs than it is worth.
const CLOSE: f64 = 1.0 / 8.0;
/// Runs before the samples of a batch that are thrown away; loading and the first inference lie before those.
const WARMUP: u64 = 2;
/// Samples of a batch: the floor of the median.
const RUNS: u64 = 11;
/// A batch is sampled at least so long.
const LEAST: Duration = Duration::from_millis(400);
/// And no longer than that where inferences are slow, unless that were fewer samples than an interval needs.
const MOST: Duration = Duration::from_secs(3);
/// Samples below which an interval means little.
const FEWEST: u32 = 6;
/// The interval is tight enough here: whoever is first is measured again.
const TARGET_ERROR: f64 = 0.02;

/// What is looked for, and within which bounds.
pub(super) struct Bounds {
    pub(super) limit: Bytes,
    /// The largest batch that is looked at.
    pub(super) most: usize,
    /// The only batch that is possible, where the file fixes one.
    pub(super) fixed: Option<usize>,
}

/// Finds out what fits, then climbs.
pub(super) fn explore(
    profiler: &Profiler,
    prepared: &Prepared,
    bounds: &Bounds,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<FitWay, Error> {
    let label = format!("{} {}", prepared.cell.engine, prepared.cell.precision);
    let estimate = Estimate::of(prepared);
    let start = bounds.fixed.unwrap_or_else(|| estimate.start(bounds.limit, bounds.most));
    let mut hear = |event: Event| sink(event.labelled(&format!("{label}, what fits")));
    let found = match bounds.fixed {
        Some(only) => only_batch(profiler, only, &mut hear)?,
        None => {
            let bracket = Bracket::below(bounds.most.saturating_add(1), Some(bounds.limit.0));
            let bracket = bracket.starting_at(start).within(CLOSE);
            largest::search(profiler, bracket, is_stopped, &mut hear)?
        }
    };
    let mut way = FitWay {
        engine: prepared.cell.engine.clone(),
        engine_version: None,
        precision: prepared.cell.precision,
        start,
        largest: found.largest,
        refused: Some(found.refused).filter(|refused| *refused <= bounds.most),
        tries: found.tries.iter().map(told).collect(),
        cells: Vec::new(),
        stopped: None,
    };
    climb(profiler, &mut way, &estimate, bounds.fixed, session, sink)?;
    way.cells.extend(smallest_refused(&way, &estimate));
    Ok(way)
}

/// Whether the one batch there is fits.
fn only_batch(
    profiler: &Profiler,
    only: usize,
    sink: &mut dyn FnMut(Event),
) -> Result<Found, Error> {
    let tried = largest::rehearse(profiler, only, &is_stopped, sink)?;
    let fits = tried.refused.is_none();
    let (largest, refused) = if fits { (Some(only), usize::MAX) } else { (None, only) };
    Ok(Found { largest, refused, tries: vec![tried] })
}

fn told(tried: &Tried) -> FitTry {
    FitTry { batch: tried.batch, peak: tried.peak, refused: tried.refused.clone() }
}

/// Times 1, 2, 4, … and the largest, until that stops paying.
fn climb(
    profiler: &Profiler,
    way: &mut FitWay,
    estimate: &Estimate,
    fixed: Option<usize>,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let Some(largest) = way.largest else { return Ok(()) };
    let mut climb = Climb::default();
    let mut each = Duration::ZERO;
    let sizes = fixed.map_or_else(|| rungs(largest), |only| vec![only]);
    for batch in sizes {
        let rehearsed = way.tries.iter().find(|tried| tried.batch == batch);
        let rehearsed = rehearsed.and_then(|tried| tried.peak);
        let mut cell = FitCell {
            batch,
            estimate: estimate.at(batch),
            peak: rehearsed,
            throughput: None,
            latency: None,
            samples: 0,
            valid: None,
            outcome: FitOutcome::Fits,
        };
        if let Some(why) = &way.stopped {
            // Of what was not timed, the largest alone is worth a line.
            if batch == largest {
                cell.outcome = FitOutcome::NotTimed { why: why.clone() };
                way.cells.push(cell);
            }
            continue;
        }
        let label = format!("{} {}, batch {batch}", way.engine, way.precision);
        let mut hear = |event: Event| sink(event.labelled(&label));
        let next = Seconds(each.as_secs_f64() * batch as f64).duration();
        match timed(profiler, batch, next, session, &mut hear)? {
            Standing::Fits(run) => {
                cell.peak = cell.peak.max(peak_of(&run));
                cell.throughput = throughput_of(&run);
                cell.latency = latency_of(&run);
                cell.samples = run.headline().map_or(0, |summary| summary.count);
                cell.valid = Some(is_quiet(&run));
                way.engine_version = Some(run.engine.version.clone());
                let median = run.headline().map_or(0.0, |summary| summary.median);
                each = Seconds(median / batch.max(1) as f64).duration();
                let heard = cell.throughput.and_then(|found| climb.hear(batch, found));
                way.stopped = heard.filter(|_| batch < largest);
                way.cells.push(cell);
            }
            Standing::Refused(refusal) => {
                // A whole measurement takes a little more than the short runs of the search.
                cell.outcome = FitOutcome::Refused(refusal);
                way.refused = Some(batch);
                // Only smaller ones came before it, and all of them fit.
                way.largest = way.cells.last().map(|cell| cell.batch);
                way.cells.push(cell);
                break;
            }
        }
    }
    Ok(())
}

/// Powers of two up to the largest, and the largest.
fn rungs(largest: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1usize), |size| size.checked_mul(2));
    let mut sizes: Vec<usize> = powers.take_while(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// A short measurement under the limit; `next` is what one inference should take.
fn timed(
    profiler: &Profiler,
    batch: usize,
    next: Duration,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Standing, Error> {
    let mut profiler = profiler.clone().batch_size(batch).target_error(TARGET_ERROR);
    profiler.rule.warmup = Warmup::Runs { count: WARMUP };
    profiler.rule.min_runs = RUNS;
    profiler.rule.max_runs = u64::MAX;
    profiler.rule.min_duration = LEAST;
    profiler.rule.max_duration = MOST.max(next * FEWEST);
    standing(profiler.measure_in(session, sink).map(|profile| profile.run))
}

/// Whether a measurement stayed within its limit.
pub(super) fn standing(measured: Result<Run, Error>) -> Result<Standing, Error> {
    match measured {
        Ok(run) => Ok(match over(peak_of(&run), run.environment.memory_limit) {
            Some(why) => Standing::Refused(Refusal { kind: RefusalKind::OverLimit, why }),
            None => Standing::Fits(Box::new(run)),
        }),
        Err(Error::Meter(error)) if error.is_out_of_memory() || is_stopped(&error) => {
            Ok(Standing::Refused(Refusal { kind: kind_of(&error), why: spell(&error) }))
        }
        Err(error) if error.is_out_of_memory() => Ok(Standing::Refused(Refusal {
            kind: RefusalKind::OutOfMemory,
            why: error.to_string(),
        })),
        Err(error) => Err(error),
    }
}

/// The smallest batch that is known not to fit, unless it is there already.
fn smallest_refused(way: &FitWay, estimate: &Estimate) -> Option<FitCell> {
    let batch = way.refused.filter(|batch| way.cells.iter().all(|cell| cell.batch != *batch))?;
    let tried = way.tries.iter().find(|tried| tried.batch == batch)?;
    Some(FitCell {
        batch,
        estimate: estimate.at(batch),
        peak: tried.peak,
        throughput: None,
        latency: None,
        samples: 0,
        valid: None,
        outcome: FitOutcome::Refused(tried.refused.clone()?),
    })
}

/// The memory that the limit is about.
pub(super) fn peak_of(run: &Run) -> Option<Bytes> {
    run.metric(key::MEMORY_PEAK).and_then(|metric| metric.value).map(|bytes| Bytes(bytes as u64))
}

/// Samples a second, with the interval of the median: both come from the same times.
pub(super) fn throughput_of(run: &Run) -> Option<Pooled> {
    let value = run.metric(key::THROUGHPUT_SAMPLES)?.value?;
    let summary = run.headline()?;
    let Interval { low, high } = summary.ci95_median;
    let interval = (low > 0.0 && high > 0.0).then(|| Interval {
        low: value * summary.median / high,
        high: value * summary.median / low,
    });
    Some(Pooled { value, interval })
}

pub(super) fn latency_of(run: &Run) -> Option<Pooled> {
    let summary = run.headline()?;
    Some(Pooled { value: summary.median, interval: Some(summary.ci95_median) })
}

/// Whether nothing but its shortness speaks against a short measurement.
fn is_quiet(run: &Run) -> bool {
    let short = [ReasonCode::TooFewSamples, ReasonCode::WideInterval];
    run.verdict.reasons.iter().all(|reason| !reason.invalidates || short.contains(&reason.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_always_climbed_to() {
        assert_eq!(rungs(1), [1]);
        assert_eq!(rungs(2), [1, 2]);
        assert_eq!(rungs(11), [1, 2, 4, 8, 11]);
        assert_eq!(rungs(16), [1, 2, 4, 8, 16]);
    }
}
