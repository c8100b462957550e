//! Whether requests keep their limits.

use super::{Accounting, times};
use crate::{NANOS, Record, decide};
use stats::summarise;
use types::{LimitOutcome, LoadLimit, LoadMetric, LoadStatistic, MissingCode, Reading, Summary};

/// Whether a request meets every limit; one without an answer meets none. All its gaps must be short enough.
pub(super) fn is_good(record: &Record, limits: &[LoadLimit]) -> bool {
    record.is_completed() && limits.iter().all(|limit| keeps(record, limit))
}

/// A time that a request does not have breaks no limit: an answer of one token has no time between tokens.
fn keeps(record: &Record, limit: &LoadLimit) -> bool {
    let most = limit.seconds * NANOS;
    times(record, limit.metric).iter().all(|time| *time as f64 <= most)
}

pub(super) fn outcomes(asked: &Accounting<'_>, steady: &[&Record]) -> Vec<LimitOutcome> {
    asked.limits.iter().map(|limit| outcome(limit, steady)).collect()
}

fn outcome(limit: &LoadLimit, steady: &[&Record]) -> LimitOutcome {
    let most = limit.seconds * NANOS;
    let mut nanos = Vec::new();
    // In the order of the schedule: neighbours wait together.
    let mut broken = Vec::new();
    for record in steady {
        let own = times(record, limit.metric);
        let is_lost = !record.is_completed() && limit.metric != LoadMetric::Lag;
        if is_lost {
            broken.push(true);
        }
        broken.extend(own.iter().map(|time| *time as f64 > most));
        nanos.extend(own);
    }
    let summary = summarise(&nanos, 0);
    let kept = broken.iter().filter(|one| !**one).count() as u64;
    let holds = match limit.statistic.share() {
        Some(share) => decide(&broken, share),
        None => summary.as_ref().and_then(|summary| mean_holds(summary, limit, broken.len())),
    };
    LimitOutcome {
        limit: *limit,
        value: Reading::or_missing(
            summary.map(|summary| value(&summary, limit.statistic)),
            MissingCode::TooFewValues,
            format!("no request has {}", limit.metric.with_article()),
        ),
        kept,
        of: broken.len() as u64,
        holds,
    }
}

/// A mean holds with its whole interval; no mean covers requests without an answer.
fn mean_holds(summary: &Summary, limit: &LoadLimit, of: usize) -> Option<bool> {
    if (summary.count as usize) < of {
        return Some(false);
    }
    if summary.ci95_mean.high <= limit.seconds {
        return Some(true);
    }
    (summary.ci95_mean.low > limit.seconds).then_some(false)
}

fn value(summary: &Summary, statistic: LoadStatistic) -> f64 {
    match statistic {
        LoadStatistic::Mean => summary.mean,
        LoadStatistic::P50 => summary.median,
        LoadStatistic::P90 => summary.p90,
        LoadStatistic::P95 => summary.p95,
        LoadStatistic::P99 => summary.p99,
        LoadStatistic::P999 => summary.p999,
    }
}
