//! Rows of CSV become runs; the columns may stand in any order, and others beside them are passed over.

use super::{csv_out::unguard, flat::Cell, row::Row};
use crate::Problem;
use std::io::Read;
use types::Run;

/// The columns without which a row is no run.
const NEEDED: [&str; 3] = ["run_id", "model", "engine"];

/// The runs of all rows.
pub(crate) fn read<'a, R: Read + 'a>(
    file: &str,
    input: R,
) -> Result<impl Iterator<Item = Result<Run, Problem>> + use<'a, R>, Problem> {
    let file = file.to_owned();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input);
    let header = reader.headers().map_err(|error| complain(&error))?.clone();
    let names: Vec<String> =
        header.iter().map(|name| name.trim().trim_start_matches('\u{feff}').to_owned()).collect();
    if let Some(missing) = NEEDED.iter().find(|needed| !names.iter().any(|name| name == *needed)) {
        return Err(Problem::line(
            1,
            format!("has no column `{missing}`: is it an export of Modelmeter?"),
        ));
    }
    Ok(reader.into_records().map(move |record| {
        let record = record.map_err(|error| complain(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != names.len() {
            let what = format!("has {} cells, the header has {}", record.len(), names.len());
            return Err(Problem::line(line, what));
        }
        let cells = names.iter().zip(record.iter()).filter(|(_, cell)| !cell.is_empty());
        let cells = cells
            .map(|(name, cell)| (name.clone(), Cell::Text(unguard(cell).to_owned())))
            .collect();
        Row { line, cells, samples: Vec::new() }.run(&file)
    }))
}

fn complain(error: &csv::Error) -> Problem {
    let line = error.position().map_or(1, csv::Position::line);
    Problem::line(line, error.to_string())
}
