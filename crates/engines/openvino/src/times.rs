//! From what the plugin tells of its nodes to sums over the runs of a pass.
//!
//! The plugins tell whole microseconds, the rest is cut off. A node that needs less than one is told as nothing; to others
//! what is lost in the mean is put back, as far as the time from outside allows.

use crate::{
    fault::Fault,
    request::{NodeReport, Request},
};
use engine::{Detail, NodeTime};
use std::collections::BTreeMap;
use types::{Remark, RemarkCode};

/// How the plugin's numbers become sums.
pub(crate) enum Times {
    /// The CPU's plugin tells the mean of all runs since it was compiled (seen with 2025.1 and 2026.4), so the sum is
    /// the mean times the runs, less what the warm-up run had.
    OfMean { before: Vec<NodeReport> },
    /// Other plugins tell the last run.
    OfEach(Sums),
}

impl Times {
    pub(crate) fn of(device: &str) -> Times {
        match device {
            "CPU" => Times::OfMean { before: Vec::new() },
            _ => Times::OfEach(Sums::default()),
        }
    }

    /// After the one run that does not count.
    pub(crate) fn warmed_up(&mut self, request: &Request) -> Result<(), Fault> {
        if let Times::OfMean { before } = self {
            *before = request.nodes()?;
        }
        Ok(())
    }

    /// After each run that counts.
    pub(crate) fn ran(&mut self, request: &Request) -> Result<(), Fault> {
        if let Times::OfEach(sums) = self {
            for report in request.nodes()? {
                sums.add(&report, report.micros * 1000, lost(report.micros));
            }
        }
        Ok(())
    }

    /// The nodes' sums over `count` runs that took `total` nanoseconds together.
    pub(crate) fn finish(self, request: &Request, count: u64, total: u64) -> Result<Told, Fault> {
        let is_mean = matches!(self, Times::OfMean { .. });
        let sums = match self {
            Times::OfEach(sums) => sums,
            Times::OfMean { before } => of_mean(&before, &request.nodes()?, count),
        };
        Ok(sums.told(count, total, is_mean))
    }
}

/// What a call that is told as so many microseconds took more, in the mean, in nanoseconds.
fn lost(micros: u64) -> u64 {
    if micros > 0 { 500 } else { 0 }
}

/// The sums of `count` runs after a first one, from the mean of them all.
fn of_mean(before: &[NodeReport], now: &[NodeReport], count: u64) -> Sums {
    let mut sums = Sums::default();
    for report in now {
        // Each call was cut off, and so was their mean.
        let mean = if report.micros > 0 { count * 1000 / 2 } else { 0 };
        let micros = report.micros * (count + 1);
        sums.add(report, micros * 1000, mean + count * lost(report.micros));
    }
    for report in before {
        if let Some((told, _)) = sums.nanos.get_mut(&report.key()) {
            *told = told.saturating_sub(report.micros * 1000);
        }
    }
    sums
}

/// Nanoseconds by name and type, in the order they came first: as told, and lost by rounding.
#[derive(Default)]
pub(crate) struct Sums {
    order: Vec<(String, String)>,
    nanos: BTreeMap<(String, String), (u64, u64)>,
}

impl Sums {
    fn add(&mut self, report: &NodeReport, told: u64, lost: u64) {
        let key = report.key();
        if !self.nanos.contains_key(&key) {
            self.order.push(key.clone());
        }
        let sum = self.nanos.entry(key).or_default();
        *sum = (sum.0 + told, sum.1 + lost);
    }

    fn told(self, count: u64, total: u64, is_mean: bool) -> Told {
        let sum = |part: fn(&(u64, u64)) -> u64| self.nanos.values().map(part).sum::<u64>();
        let (told, lost) = (sum(|(told, _)| *told), sum(|(_, lost)| *lost));
        let room = total.saturating_sub(told);
        let part = if lost > room { room as f64 / lost as f64 } else { 1.0 };
        let node = |key: (String, String)| {
            let (told, lost) = self.nanos.get(&key).copied().unwrap_or_default();
            let nanos = told + (lost as f64 * part) as u64;
            NodeTime { path: key.0, kind: key.1, calls: count, nanos, phase: None }
        };
        let nodes: Vec<NodeTime> = self.order.into_iter().map(node).collect();
        let added = (lost as f64 * part) as u64;
        let silent = nodes.iter().filter(|node| node.nanos == 0).count();
        Told { nodes, told, added, silent, is_mean }
    }
}

/// What became of the plugin's numbers.
pub(crate) struct Told {
    pub(crate) nodes: Vec<NodeTime>,
    told: u64,
    added: u64,
    silent: usize,
    is_mean: bool,
}

impl Told {
    pub(crate) fn remarks(&self, detail: Detail) -> Vec<Remark> {
        let mut remarks = Vec::new();
        // Where it is less, nobody would see it.
        if self.added * 50 > self.told {
            let share = self.added as f64 / (self.told + self.added).max(1) as f64;
            let share = number::percent(share);
            remarks.push(Remark::new(RemarkCode::CoarseTimes, format!(
                "OpenVINO truncates times to whole microseconds; this was corrected, {share} in total, and {} of \
                 {} nodes are reported as 0",
                self.silent,
                self.nodes.len()
            )));
        }
        if detail == Detail::Timeline && self.is_mean {
            remarks.push(Remark::new(
                RemarkCode::MeanTimeline,
                "OpenVINO reports the mean of all runs: the timeline shows it in each of them",
            ));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, micros: u64) -> NodeReport {
        NodeReport { name: name.into(), kind: "MatMul".into(), micros }
    }

    fn told(told: &Told) -> Vec<(&str, u64, u64)> {
        told.nodes.iter().map(|node| (node.path.as_str(), node.calls, node.nanos)).collect()
    }

    #[test]
    fn the_mean_of_all_runs_becomes_the_sum_without_the_first() {
        // 10 in the warm-up, then 4 and 4: the mean of three is 6.
        let before = [report("b", 10), report("a", 1), report("c", 0)];
        let now = [report("b", 6), report("a", 1), report("c", 0)];
        let sums = of_mean(&before, &now, 2).told(2, 10_000, true);
        assert_eq!(told(&sums), [("b", 2, 8000), ("a", 2, 2000), ("c", 2, 0)]);
        // With room, half a microsecond a call comes back, and as much of the mean.
        let sums = of_mean(&before, &now, 2).told(2, 100_000, true);
        assert_eq!(told(&sums), [("b", 2, 10_000), ("a", 2, 4000), ("c", 2, 0)]);
        assert!(sums.remarks(Detail::Times)[0].text.contains("1 of 3 nodes"));
        assert_eq!(sums.remarks(Detail::Timeline).len(), 2);
    }

    #[test]
    fn runs_told_one_by_one_are_added_up() {
        let mut sums = Sums::default();
        for micros in [3, 5] {
            sums.add(&report("a", micros), micros * 1000, lost(micros));
        }
        assert_eq!(told(&sums.told(2, 100_000, false)), [("a", 2, 9000)]);
    }
}
