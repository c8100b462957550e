//! The way out: runs one after the other, so that a million of them need no more memory than a few thousand.

use super::{csv_out, json_lines, parquet_out::ParquetOut};
use crate::{Format, WriteError};
use std::{borrow::Borrow, io::Write};
use types::Run;

/// Writes runs one after the other; nothing is complete before [`Writer::finish`].
pub struct Writer<W: Write + Send> {
    kind: Kind<W>,
    written: u64,
}

enum Kind<W: Write + Send> {
    JsonLines(W),
    Csv(Box<csv::Writer<W>>),
    Parquet(Box<ParquetOut<W>>),
}

impl<W: Write + Send> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Writer of {} runs", self.written)
    }
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Where the format is another tool's, or the output fails.
    pub fn new(format: Format, out: W) -> Result<Writer<W>, WriteError> {
        let kind = match format {
            Format::JsonLines => Kind::JsonLines(out),
            Format::Csv => {
                let mut out =
                    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
                csv_out::header(&mut out)?;
                Kind::Csv(Box::new(out))
            }
            Format::Parquet => Kind::Parquet(Box::new(ParquetOut::new(out)?)),
            other => return Err(WriteError::ReadOnly(other)),
        };
        Ok(Writer { kind, written: 0 })
    }

    /// One run more.
    ///
    /// # Errors
    /// Where the output fails, or the run could not be read back.
    pub fn push(&mut self, run: &Run) -> Result<(), WriteError> {
        match &mut self.kind {
            Kind::JsonLines(out) => json_lines::write(run, out)?,
            Kind::Csv(out) => csv_out::row(run, out)?,
            Kind::Parquet(out) => out.push(run)?,
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the file; says how many runs are in it.
    ///
    /// # Errors
    /// Where the output fails.
    pub fn finish(self) -> Result<u64, WriteError> {
        match self.kind {
            Kind::JsonLines(mut out) => out.flush()?,
            Kind::Csv(mut out) => out.flush()?,
            Kind::Parquet(out) => out.finish()?,
        }
        Ok(self.written)
    }
}

/// Writes all runs in one of our formats; says how many.
///
/// # Errors
/// Where the format is another tool's, the output fails, or a run could not be read back.
pub fn write<R: Borrow<Run>>(
    format: Format,
    runs: impl IntoIterator<Item = R>,
    out: impl Write + Send,
) -> Result<u64, WriteError> {
    let mut writer = Writer::new(format, out)?;
    for run in runs {
        writer.push(run.borrow())?;
    }
    writer.finish()
}
