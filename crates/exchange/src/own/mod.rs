//! Our own formats: whole runs as JSON lines, and flat columns as CSV and Parquet.
//!
//! JSON lines lose nothing. Flat columns are for spreadsheets and data frames; what is read back from them is an import
//! with statistics alone, or with the samples of the main phase where Parquet holds them.

mod csv_in;
mod csv_out;
mod flat;
mod json_lines;
mod parquet_in;
mod parquet_out;
mod row;
mod write;

pub use flat::{Column, Kind, columns};
pub use write::{Writer, write};

use crate::{Format, Problem};
use std::{fs::File, io::BufReader};
use types::Run;

/// Runs one after the other; a record that cannot be taken does not end it.
pub type Runs = Box<dyn Iterator<Item = Result<Run, Problem>>>;

/// The runs in a file of ours, one after the other, so that a large one needs no memory of its own size.
///
/// # Errors
/// Where the file is broken as a whole, or of another tool's format: those are small, and [`crate::import`] reads them.
pub fn stream(format: Format, name: &str, file: File) -> Result<Runs, Problem> {
    let name = crate::import::file_name(name);
    match format {
        Format::JsonLines => Ok(Box::new(json_lines::read(BufReader::new(file)))),
        Format::Csv => Ok(Box::new(csv_in::read(name, BufReader::new(file))?)),
        Format::Parquet => Ok(Box::new(parquet_in::read(name, file)?)),
        _ => Err(Problem::file(format!("is {format}, which is read whole"))),
    }
}

/// The runs in the bytes of a file of ours, and what could not be taken.
pub(crate) fn read(
    format: Format,
    file: &str,
    bytes: &[u8],
) -> Result<(Vec<Run>, Vec<Problem>), Problem> {
    let all: Box<dyn Iterator<Item = Result<Run, Problem>> + '_> = match format {
        Format::JsonLines => Box::new(json_lines::read(bytes)),
        Format::Csv => Box::new(csv_in::read(file, bytes)?),
        _ => Box::new(parquet_in::read(file, bytes::Bytes::copy_from_slice(bytes))?),
    };
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for run in all {
        match run {
            Ok(run) => runs.push(run),
            Err(problem) => problems.push(problem),
        }
    }
    Ok((runs, problems))
}
