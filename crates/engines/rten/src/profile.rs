//! Where the time of an inference goes, from the engine's own log.

use crate::{
    capture::Capture,
    log::{Call, Log},
    model::{RtenSession, run},
};
use engine::{
    Detail, EngineError, EngineErrorKind, NodeCall, NodeProfile, NodeProfiler, NodeTime,
    TimelineWriter,
};
use std::{collections::HashMap, io, time::Instant};
use types::{Remark, RemarkCode};

impl NodeProfiler for RtenSession<'_> {
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
        let model = &self.model.model;
        let options = self.model.options.clone().with_verbose(true);
        let mut capture = Capture::begin().map_err(uncaught)?;
        let mut nodes = Nodes::default();
        let mut writer = (detail == Detail::Timeline).then(TimelineWriter::laid_out);
        let mut run_nanos = Vec::new();
        let mut text = String::new();
        let mut spoilt = 0;
        while run_nanos.len() < usize::try_from(count).unwrap_or(usize::MAX) {
            let begin = Instant::now();
            let outputs = run(model, &self.inputs, model.output_ids(), &options)?;
            let taken = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.outputs = Some(outputs);
            capture.take(&mut text).map_err(uncaught)?;
            let log = Log::read(&text, |value| model.find_node(value).is_some());
            if !log.is_whole() {
                spoilt += 1;
                match spoilt <= SPOILT_RUNS {
                    true => continue,
                    false => return Err(untold()),
                }
            }
            run_nanos.push(taken);
            let places = nodes.add(&log);
            if let Some(writer) = &mut writer {
                let start = writer.inference(begin, taken);
                nodes.lay_out(&log, &places, (start, taken), writer);
            }
        }
        drop(capture);
        Ok(NodeProfile {
            runs: count,
            total_nanos: run_nanos.iter().sum(),
            run_nanos,
            remarks: nodes.remarks(),
            nodes: nodes.times,
            parts: None,
            timeline: writer.map(TimelineWriter::finish),
        })
    }
}

pub(crate) fn uncaught(error: io::Error) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, "could not catch the log of engine `rten`")
        .with_source(error)
}

fn untold() -> EngineError {
    EngineError::new(EngineErrorKind::Failed, "engine `rten` printed an incomplete log of its run")
}

/// When every call of a run began, the first at `begin`.
fn starts(log: &Log, lengths: &[u64], begin: u64) -> Vec<u64> {
    let mut start = begin;
    let mut starts = vec![start; lengths.len()];
    for &at in &log.outermost {
        starts[at] = start;
        start += lengths[at];
    }
    for at in log.in_order() {
        let mut inside = starts[at];
        for &inner in &log.calls[at].inner {
            starts[inner] = inside;
            inside += lengths[inner];
        }
    }
    starts
}

/// The nodes of all runs.
#[derive(Default)]
pub(crate) struct Nodes {
    times: Vec<NodeTime>,
    places: HashMap<Key, usize>,
    unnamed: usize,
}

/// What makes a node the same in another run. Names are unique; nodes without one are told apart by what they make.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Named(String, String),
    Makes(String, String),
}

impl Nodes {
    /// Adds a run's own times; tells each call's node.
    fn add(&mut self, log: &Log) -> Vec<usize> {
        let own = log.own();
        let mut places = vec![0; log.calls.len()];
        // In the order they began: what has a body comes before what runs in it.
        for at in log.in_order() {
            let place = self.place(&log.calls[at]);
            self.times[place].calls += 1;
            self.times[place].nanos += own[at];
            places[at] = place;
        }
        places
    }

    fn place(&mut self, call: &Call) -> usize {
        let kind = call.operator.clone();
        let key = match call.name.as_str() {
            "" => Key::Makes(call.output.clone(), kind.clone()),
            name => Key::Named(name.to_owned(), kind.clone()),
        };
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let path = match call.name.as_str() {
            // Fusions at the model's outputs leave nodes without a name; the slash says that there is no module.
            "" => {
                self.unnamed += 1;
                format!("/{kind}_{}", self.unnamed)
            }
            name => path_of(name, &kind),
        };
        self.times.push(NodeTime { path, kind, calls: 0, nanos: 0, phase: None });
        self.places.insert(key, self.times.len() - 1);
        self.times.len() - 1
    }

