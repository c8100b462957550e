//! Training beside inference: cost of a training step, and where it goes.

use super::{
    csv::comparisons_data,
    document::comparisons_json,
    remarks,
    result::{place, title},
    words::{factor, name},
};
use crate::clean::clean;
use crate::result::{Block, Fact, Note, ResultDocument};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, bytes_column, durations_column, rate};
use types::{ComparisonReport, Mode, Phase, SideInfo, SideReport};

const PHASES: [Phase; 4] = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];

/// A remark about a pair.
type Part<'a> = &'a dyn Fn(&ComparisonReport) -> String;

/// Pairs, each an inference and a training of the same thing, whatever else they differ in, as a result.
#[must_use]
pub fn modes_document(pairs: &[ComparisonReport]) -> ResultDocument {
    let Some(first) = pairs.first() else { return ResultDocument::default() };
    let mut notes: Vec<Note> = Vec::new();
    for note in pairs.iter().flat_map(remarks::notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let design = Fact { label: "design".into(), pieces: remarks::design(first), ..Fact::default() };
    ResultDocument {
        title: title(first),
        facts: shared(pairs),
        blocks: vec![
            Block::table("cost of a training step", times(pairs)),
            Block::table("where a step goes", phases(pairs)),
            Block::table("throughput and memory", rates(pairs)),
            Block::Facts(vec![design]),
            Block::Notes(notes),
        ],
        json: comparisons_json(pairs),
        data: Some(comparisons_data(pairs)),
        ..ResultDocument::default()
    }
}

fn side(pair: &ComparisonReport, mode: Mode) -> Option<&SideReport> {
    pair.sides.iter().find(|side| side.info.mode == mode)
}

fn median(pair: &ComparisonReport, mode: Mode) -> Option<f64> {
    Some(side(pair, mode)?.latency.as_ref()?.median)
}

/// Whether the pairs differ in this.
fn differ(pairs: &[ComparisonReport], of: Part<'_>) -> bool {
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
    let facts: [Part<'_>; 4] = [&batch, &length, &precision, &device];
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
        let mut parts: Vec<Part<'_>> = vec![&engine];
        let rest: [(Part<'_>, Column); 4] = [
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
fn times(pairs: &[ComparisonReport]) -> Grid {
    let Names(names, mut columns) = Names::of(pairs);
    columns.extend([Column::right("inference"), Column::right("a step"), Column::left("costs")]);
    let seconds = |mode: Mode| {
        durations_column(&pairs.iter().map(|pair| median(pair, mode)).collect::<Vec<_>>())
    };
    let (inference, training) = (seconds(Mode::Inference), seconds(Mode::Training));
    let mut grid = Grid::of(columns);
    for (at, pair) in pairs.iter().enumerate() {
        let mut cells = names[at].clone();
        let comparison = side(pair, Mode::Training).and_then(|s| pair.comparison(&s.info.label));
        cells.extend([
            inference[at].clone(),
            training[at].clone(),
            comparison.map_or_else(|| MISSING.into(), factor),
        ]);
        grid.row(cells);
    }
    grid
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
fn phases(pairs: &[ComparisonReport]) -> Grid {
    let Names(names, mut columns) = Names::of(pairs);
    columns.extend(PHASES.map(|phase| Column::right(phase.name())));
    let of = |pair: &ComparisonReport, phase: Phase| {
        let phases = &side(pair, Mode::Training)?.info.phases;
        phases.iter().find(|(known, _)| *known == phase).map(|(_, seconds)| seconds.0)
    };
    let times = PHASES.map(|phase| {
        durations_column(&pairs.iter().map(|pair| of(pair, phase)).collect::<Vec<_>>())
    });
    let mut grid = Grid::of(columns);
    for (at, mut cells) in names.into_iter().enumerate() {
        cells.extend(times.iter().map(|column| column[at].clone()));
        grid.row(cells);
    }
    grid
}

/// How much goes through a second, and what it takes in memory.
fn rates(pairs: &[ComparisonReport]) -> Grid {
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
    let mut grid = Grid::of(columns);
    for (at, mut cells) in names.into_iter().enumerate() {
        cells.extend([Mode::Inference, Mode::Training].map(|mode| samples(&pairs[at], mode)));
        cells.extend(memory.iter().map(|column| column[at].clone()));
        grid.row(cells);
    }
    grid
}
