//! The cells of a CSV that we wrote: of `analyze --output`, or pooled from the runs of an export.

use crate::{Error, Format, Problem, bounds, import::file_name, own, table::Table};
use std::collections::{BTreeMap, HashMap};
use types::{CellKey, FileCell, Interval, Machine, Measured, Mode, Pooled, Provenance};

/// A column that only an analysis has.
const ANALYSIS: &str = "run_ids";
/// Rows of a file that are compared; each is about 500 bytes in memory.
const MOST: usize = 1_000_000;

/// The cells in a CSV of ours, to hold others against, and what could not be taken.
///
/// # Errors
/// Where it is no such file, or nothing in it could be taken.
pub fn file_cells(name: &str, bytes: &[u8]) -> Result<(Vec<FileCell>, Vec<Problem>), Error> {
    let file = file_name(name);
    let broken = |problem| Error::Broken { file: file.to_owned(), format: Format::Csv, problem };
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(header);
    let names: Vec<&str> = header
        .trim_start_matches('\u{feff}')
        .trim()
        .split(',')
        .map(|n| n.trim_matches('"'))
        .collect();
    let (cells, problems) = if names.contains(&ANALYSIS) && names.contains(&"latency_median_ms") {
        analysis(bytes).map_err(broken)?
    } else if names.contains(&"run_id") && names.contains(&"model") {
        export(file, bytes).map_err(broken)?
    } else {
        let why = "it has neither the columns of `analyze --output` nor those of `db export`";
        return Err(Error::Unknown { file: file.to_owned(), why: why.into() });
    };
    if cells.is_empty() {
        let first = problems.into_iter().next();
        return Err(broken(first.unwrap_or_else(|| Problem::file("holds no cell with a time"))));
    }
    Ok((cells, problems))
}

fn analysis(bytes: &[u8]) -> Result<(Vec<FileCell>, Vec<Problem>), Problem> {
    let table = Table::new(bytes)?;
    let header = table.names.clone();
    let (mut cells, mut problems) = (Vec::new(), Vec::new());
    for record in table {
        let taken = record.and_then(|(line, record)| {
            let row = header.iter().map(String::as_str).zip(record.iter()).collect();
            cell(&row, line)
        });
        match taken {
            Ok(cell) => cells.push(cell),
            Err(problem) => problems.push(problem),
        }
        check(cells.len(), &mut problems)?;
    }
    Ok((cells, problems))
}

/// Of each run only what its cell needs is kept.
fn export(file: &str, bytes: &[u8]) -> Result<(Vec<FileCell>, Vec<Problem>), Problem> {
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for run in own::all(Format::Csv, file, bytes)? {
        match run {
            Ok(run) => runs.push(Measured::from(&run)),
            Err(problem) => problems.push(problem),
        }
        check(runs.len(), &mut problems)?;
    }
    Ok((pooled(runs.into_iter()), problems))
}

/// Refuses what would not fit into memory; problems after the first are not kept.
fn check(rows: usize, problems: &mut Vec<Problem>) -> Result<(), Problem> {
    problems.truncate(bounds::PROBLEMS);
    if rows > MOST {
        let what = format!("has more than {MOST} rows, the limit of a comparison: split it");
        return Err(Problem::file(what));
    }
    Ok(())
}

fn cell(row: &HashMap<&str, &str>, line: u64) -> Result<FileCell, Problem> {
    let text = |column: &str| {
        let text = row.get(column).copied().unwrap_or_default();
        // As the reports guard text that a spreadsheet would take for a formula.
        let rest = text.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@']));
        rest.unwrap_or(text).to_owned()
    };
    let wrong = |column: &str| Problem::cell(line, column, format!("is `{}`", text(column)));
    let whole = |column: &str| text(column).parse::<u64>().map_err(|_| wrong(column));
    let seconds = |column: &str| {
        let millis: f64 = text(column).parse().ok()?;
        (millis > 0.0 && millis.is_finite()).then_some(millis / 1e3)
    };
    let interval = match (seconds("latency_ci95_low_ms"), seconds("latency_ci95_high_ms")) {
        (Some(low), Some(high)) if low <= high => Some(Interval { low, high }),
        _ => None,
    };
    // Written with `--include-invalid`: to be looked at, never to be held against anything.
    if text("valid") == "false" {
        return Err(Problem::cell(line, "valid", "is `false`: the cell has no valid run"));
    }
    let value = seconds("latency_median_ms").ok_or_else(|| wrong("latency_median_ms"))?;
    Ok(FileCell {
        key: CellKey {
            model: text("model"),
            random_weights: text("weights") == "random",
            mode: Mode::named(&text("mode")).unwrap_or_default(),
            sequence_length: text("sequence_length").parse().ok(),
            imported: text("provenance") == "imported",
            machine: text("machine"),
            device: text("device").parse().map_err(|_| wrong("device"))?,
            engine: text("engine"),
            precision: text("precision").parse().map_err(|_| wrong("precision"))?,
            threads: text("threads").parse().map_err(|_| wrong("threads"))?,
            variant: text("variant"),
            batch_size: whole("batch_size")?,
        },
        latency: Pooled { value, interval },
        runs: whole("runs")?,
        run_ids: text(ANALYSIS).split_whitespace().map(str::to_owned).collect(),
    })
}

/// Runs of an export as cells; they were ours before they were written, whatever the file can still say of them.
fn pooled(runs: impl Iterator<Item = Measured>) -> Vec<FileCell> {
    let mut cells: BTreeMap<CellKey, Vec<Measured>> = BTreeMap::new();
    for run in runs.filter(|run| run.valid) {
        let machine = Machine::own_key(&run.machine).to_owned();
        let key = CellKey {
            model: run.model.to_string(),
            random_weights: run.random_weights,
            mode: run.mode,
            sequence_length: run.sequence_length,
            imported: run.provenance == Provenance::Predicted,
            machine,
            device: run.device,
            engine: run.engine.to_string(),
            precision: run.precision,
            threads: run.threads,
            variant: run.variant.to_string(),
            batch_size: run.batch_size,
        };
        cells.entry(key).or_default().push(run);
    }
    let cell = |(key, runs): (CellKey, Vec<Measured>)| {
        let medians: Vec<_> =
            runs.iter().filter_map(|run| Some((run.median?, run.interval))).collect();
        Some(FileCell {
            key,
            latency: stats::pool(&medians)?,
            runs: medians.len() as u64,
            run_ids: runs.into_iter().map(|run| run.id.0).collect(),
        })
    };
    cells.into_iter().filter_map(cell).collect()
}
