//! The tables of an analysis: the cells of one piece of work, and how they scale.

use super::words::{Machines, Unlike, engine, exponent, extras, factor, half_width};
use crate::clean::clean;
use crate::invalid::NOT_VALID_MARK;
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, bytes_column, durations_column, joules, percent, rate};
use types::{AnalysedCell, BatchSeries, CellKey, LengthSeries, Reading};

/// Stands before a cell that nobody beats.
pub(super) const FRONT: &str = "*";

/// What stands where there is no number.
fn or_missing<T>(reading: &Reading<T>, show: impl Fn(&T) -> String) -> String {
    reading.value.as_ref().map_or_else(|| MISSING.into(), show)
}

/// The cells of one piece of work.
pub(super) fn cells(cells: &[&AnalysedCell], machines: &Machines<'_>) -> Grid {
    let unlike = Unlike::of(cells.iter().map(|one| &one.cell.key));
    let any = |holds: fn(&AnalysedCell) -> bool| cells.iter().any(|one| holds(one));
    let has_speed_up = any(|one| one.speed_up.value.is_some());
    let has_energy = any(|one| one.cell.energy.value.is_some());
    let has_efficiency = any(|one| one.cell.efficiency.value.is_some());
    let mut columns = vec![Column::left("")];
    columns.extend(unlike.machines.then(|| Column::left("machine").shrinks()));
    columns.extend([
        Column::left("device"),
        Column::left("engine").shrinks(),
        Column::left("format"),
        Column::right("batch"),
        Column::right("median"),
        Column::right("±").leaves(4),
        Column::right("p95").leaves(5),
        Column::right("samples/s"),
        Column::right("peak").leaves_late(1),
    ]);
    columns.extend(has_speed_up.then(|| Column::left("against cpu").leaves(1)));
    columns.extend(has_efficiency.then(|| Column::right("of ceiling").leaves(2)));
    columns.extend(has_energy.then(|| Column::right("a sample").leaves(3)));
    columns.push(Column::right("runs").leaves(6));
    let medians = durations_column(&each(cells, |one| Some(one.cell.latency.value)));
    let tails = durations_column(&each(cells, |one| one.cell.percentiles.p95));
    let peaks = bytes_column(&each(cells, |one| one.cell.memory.value.map(|peak| peak.0)));
    let mut grid = Grid::of(columns);
    for (at, one) in cells.iter().enumerate() {
        let (cell, key) = (&one.cell, &one.cell.key);
        let front = one.on_front.value == Some(true);
        let mark = match (cell.invalid.is_some(), front) {
            (true, _) => NOT_VALID_MARK.to_owned(),
            (false, true) => FRONT.to_owned(),
            (false, false) => String::new(),
        };
        let mut row = vec![mark];
        row.extend(unlike.machines.then(|| machines.name(&key.machine)));
        row.extend([
            key.device.to_string(),
            engine(cell, unlike),
            key.precision.to_string(),
            key.batch_size.to_string(),
            medians[at].clone(),
            half_width(&cell.latency),
            tails[at].clone(),
            or_missing(&cell.throughput, |found| rate(found.value)),
            peaks[at].clone(),
        ]);
        row.extend(has_speed_up.then(|| or_missing(&one.speed_up, factor)));
        row.extend(has_efficiency.then(|| or_missing(&cell.efficiency, |share| percent(*share))));
        row.extend(has_energy.then(|| or_missing(&cell.energy, |found| joules(found.value))));
        row.push(cell.runs.len().to_string());
        grid.row(row);
    }
    grid
}

/// The best batch of each way to run.
pub(super) fn batches(series: &[&BatchSeries], machines: &Machines<'_>) -> Grid {
    let way = Way::of(series.iter().map(|one| &one.best), machines);
    let mut grid = Grid::of(way.columns().into_iter().chain([
        Column::right("best batch"),
        Column::right("samples/s"),
        Column::right("nearly from").leaves_late(2),
        Column::left("time ∝ batch to the").leaves_late(1),
        Column::right("of ideal").leaves_late(3),
    ]));
    for one in series {
        grid.row(way.cells(&one.best).into_iter().chain([
            one.best.batch_size.to_string(),
            rate(one.throughput.value),
            one.enough.to_string(),
            or_missing(&one.scaling, |scaling| exponent(&scaling.exponent)),
            or_missing(&one.scaling, |scaling| percent(scaling.efficiency)),
        ]));
    }
    grid
}

/// How time grows with the length.
pub(super) fn lengths(series: &[&LengthSeries], machines: &Machines<'_>) -> Grid {
    let way = Way::of(series.iter().map(|one| &one.shortest), machines);
    let mut grid = Grid::of(way.columns().into_iter().chain([
        Column::right("batch"),
        Column::right("tokens"),
        Column::left("time ∝ length to the"),
        Column::right("tokens/s kept").leaves_late(1),
    ]));
    for LengthSeries { shortest, scaling } in series {
        grid.row(way.cells(shortest).into_iter().chain([
            shortest.batch_size.to_string(),
            format!("{} … {}", scaling.from, scaling.to),
            exponent(&scaling.exponent),
            percent(scaling.efficiency),
        ]));
    }
    grid
}

/// The columns that say how something ran.
struct Way<'a> {
    unlike: Unlike,
    machines: &'a Machines<'a>,
}

impl<'a> Way<'a> {
    fn of<'k>(
        keys: impl Iterator<Item = &'k CellKey> + Clone,
        machines: &'a Machines<'a>,
    ) -> Way<'a> {
        Way { unlike: Unlike::of(keys), machines }
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::left("")];
        columns.extend(self.unlike.machines.then(|| Column::left("machine").shrinks()));
        let rest =
            [Column::left("device"), Column::left("engine").shrinks(), Column::left("format")];
        columns.extend(rest);
        columns
    }

    fn cells(&self, key: &CellKey) -> Vec<String> {
        let mut cells = vec![String::new()];
        cells.extend(self.unlike.machines.then(|| self.machines.name(&key.machine)));
        let mut name = vec![clean(&key.engine)];
        name.extend(extras(key, self.unlike));
        cells.extend([key.device.to_string(), name.join(", "), key.precision.to_string()]);
        cells
    }
}

fn each<T>(cells: &[&AnalysedCell], of: impl Fn(&AnalysedCell) -> T) -> Vec<T> {
    cells.iter().map(|one| of(one)).collect()
}
