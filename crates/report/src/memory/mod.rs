//! Where memory goes, on one screen: three views side by side, what was live at the peak, and what follows.

mod events;
mod live;
mod step;

use crate::clean::clean;
use crate::result::{Block, Fact, TextChart};
use crate::sheet::{Grid, GridRow};
use crate::table::Column;
use number::{MISSING, bytes, bytes_column, fixed, percent, seconds, significant};
use types::{Bytes, LeakVerdict, MemoryReport, Reading};

pub use events::allocations_csv;

/// A part of what is told of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    /// Who allocated how much, layer by layer.
    Allocations,
    /// How much was allocated when, and what was live at the worst moment.
    Snapshots,
}

/// Which parts are told; the three views always are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryView {
    /// The parts; empty for all.
    pub only: Vec<MemoryPart>,
}

impl MemoryView {
    fn has(&self, part: MemoryPart) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// The memory of an inference: the three views, the timeline, the live set at the peak, leaks and costs.
pub(crate) fn blocks(report: &MemoryReport, view: &MemoryView) -> Vec<Block> {
    let mut blocks = vec![Block::table("where the memory goes", views(report))];
    blocks.extend(step::grid(report).map(|grid| Block::table("held by a step", grid)));
    if view.has(MemoryPart::Snapshots) {
        blocks.push(Block::Chart(timeline(report)));
    }
    let mut said = facts(report);
    if view.has(MemoryPart::Allocations) {
        blocks.extend(live::grid(report).map(|grid| Block::table("live at the peak", grid)));
        said.extend(layers_missing(report));
    }
    if view.has(MemoryPart::Snapshots) {
        said.extend(live::largest_blocks(report).map(|text| ("largest", text)));
    }
    let fact = |(label, text): (&'static str, String)| Fact::new(label, clean(&text));
    blocks.push(Block::Facts(said.into_iter().map(fact).collect()));
    blocks
}

/// Allocated bytes over one inference.
fn timeline(report: &MemoryReport) -> TextChart {
    let points: Vec<(u64, i64)> =
        report.timeline.iter().map(|point| (point.at, point.bytes)).collect();
    let length = points.last().map_or(0, |(at, _)| *at);
    let peak = points.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let caption = format!("one {}, {}, above the base", word(report), seconds(length as f64 / 1e9));
    TextChart::Area { points, label: bytes(peak.unsigned_abs()), caption }
}

/// Why nothing is said of layers, where something else is.
fn layers_missing(report: &MemoryReport) -> Option<(&'static str, String)> {
    let allocator = &report.allocator;
    (allocator.peak.value.is_some() && allocator.layers.value.is_none())
        .then(|| ("layers", why(&allocator.layers)))
}

/// What was run once.
fn word(report: &MemoryReport) -> &'static str {
    if report.step.is_some() { "step" } else { "inference" }
}

fn article(report: &MemoryReport) -> &'static str {
    if report.step.is_some() { "a step" } else { "an inference" }
}

/// What the graph, the allocator and the system say.
fn views(report: &MemoryReport) -> Grid {
    let mut views = Grid::of([
        Column::left("seen by"),
        Column::right("before"),
        Column::right(&format!("in {}", article(report))),
        Column::right("at the peak"),
        Column::left("").shrinks(),
    ]);
    for row in view_rows(report) {
        let depth = usize::from(row[0].starts_with(' '));
        let cells = row.map(|cell| cell.trim().to_owned()).into();
        views.push(GridRow { depth, cells, ..GridRow::default() });
    }
    views
}

