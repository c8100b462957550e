//! Where the memory of a measurement goes: the graph's word, the allocator's and the system's, side by side.

use crate::{Error, Inside, Profiler, inside, prepare, prepare::Prepared, scratch::Scratch};
use analysis::Ledger;
use engine::{MemoryRecord, Takes, TrainingFiles};
use graph::{Model, Reuse};
use meter::{Job, Launch, MemoryPass, memory_pass};
use std::{path::Path, time::Duration};
use types::{
    Allocations, AllocatorMemory, Bytes, Event, LeakCheck, LeakVerdict, MemoryReport, MissingCode,
    Phase, Ratio, Reading, Remark, RemarkCode, StaticMemory, step_path,
};

/// What a memory pass gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// The three sides and what follows from them.
    pub report: MemoryReport,
    /// Every allocation and free that was seen, where they could be.
    pub allocations: Option<Allocations>,
}

impl Profiler {
    /// Looks where the memory goes, in a worker of its own, and times nothing else.
    ///
    /// # Errors
    /// When the model, the engine or the worker fails; see [`Error`].
    pub fn memory(&self, sink: &mut dyn FnMut(Event)) -> Result<Memory, Error> {
        self.check_rule()?;
        let prepared = prepare::prepare(self, sink)?;
        let asked = Inside { memory: true, ..Inside::default() };
        inside::check_step(&asked, &prepared)?;
        let launch = self.launch(&prepared)?;
        let refine = |seen: &[(String, Vec<usize>)]| prepared.count_again(seen);
        of(&prepared, &prepared.job(&refine), &launch, self.rule.timeout, sink)
    }
}

/// The memory pass of a prepared job.
///
/// # Errors
/// When the worker or the engine fails.
pub(crate) fn of(
    prepared: &Prepared,
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    sink: &mut dyn FnMut(Event),
) -> Result<Memory, Error> {
    let folder = Scratch::make("the record of allocations", 0)?;
    let pass = memory_pass(job, launch, timeout, folder.path(), sink)?;
    Ok(assemble(prepared, pass))
}

fn assemble(prepared: &Prepared, pass: MemoryPass) -> Memory {
    let graph = foretell(prepared);
    let MemoryPass { record, system, cost, mapped, is_shared } = pass;
    let unknown = || MemoryRecord {
        source: "nobody".into(),
        allocations: silent(),
        layers: silent(),
        base: silent(),
        in_use_peak: silent(),
        reserved_peak: silent(),
        peak: silent(),
        asked: silent(),
        ..MemoryRecord::default()
    };
    let mut record = record.unwrap_or_else(unknown);
    let mut remarks = std::mem::take(&mut record.remarks);
    let allocations = std::mem::take(&mut record.allocations);
    let step = record.step.take();
    let ledger = match allocations.value.as_ref().map(analysis::read_ledger) {
        Some(ledger) => {
            Reading::or_missing(ledger, MissingCode::NotApplicable, "nothing was allocated")
        }
        None => allocations.missing_too(),
    };
    if let Some(dropped) = allocations.value.as_ref().map(|all| all.dropped).filter(|d| *d > 0) {
        remarks.push(Remark::new(RemarkCode::AllocationsDropped, format!(
            "{dropped} allocations and frees did not fit the buffer and are missing from these numbers"
        )));
    }
    remarks.extend(uncounted_weights(graph.weights.value, record.base.value, mapped));
    if is_shared {
        remarks.push(Remark::new(RemarkCode::SharedProcess, "the worker is a thread of this process: other allocations of the process are counted too"));
    }
    let leak = match &ledger.value {
        Some(found) => {
            let dropped = allocations.value.as_ref().map_or(0, |all| all.dropped);
            analysis::check_leak(found.levels.clone(), dropped)
        }
        None if !record.levels.is_empty() => {
            analysis::check_leak(std::mem::take(&mut record.levels), 0)
        }
        None => LeakCheck {
            verdict: LeakVerdict::CannotTell,
            levels: Vec::new(),
            growth: None,
            why: ledger.why.clone().unwrap_or_default(),
        },
    };
    let leak = match &step {
        Some(_) => LeakCheck { why: leak.why.replace("inference", "step"), ..leak },
        None => leak,
    };
    let timeline = ledger.value.as_ref().map(|found| found.timeline.clone()).unwrap_or_default();
    let allocator = allocator(record, ledger, allocations.value.as_ref());
    let batch = prepared.cell.batch_size.max(1) as u64;
    let activations = match allocator.peak.value {
        Some(_) => allocator.peak.clone(),
        None => graph.in_place.clone(),
    };
    let report = MemoryReport {
        per_sample: activations.map(|bytes| Bytes(bytes.0 / batch)),
        graph,
        allocator,
        system,
        timeline,
        leak,
        cost,
        step,
        remarks,
    };
    Memory { report, allocations: allocations.value }
}

