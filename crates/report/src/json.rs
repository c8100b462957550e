//! Runs as JSON: one document, an array, or one document a line.

use crate::document::RunDocument;
use serde_json::Value;
use std::io::{self, Write};
use types::Run;

/// What to put into the document beside the derived numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonOptions {
    /// Whether the raw samples come along, under `samples_ns`.
    pub samples: bool,
}

/// The run as a JSON value of `modelmeter.run/1`; keys keep the order of the document.
#[must_use]
pub fn run_json(run: &Run, options: JsonOptions) -> Value {
    serde_json::to_value(RunDocument::new(run, options))
        .expect("a document is strings, numbers, lists and maps with string keys")
}

/// Writes one run as one indented document, and several as an array of documents.
///
/// # Errors
/// Where the writer fails.
pub fn write_json(runs: &[Run], options: JsonOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut documents: Vec<RunDocument<'_>> =
        runs.iter().map(|run| RunDocument::new(run, options)).collect();
    match (documents.len(), documents.pop()) {
        (1, Some(only)) => serde_json::to_writer_pretty(&mut *out, &only)?,
        (_, last) => {
            documents.extend(last);
            serde_json::to_writer_pretty(&mut *out, &documents)?;
        }
    }
    writeln!(out)
}

/// Writes each run as one document on one line.
///
/// # Errors
/// Where the writer fails.
pub fn write_json_lines(runs: &[Run], options: JsonOptions, out: &mut dyn Write) -> io::Result<()> {
    for run in runs {
        serde_json::to_writer(&mut *out, &RunDocument::new(run, options))?;
        writeln!(out)?;
    }
    Ok(())
}
