//! Where the time of a training step goes: every node of its graphs, what we do beside them, and the optimiser.

use super::trainer::{Taken, Trainer};
use crate::{
    Detail, EngineError, EngineErrorKind, GraphRunner, NodeProfile, NodeTime, ProfiledRunner,
    RunRecord, TimelineWriter,
};
use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};
use types::{Phase, Remark, SpanKind};

/// Steps before those that count: the first allocates, the second settles.
const WARM_UP: usize = 2;

/// Steps that are taken more, so that some may be spoilt by what others print.
const SPARE: usize = 2;

/// The graphs of a step in the order they run.
const GRAPHS: [Phase; 3] = [Phase::Forward, Phase::Loss, Phase::Backward];

impl Trainer<'_> {
    /// Takes `count` steps with instruments and tells each node's time, all steps together.
    pub(crate) fn profile(
        &mut self,
        count: u64,
        detail: Detail,
    ) -> Result<NodeProfile, EngineError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).max(1);
        let runners = self.open(|loader, request| loader.profiled_runner(request))?;
        let trio = [0, 1, 2].map(|at: usize| -> &dyn GraphRunner { &*runners[at] });
        let mut writer = TimelineWriter::new();
        let mut steps = Vec::new();
        for at in 0..WARM_UP + count + SPARE {
            if at == WARM_UP {
                writer = TimelineWriter::new();
            }
            let taken = self.step_on(trio, &mut |_| {})?;
            if at >= WARM_UP {
                steps.push(taken);
            }
        }
        let runs = steps.len() * self.batches();
        let [forward, loss, backward] =
            runners.map(|runner: Box<dyn ProfiledRunner>| runner.finish(runs));
        let records = [forward?, loss?, backward?];
        let batches = self.batches();
        let mut sheet = Sheet::default();
        let mut kept = 0;
        for (at, step) in steps.iter().enumerate() {
            let of = |graph: usize| &records[graph][at * batches..(at + 1) * batches];
            let own = [of(0), of(1), of(2)];
            let is_whole = own.iter().all(|runs| runs.iter().all(|run| !run.calls.is_empty()));
            if is_whole && kept < count {
                kept += 1;
                sheet.add(step, own);
                if detail == Detail::Timeline {
                    write(&mut writer, step, own);
                }
            }
        }
        if kept == 0 {
            let why = "other output was mixed into the engine's record of every step";
            return Err(EngineError::new(EngineErrorKind::Failed, why));
        }
        Ok(NodeProfile {
            runs: kept as u64,
            total_nanos: sheet.run_nanos.iter().sum(),
            run_nanos: sheet.run_nanos,
            nodes: sheet.nodes,
            parts: None,
            timeline: (detail == Detail::Timeline).then(|| writer.finish()),
            remarks: sheet.remarks.into_iter().collect(),
        })
    }
}

/// The times of all steps.
#[derive(Default)]
struct Sheet {
    nodes: Vec<NodeTime>,
    places: HashMap<(Phase, String, String), usize>,
    run_nanos: Vec<u64>,
    remarks: BTreeSet<Remark>,
}

impl Sheet {
    /// Adds a step; what the record itself took is left out.
    fn add(&mut self, step: &Taken, records: [&[RunRecord]; 3]) {
        let paused: u64 = records.iter().flat_map(|runs| runs.iter()).map(|run| run.paused).sum();
        self.run_nanos.push(nanos(step.end - step.begin).saturating_sub(paused).max(1));
        for (graph, phase) in GRAPHS.into_iter().enumerate() {
            for (at, run) in records[graph].iter().enumerate() {
                let marks = &step.passes[at];
                // What we do in the phase beside the graph: binding, masks, values in another form.
                let begins = [marks.begin, marks.ends[0], marks.ends[1]];
                let (asked, done) = marks.runs[graph];
                let mut own = nanos(marks.ends[graph] - begins[graph]);
                own = own.saturating_sub(nanos(done - asked));
                if phase == Phase::Backward {
                    own += nanos(marks.adding);
                }
                self.push(phase, "", OURS, own);
                for call in &run.calls {
                    self.push(phase, &call.path, &call.kind, call.own);
                }
                self.remarks.extend(run.remarks.iter().cloned());
            }
        }
        let optimiser = nanos(step.after_optimiser - step.before_optimiser);
        self.push(Phase::Optimizer, "", OURS, optimiser);
    }

    fn push(&mut self, phase: Phase, path: &str, kind: &str, nanos: u64) {
        let key = (phase, path.to_owned(), kind.to_owned());
        let place = *self.places.entry(key).or_insert_with(|| {
            let (path, kind) = (path.to_owned(), kind.to_owned());
            self.nodes.push(NodeTime { path, kind, calls: 0, nanos: 0, phase: Some(phase) });
            self.nodes.len() - 1
        });
        self.nodes[place].calls += 1;
        self.nodes[place].nanos += nanos;
    }
}

/// What runs in a step and is no node of a graph.
const OURS: &str = "step";

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One step in the timeline: the step, its parts, the nodes in them.
fn write(writer: &mut TimelineWriter, step: &Taken, records: [&[RunRecord]; 3]) {
    let length = |begin: Instant, end: Instant| nanos(end - begin);
    writer.part("step", SpanKind::Step, step.begin, length(step.begin, step.end));
    for (at, marks) in step.passes.iter().enumerate() {
        let begins = [marks.begin, marks.ends[0], marks.ends[1]];
        for (graph, phase) in GRAPHS.into_iter().enumerate() {
            let (begin, end) = (begins[graph], marks.ends[graph]);
            writer.part(phase.name(), SpanKind::Phase, begin, length(begin, end));
            if graph == 2 && !marks.preparing.1.is_zero() {
                let (begin, time) = marks.preparing;
                writer.part("prepare", SpanKind::Operator, begin, nanos(time));
            }
            let run = &records[graph][at];
            if run.laid_out {
                writer.lay_out();
            }
            let (asked, done) = marks.runs[graph];
            let (start, whole) = (writer.since(asked) + run.before, length(asked, done));
            let last = writer.since(asked) + whole;
            for call in &run.calls {
                let track = match call.thread {
                    0 => 0,
                    thread => writer.track(&format!("thread {}", thread + 1)),
                };
                let start = (start + call.start).min(last);
                let node = (call.path.as_str(), call.kind.as_str());
                writer.operator(track, node, start, call.length.min(last - start));
            }
        }
    }
    let (begin, end) = (step.before_optimiser, step.after_optimiser);
    writer.part(Phase::Optimizer.name(), SpanKind::Phase, begin, length(begin, end));
}
