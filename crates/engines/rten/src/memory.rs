//! Where the memory goes: every allocation of this process, named by the engine's own log.

use crate::{
    capture::Capture,
    model::{RtenSession, run},
    node_log::{LoggedNode, nodes, printed},
    profile::{path_of, uncaught},
    values,
};
use engine::{AllocationTracker, EngineError, MemoryRecord, MemoryReporter, Watched, watch_runs};
use std::collections::HashMap;
use types::{Allocations, Bytes, LayerName, MissingCode, Reading};

impl MemoryReporter for RtenSession<'_> {
    fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
    ) -> Result<MemoryRecord, EngineError> {
        let model = &self.model.model;
        let options = self.model.options.clone().with_verbose(true);
        let mut capture = Capture::begin().map_err(uncaught)?;
        let watched = watch_runs(count, tracker, printed, &mut || {
            self.outputs = Some(run(model, &self.inputs, model.output_ids(), &options)?);
            Ok(())
        })?;
        let mut log = String::new();
        capture.take(&mut log).map_err(uncaught)?;
        drop(capture);
        Ok(named(&watched, &log))
    }
}

/// What was allocated, named by what the engine printed meanwhile.
pub(crate) fn named(watched: &Watched, log: &str) -> MemoryRecord {
    let nodes = nodes(log);
    let mut record = watched.record("every allocation of the worker");
    let names = AllocationNames::new(&nodes);
    record.allocations = watched.columns(names.names, |mark| {
        place(&nodes, mark).map(|at| at.map_or(0, |at| names.places[at]))
    });
    let untold = "engine `rten` printed no log of its runs";
    record.layers =
        Reading::or_missing((!nodes.is_empty()).then_some(true), MissingCode::NotReported, untold);
    let used = (!nodes.is_empty()).then(|| Bytes(values::peak(&nodes)));
    record.in_use_peak = Reading::or_missing(used, MissingCode::NotReported, untold);
    record.reserved_peak = match &record.allocations.value {
        Some(allocations) => Reading::of(Bytes(highest(allocations))),
        None => record.allocations.missing_too(),
    };
    record
}

/// The names that allocations get: an empty one first, then every node once.
struct AllocationNames {
    names: Vec<LayerName>,
    /// For every node of the log its name.
    places: Vec<usize>,
}

impl AllocationNames {
    fn new(nodes: &[LoggedNode<'_>]) -> AllocationNames {
        let mut names = AllocationNames { names: vec![LayerName::default()], places: Vec::new() };
        let mut known: HashMap<(&str, &str), usize> = HashMap::new();
        for node in nodes {
            let place = *known.entry((node.name, node.operator)).or_insert_with(|| {
                let (name, kind) = (path_of(node.name, node.operator), node.operator.to_owned());
                names.names.push(LayerName { name, kind });
                names.names.len() - 1
            });
            names.places.push(place);
        }
        names
    }
}

/// The node that ran when so much was printed, or none behind the last one; `None` while a node was being printed.
fn place(nodes: &[LoggedNode<'_>], mark: u64) -> Option<Option<usize>> {
    let next = nodes.partition_point(|node| node.end <= mark);
    match nodes.get(next) {
        Some(node) if mark > node.begin => None,
        Some(_) => Some(Some(next)),
        None => Some(None),
    }
}

/// The most that was allocated at once: the pool lives as long as a run and gives nothing back before.
fn highest(allocations: &Allocations) -> u64 {
    let (mut level, mut highest) = (0i64, 0);
    for size in &allocations.sizes {
        level = level.saturating_add(*size);
        highest = highest.max(level);
    }
    highest.unsigned_abs()
}
