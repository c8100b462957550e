//! `modelmeter db export`: runs out to a file, one after the other.

use crate::{
    Exit, Failure,
    arguments::{DbExport, Global},
    command::{open_existing_store, runs},
    output::{self, Out},
    terminal::{self, Stream},
};
use exchange::{Format, WriteError, Writer};
use modelmeter::Store;
use std::{
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicI32, Ordering},
};
use store::{RunRow, StoreError};

pub(super) fn run(arguments: &DbExport, global: &Global) -> Result<Exit, Failure> {
    let file = arguments.file.as_path();
    let format = format(arguments)?;
    if is_stdout(file) {
        if format == Format::Parquet && terminal::is_terminal(Stream::Output) {
            return Err(Failure::new(Exit::Wrong, "Parquet cannot be written to standard output")
                .hint("give a file, or `--format jsonl`"));
        }
    } else {
        output::check_folder(file)?;
    }
    let store = open_existing_store(global)?;
    let rows = store.runs(&runs::filter(&arguments.filter, arguments.limit))?;
    let mut export = Export { store: &store, rows, written: 0, left_out: 0, refusal: None };
    let outcome = output::to_file_with(file, |out| export.write(format, out));
    if let Some(refusal) = export.refusal {
        return Err(refusal.into());
    }
    outcome?;
    if !global.quiet && !is_stdout(file) {
        let plural = if export.written == 1 { "" } else { "s" };
        let count = report::count(export.written);
        output::complain(&format!("wrote {count} run{plural} to {}\n", file.display()));
    }
    Ok(if export.left_out > 0 { Exit::Failed } else { Exit::Fine })
}

struct Export<'a> {
    store: &'a Store,
    rows: Vec<RunRow>,
    written: u64,
    left_out: u64,
    /// The database's own, which a writer's errors cannot carry.
    refusal: Option<StoreError>,
}

impl Export<'_> {
    fn write(&mut self, format: Format, out: Out<'_>) -> io::Result<()> {
        let code = AtomicI32::new(0);
        let written = self.write_to(format, Watched { out, code: &code });
        written.map_err(|error| match code.into_inner() {
            0 => error,
            // Writers of columns wrap what happened to the file; a full disk or a closed pipe must be told as such.
            code => io::Error::from_raw_os_error(code),
        })
    }

    fn write_to(&mut self, format: Format, out: Watched<'_>) -> io::Result<()> {
        let mut writer = Writer::new(format, out).map_err(plain)?;
        // The oldest first, as they were stored.
        for row in self.rows.iter().rev() {
            let run = match self.store.run(&row.id.0) {
                Ok(run) => run,
                // Somebody deleted it meanwhile.
                Err(StoreError::NotFound { .. }) => continue,
                Err(error) => {
                    let text = error.to_string();
                    self.refusal = Some(error);
                    return Err(io::Error::other(text));
                }
            };
            match writer.push(&run) {
                Ok(()) => {}
                Err(error @ WriteError::Unwritable { .. }) => {
                    self.left_out += 1;
                    output::complain(&format!("warning: left out: {error}\n"));
                }
                Err(error) => return Err(plain(error)),
            }
        }
        self.written = writer.finish().map_err(plain)?;
        Ok(())
    }
}

/// An output that remembers what the system said when it failed.
struct Watched<'a> {
    out: Out<'a>,
    code: &'a AtomicI32,
}

impl Watched<'_> {
    fn note<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        if let Some(code) = outcome.as_ref().err().and_then(io::Error::raw_os_error) {
            self.code.store(code, Ordering::Relaxed);
        }
        outcome
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.out.write(bytes);
        self.note(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.out.flush();
        self.note(outcome)
    }
}

fn plain(error: WriteError) -> io::Error {
    match error {
        WriteError::Output(error) => error,
        other => io::Error::other(other),
    }
}

/// The format asked for, else that of the file's ending.
fn format(arguments: &DbExport) -> Result<Format, Failure> {
    if let Some(format) = arguments.format {
        return Ok(format);
    }
    if is_stdout(&arguments.file) {
        return Ok(Format::JsonLines);
    }
    let ending = arguments.file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Format::of_extension(ending).ok_or_else(|| {
        let file = arguments.file.display();
        Failure::new(Exit::Wrong, format!("`{file}` does not say in which format to write it"))
            .hint("end it in .jsonl, .csv or .parquet, or give `--format`")
    })
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}
