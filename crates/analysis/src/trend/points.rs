//! Runs of one cell pooled into points: one a session or one a commit.

use super::{HistoryRun, TrendQuestion};
use stats::pool;
use std::collections::{BTreeMap, HashMap};
use types::{TrendBy, TrendPoint};

/// The points of a history, oldest first.
pub(super) struct Points {
    pub(super) points: Vec<TrendPoint>,
    /// The logarithms of their values.
    pub(super) logs: Vec<f64>,
    /// What the first and the last run of each say of their surroundings.
    pub(super) facts: Vec<[BTreeMap<String, String>; 2]>,
}

impl Points {
    pub(super) fn of(mut runs: Vec<HistoryRun>, question: &TrendQuestion) -> Points {
        runs.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        let mut groups = grouped(runs, question);
        if let Some(last) = question.last {
            groups.drain(..groups.len().saturating_sub(last));
        }
        let mut points = Points { points: Vec::new(), logs: Vec::new(), facts: Vec::new() };
        groups.into_iter().for_each(|group| points.add(group));
        points
    }

    fn add(&mut self, mut group: Vec<HistoryRun>) {
        // What can be believed is never mixed with what cannot.
        let valid = group.iter().any(|run| run.valid);
        group.retain(|run| run.valid == valid);
        let values: Vec<_> = group.iter().map(|run| (run.value, run.interval)).collect();
        let (Some(value), Some(last)) = (pool(&values), group.pop()) else { return };
        let (began, facts) = match group.first_mut() {
            Some(first) => (first.started_at, std::mem::take(&mut first.facts)),
            None => (last.started_at, last.facts.clone()),
        };
        let mut runs: Vec<_> = group.into_iter().map(|run| run.id).collect();
        runs.push(last.id);
        self.logs.push(value.value.ln());
        self.facts.push([facts, last.facts]);
        self.points.push(TrendPoint {
            commit: last.commit,
            branch: last.branch,
            began: (began, last.started_at),
            runs,
            value,
            valid,
        });
    }
}

/// Runs that make a point together; groups in the order of their first runs.
fn grouped(runs: Vec<HistoryRun>, question: &TrendQuestion) -> Vec<Vec<HistoryRun>> {
    let span = i64::try_from(question.session.as_micros()).unwrap_or(i64::MAX);
    let mut groups: Vec<Vec<HistoryRun>> = Vec::new();
    let mut commits: HashMap<String, usize> = HashMap::new();
    for run in runs {
        if let (TrendBy::Commit, Some(commit)) = (question.by, run.commit.clone()) {
            let place = *commits.entry(commit).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(run);
            continue;
        }
        let is_near = |group: &Vec<HistoryRun>| {
            let first = group.first();
            first.is_some_and(|first| {
                first.commit == run.commit
                    && span > 0
                    && run.started_at.saturating_sub(first.started_at) < span
            })
        };
        match groups.last_mut().filter(|group| is_near(group)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}
