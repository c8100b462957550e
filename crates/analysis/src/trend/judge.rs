//! Whether the newest stretch of a history is worse than the one before by more than somebody accepts.

use super::{SEED, levels::level};
use number::percent;
use stats::{SMALLEST_SIDE, step};
use types::{TrendMetric, TrendSeries, TrendStanding};

/// The newest points of a stretch without a change that are compared with the rest of it.
const NEWEST: usize = 5;

/// How the newest stretch stands against an accepted worsening of this share.
///
/// A change that was called decides by its interval. Where none was called, the newest points are compared with the rest of
/// their stretch: an interval that ends below what is accepted says that nothing happened, one that does not says that the
/// history is too short or too noisy to know.
#[must_use]
pub fn standing(series: &TrendSeries, metric: TrendMetric, accepted: f64) -> TrendStanding {
    let limit = 1.0 + accepted;
    if series.needs > 0 {
        return cannot_tell(format!("it needs {} more points", series.needs));
    }
    if let Some(ratio) = series.drift.filter(|ratio| metric.worsening(*ratio) > limit) {
        let slid = percent(metric.worsening(ratio) - 1.0);
        return cannot_tell(format!("it drifted by {slid} without a single point of change"));
    }
    let newest: Vec<f64> =
        series.points[series.newest_from()..].iter().map(|point| point.value.value.ln()).collect();
    if let Some(change) = series.changes.last() {
        let worse = metric.worsening(change.ratio.value);
        let interval = change.ratio.interval.map(|interval| metric.worsening_interval(interval));
        if interval.is_some_and(|interval| interval.low > limit) {
            return TrendStanding::Worse;
        }
        if interval.is_none_or(|interval| interval.high > limit) && worse > 1.0 {
            return cannot_tell(
                "the interval of the last change includes the accepted change".into(),
            );
        }
    }
    within(&newest, series, metric, limit)
}

/// Whether the newest points of one stretch could hide more than the limit.
fn within(newest: &[f64], series: &TrendSeries, metric: TrendMetric, limit: f64) -> TrendStanding {
    if let Some(suspicion) = series.suspicion.filter(|one| metric.worsening(one.ratio) > limit) {
        let (points, needs) = (suspicion.points, suspicion.needs);
        return cannot_tell(format!("the newest {points} differ: {needs} more are needed to tell"));
    }
    let count = NEWEST.min(newest.len() / 2);
    if count < SMALLEST_SIDE {
        // A stretch that began with a change just now is told by that change.
        return TrendStanding::Held;
    }
    let (before, after) = newest.split_at(newest.len() - count);
    let Some(found) = step(before, after, SEED) else { return TrendStanding::Held };
    let high = metric.worsening_interval(found.interval).high;
    if high <= limit {
        return TrendStanding::Held;
    }
    let could = percent(high - 1.0);
    let noise = (level(after) / level(before)).ln().abs().max(series.noise.unwrap_or(0.0));
    cannot_tell(format!(
        "its noise of {} could hide a change of {could} in the newest {count} points",
        percent(noise)
    ))
}

fn cannot_tell(why: String) -> TrendStanding {
    TrendStanding::CannotTell { why }
}
