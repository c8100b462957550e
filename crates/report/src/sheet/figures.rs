//! The numbers that people ask for first, each with how sure it is.

use crate::lookup::{Reading, reading, told};
use number::{bytes, count, duration, flops_per_second, percent, plus_minus, rate, seconds};
use types::{Mode, Run, key};

/// A number that stands large, with words around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What it is: `median latency`.
    pub name: String,
    /// The number with its unit.
    pub value: String,
    /// How sure it is, or what belongs to it.
    pub note: String,
}

impl Figure {
    fn new(name: impl Into<String>, value: String, note: impl Into<String>) -> Figure {
        Figure { name: name.into(), value, note: note.into() }
    }
}

pub(super) fn figures(run: &Run) -> Vec<Figure> {
    let mut all = Vec::new();
    all.extend(middle(run));
    all.extend(tail(run));
    all.extend(throughput(run));
    all.extend(memory(run));
    all.extend(compute(run));
    all.extend(start(run));
    all
}

fn what(run: &Run) -> &'static str {
    match run.cell.mode {
        Mode::Inference => "latency",
        Mode::Training | Mode::Generate | Mode::Load => crate::sample_word(run),
    }
}

fn middle(run: &Run) -> Option<Figure> {
    let phase = run.main_phase();
    let name = |word: &str| format!("{word} {}", what(run));
    if let Some(summary) = run.summaries.get(&phase) {
        let star = if summary.supports("p50") { "" } else { "*" };
        let value = format!("{}{star}", seconds(summary.median));
        let half = summary.ci95_median.relative_half_width(summary.median);
        let half = half.filter(|half| half.is_finite()).map(plus_minus);
        let runs = format!("{} runs", count(summary.count));
        let note = half.map_or_else(|| runs.clone(), |half| format!("{half}, {runs}"));
        return Some(Figure::new(name("median"), value, note));
    }
    let stated = run.stated(phase)?;
    let word = if stated.median.is_some() { "median" } else { "mean" };
    let note = stated.count.map_or_else(String::new, |runs| format!("{} runs", count(runs)));
    Some(Figure::new(name(word), seconds(stated.typical()?), note))
}

fn tail(run: &Run) -> Option<Figure> {
    let phase = run.main_phase();
    let name = format!("p95 {}", what(run));
    let Some(summary) = run.summaries.get(&phase) else {
        let p95 = run.stated(phase)?.p95?;
        return Some(Figure::new(name, seconds(p95), "as stated"));
    };
    let is_sure = summary.supports("p95");
    let needs = summary.unsupported.iter().find(|entry| entry.percentile == "p95");
    let note = match needs {
        Some(entry) => format!("needs {} runs", count(entry.needs)),
        None => format!("p99 {}{}", seconds(summary.p99), star(summary.supports("p99"))),
    };
    Some(Figure::new(name, format!("{}{}", seconds(summary.p95), star(is_sure)), note))
}

fn star(is_sure: bool) -> &'static str {
    if is_sure { "" } else { "*" }
}

fn throughput(run: &Run) -> Option<Figure> {
    let known = |key: &str| reading(run, key)?.known();
    let tokens = known("throughput.tokens").map(|value| format!("{} tokens/s", rate(value)));
    let note = tokens.unwrap_or_default();
    match known("throughput.images") {
        Some(images) => Some(Figure::new("throughput", format!("{} images/s", rate(images)), note)),
        None => {
            let samples = known("throughput.samples")?;
            Some(Figure::new("throughput", format!("{} samples/s", rate(samples)), note))
        }
    }
}

fn memory(run: &Run) -> Option<Figure> {
    let of = |key: &str| reading(run, key)?.known().map(|value| bytes(value.max(0.0) as u64));
    let note = match run.cell.device.has_own_memory() {
        true => of(key::MEMORY_HOST_PEAK).map(|value| format!("host peak {value}")),
        false => of(key::MEMORY_AVERAGE).map(|value| format!("average {value}")),
    };
    let name = match run.cell.device.has_own_memory() {
        true => "peak device memory",
        false => "peak memory",
    };
    Some(Figure::new(name, of(key::MEMORY_PEAK)?, note.unwrap_or_default()))
}

fn compute(run: &Run) -> Option<Figure> {
    let speed = reading(run, "compute.flops_per_second")?.known()?;
    let note = match reading(run, "compute.ceiling_share") {
        Some(Reading::Known(share)) => {
            format!("{} of the {} ceiling", percent(share), run.cell.precision)
        }
        _ => String::new(),
    };
    Some(Figure::new("compute", flops_per_second(speed), note))
}

fn start(run: &Run) -> Option<Figure> {
    let load = told(run, "cold.load", run.cold.load)?;
    let first = told(run, "cold.first_inference", run.cold.first_inference);
    let word = if run.cell.mode == Mode::Training { "first step" } else { "first inference" };
    let note = first.map(|first| format!("{word} {}", duration(first)));
    Some(Figure::new("load", duration(load), note.unwrap_or_default()))
}
