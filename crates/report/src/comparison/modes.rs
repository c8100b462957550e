//! Training beside inference: what a step costs, and where it goes.

use super::{
    page::{place, title},
    remarks,
    words::{factor, name},
};
use crate::clean::clean;
use crate::number::{MISSING, bytes_column, durations_column, rate};
use crate::style::Style;
use crate::table::{Column, Table};
use crate::wrap::flow;
use types::{ComparisonReport, Mode, Phase, SideInfo, SideReport};

const INDENT: usize = 2;
const PHASES: [Phase; 4] = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];

/// Something about a pair, in words.
type Fact<'a> = &'a dyn Fn(&ComparisonReport) -> String;

/// The terminal's view of pairs, each an inference and a training of the same thing, whatever else they differ in.
#[must_use]
pub fn modes(pairs: &[ComparisonReport], style: &Style) -> String {
    let width = style.columns();
    let Some(first) = pairs.first() else { return String::new() };
    let mut lines = vec![title(first, style, width)];
    lines.extend(flow(&shared(pairs), width));
    for table in [times(pairs, style), phases(pairs, style), rates(pairs, style)] {
        lines.push(String::new());
        let table = table.render(Some(width - INDENT));
        lines.extend(table.lines().map(|line| format!("{:INDENT$}{line}", "")));
    }
    lines.push(String::new());
    lines.extend(remarks::design(first, width));
    for pair in pairs {
        let remarks = remarks::remarks(pair, style, width);
        lines.extend(remarks.into_iter().filter(|line| !lines.contains(line)).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn side(pair: &ComparisonReport, mode: Mode) -> Option<&SideReport> {
    pair.sides.iter().find(|side| side.info.mode == mode)
}

fn median(pair: &ComparisonReport, mode: Mode) -> Option<f64> {
    Some(side(pair, mode)?.latency.as_ref()?.median)
}

/// Whether the pairs differ in this.
fn differ(pairs: &[ComparisonReport], of: Fact<'_>) -> bool {
    pairs.iter().any(|pair| of(pair) != of(&pairs[0]))
}

fn precision(pair: &ComparisonReport) -> String {
    pair.sides.first().map(|side| side.info.precision.to_string()).unwrap_or_default()
}

fn device(pair: &ComparisonReport) -> String {
    pair.sides.first().map(|side| place(pair, side.info.device)).unwrap_or_default()
}

/// What all pairs have in common.
fn shared(pairs: &[ComparisonReport]) -> Vec<String> {
    let batch = |pair: &ComparisonReport| format!("batch {}", pair.batch_size);
    let length = |pair: &ComparisonReport| match pair.sequence_length {
        Some(length) => pair.model.length_words(length),
        None => String::new(),
    };
    let facts: [Fact<'_>; 4] = [&batch, &length, &precision, &device];
    let common = facts.into_iter().filter(|fact| !differ(pairs, fact));
    common.map(|fact| fact(&pairs[0])).filter(|fact| !fact.is_empty()).collect()
}

/// Who a pair is: its engine, and whatever else differs between the pairs.
struct Names(Vec<Vec<String>>, Vec<Column>);

impl Names {
    fn of(pairs: &[ComparisonReport]) -> Names {
        let engine = |pair: &ComparisonReport| {
            let info = pair.sides.first().map(|side| &side.info);
            info.map(|info| name(&SideInfo { label: info.engine.id.clone(), ..info.clone() }))
                .unwrap_or_default()
        };
        let model = |pair: &ComparisonReport| clean(&pair.model.name);
        let batch = |pair: &ComparisonReport| pair.batch_size.to_string();
        let device = |pair: &ComparisonReport| {
            pair.sides.first().map(|side| side.info.device.to_string()).unwrap_or_default()
        };
        let mut columns = vec![Column::left("engine").shrinks()];
        let mut parts: Vec<Fact<'_>> = vec![&engine];
        let rest: [(Fact<'_>, Column); 4] = [
            (&model, Column::left("model").shrinks()),
            (&device, Column::left("device")),
            (&precision, Column::left("precision")),
            (&batch, Column::right("batch")),
        ];
        for (part, column) in rest {
            if differ(pairs, part) {
                parts.push(part);
                columns.push(column);
            }
        }
        let cells = pairs.iter().map(|pair| parts.iter().map(|part| part(pair)).collect());
        Names(cells.collect(), columns)
    }
}

/// What a step costs beside an inference.
fn times(pairs: &[ComparisonReport], style: &Style) -> Table {
    let Names(names, mut columns) = Names::of(pairs);
    columns.extend([Column::right("inference"), Column::right("a step"), Column::left("costs")]);
    let seconds = |mode: Mode| {
        durations_column(&pairs.iter().map(|pair| median(pair, mode)).collect::<Vec<_>>())
    };
    let (inference, training) = (seconds(Mode::Inference), seconds(Mode::Training));
    let mut table = Table::new(columns).painted(style);
    for (at, pair) in pairs.iter().enumerate() {
        let mut cells = names[at].clone();
        let comparison = side(pair, Mode::Training).and_then(|s| pair.comparison(&s.info.label));
        cells.extend([
            inference[at].clone(),
            training[at].clone(),
            comparison.map_or_else(|| MISSING.into(), factor),
        ]);
        table.push(cells);
    }
    table
}

/// Samples that one timed thing processes: a step may take several batches in several processes.
fn samples_in(pair: &ComparisonReport, mode: Mode) -> f64 {
    let times = match (mode, side(pair, mode).and_then(|side| side.info.training)) {
        (Mode::Training, Some(training)) => {
            u64::from(training.accumulation.max(1)) * u64::from(training.world_size.max(1))
        }
        _ => 1,
    };
    pair.batch_size as f64 * times as f64
}

/// Where a step goes.
fn phases(pairs: &[ComparisonReport], style: &Style) -> Table {
    let Names(names, mut columns) = Names::of(pairs);
    columns.extend(PHASES.map(|phase| Column::right(phase.name())));
    let of = |pair: &ComparisonReport, phase: Phase| {
        let phases = &side(pair, Mode::Training)?.info.phases;
        phases.iter().find(|(known, _)| *known == phase).map(|(_, seconds)| seconds.0)
    };
    let times = PHASES.map(|phase| {
        durations_column(&pairs.iter().map(|pair| of(pair, phase)).collect::<Vec<_>>())
    });
    let mut table = Table::new(columns).painted(style);
    for (at, mut cells) in names.into_iter().enumerate() {
        cells.extend(times.iter().map(|column| column[at].clone()));
        table.push(cells);
    }
    table
}

/// How much goes through a second, and what it takes in memory.
fn rates(pairs: &[ComparisonReport], style: &Style) -> Table {
    let Names(names, mut columns) = Names::of(pairs);
    columns.extend([
        Column::right("inferred/s"),
        Column::right("trained/s"),
        Column::right("memory"),
        Column::right("in training"),
    ]);
    let peaks = |mode: Mode| {
        let peak = |pair| side(pair, mode)?.info.peak_memory.map(|peak| peak.0);
        bytes_column(&pairs.iter().map(peak).collect::<Vec<_>>())
    };
    let samples = |pair: &ComparisonReport, mode: Mode| match median(pair, mode) {
        Some(median) if median > 0.0 => rate(samples_in(pair, mode) / median),
        _ => MISSING.into(),
    };
    let memory = [peaks(Mode::Inference), peaks(Mode::Training)];
    let mut table = Table::new(columns).painted(style);
    for (at, mut cells) in names.into_iter().enumerate() {
        cells.extend([Mode::Inference, Mode::Training].map(|mode| samples(&pairs[at], mode)));
        cells.extend(memory.iter().map(|column| column[at].clone()));
        table.push(cells);
    }
    table
}
