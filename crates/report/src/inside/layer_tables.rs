//! Tables of the layers of a model, in the order in which they are shown.

use crate::clean::clean;
use crate::result::{Block, Note};
use crate::sheet::{Grid, GridRow};
use crate::table::Column;
use analysis::{LayerPool, LayerSum, fold_small, pool_layers};
use number::{
    MISSING, bytes, durations_column, percent, seconds, share_with_interval, significant,
};
use types::{Bound, Layer, LayerReport, Rollup, pooled_list};

/// A line with less of the time says little and would hide the others.
const LEAST_SHARE: f64 = 0.005;

/// What bounds a layer whose data did not all go through memory.
const NEAR: &str = "cache";

const KEPT_NEAR: &str = "less memory traffic than its nodes read and write; the engine fuses them, or the data stays \
                         in a cache";

/// The row of the time that no layer has: shares are of what the layers sum to, so it has none.
const OUTSIDE: &str = "outside every layer";

/// The row of the time in which the device did nothing.
const IDLE: &str = "device idle";

/// Operators told at most.
const OPERATORS: usize = 8;

/// Which layers are told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerView {
    /// Kinds or parts of paths; empty for all.
    pub only: Vec<String>,
}

impl LayerView {
    /// Whether a layer of this kind and path is asked for.
    #[must_use]
    pub fn has(&self, kind: types::LayerKind, path: &str) -> bool {
        let asked = |word: &String| kind.name() == word.as_str() || path.contains(word.as_str());
        self.only.is_empty() || self.only.iter().any(asked)
    }
}

/// The layers, their roll-ups, and how far they can be believed.
pub(crate) fn blocks(report: &LayerReport, view: &LayerView) -> Vec<Block> {
    let parts = parts(report, view);
    let has_host = report.device.is_some();
    let mut grid = Grid::of(columns(parts.first().map_or("", |(title, _)| title), has_host));
    let all = parts.iter().flat_map(|(_, lines)| lines);
    let times = durations_column(&all.map(|line| Some(line.spent.total)).collect::<Vec<_>>());
    let mut times = times.into_iter();
    for (at, (title, lines)) in parts.iter().enumerate() {
        if at > 0 && !lines.is_empty() {
            grid.heading(format!("by {title}"));
        }
        for line in lines {
            grid.push(row(line, times.next().unwrap_or_default(), has_host));
        }
    }
    let said = sentences(report, &parts).into_iter().map(Note::new).collect();
    vec![Block::table("where the time goes", grid), Block::Notes(said)]
}

/// The parts as a table each, and what is said below them.
pub(crate) fn grids(report: &LayerReport) -> (Vec<Grid>, Vec<String>) {
    let parts = parts(report, &LayerView::default());
    let has_host = report.device.is_some();
    let grid = |(title, lines): &(&str, Vec<Line>)| {
        let times = lines.iter().map(|line| Some(line.spent.total)).collect::<Vec<_>>();
        let mut grid = Grid::of(columns(title, has_host));
        for (line, time) in lines.iter().zip(durations_column(&times)) {
            grid.push(row(line, time, has_host));
        }
        grid
    };
    (parts.iter().map(grid).collect(), sentences(report, &parts))
}

/// Layers, kinds and operators; the layers alone where only some were asked for.
fn parts(report: &LayerReport, view: &LayerView) -> Vec<(&'static str, Vec<Line>)> {
    let mut parts = vec![("layer", layers(report, view))];
    if view.only.is_empty() {
        parts.push(("kind", report.kinds.iter().map(Line::of).collect()));
        if !report.operators.is_empty() {
            parts.push(("operator", operators(report)));
        }
    }
    parts
}

