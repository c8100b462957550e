//! A comparison on one screen: readable without colour, pasteable into a chat.

use super::{layers::layers, remarks, tables::tables};
use crate::clean::clean;
use crate::style::{Colour, Style};
use crate::summary::processor;
use crate::wrap::{DOT, flow, shorten, text_width};
use types::{ComparisonReport, Device, Mode, Weights};

const INDENT: usize = 2;
const RANDOM: &str = "random weights";

/// The terminal's view of a comparison.
#[must_use]
pub fn comparison(report: &ComparisonReport, style: &Style) -> String {
    let width = style.columns();
    let mut lines = header(report, style, width);
    lines.extend(remarks::parity(report, style, width));
    // Where nobody was let through to be timed, the reasons are all there is to show.
    if report.sides.iter().any(|side| side.latency.is_some()) {
        for table in tables(report, style, width - INDENT) {
            lines.push(String::new());
            lines.extend(table.lines().map(|line| format!("{:INDENT$}{line}", "")));
        }
        lines.push(String::new());
        lines.extend(remarks::design(report, width));
    } else {
        lines.push(String::new());
    }
    lines.extend(remarks::remarks(report, style, width));
    if let Some(join) = &report.layers {
        lines.push(String::new());
        lines.extend(layers(join, &report.baseline, style).lines().map(String::from));
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The model, and that its weights are random where they are.
pub(super) fn title(report: &ComparisonReport, style: &Style, width: usize) -> String {
    let random = matches!(report.model.weights, Weights::Random { .. });
    let room = if random { width - text_width(DOT) - RANDOM.len() } else { width };
    let name = match clean(&report.model.name) {
        name if name.is_empty() => "unnamed model".into(),
        name => shorten(&name, room),
    };
    let mut title = style.paint(&name, Colour::Title);
    if random {
        title.push_str(&format!("{DOT}{}", style.paint(RANDOM, Colour::Warning)));
    }
    title
}

/// What was compared: the model and what all sides share.
fn header(report: &ComparisonReport, style: &Style, width: usize) -> Vec<String> {
    let mut facts = vec![match report.sequence_length {
        Some(length) => {
            format!("batch {} × {}", report.batch_size, report.model.length_words(length))
        }
        None => format!("batch {}", report.batch_size),
    }];
    if report.mode == Mode::Training {
        facts.push("training".into());
    }
    // What differs between sides stands in their labels.
    let infos = || report.sides.iter().map(|side| &side.info);
    let shared = |of: &dyn Fn(&types::SideInfo) -> String| {
        let first = infos().next().map(of)?;
        infos().all(|info| of(info) == first).then_some(first)
    };
    facts.extend(shared(&|info| info.precision.to_string()));
    facts.extend(shared(&|info| place(report, info.device)));
    let mut lines = vec![title(report, style, width)];
    lines.extend(flow(&facts, width));
    lines
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