/// Where weights are that the allocator does not count: in the mapped file, or in memory that was taken past it.
fn uncounted_weights(
    weights: Option<Bytes>,
    base: Option<Bytes>,
    mapped: Option<Bytes>,
) -> Option<Remark> {
    let missing = weights?.0.checked_sub(base?.0).filter(|missing| *missing > 0)?;
    let text = match mapped {
        // What is not read yet is not resident, so less than the whole may be mapped.
        Some(mapped) if mapped.0 >= missing / 2 => {
            "the weights are mapped from their file: the system counts what is read of them, the allocator does not"
        }
        Some(_) => {
            "the weights are in memory that the engine did not get from this allocator (copied or packed, not \
             mapped): the system counts them, the allocator does not"
        }
        None => {
            "the allocator counts less than the weights: they are mapped from their file or bypass the allocator"
        }
    };
    Some(Remark::new(RemarkCode::WeightsNotCounted, text))
}

fn silent<T>() -> Reading<T> {
    Reading::missing(MissingCode::NotReported, "this engine does not report its memory")
}

/// What the graph says.
fn foretell(prepared: &Prepared) -> StaticMemory {
    if let Some(files) = prepared.step_files() {
        return foretell_step(prepared, files);
    }
    let model = prepared.graph();
    let shapes = prepared.shapes();
    let unknown = "some shapes of the graph are unknown";
    if !prepared.fits(Takes::Onnx) {
        let missing = || Reading::missing(MissingCode::NotApplicable, "a program has no graph");
        return StaticMemory {
            weights: missing(),
            apart: missing(),
            in_place: missing(),
            pooled: missing(),
            node: String::new(),
            live: Vec::new(),
        };
    }
    let weights = Reading::of(prepared.weight_bytes());
    let peak = graph::find_peak(&model.graph, &shapes, Reuse::InPlace);
    StaticMemory {
        weights,
        apart: Reading::or_missing(
            graph::activation_peak(&model.graph, &shapes),
            MissingCode::Underivable,
            unknown,
        ),
        in_place: Reading::or_missing(
            peak.as_ref().map(|peak| peak.bytes),
            MissingCode::Underivable,
            unknown,
        ),
        pooled: Reading::or_missing(
            graph::pooled_peak(&model.graph, &shapes),
            MissingCode::Underivable,
            unknown,
        ),
        node: peak.as_ref().map(|peak| peak.node.clone()).unwrap_or_default(),
        live: peak.map(|peak| peak.live).unwrap_or_default(),
    }
}

