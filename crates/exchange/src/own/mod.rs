//! Our own formats: whole runs as JSON lines, and flat columns as CSV and Parquet.
//!
//! JSON lines lose nothing. Flat columns are for spreadsheets and data frames; what is read back from them is an import
//! with statistics alone, or with the samples of the main phase where Parquet holds them.

mod csv_in;
mod csv_out;
mod flat;
mod json_lines;
#[cfg(feature = "parquet")]
mod pages;
#[cfg_attr(not(feature = "parquet"), path = "parquet_in_absent.rs")]
mod parquet_in;
#[cfg_attr(not(feature = "parquet"), path = "parquet_out_absent.rs")]
mod parquet_out;
mod row;
mod write;

pub use flat::{Column, Kind, columns};
pub use json_lines::{WHOLE_RUN_SCHEMA, WholeRun};
pub use write::{Writer, write};

use crate::{Format, Problem, bounds};
use std::{
    fs::File,
    io::{self, BufReader, Read},
};
use types::Run;

/// Runs one after the other; a record that cannot be taken does not end it.
pub type Runs = Box<dyn Iterator<Item = Result<Run, Problem>>>;

/// The runs in a file of ours, one after the other, so that a large one needs no memory of its own size.
///
/// # Errors
/// Where the file is broken as a whole, or of another tool's format: those are small, and [`crate::import`] reads them.
pub fn stream(format: Format, name: &str, file: File) -> Result<Runs, Problem> {
    match format {
        Format::Parquet => {
            let name = crate::import::file_name(name);
            Ok(Box::new(patient(parquet_in::read(name, file)?)))
        }
        _ => stream_from(format, name, file),
    }
}

/// The same from a stream that cannot go back: columns of Parquet are read whole first, up to a bound.
///
/// # Errors
/// As [`stream`], and where the stream breaks or is too long.
pub fn stream_from(
    format: Format,
    name: &str,
    input: impl Read + 'static,
) -> Result<Runs, Problem> {
    let name = crate::import::file_name(name);
    let broken = |error: io::Error| Problem::file(format!("could not be read: {error}"));
    match format {
        Format::JsonLines => Ok(Box::new(patient(json_lines::read(BufReader::new(input))))),
        Format::Csv => Ok(Box::new(patient(csv_in::read(name, input)?))),
        Format::Parquet => {
            let bytes = bounds::read_bytes(input, bounds::RESULTS).map_err(broken)?;
            Ok(Box::new(patient(parquet_in::read(name, bytes::Bytes::from(bytes))?)))
        }
        _ => Err(Problem::file(format!("is {format}, which is read whole"))),
    }
}

/// Gives up where one record after the other is none: the file is of another kind, and may never end.
fn patient(
    mut records: impl Iterator<Item = Result<Run, Problem>>,
) -> impl Iterator<Item = Result<Run, Problem>> {
    let (mut in_a_row, mut ended) = (0, false);
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let record = records.next()?;
        in_a_row = if record.is_err() { in_a_row + 1 } else { 0 };
        ended = in_a_row == bounds::PROBLEMS;
        Some(record.map_err(|Problem { place, what }| match ended {
            true => {
                let count = bounds::PROBLEMS;
                let what = format!(
                    "{what}; {count} records in a row are not runs, and the rest was not read"
                );
                Problem { place, what }
            }
            false => Problem { place, what },
        }))
    })
}

/// The runs in the bytes of a file of ours, and what could not be taken.
pub(crate) fn read(
    format: Format,
    file: &str,
    bytes: &[u8],
) -> Result<(Vec<Run>, Vec<Problem>), Problem> {
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    let mut held = Length(0);
    for run in all(format, file, bytes)? {
        match run {
            Ok(run) => {
                // A row of a table may be a few bytes that stand for much text.
                let _ = serde_json::to_writer(&mut held, &run);
                runs.push(run);
            }
            Err(problem) => problems.push(problem),
        }
        if runs.len() > bounds::HELD || held.0 > bounds::HELD_BYTES {
            return Err(Problem::file(format!(
                "holds more than {} runs or {}, the most that is held at once: import it with \
                 `modelmeter db import`, which reads one run after the other",
                bounds::HELD,
                number::mebibytes(bounds::HELD_BYTES)
            )));
        }
        if problems.len() > bounds::PROBLEMS {
            problems.push(Problem::file("has more problems, and the rest was not read"));
            break;
        }
    }
    Ok((runs, problems))
}

/// The runs in the bytes of a file of ours, one after the other.
pub(crate) fn all<'a>(
    format: Format,
    file: &str,
    bytes: &'a [u8],
) -> Result<Box<dyn Iterator<Item = Result<Run, Problem>> + 'a>, Problem> {
    Ok(match format {
        Format::JsonLines => Box::new(patient(json_lines::read(bytes))),
        Format::Csv => Box::new(patient(csv_in::read(file, bytes)?)),
        _ => Box::new(patient(parquet_in::read(file, bytes::Bytes::copy_from_slice(bytes))?)),
    })
}

/// Counts what is written to it.
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