/// Every table, and every sentence beside them.
pub(crate) fn grids(report: &MemoryReport) -> (Vec<Grid>, Vec<(&'static str, String)>) {
    let mut said = facts(report);
    said.extend(layers_missing(report));
    said.extend(live::largest_blocks(report).map(|text| ("largest", text)));
    let said = said.into_iter().map(|(label, text)| (label, clean(&text))).collect();
    let grids = [Some(views(report)), step::grid(report), live::grid(report)];
    (grids.into_iter().flatten().collect(), said)
}

fn view_rows(report: &MemoryReport) -> Vec<[String; 5]> {
    let (graph, allocator, system) = (&report.graph, &report.allocator, &report.system);
    let sum = |before: Option<Bytes>, above: Option<Bytes>| Some(before?.saturating_add(above?).0);
    let above = |reading: &Reading<Bytes>| reading.value.map(|bytes| bytes.0);
    let mut rows = vec![
        (
            "static",
            above(&graph.weights),
            above(&graph.in_place),
            sum(graph.weights.value, graph.in_place.value),
        ),
        ("  in a pool", None, above(&graph.pooled), sum(graph.weights.value, graph.pooled.value)),
        (
            "allocator",
            above(&allocator.base),
            above(&allocator.peak),
            sum(allocator.base.value, allocator.peak.value),
        ),
        ("system", None, None, above(&system.peak)),
    ];
    if let Some(device) = &system.device_peak {
        rows.push(("device", None, None, above(device)));
    }
    // One unit a column would hide the small ones; one for the table keeps them comparable.
    let all: Vec<Option<u64>> = rows.iter().flat_map(|row| [row.1, row.2, row.3]).collect();
    let shown = bytes_column(&all);
    let notes = notes(report);
    let row = |(at, row): (usize, &(&str, _, _, _))| {
        let cell = |place: usize| match all[3 * at + place] {
            Some(_) => shown[3 * at + place].clone(),
            None => MISSING.into(),
        };
        let note = notes.get(at).cloned().unwrap_or_default();
        [row.0.to_owned(), cell(0), cell(1), cell(2), note]
    };
    rows.iter().enumerate().map(row).collect()
}

/// What stands behind each view, in a few words.
fn notes(report: &MemoryReport) -> Vec<String> {
    let (graph, allocator) = (&report.graph, &report.allocator);
    let mut notes = vec!["weights, lifetimes".to_owned(), "kept for later".to_owned()];
    // An engine whose peak is what it keeps is held against a pool, any other against working in place.
    let keeps = allocator.peak.value.is_some() && allocator.peak.value == allocator.reserved.value;
    let (foretold, word) = match keeps {
        true => (graph.pooled.value, "pool"),
        false => (graph.in_place.value, "static"),
    };
    notes.push(match (foretold, allocator.peak.value) {
        (Some(Bytes(foretold)), Some(Bytes(seen))) if foretold > 0 => {
            let share = seen as f64 / foretold as f64 - 1.0;
            let sign = if share < 0.0 { "−" } else { "+" };
            format!("{sign}{} vs. {word}", percent(share.abs()))
        }
        _ => String::new(),
    });
    let average = report.system.average.value;
    notes.push(
        average.map(|Bytes(average)| format!("average {}", bytes(average))).unwrap_or_default(),
    );
    if let Some(Reading { value: Some(process), .. }) = &report.system.device_process {
        notes.push(format!("the worker's {}", bytes(process.0)));
    }
    notes
}

/// Everything that is one sentence.
fn facts(report: &MemoryReport) -> Vec<(&'static str, String)> {
    let (graph, allocator) = (&report.graph, &report.allocator);
    let mut facts = vec![("per sample", amount(&report.per_sample))];
    // The three graphs of a step have no lifetimes in common that a pool could be planned with.
    if report.step.is_none() {
        let apart = format!("{} if every value had a buffer of its own", amount(&graph.apart));
        facts.push(("static", apart));
    }
    if is_silent(report) {
        facts.push(("allocator", why(&allocator.peak)));
    } else {
        facts.extend(told(report));
    }
    for (label, reading) in [("before", &allocator.base), ("system", &report.system.peak)] {
        if reading.value.is_none() && reading.why != allocator.peak.why {
            facts.push((label, why(reading)));
        }
    }
    facts.extend(report.remarks.iter().map(|remark| ("remark", remark.text.clone())));
    facts
}

/// Whether the engine says nothing at all of its memory; one line is then enough.
fn is_silent(report: &MemoryReport) -> bool {
    let allocator = &report.allocator;
    let readings = [&allocator.peak, &allocator.in_use, &allocator.reserved, &allocator.base];
    readings.into_iter().all(|reading| reading.value.is_none())
}

/// What the engine tells.
fn told(report: &MemoryReport) -> Vec<(&'static str, String)> {
    let allocator = &report.allocator;
    let mut facts = Vec::new();
    if allocator.peak.value.is_none() {
        facts.push(("peak", why(&allocator.peak)));
    } else if report.step.is_some() && !allocator.node.is_empty() {
        facts.push(("peak", format!("while `{}` ran", clean(&allocator.node))));
    }
    facts.push((
        "in use",
        match (allocator.in_use.value, allocator.fragmentation.value) {
            (Some(used), Some(share)) => {
                let reserved = amount(&allocator.reserved);
                let share = percent(share.0);
                format!("{} of {reserved} reserved: fragmentation {share}", bytes(used.0))
            }
            (Some(used), None) => {
                let of = match allocator.reserved.value {
                    Some(reserved) => format!(" of {} reserved", bytes(reserved.0)),
                    None => String::new(),
                };
                format!("{}{of}; {}", bytes(used.0), why(&allocator.fragmentation))
            }
            (None, _) => why(&allocator.in_use),
        },
    ));
    facts.push((
        "traffic",
        match (allocator.allocations.value, allocator.frees.value) {
            (Some(made), Some(freed)) => {
                let (made, freed) = (fixed(made, 0), fixed(freed, 0));
                format!("{made} allocations, {freed} frees {}", article(report))
            }
            (Some(made), None) => format!("{} allocations {}", fixed(made, 0), article(report)),
            _ => why(&allocator.allocations),
        },
    ));
    let unit = word(report);
    facts.push(("counted", format!("{}, {} {unit}s", allocator.source, allocator.runs)));
    facts.push(("leak", leak(report)));
    facts.push((
        "cost",
        match &report.cost.value {
            Some(cost) => format!(
                "recording makes {} {} slower [{}, {}]",
                article(report),
                percent(cost.value.max(0.0)),
                percent(cost.interval.low),
                percent(cost.interval.high)
            ),
            None => why(&report.cost),
        },
    ));
    facts
}

fn leak(report: &MemoryReport) -> String {
    let leak = &report.leak;
    let growth = leak.growth.unwrap_or(0.0).max(0.0);
    match leak.verdict {
        LeakVerdict::Leak => {
            let size = match growth >= 1000.0 {
                true => bytes(growth.round() as u64),
                false => format!("{} bytes", significant(growth, 2)),
            };
            format!("yes, {size} are not freed in every {}: {}", word(report), leak.why)
        }
        LeakVerdict::None => format!("none: {}", leak.why),
        LeakVerdict::CannotTell => format!("cannot tell: {}", leak.why),
    }
}

fn amount(reading: &Reading<Bytes>) -> String {
    reading.value.map_or_else(|| why(reading), |value| bytes(value.0))
}

pub(crate) fn why<T>(reading: &Reading<T>) -> String {
    format!("unavailable: {}", clean(reading.why.as_deref().unwrap_or("not reported")))
}