    /// One run in the timeline: the log tells no starts, so every node begins where the one before it ended.
    fn lay_out(&self, log: &Log, places: &[usize], run: (u64, u64), writer: &mut TimelineWriter) {
        let end = run.0 + run.1;
        let lengths = log.lengths();
        let starts = starts(log, &lengths, run.0);
        for at in log.in_order() {
            let node = &self.times[places[at]];
            let start = starts[at].min(end);
            writer.operator(0, (&node.path, &node.kind), start, lengths[at].min(end - start));
        }
    }

    /// The calls of a run, outer ones before those inside them.
    pub(crate) fn calls(&mut self, log: &Log) -> Vec<NodeCall> {
        let places = self.add(log);
        let (own, lengths) = (log.own(), log.lengths());
        let starts = starts(log, &lengths, 0);
        let call = |at: usize| {
            let NodeTime { path, kind, .. } = self.times[places[at]].clone();
            let (start, length, own) = (starts[at], lengths[at], own[at]);
            NodeCall { path, kind, thread: 0, start, length, own }
        };
        log.in_order().into_iter().map(call).collect()
    }

    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let short: Vec<&NodeTime> =
            self.times.iter().filter(|node| node.nanos < node.calls * COARSE_NANOS).collect();
        let sum: u64 = self.times.iter().map(|node| node.nanos).sum();
        let of_short: u64 = short.iter().map(|node| node.nanos).sum();
        // Rounding cuts both ways, so sums stay right; what a short node shows of itself does not.
        match of_short * 20 > sum {
            true => vec![Remark::new(
                RemarkCode::CoarseTimes,
                format!(
                    "engine `rten` rounds to microseconds: {} of {} nodes take less than five",
                    short.len(),
                    self.times.len()
                ),
            )],
            false => Vec::new(),
        }
    }
}

/// How many runs are taken again because somebody printed into the engine's log.
const SPOILT_RUNS: u32 = 8;

/// Below this a microsecond is much of a node's time.
const COARSE_NANOS: u64 = 5000;

/// The last operators of what the engine fuses: the fused node goes by the name of that one.
const FUSED: [&str; 15] = [
    "Add",
    "BatchNormalization",
    "Cast",
    "Div",
    "Expand",
    "Identity",
    "MatMul",
    "MatMulInteger",
    "Mul",
    "Reshape",
    "Shape",
    "Softmax",
    "Transpose",
    "Unsqueeze",
    "Where",
];

/// `encoder.dense/Add` for a node `encoder.dense.Add`, whatever it was fused with; other names stay as they are.
pub(crate) fn path_of(name: &str, kind: &str) -> String {
    let Some((module, last)) = name.rsplit_once('.').filter(|_| !name.contains('/')) else {
        return name.to_owned();
    };
    let stem = match last.rsplit_once('_') {
        Some((stem, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => last,
    };
    match stem == kind || FUSED.contains(&stem) {
        true => format!("{module}/{last}"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn a_name_gives_its_module_and_keeps_its_operator() {
        for (name, kind, path) in [
            ("encoder.dense.MatMul", "MatMul", "encoder.dense/MatMul"),
            ("encoder.dense.Add_1", "FusedMatMul", "encoder.dense/Add_1"),
            (
                "output.LayerNorm.LayerNormalization",
                "LayerNormalization",
                "output.LayerNorm/LayerNormalization",
            ),
            ("output.LayerNorm", "LayerNormalization", "output.LayerNorm"),
            ("/encoder/layer.0/Add", "Add", "/encoder/layer.0/Add"),
            ("node_linear_3", "MatMul", "node_linear_3"),
        ] {
            assert_eq!(path_of(name, kind), path);
        }
    }
}
