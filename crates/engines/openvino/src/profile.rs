//! Where the time of an inference goes, in a second compilation that times its nodes.
//!
//! The plugin tells whole microseconds, so a node that needs less is told as nothing.

use crate::{
    recipe::Counters,
    request::{NodeReport, Request},
    session::{OpenVinoSession, failed},
};
use engine::{Detail, EngineError, NodeProfile, NodeProfiler, NodeTime};
use std::{collections::BTreeMap, time::Instant};

impl NodeProfiler for OpenVinoSession<'_> {
    fn profile(&mut self, count: u64, _: Detail) -> Result<NodeProfile, EngineError> {
        // Made anew each time and gone afterwards, so that it stands in nobody's memory.
        let recipe = &self.model.recipe;
        let (_, compiled) = recipe.compile(&recipe.core(Counters::On)?)?;
        let mut request = compiled.request().map_err(failed)?;
        self.lend_inputs(&mut request)?;
        let mut times = match recipe.device.as_str() {
            "CPU" => Times::OfMean { runs: 0, before: Vec::new(), now: Vec::new() },
            _ => Times::OfEach(Sums::default()),
        };
        // The first run prepares the kernels for these shapes.
        request.infer().map_err(failed)?;
        times.warmed_up(&request)?;
        let mut run_nanos = Vec::new();
        for _ in 0..count {
            let started = Instant::now();
            request.infer().map_err(failed)?;
            run_nanos.push(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
            times.ran(&request)?;
        }
        let mut nodes = times.nodes(count);
        for node in &mut nodes {
            if let Some(maker) = self.model.makers.get(&node.path) {
                node.path.clone_from(maker);
            }
        }
        Ok(NodeProfile {
            runs: count,
            total_nanos: run_nanos.iter().sum(),
            run_nanos,
            nodes,
            ..NodeProfile::default()
        })
    }
}

/// How the plugin's numbers become sums.
enum Times {
    /// The CPU's plugin tells the mean of all runs since it was compiled (seen with 2025.1 and 2026.4), so the sum is
    /// the mean times the runs, less what the warm-up run had.
    OfMean { runs: u64, before: Vec<NodeReport>, now: Vec<NodeReport> },
    /// Other plugins tell the last run.
    OfEach(Sums),
}

impl Times {
    fn warmed_up(&mut self, request: &Request) -> Result<(), EngineError> {
        if let Times::OfMean { runs, before, .. } = self {
            *runs = 1;
            *before = request.nodes().map_err(failed)?;
        }
        Ok(())
    }

    fn ran(&mut self, request: &Request) -> Result<(), EngineError> {
        let reports = request.nodes().map_err(failed)?;
        match self {
            Times::OfMean { runs, now, .. } => {
                *runs += 1;
                *now = reports;
            }
            Times::OfEach(sums) => {
                reports.iter().for_each(|report| sums.add(report, report.micros))
            }
        }
        Ok(())
    }

    fn nodes(self, count: u64) -> Vec<NodeTime> {
        let sums = match self {
            Times::OfEach(sums) => sums,
            Times::OfMean { runs, before, now } => {
                let mut first = Sums::default();
                before.iter().for_each(|report| first.add(report, report.micros));
                let mut sums = Sums::default();
                now.iter().for_each(|report| sums.add(report, report.micros * runs));
                for (key, micros) in first.micros {
                    if let Some(sum) = sums.micros.get_mut(&key) {
                        *sum = sum.saturating_sub(micros);
                    }
                }
                sums
            }
        };
        let node = |key: (String, String)| {
            let nanos = sums.micros.get(&key).map_or(0, |micros| micros.saturating_mul(1000));
            NodeTime { path: key.0, kind: key.1, calls: count, nanos }
        };
        sums.order.into_iter().map(node).collect()
    }
}

/// Microseconds by name and type, in the order they came first.
#[derive(Default)]
struct Sums {
    order: Vec<(String, String)>,
    micros: BTreeMap<(String, String), u64>,
}

impl Sums {
    fn add(&mut self, report: &NodeReport, micros: u64) {
        let key = (report.name.clone(), report.kind.clone());
        if !self.micros.contains_key(&key) {
            self.order.push(key.clone());
        }
        *self.micros.entry(key).or_default() += micros;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, micros: u64) -> NodeReport {
        NodeReport { name: name.into(), kind: "MatMul".into(), micros }
    }

    #[test]
    fn the_mean_of_all_runs_becomes_the_sum_without_the_first() {
        // 10 in the warm-up, then 4 and 4: the mean of three is 6.
        let times = Times::OfMean {
            runs: 3,
            before: vec![report("b", 10), report("a", 1)],
            now: vec![report("b", 6), report("a", 1)],
        };
        let nodes = times.nodes(2);
        let told: Vec<(&str, u64, u64)> =
            nodes.iter().map(|node| (node.path.as_str(), node.calls, node.nanos)).collect();
        assert_eq!(told, [("b", 2, 8000), ("a", 2, 2000)]);
    }

    #[test]
    fn runs_told_one_by_one_are_added_up() {
        let mut sums = Sums::default();
        for micros in [3, 5] {
            sums.add(&report("a", micros), micros);
        }
        let nodes = Times::OfEach(sums).nodes(2);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].nanos, 8000);
    }
}