/// The columns; `has_host` if the times are a device's, and the host's stand beside them.
fn columns(title: &str, has_host: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::left(title).shrinks(),
        Column::right(if has_host { "on device" } else { "time" }),
        Column::right("share"),
        Column::right("calls").leaves(4),
        Column::right("GFLOP").leaves(3),
        Column::right("moved").leaves(2),
        Column::right("FLOP/byte").leaves(1),
        Column::right("GFLOP/s").leaves_late(2),
        Column::right("attained"),
        Column::left("bound by").leaves_late(1),
    ];
    if has_host {
        columns.insert(HOST_AT, Column::right("host"));
    }
    columns
}

/// Where the host's time stands.
const HOST_AT: usize = 3;

fn row(line: &Line, time: String, has_host: bool) -> GridRow {
    let (depth, share) = (line.depth, line.share());
    let mut cells: Vec<String> = cells(line, time).into();
    if has_host {
        cells.insert(HOST_AT, line.spent.host.map_or(MISSING.into(), seconds));
    }
    GridRow { depth, share, cells, ..GridRow::default() }
}

/// One line of a table.
struct Line {
    name: String,
    depth: usize,
    spent: LayerSum,
}

impl Line {
    fn of(rollup: &Rollup) -> Line {
        Line { name: rollup.name.clone(), depth: 0, spent: LayerSum::from_iter([&rollup.spent]) }
    }

    /// Its share of what the layers sum to.
    fn share(&self) -> Option<f64> {
        (self.name != OUTSIDE).then_some(self.spent.share)
    }
}

/// The pools to be told: all, or the outermost that were asked for.
fn tree(report: &LayerReport, view: &LayerView) -> Vec<LayerPool> {
    let mut found = Vec::new();
    let asked: Vec<&Layer> =
        report.layers.iter().filter(|layer| view.has(layer.kind, &layer.path)).collect();
    let is_inside = |layer: &Layer, around: &Layer| {
        layer.path.strip_prefix(&around.path).is_some_and(|rest| rest.starts_with('.'))
    };
    let is_told = |layer: &&Layer| {
        view.has(layer.kind, &layer.path) || asked.iter().any(|around| is_inside(layer, around))
    };
    let mut open = pool_layers(&report.layers.iter().filter(is_told).collect::<Vec<_>>());
    if view.only.is_empty() {
        return open;
    }
    open.reverse();
    while let Some(pool) = open.pop() {
        // Without modules of its own it only leads to some that were asked for.
        if pool.modules > 0 {
            found.push(pool);
        } else {
            open.extend(pool.inside.into_iter().rev());
        }
    }
    found
}

fn layers(report: &LayerReport, view: &LayerView) -> Vec<Line> {
    let mut lines = Vec::new();
    push(tree(report, view), "", 0, &mut lines);
    if let Some(device) = report.device.filter(|_| view.only.is_empty()) {
        let (idle, share) = (device.idle.0, device.idle.0 / report.sum.0.max(f64::MIN_POSITIVE));
        let spent = LayerSum { total: idle, own: idle, share, ..LayerSum::default() };
        lines.push(Line { name: IDLE.into(), depth: 0, spent });
    }
    if view.only.is_empty() {
        let outside = report.outside().0;
        if outside > 0.0 {
            let spent = LayerSum { total: outside, own: outside, ..LayerSum::default() };
            lines.push(Line { name: OUTSIDE.into(), depth: 0, spent });
        }
    }
    lines
}

/// Lines of pools and of what lies inside them, each name without what the line above says.
fn push(pools: Vec<LayerPool>, around: &str, depth: usize, lines: &mut Vec<Line>) {
    let (large, rest) = fold_small(pools, LEAST_SHARE);
    for pool in large {
        let rest = pool.path.strip_prefix(around).unwrap_or(&pool.path).trim_start_matches('.');
        let name = match (rest, pool.modules) {
            ("", _) => "in no module".to_owned(),
            (rest, 0 | 1) => rest.to_owned(),
            // The number of layers is said once, where the star is.
            (rest, modules) if pooled_list(rest).is_some() => format!("{rest} ({modules})"),
            (rest, _) => rest.to_owned(),
        };
        let LayerPool { path, spent, inside, .. } = pool;
        lines.push(Line { name, depth, spent });
        if !inside.is_empty() {
            push(inside, &path, depth + 1, lines);
            let itself = spent.itself();
            if itself.own > 0.0 && itself.share >= LEAST_SHARE {
                lines.push(Line { name: "itself".into(), depth: depth + 1, spent: itself });
            }
        }
    }
    if let Some((count, spent)) = rest {
        let name = if count == 1 { "1 smaller".into() } else { format!("{count} smaller") };
        lines.push(Line { name, depth, spent });
    }
}

