//! Where the time of an inference goes, in a second compilation that times its nodes.

use crate::{
    recipe::Counters,
    session::{OpenVinoSession, failed},
    times::Times,
};
use engine::{Detail, EngineError, NodeProfile, NodeProfiler, NodeTime, TimelineWriter};
use std::time::Instant;

impl NodeProfiler for OpenVinoSession<'_> {
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
        // Made anew each time and gone afterwards, so that it stands in nobody's memory.
        let recipe = &self.model.recipe;
        let (_, compiled) = recipe.compile(&recipe.core(Counters::On)?)?;
        let mut request = compiled.request().map_err(failed)?;
        self.lend_inputs(&mut request)?;
        let mut times = Times::of(&recipe.device);
        // The first run prepares the kernels for these shapes.
        request.infer().map_err(failed)?;
        times.warmed_up(&request).map_err(failed)?;
        let mut writer = TimelineWriter::laid_out();
        let mut runs = Vec::new();
        for _ in 0..count {
            let begin = Instant::now();
            request.infer().map_err(failed)?;
            let taken = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            runs.push((begin, taken));
            times.ran(&request).map_err(failed)?;
        }
        let total_nanos = runs.iter().map(|(_, taken)| taken).sum();
        let mut told = times.finish(&request, count, total_nanos).map_err(failed)?;
        for node in &mut told.nodes {
            if let Some(maker) = self.model.makers.get(&node.path) {
                node.path.clone_from(maker);
            }
        }
        if detail == Detail::Timeline {
            lay_out(&told.nodes, &runs, &mut writer);
        }
        Ok(NodeProfile {
            runs: count,
            total_nanos,
            run_nanos: runs.iter().map(|(_, taken)| *taken).collect(),
            parts: None,
            timeline: (detail == Detail::Timeline).then(|| writer.finish()),
            remarks: told.remarks(detail),
            nodes: told.nodes,
        })
    }
}

/// Every run shows the nodes of the mean run, end to end; a run that took less than their sum shows them shorter.
fn lay_out(nodes: &[NodeTime], runs: &[(Instant, u64)], writer: &mut TimelineWriter) {
    let count = runs.len().max(1) as u64;
    let sum: u64 = nodes.iter().map(|node| node.nanos / count).sum();
    for &(begin, taken) in runs {
        let mut start = writer.inference(begin, taken);
        let shrink = if sum > taken { taken as f64 / sum as f64 } else { 1.0 };
        for node in nodes {
            let length = ((node.nanos / count) as f64 * shrink) as u64;
            writer.operator(0, (&node.path, &node.kind), start, length);
            start += length;
        }
    }
}
