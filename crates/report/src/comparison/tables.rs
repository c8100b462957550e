//! The tables of a comparison: what most people ask first, then how the times scatter.

use super::words::{name, range, verdict};
use crate::result::Block;
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, Spread, TimeUnit, bytes_column, decimals_for, durations_column, fixed};
use types::{ComparisonReport, SideReport, Summary};

/// One table where there is room, two below each other where there is not.
pub(super) fn table(report: &ComparisonReport) -> Block {
    let rows = Rows::of(report);
    let (first, more) = (rows.first_columns(&report.baseline), rows.more_columns());
    let engine = || Column::left("engine").shrinks();
    let mut whole = Grid::of(first.iter().chain(&more).cloned());
    let mut upper = Grid::of(first);
    let mut lower = Grid::of(std::iter::once(engine()).chain(more));
    for at in 0..rows.names.len() {
        let (first, more) = (rows.first_cells(at), rows.more_cells(at));
        lower.row(std::iter::once(rows.names[at].clone()).chain(more.iter().cloned()));
        upper.row(first.clone());
        whole.row(first.into_iter().chain(more));
    }
    Block::Table { name: "sides".into(), grid: whole, narrower: vec![vec![upper, lower]] }
}

/// The cells of every side for other media: name, median, verdict, memory, load, mean, range, first run.
pub(crate) fn rows(report: &ComparisonReport) -> Vec<Vec<String>> {
    let rows = Rows::of(report);
    let columns = [
        &rows.names,
        &rows.medians,
        &rows.verdicts,
        &rows.memory,
        &rows.loads,
        &rows.means,
        &rows.ranges,
        &rows.firsts,
    ];
    let cells = |at: usize| columns.iter().map(|column| column[at].clone()).collect();
    (0..rows.names.len()).map(cells).collect()
}

/// Every cell as text; the fastest side first, sides without times last.
struct Rows {
    names: Vec<String>,
    medians: Vec<String>,
    verdicts: Vec<String>,
    memory: Vec<String>,
    loads: Vec<String>,
    firsts: Vec<String>,
    means: Vec<String>,
    ranges: Vec<String>,
    turns: Vec<String>,
}

impl Rows {
    fn of(report: &ComparisonReport) -> Rows {
        let mut sides: Vec<&SideReport> = report.sides.iter().collect();
        let median = |side: &SideReport| side.latency.as_ref().map(|latency| latency.median);
        sides.sort_by(|left, right| {
            let seconds = |side| median(side).unwrap_or(f64::INFINITY);
            seconds(left).total_cmp(&seconds(right))
        });
        let latencies: Vec<Option<&Summary>> =
            sides.iter().map(|side| side.latency.as_ref()).collect();
        let unit = SharedUnit::of(&latencies);
        let each = |cell: &dyn Fn(&SideReport) -> String| -> Vec<String> {
            sides.iter().map(|side| cell(side)).collect()
        };
        let seconds = |of: fn(&SideReport) -> Option<f64>| -> Vec<String> {
            durations_column(&sides.iter().map(|side| of(side)).collect::<Vec<_>>())
        };
        let peaks = sides.iter().map(|side| side.info.peak_memory.map(|peak| peak.0));
        Rows {
            names: each(&|side| name(&side.info)),
            medians: seconds(|side| side.latency.as_ref().map(|latency| latency.median)),
            verdicts: each(&|side| match report.comparison(&side.info.label) {
                Some(comparison) => verdict(comparison, &side.info),
                None => MISSING.into(),
            }),
            memory: bytes_column(&peaks.collect::<Vec<_>>()),
            loads: seconds(|side| side.load.map(|load| load.0)),
            firsts: seconds(|side| side.first.map(|first| first.0)),
            means: each(&|side| unit.show(side.latency.as_ref(), "±", |of| (of.mean, of.std))),
            ranges: each(&|side| unit.show(side.latency.as_ref(), "…", |of| (of.min, of.max))),
            turns: each(&|side| {
                let comparison = report.comparison(&side.info.label);
                let speed_up = comparison.and_then(|comparison| comparison.speed_up.as_ref());
                speed_up.map_or_else(|| MISSING.into(), |found| range(found.worst, found.best))
            }),
        }
    }

    fn first_columns(&self, baseline: &str) -> Vec<Column> {
        vec![
            Column::left("engine").shrinks(),
            Column::right("median"),
            Column::left(&format!("against {baseline}")),
            Column::right("memory").leaves_late(1),
            Column::right("load").leaves_late(2),
        ]
    }

    fn first_cells(&self, at: usize) -> Vec<String> {
        [&self.names, &self.medians, &self.verdicts, &self.memory, &self.loads]
            .map(|column| column[at].clone())
            .into()
    }

    fn more_columns(&self) -> Vec<Column> {
        vec![
            Column::right("mean ± std"),
            Column::right("min … max"),
            Column::right("speed-ups").leaves_late(1),
            Column::right("first run").leaves_late(2),
        ]
    }

    fn more_cells(&self, at: usize) -> Vec<String> {
        [&self.means, &self.ranges, &self.turns, &self.firsts]
            .map(|column| column[at].clone())
            .into()
    }
}

/// The unit that two numbers of every side can share.
struct SharedUnit {
    unit: TimeUnit,
    decimals: usize,
}

impl SharedUnit {
    fn of(latencies: &[Option<&Summary>]) -> SharedUnit {
        let means = latencies.iter().flatten().map(|latency| latency.mean);
        let spread = Spread::of(means.clone(), 3);
        // One decimal is enough, unless a side is so fast that two digits of it need more.
        let fastest = spread.unit.of(means.fold(f64::INFINITY, f64::min));
        let decimals = decimals_for(fastest, 2).max(1).min(spread.decimals);
        SharedUnit { unit: spread.unit, decimals }
    }

    fn show(
        &self,
        latency: Option<&Summary>,
        sign: &str,
        of: fn(&Summary) -> (f64, f64),
    ) -> String {
        let Some(latency) = latency else { return MISSING.into() };
        let (left, right) = of(latency);
        let number = |seconds: f64| fixed(self.unit.of(seconds), self.decimals);
        format!("{} {sign} {} {}", number(left), number(right), self.unit.name())
    }
}