fn operators(report: &LayerReport) -> Vec<Line> {
    let mut lines: Vec<Line> = report.operators.iter().take(OPERATORS).map(Line::of).collect();
    let rest = report.operators.get(OPERATORS..).unwrap_or_default();
    if !rest.is_empty() {
        let spent: LayerSum = rest.iter().map(|rollup| &rollup.spent).collect();
        // What is left of many operators has no rate worth telling.
        let spent = LayerSum {
            calls: spent.calls,
            total: spent.total,
            share: spent.share,
            ..LayerSum::default()
        };
        lines.push(Line { name: format!("{} more", rest.len()), depth: 0, spent });
    }
    lines
}

fn cells(line: &Line, time: String) -> [String; 10] {
    let spent = &line.spent;
    let giga = |value: Option<f64>| value.map_or(MISSING.into(), |v| significant(v / 1e9, 3));
    let flops = spent.flops.filter(|flops| *flops > 0).map(|flops| flops as f64);
    let attained = spent.attained();
    [
        line.name.clone(),
        time,
        line.share().map_or(MISSING.into(), percent),
        if spent.calls > 0.0 { significant(spent.calls, 1) } else { MISSING.into() },
        giga(flops),
        spent.bytes.map_or(MISSING.into(), bytes),
        spent.intensity().map_or(MISSING.into(), |value| significant(value, 2)),
        giga(spent.flops_per_second()),
        attained
            .filter(|_| !spent.is_kept_near())
            .map_or(MISSING.into(), |(share, _)| percent(share)),
        match attained {
            Some(_) if spent.is_kept_near() => NEAR.to_owned(),
            Some((_, Bound::Compute)) => "compute".to_owned(),
            Some((_, Bound::Memory)) => "memory".to_owned(),
            None => String::new(),
        },
    ]
}

/// What the instruments cost, and how much of that certainly stands in the layers' times.
fn instruments(report: &LayerReport) -> String {
    if report.device.is_some() {
        return format!(
            "times on the device are its own records; telling modules apart costs the host {}, which is in its column alone",
            share_with_interval(&report.overhead)
        );
    }
    let cost = share_with_interval(&report.overhead);
    let said = format!(
        "instruments cost {cost}: {} with them, {} without",
        seconds(report.instrumented.0),
        seconds(report.plain.0)
    );
    match report.instruments_inside().0 {
        inside if inside > 0.0 => {
            format!("{said}; at least {} of it is in the layers' times", seconds(inside))
        }
        _ => said,
    }
}

/// How far the layers add up, and what finding out cost.
fn sentences(report: &LayerReport, parts: &[(&str, Vec<Line>)]) -> Vec<String> {
    let mut sentences = vec![
        format!(
            "sum {} = {} of the {} measured without instruments ({} runs, interleaved)",
            seconds(report.sum.0),
            share_with_interval(&report.closure),
            seconds(report.plain.0),
            report.runs
        ),
        instruments(report),
    ];
    if report.placed.0 >= 0.001 {
        sentences.push(format!(
            "{} of the time belongs to nodes without a module and was assigned by what ran before and after them",
            percent(report.placed.0)
        ));
    }
    sentences.extend(report.remarks.iter().map(|remark| clean(&remark.text)));
    if parts.iter().flat_map(|(_, lines)| lines).any(|line| line.spent.is_kept_near()) {
        sentences.push(format!("{NEAR}: {KEPT_NEAR}"));
    }
    sentences
}
