//! Rows of CSV become runs; the columns may stand in any order, and others beside them are passed over.

use super::{csv_out::unguard, flat::Cell, row::Row};
use crate::{Problem, table::Table};
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
    let table = Table::new(input)?;
    let names = table.names.clone();
    if let Some(missing) = NEEDED.iter().find(|needed| !names.iter().any(|name| name == *needed)) {
        return Err(Problem::line(
            1,
            format!("has no column `{missing}`: is it an export of Modelmeter?"),
        ));
    }
    Ok(table.map(move |record| {
        let (line, record) = record?;
        let cells = names.iter().zip(record.iter()).filter(|(_, cell)| !cell.is_empty());
        let cells = cells
            .map(|(name, cell)| (name.clone(), Cell::Text(unguard(cell).to_owned())))
            .collect();
        Row { line, cells, samples: Vec::new() }.run(&file)
    }))
}
