//! The formats runs can be written in; help, docs and tests walk this one list.

use crate::csv::write_csv;
use crate::json::{JsonOptions, write_json, write_json_lines};
use crate::style::Style;
use crate::summary::{Footer, summary};
use std::io::{self, Write};
use types::Run;

/// A way to write runs to a file or a pipe.
pub trait Format: Sync {
    /// Its name in arguments: `csv`.
    fn id(&self) -> &'static str;

    /// The ending of its files, without the dot.
    fn extension(&self) -> &'static str;

    /// What it is, in one line.
    fn describe(&self) -> &'static str;

    /// Writes the runs, in order.
    ///
    /// # Errors
    /// Where the writer fails.
    fn write(&self, runs: &[Run], out: &mut dyn Write) -> io::Result<()>;
}

/// Every format.
pub const RUN_FORMATS: &[&dyn Format] = &[&Json, &JsonLines, &Csv, &Text];

/// The format with this id.
#[must_use]
pub fn format_by_id(id: &str) -> Option<&'static dyn Format> {
    RUN_FORMATS.iter().copied().find(|format| format.id() == id)
}

struct Json;

impl Format for Json {
    fn id(&self) -> &'static str {
        "json"
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn describe(&self) -> &'static str {
        "one `modelmeter.run/1` document, or an array of them for several runs"
    }

    fn write(&self, runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
        write_json(runs, JsonOptions::default(), out)
    }
}

struct JsonLines;

impl Format for JsonLines {
    fn id(&self) -> &'static str {
        "jsonl"
    }

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn describe(&self) -> &'static str {
        "one `modelmeter.run/1` document a line"
    }

    fn write(&self, runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
        write_json_lines(runs, JsonOptions::default(), out)
    }
}

struct Csv;

impl Format for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn describe(&self) -> &'static str {
        "one row a run, units in the column names"
    }

    fn write(&self, runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
        write_csv(runs, out)
    }
}

struct Text;

impl Format for Text {
    fn id(&self) -> &'static str {
        "text"
    }

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn describe(&self) -> &'static str {
        "the summary of each run as the terminal shows it, 80 columns, no colour"
    }

    fn write(&self, runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
        for (index, run) in runs.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            out.write_all(summary(run, &Style::default(), Footer::None).as_bytes())?;
        }
        Ok(())
    }
}
