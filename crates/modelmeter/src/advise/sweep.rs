//! A quick sweep over batch sizes: from the run's own upwards until it stops paying, then the smaller ones, and all of
//! them once more in the other order.

use crate::{Error, Profiler, Session, prepare::Prepared};
use analysis::advice::{Known, Missing};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use types::{Bytes, Event, Interval, Remark, RemarkCode, Run, Seconds, SweepPoint, Warmup};

/// Beyond the run's own batch, the next size must do so many times more samples per second to go on.
const STILL_GROWS: f64 = 1.03;
/// Samples of a point: the floor of the median.
const RUNS: u64 = 11;
/// Runs before them that are thrown away; loading and the first inference lie before those.
const WARMUP: u64 = 5;
/// A point samples at least so long.
const LEAST: Duration = Duration::from_millis(300);
/// The interval of a point is tight enough here: the passes differ by more.
const TARGET_ERROR: f64 = 0.02;
/// Sizes that are measured whatever time they take.
const LEAST_SIZES: usize = 2;
/// No one batches more on anything this measures.
const LARGEST: usize = 1024;
/// Of the memory that was available, so much may be planned with.
const PLANNED_SHARE: f64 = 0.9;

/// What a sweep found.
pub(super) struct Found {
    pub(super) points: Vec<SweepPoint>,
    /// Why it ended early, where it did.
    pub(super) remark: Option<Remark>,
}

