//! The order in which the inside of a model is told.

use super::pool::{Pool, Sum, fold, pools};
use crate::clean::clean;
use crate::number::{
    MISSING, bytes, durations_column, percent, seconds, share_with_interval, significant,
};
use crate::sheet::{Grid, GridRow, Side};
use crate::style::Style;
use crate::table::{Column, Table};
use crate::wrap::wrap;
use types::{Layer, LayerReport, Rollup, pooled_list};

const INDENT: &str = "  ";

/// A line with less of the time says little and would hide the others.
const LEAST_SHARE: f64 = 0.005;

/// What bounds a layer whose data did not all go through memory.
const NEAR: &str = "cache";

const KEPT_NEAR: &str = "less went through memory than its nodes read and write; the engine fuses them, or a cache held it";

/// The row of the time that no layer has: shares are of what the layers sum to, so it has none.
const OUTSIDE: &str = "outside every layer";

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
#[must_use]
pub fn inside(report: &LayerReport, view: &LayerView, style: &Style) -> String {
    let mut parts = vec![("layer", layers(report, view))];
    if view.only.is_empty() {
        parts.push(("by kind", report.kinds.iter().map(Line::of).collect()));
        if !report.operators.is_empty() {
            parts.push(("by operator", operators(report)));
        }
    }
    let near = parts.iter().flat_map(|(_, lines)| lines).any(|line| line.spent.is_kept_near());
    let mut text = table(&parts, style);
    text.push('\n');
    let mut sentences = sentences(report);
    if near {
        sentences.push(format!("{NEAR}: {KEPT_NEAR}"));
    }
    for sentence in sentences {
        wrap(&sentence, style.columns())
            .into_iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text
}

/// The parts as tables for other media, and what is said below them.
pub(crate) fn grids(report: &LayerReport) -> (Vec<Grid>, Vec<String>) {
    let view = LayerView::default();
    let mut parts = vec![("layer", layers(report, &view))];
    parts.push(("kind", report.kinds.iter().map(Line::of).collect()));
    if !report.operators.is_empty() {
        parts.push(("operator", operators(report)));
    }
    let near = parts.iter().flat_map(|(_, lines)| lines).any(|line| line.spent.is_kept_near());
    let grid = |(title, lines): &(&str, Vec<Line>)| {
        let times = lines.iter().map(|line| Some(line.spent.total)).collect::<Vec<_>>();
        let times = durations_column(&times);
        let mut grid = Grid::new(&[
            (title, Side::Left),
            ("time", Side::Right),
            ("share", Side::Right),
            ("calls", Side::Right),
            ("GFLOP", Side::Right),
            ("moved", Side::Right),
            ("FLOP/byte", Side::Right),
            ("GFLOP/s", Side::Right),
            ("attained", Side::Right),
            ("bound by", Side::Left),
        ]);
        for (line, time) in lines.iter().zip(times) {
            let [name, calls, time, share, rest @ ..] = cells(line, time);
            let row = [name, time, share, calls].into_iter().chain(rest).collect();
            grid.push(GridRow {
                depth: line.depth,
                share: line.share(),
                cells: row,
                ..GridRow::default()
            });
        }
        grid
    };
    let mut said = sentences(report);
    if near {
        said.push(format!("{NEAR}: {KEPT_NEAR}"));
    }
    (parts.iter().map(grid).collect(), said)
}

/// One line of a table.
struct Line {
    name: String,
    depth: usize,
    spent: Sum,
}

impl Line {
    fn of(rollup: &Rollup) -> Line {
        Line { name: rollup.name.clone(), depth: 0, spent: Sum::from(&rollup.spent) }
    }

    /// Its share of what the layers sum to.
    fn share(&self) -> Option<f64> {
        (self.name != OUTSIDE).then_some(self.spent.share)
    }
}

/// The pools to be told: all, or the outermost that were asked for.
fn tree(report: &LayerReport, view: &LayerView) -> Vec<Pool> {
    let mut found = Vec::new();
    let asked: Vec<&Layer> =
        report.layers.iter().filter(|layer| view.has(layer.kind, &layer.path)).collect();
    let is_inside = |layer: &Layer, around: &Layer| {
        layer.path.strip_prefix(&around.path).is_some_and(|rest| rest.starts_with('.'))
    };
    let is_told = |layer: &&Layer| {
        view.has(layer.kind, &layer.path) || asked.iter().any(|around| is_inside(layer, around))
    };
    let mut open = pools(&report.layers.iter().filter(is_told).collect::<Vec<_>>());
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
    if view.only.is_empty() {
        let outside = report.outside().0;
        if outside > 0.0 {
            let spent = Sum { total: outside, own: outside, ..Sum::default() };
            lines.push(Line { name: OUTSIDE.into(), depth: 0, spent });
        }
    }
    lines
}

/// Lines of pools and of what lies inside them, each name without what the line above says.
fn push(pools: Vec<Pool>, around: &str, depth: usize, lines: &mut Vec<Line>) {
    let (large, rest) = fold(pools, LEAST_SHARE);
    for pool in large {
        let rest = pool.path.strip_prefix(around).unwrap_or(&pool.path).trim_start_matches('.');
        let name = match (rest, pool.modules) {
            ("", _) => "in no module".to_owned(),
            (rest, 0 | 1) => rest.to_owned(),
            // The number of layers is said once, where the star is.
            (rest, modules) if pooled_list(rest).is_some() => format!("{rest} ({modules})"),
            (rest, _) => rest.to_owned(),
        };
        let Pool { path, spent, inside, .. } = pool;
        lines.push(Line { name, depth, spent });
        if !inside.is_empty() {
            let own = spent.own;
            push(inside, &path, depth + 1, lines);
            if own > 0.0 && own / spent.total.max(f64::MIN_POSITIVE) * spent.share >= LEAST_SHARE {
                let share = spent.share * own / spent.total;
                let itself = Sum { total: own, own, share, ..Sum::default() };
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
        let mut spent = Sum::default();
        rest.iter().for_each(|rollup| spent.add(&rollup.spent));
        // What is left of many operators has no rate worth telling.
        let spent =
            Sum { calls: spent.calls, total: spent.total, share: spent.share, ..Sum::default() };
        lines.push(Line { name: format!("{} more", rest.len()), depth: 0, spent });
    }
    lines
}

fn table(parts: &[(&str, Vec<Line>)], style: &Style) -> String {
    let title = parts.first().map_or("", |(title, _)| title);
    let mut table = Table::new([
        Column::left(title).shrinks(),
        Column::right("calls").leaves(4),
        Column::right("time"),
        Column::right("share"),
        Column::right("GFLOP").leaves(3),
        Column::right("moved").leaves(2),
        Column::right("FLOP/byte").leaves(1),
        Column::right("GFLOP/s").leaves_late(2),
        Column::right("attained"),
        Column::left("bound by").leaves_late(1),
    ])
    .painted(style);
    let all = parts.iter().flat_map(|(_, lines)| lines);
    let times = durations_column(&all.map(|line| Some(line.spent.total)).collect::<Vec<_>>());
    let mut times = times.into_iter();
    for (at, (title, lines)) in parts.iter().enumerate() {
        if at > 0 {
            table.push_heading(title);
        }
        for line in lines {
            table.push_branch(line.depth, cells(line, times.next().unwrap_or_default()));
        }
    }
    let rendered = table.render(Some(style.columns() - INDENT.len()));
    rendered.lines().map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n").collect()
}

fn cells(line: &Line, time: String) -> [String; 10] {
    let spent = &line.spent;
    let giga = |value: Option<f64>| value.map_or(MISSING.into(), |v| significant(v / 1e9, 3));
    let flops = spent.flops.filter(|flops| *flops > 0).map(|flops| flops as f64);
    let attained = spent.attained();
    [
        line.name.clone(),
        if spent.calls > 0.0 { significant(spent.calls, 1) } else { MISSING.into() },
        time,
        line.share().map_or(MISSING.into(), percent),
        giga(flops),
        spent.bytes.map_or(MISSING.into(), bytes),
        spent.intensity().map_or(MISSING.into(), |value| significant(value, 2)),
        giga(spent.flops_per_second()),
        attained
            .filter(|_| !spent.is_kept_near())
            .map_or(MISSING.into(), |(share, _)| percent(share)),
        match attained {
            Some(_) if spent.is_kept_near() => NEAR.to_owned(),
            Some((_, bound)) => bound.to_owned(),
            None => String::new(),
        },
    ]
}

/// What the instruments cost, and how much of that certainly stands in the layers' times.
fn instruments(report: &LayerReport) -> String {
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
fn sentences(report: &LayerReport) -> Vec<String> {
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
            "{} of the time has a name without a module and was placed by what ran before and after it",
            percent(report.placed.0)
        ));
    }
    sentences.extend(report.remarks.iter().map(|remark| clean(remark)));
    sentences
}
