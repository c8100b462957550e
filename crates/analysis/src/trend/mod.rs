//! Histories: runs in the order of time become points, points become stretches of one level.
//!
//! A history is one cell on one machine. Its unit is not the run: runs minutes apart see the same state of the machine, so those
//! of one session are one point, and what resemblance is left between points is measured and paid for (docs/TREND.md).

mod coincidence;
mod judge;
mod levels;
mod points;

pub use judge::standing;

use points::Points;
use stats::{Cut, SMALLEST_SERIES, cuts, false_discovery};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use types::{
    CellKey, Interval, Remark, RemarkCode, RunId, Trend, TrendBy, TrendMetric, TrendSeries,
};

/// Draws behind chances and intervals are the same every time: a report must not change when it is read again.
const SEED: u64 = 0x74_7265_6e64;

/// The most points of a history in which changes are looked for, the newest: the search grows with their square.
const MOST_POINTS: usize = 400;

/// One run of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRun {
    /// Its cell.
    pub key: CellKey,
    /// Its name.
    pub id: RunId,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// The number, in the metric's unit.
    pub value: f64,
    /// Its own interval, where it has one.
    pub interval: Option<Interval>,
    /// Whether its numbers can be believed; one that cannot is counted only where no other makes the point.
    pub valid: bool,
    /// The commit it belongs to.
    pub commit: Option<String>,
    /// The branch it belongs to.
    pub branch: Option<String>,
    /// What may change between runs and explain a change: versions, the model's fingerprint, the kernel.
    pub facts: BTreeMap<String, String>,
}

/// What is asked of histories.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendQuestion {
    /// What is looked at.
    pub metric: TrendMetric,
    /// What a point represents.
    pub by: TrendBy,
    /// Runs that began within so long of the first of them are one session.
    pub session: Duration,
    /// The share of false alarms that is accepted.
    pub level: f64,
    /// The smallest change that is called, as a share.
    pub smallest: f64,
    /// Only so many of the newest points.
    pub last: Option<usize>,
}

impl Default for TrendQuestion {
    fn default() -> TrendQuestion {
        TrendQuestion {
            metric: TrendMetric::default(),
            by: TrendBy::default(),
            session: Duration::from_secs(30 * 60),
            level: 0.01,
            smallest: 0.02,
            last: None,
        }
    }
}

/// The histories of these runs, which may come in any order.
#[must_use]
pub fn trend(runs: Vec<HistoryRun>, question: &TrendQuestion) -> Trend {
    let mut cells: BTreeMap<CellKey, Vec<HistoryRun>> = BTreeMap::new();
    for run in runs.into_iter().filter(|run| run.value > 0.0 && run.value.is_finite()) {
        cells.entry(run.key.clone()).or_default().push(run);
    }
    let histories: Vec<(CellKey, Points)> =
        cells.into_iter().map(|(key, runs)| (key, Points::of(runs, question))).collect();
    let tried: Vec<Vec<Cut>> =
        histories.iter().map(|(_, points)| tried(points, question.level)).collect();
    let adjusted = corrected(&tried);
    let each = histories.into_iter().zip(tried.iter().zip(adjusted));
    let series: Vec<TrendSeries> = each
        .map(|((key, points), (cuts, adjusted))| {
            levels::series(key, points, cuts, &adjusted, question)
        })
        .collect();
    Trend {
        metric: question.metric,
        by: question.by,
        remarks: remarks(&series, question),
        series,
        level: question.level,
        smallest: question.smallest,
        ..Trend::default()
    }
}

/// Every cut of the newest points, its place counted from the first point of all.
fn tried(points: &Points, level: f64) -> Vec<Cut> {
    let skipped = points.logs.len().saturating_sub(MOST_POINTS);
    let shifted = |cut: Cut| Cut { at: cut.at + skipped, ..cut };
    cuts(&points.logs[skipped..], level, SEED).into_iter().map(shifted).collect()
}

/// The p values of all cuts of all histories, raised for how many there are.
fn corrected(tried: &[Vec<Cut>]) -> Vec<Vec<f64>> {
    let all: Vec<f64> = tried.iter().flatten().map(|cut| cut.p_value).collect();
    let mut adjusted = false_discovery(&all).into_iter();
    tried.iter().map(|cuts| adjusted.by_ref().take(cuts.len()).collect()).collect()
}

fn remarks(series: &[TrendSeries], question: &TrendQuestion) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let machines: BTreeSet<&str> = series.iter().map(|one| one.key.machine.as_str()).collect();
    if machines.len() > 1 {
        remarks.push(Remark::new(
            RemarkCode::SeveralMachines,
            format!(
                "{} machines: each has histories of its own, nothing is compared between them",
                machines.len()
            ),
        ));
    }
    let crowded = |one: &&TrendSeries| {
        one.points.len() < SMALLEST_SERIES
            && one.points.iter().any(|point| point.runs.len() > SMALLEST_SERIES)
    };
    if question.by == TrendBy::Date && series.iter().filter(crowded).count() > 0 {
        remarks.push(Remark::new(RemarkCode::RunsMerged, format!(
            "runs within {} of each other are one point: a machine's state lasts for minutes; `--session 0s` makes every run a point",
            minutes(question.session)
        )));
    }
    let points = || series.iter().flat_map(|one| &one.points);
    let not_valid = points().filter(|point| !point.valid).count();
    if not_valid > 0 {
        remarks.push(Remark::new(RemarkCode::NoValidRun, format!(
            "{not_valid} of {} points have no valid run and are marked: a change among them may be the machine's",
            points().count()
        )));
    }
    let nameless = series.iter().flat_map(|one| &one.points).filter(|one| one.commit.is_none());
    if question.by == TrendBy::Commit && nameless.count() > 0 {
        remarks
            .push(Remark::new(RemarkCode::NoCommit, "runs without a commit are ordered by date"));
    }
    remarks
}

fn minutes(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