/// What the graphs of a training step say: the forward graph's peak, or what it keeps and the backward graph's peak.
fn foretell_step(prepared: &Prepared, files: &TrainingFiles) -> StaticMemory {
    let unknown = "some shapes of the graphs are unknown";
    let peak = |path: &Path| {
        let model = Model::read(path).ok()?;
        let shapes = graph::infer(&model, &[]);
        graph::find_peak(&model.graph, &shapes, Reuse::InPlace)
    };
    let saved = || {
        let model = Model::read(&files.forward).ok()?;
        let shapes = graph::infer(&model, &[]);
        let bytes = |name: &String| {
            let (dtype, dims) = shapes.of(name)?;
            Some(dtype.size(dims.iter().product()))
        };
        files.saved.iter().map(bytes).sum::<Option<u64>>()
    };
    let found = match (peak(&files.forward), saved(), peak(&files.backward)) {
        (Some(forward), Some(saved), Some(backward)) => {
            let behind = Bytes(saved).saturating_add(backward.bytes);
            Some(if behind > forward.bytes {
                (Phase::Backward, behind, backward)
            } else {
                (Phase::Forward, forward.bytes, forward)
            })
        }
        _ => None,
    };
    let not_told = || {
        Reading::missing(MissingCode::NotReported, "not reported for the graphs of a training step")
    };
    StaticMemory {
        weights: Reading::of(graph::count_weights(prepared.graph()).bytes),
        apart: not_told(),
        pooled: not_told(),
        in_place: Reading::or_missing(
            found.as_ref().map(|found| found.1),
            MissingCode::Underivable,
            unknown,
        ),
        node: found
            .as_ref()
            .map_or_else(String::new, |(phase, _, peak)| step_path(*phase, &peak.node)),
        live: found.map(|(_, _, peak)| peak.live).unwrap_or_default(),
    }
}

/// The memory that the engine allocated.
fn allocator(
    record: MemoryRecord,
    ledger: Reading<Ledger>,
    allocations: Option<&Allocations>,
) -> AllocatorMemory {
    let peak = match ledger.value.as_ref() {
        Some(found) => Reading::of(found.peak),
        None => record.peak,
    };
    let peaks = (record.in_use_peak.value, record.reserved_peak.value);
    let fragmentation = match (peaks, record.room_ahead) {
        ((Some(_), Some(_)), Some(why)) => Reading::missing(MissingCode::NotSeparable, why),
        ((Some(used), Some(reserved)), None) if reserved.0 > 0 => {
            Reading::of(Ratio(1.0 - used.0 as f64 / reserved.0 as f64))
        }
        ((None, _), _) => record.in_use_peak.missing_too(),
        _ => record.reserved_peak.missing_too(),
    };
    let asked = match ledger.value {
        Some(_) => ledger.as_ref().map(|found| found.allocations),
        None => record.asked,
    };
    AllocatorMemory {
        runs: allocations.map_or(record.run_nanos.len(), |all| all.ends.len()) as u64,
        source: record.source,
        base: record.base,
        peak,
        in_use: record.in_use_peak,
        reserved: record.reserved_peak,
        fragmentation,
        allocations: asked,
        frees: ledger.as_ref().map(|found| found.frees),
        node: ledger.value.as_ref().map_or(record.peak_node, |found| found.node.clone()),
        live: ledger.value.as_ref().map(|found| found.live.clone()).unwrap_or_default(),
        layers: match record.layers.value {
            Some(_) => ledger.map(|found| found.layers),
            None => record.layers.missing_too(),
        },
        dropped: allocations.map_or(0, |all| all.dropped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_said_to_be_mapped_only_where_they_are() {
        let said = |weights, base, mapped: Option<u64>| {
            uncounted_weights(Some(Bytes(weights)), Some(Bytes(base)), mapped.map(Bytes))
                .map(|remark| remark.text)
        };
        assert!(said(100, 10, Some(80)).unwrap().contains("mapped from their file"));
        let copied = said(100, 10, Some(0)).unwrap();
        assert!(copied.contains("not mapped"), "{copied}");
        assert_eq!(said(100, 120, Some(0)), None);
        assert!(said(100, 10, None).unwrap().contains("or bypass the allocator"));
    }
}
