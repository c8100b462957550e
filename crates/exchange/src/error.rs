//! What can go wrong with a whole file, and with one record of it.

use crate::Format;
use std::fmt;

/// Why a file as a whole could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing in it looks like a format that we know.
    #[error("`{file}` cannot be imported: {why}; known formats: {}", Format::names())]
    Unknown {
        /// The file's name.
        file: String,
        /// What it looks like instead.
        why: String,
    },
    /// It is a file of this format, but broken or empty.
    #[error("could not read `{file}` as {format}: {problem}")]
    Broken {
        /// The file's name.
        file: String,
        /// The format it was read as.
        format: Format,
        /// Where and what.
        problem: Problem,
    },
    /// It is ours, and of a kind that cannot be read back whole.
    #[error("`{file}` is a report of Modelmeter, not an export: {why}")]
    Report {
        /// The file's name.
        file: String,
        /// What to use instead.
        why: String,
    },
}

/// Why runs could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format belongs to another tool; it is only read.
    #[error("runs are not written as {0}; use jsonl, csv or parquet")]
    ReadOnly(Format),
    /// A run holds a number that the format cannot hold, so that it could not be read back.
    #[error("run `{id}` cannot be read back: {why}")]
    Unwritable {
        /// The run's name.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// The writer failed.
    #[error("could not write the runs")]
    Output(#[from] std::io::Error),
    /// This build has no Parquet.
    #[error("this build cannot write Parquet: it lacks the feature `parquet`")]
    NoParquet,
    /// The columns could not be written.
    #[cfg(feature = "parquet")]
    #[error("could not write the columns")]
    Columns(#[from] parquet::errors::ParquetError),
}

/// Where in a file something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line and a column, counted from 1.
    Line {
        /// The line.
        line: u64,
        /// The column; 0 where the whole line is meant.
        column: u64,
    },
    /// A field: `report.forward.latency.values[3]`.
    Field(String),
    /// A field in a line of a table.
    Cell {
        /// The line, counted from 1.
        line: u64,
        /// The column's name.
        column: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => f.write_str("the file"),
            Place::Line { line, column: 0 } => write!(f, "line {line}"),
            Place::Line { line, column } => write!(f, "line {line}, column {column}"),
            Place::Field(path) => write!(f, "`{path}`"),
            Place::Cell { line, column } => write!(f, "line {line}, `{column}`"),
        }
    }
}

/// Something in a file that could not be taken; everything else was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What, in plain words.
    pub what: String,
}

impl Problem {
    /// A problem with a field.
    pub(crate) fn field(path: impl Into<String>, what: impl Into<String>) -> Problem {
        Problem { place: Place::Field(path.into()), what: what.into() }
    }

    /// A problem with the file as a whole.
    pub(crate) fn file(what: impl Into<String>) -> Problem {
        Problem { place: Place::File, what: what.into() }
    }

    /// A problem with a line.
    pub(crate) fn line(line: u64, what: impl Into<String>) -> Problem {
        Problem { place: Place::Line { line, column: 0 }, what: what.into() }
    }

    /// A problem with a cell of a table.
    pub(crate) fn cell(line: u64, column: &str, what: impl Into<String>) -> Problem {
        Problem { place: Place::Cell { line, column: column.into() }, what: what.into() }
    }

    /// What the JSON reader says, with its place.
    pub(crate) fn json(error: &serde_json::Error) -> Problem {
        let (line, column) = (error.line() as u64, error.column() as u64);
        let text = error.to_string();
        // The place is said in front; the reader says it behind as well.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        let what = if error.is_eof() {
            format!("the file ends too early ({what})")
        } else {
            what.to_owned()
        };
        Problem { place: Place::Line { line, column }, what }
    }
}
