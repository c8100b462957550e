//! A second compilation whose nodes are timed while it is fed.

use crate::{
    model::OpenVinoModel,
    recipe::Counters,
    request::Request,
    runtime::{Compiled, Core},
    session::failed,
    times::Times,
};
use engine::{Detail, EngineError, NodeCall, NodeTime, RunRecord};
use std::time::Duration;

pub(crate) struct Recorded {
    pub(crate) compiled: Compiled,
    /// It holds the plugin.
    _core: Core,
    times: Times,
    /// Feeds, the first of which prepares the kernels.
    feeds: u64,
    total: Duration,
}

impl Recorded {
    pub(crate) fn new(model: &OpenVinoModel) -> Result<Recorded, EngineError> {
        let recipe = &model.recipe;
        let core = recipe.core(Counters::On)?;
        let (_, compiled) = recipe.compile(&core)?;
        let times = Times::of(&recipe.device);
        Ok(Recorded { compiled, _core: core, times, feeds: 0, total: Duration::ZERO })
    }

    /// A feed is over.
    pub(crate) fn ran(&mut self, request: &Request, taken: Duration) -> Result<(), EngineError> {
        self.feeds += 1;
        match self.feeds {
            1 => self.times.warmed_up(request).map_err(failed),
            _ => {
                self.total += taken;
                self.times.ran(request).map_err(failed)
            }
        }
    }

    /// One record for each feed. The plugin tells the mean of all, so they are alike.
    pub(crate) fn finish(
        self,
        request: &Request,
        model: &OpenVinoModel,
    ) -> Result<Vec<RunRecord>, EngineError> {
        let count = self.feeds.saturating_sub(1);
        let total = u64::try_from(self.total.as_nanos()).unwrap_or(u64::MAX);
        let told = self.times.finish(request, count, total).map_err(failed)?;
        let remarks = told.remarks(Detail::Times);
        let calls = laid_out(told.nodes, count, model);
        let mut records: Vec<RunRecord> = (0..self.feeds)
            .map(|_| RunRecord { calls: calls.clone(), laid_out: true, ..RunRecord::default() })
            .collect();
        if let Some(first) = records.first_mut() {
            first.remarks = remarks;
        }
        Ok(records)
    }
}

/// The nodes of the mean run, each where the one before it ended.
fn laid_out(nodes: Vec<NodeTime>, count: u64, model: &OpenVinoModel) -> Vec<NodeCall> {
    let mut start = 0;
    let call = |node: NodeTime| {
        let own = node.nanos / count.max(1);
        let begin = start;
        start += own;
        let path = model.makers.get(&node.path).cloned().unwrap_or(node.path);
        NodeCall { path, kind: node.kind, thread: 0, start: begin, length: own, own }
    };
    nodes.into_iter().map(call).collect()
}