/// Measures batch sizes one after the other.
pub(super) fn sweep(
    base: &Profiler,
    run: &Run,
    ready: &Prepared,
    budget: Duration,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Known<Found> {
    let begin = Instant::now();
    let now = run.cell.batch_size;
    let mut seen: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
    let mut remark = None;
    let mut best = 0.0;
    let mut order = Vec::new();
    let mut grows = true;
    for batch in sizes(now) {
        if batch > now && !grows {
            continue;
        }
        let predicted = predicted(run, &seen, batch);
        // Half of the time is for the way back; two sizes are the least that can be compared.
        if order.len() >= LEAST_SIZES && begin.elapsed() + predicted > budget / 2 {
            remark = Some(cut(format!("the sweep left out batch {batch}: its time was used up")));
            break;
        }
        if memory_at(run, batch).is_some_and(|needed| needed > PLANNED_SHARE * available(run)) {
            remark = Some(cut(format!("the sweep left out batch {batch}: too little memory")));
            grows = false;
            continue;
        }
        let point = match point(base, batch, predicted, session, sink) {
            Ok(point) => point,
            Err(error) if order.len() < LEAST_SIZES => return Err(refused(&error, ready)),
            Err(error) => {
                remark = Some(cut(format!("the sweep ended at batch {batch}: {error}")));
                break;
            }
        };
        let rate = median(&point).map_or(0.0, |median| batch as f64 / median);
        if batch >= now {
            grows = rate >= best * STILL_GROWS;
            best = rate.max(best);
        }
        seen.entry(batch).or_default().push(point);
        order.push(batch);
    }
    for batch in order.into_iter().rev() {
        let predicted = predicted(run, &seen, batch);
        if begin.elapsed() + predicted > budget {
            let text = "the second pass of the sweep was cut short: its time was used up";
            remark.get_or_insert_with(|| cut(text));
            break;
        }
        if let Ok(point) = point(base, batch, predicted, session, sink) {
            seen.entry(batch).or_default().push(point);
        }
    }
    Ok(Found {
        points: seen.into_iter().map(|(batch, runs)| together(batch, &runs)).collect(),
        remark,
    })
}

/// Why a sweep ended early.
fn cut(why: impl Into<String>) -> Remark {
    Remark::new(RemarkCode::SweepCutShort, why)
}

/// Powers of two: the run's own size first, then larger ones, then smaller ones from the top.
fn sizes(now: usize) -> Vec<usize> {
    let powers =
        || std::iter::successors(Some(1), |size| Some(size * 2)).take_while(|s| *s <= LARGEST);
    let mut sizes = vec![now];
    sizes.extend(powers().filter(|size| *size > now));
    let mut smaller: Vec<usize> = powers().filter(|size| *size < now).collect();
    smaller.reverse();
    sizes.extend(smaller);
    sizes
}

fn refused(error: &Error, ready: &Prepared) -> Missing {
    let name = &ready.model_info().name;
    Missing::because(format!("no other batch size of `{name}` could be measured: {error}"))
}

/// How long a point will take, from the nearest that is known, in proportion.
fn predicted(run: &Run, seen: &BTreeMap<usize, Vec<Run>>, batch: usize) -> Duration {
    let nearest = seen.iter().min_by_key(|(known, _)| known.abs_diff(batch));
    let (known, like) = nearest
        .map_or((run.cell.batch_size, run), |(known, runs)| (*known, runs.first().unwrap_or(run)));
    let each = median(like).unwrap_or(0.0) * (batch as f64 / known.max(1) as f64).max(1.0);
    let sampling = Seconds(each * (RUNS + WARMUP) as f64).duration().max(LEAST);
    let cold = like.cold.process_start + like.cold.load + like.cold.first_inference;
    sampling.saturating_add(cold)
}

fn point(
    base: &Profiler,
    batch: usize,
    predicted: Duration,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Run, Error> {
    let mut profiler = base.clone().batch_size(batch).target_error(TARGET_ERROR);
    profiler.rule.warmup = Warmup::Runs { count: WARMUP };
    profiler.rule.min_runs = RUNS;
    profiler.rule.min_duration = LEAST;
    profiler.rule.max_duration = (predicted * 2).max(LEAST * 4);
    let mut hear = |event: Event| sink(event.labelled(&format!("batch {batch}")));
    Ok(profiler.profile_in(session, &mut hear)?.run)
}

/// All passes of one size.
fn together(batch: usize, runs: &[Run]) -> SweepPoint {
    let medians: Vec<f64> = runs.iter().filter_map(median).collect();
    let mean = medians.iter().sum::<f64>() / medians.len().max(1) as f64;
    // A training step takes in the batches it adds up, in every process.
    let steps = runs.first().and_then(|run| run.cell.training.as_ref());
    let samples = steps.map_or(1, |training| training.accumulation * training.world_size);
    let samples = batch as f64 * f64::from(samples.max(1));
    let intervals = || runs.iter().filter_map(|run| Some(run.headline()?.ci95_median));
    let low = intervals().map(|interval| interval.low).fold(f64::INFINITY, f64::min);
    let high = intervals().map(|interval| interval.high).fold(0.0, f64::max);
    let peak =
        runs.iter().filter_map(|run| run.metric(types::key::MEMORY_PEAK)?.value).reduce(f64::max);
    SweepPoint {
        batch_size: batch,
        latency: Seconds(mean),
        interval: Interval { low, high },
        samples_per_second: if mean > 0.0 { samples / mean } else { 0.0 },
        peak_memory: peak.map(|bytes| Bytes(bytes as u64)),
        valid: mean > 0.0 && runs.iter().all(|run| run.verdict.valid),
        passes: runs.len() as u64,
    }
}

/// How long a sample takes, where the run has times.
fn median(run: &Run) -> Option<f64> {
    let median = run.headline()?.median;
    (median.is_finite() && median > 0.0).then_some(median)
}

/// Memory at another batch size: the activations grow with it.
fn memory_at(run: &Run, batch: usize) -> Option<f64> {
    let peak = run.metric(types::key::MEMORY_PEAK)?.value?;
    let kept = run.training.as_ref().map(|training| training.memory.activations);
    let activations = kept.or(run.work.activation_peak)?.0 as f64;
    // The cache of a language model grows with the batch too.
    let whole = run.cell.generation.map_or(0, types::Generation::context);
    let cache = run.generation.as_ref().map_or(0.0, |report| {
        let each =
            report.cache_per_token.0 as f64 / report.shape.cache_per_token(1).0.max(1) as f64;
        report.shape.cache(whole, 1).0 as f64 * each * run.cell.batch_size as f64
    });
    let activations = activations + cache;
    Some(peak + activations * (batch as f64 / run.cell.batch_size.max(1) as f64 - 1.0))
}

fn available(run: &Run) -> f64 {
    let free = run.environment.memory_available.map(|bytes| bytes.0);
    let group = run.environment.cgroup.memory.map(|bytes| bytes.0);
    [free, group].into_iter().flatten().min().map_or(f64::INFINITY, |bytes| bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_own_size_comes_first_then_larger_ones_then_smaller_ones() {
        let sizes_of_six = sizes(6);
        assert_eq!(&sizes_of_six[..4], [6, 8, 16, 32]);
        assert_eq!(&sizes_of_six[sizes_of_six.len() - 3..], [4, 2, 1]);
        assert_eq!(&sizes(1)[..2], [1, 2]);
        assert_eq!(&sizes(5000)[..2], [5000, 1024]);
    }
}
