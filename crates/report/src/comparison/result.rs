//! A comparison as a result: what was compared, which side is faster and how sure, and what a reader must know.

use super::{csv::comparisons_data, document::comparison_json, layers, remarks, tables::table};
use crate::clean::clean;
use crate::result::{Block, ResultDocument};
use crate::summary::processor;
use types::{ComparisonReport, Device, Mode, Weights};

/// A comparison as a result.
#[must_use]
pub fn comparison_document(report: &ComparisonReport) -> ResultDocument {
    let is_timed = report.sides.iter().any(|side| side.latency.is_some());
    let mut blocks = Vec::new();
    blocks.extend(is_timed.then(|| table(report)));
    blocks.push(Block::Facts(remarks::facts(report)));
    if let Some(join) = &report.layers {
        blocks.extend(layers::blocks(join, &report.baseline));
    }
    blocks.push(Block::Notes(remarks::notes(report)));
    ResultDocument {
        title: title(report),
        facts: shared(report),
        blocks,
        json: comparison_json(report),
        data: Some(comparisons_data(std::slice::from_ref(report))),
        ..ResultDocument::default()
    }
}

/// The model, and that its weights are random where they are.
pub(super) fn title(report: &ComparisonReport) -> Vec<String> {
    let name = match clean(&report.model.name) {
        name if name.is_empty() => "unnamed model".into(),
        name => name,
    };
    let is_random = matches!(report.model.weights, Weights::Random { .. });
    std::iter::once(name).chain(is_random.then(|| "random weights".to_owned())).collect()
}

/// What all sides have in common; what differs between them stands in their labels.
fn shared(report: &ComparisonReport) -> Vec<String> {
    let mut facts = vec![match report.sequence_length {
        Some(length) => {
            format!("batch {} × {}", report.batch_size, report.model.length_words(length))
        }
        None => format!("batch {}", report.batch_size),
    }];
    if report.mode == Mode::Training {
        facts.push("training".into());
    }
    let generation = report.sides.iter().find_map(|side| side.info.generation);
    facts.extend(generation.map(|generation| generation.name()));
    let infos = || report.sides.iter().map(|side| &side.info);
    let shared = |of: &dyn Fn(&types::SideInfo) -> String| {
        let first = infos().next().map(of)?;
        infos().all(|info| of(info) == first).then_some(first)
    };
    facts.extend(shared(&|info| info.precision.to_string()));
    facts.extend(shared(&|info| place(report, info.device)));
    facts
}

/// `cpu (Xeon, 2 cores)`.
pub(super) fn place(report: &ComparisonReport, device: Device) -> String {
    let machine = &report.environment.machine;
    let gpu = device.nvidia_index().and_then(|at| machine.gpus.iter().find(|gpu| gpu.index == at));
    let hardware = match (device, gpu) {
        (_, Some(gpu)) => clean(&gpu.name),
        (Device::Cpu, None) => {
            let cores = machine.cpu.cores;
            let cores = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
            let name = processor(&machine.cpu.model);
            if name.is_empty() { cores } else { format!("{name}, {cores}") }
        }
        _ => return device.to_string(),
    };
    format!("{device} ({hardware})")
}
