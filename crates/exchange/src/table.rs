//! Rows of CSV, ours and other tools', none of which may be endless.

use crate::{
    Problem,
    bounds::{COLUMNS, ROW},
};
use csv::{Position, StringRecord};
use std::{
    cell::Cell,
    io::{self, Read},
    rc::Rc,
};

/// A table: its header is read, its rows come one by one.
pub(crate) struct Table<R: Read> {
    /// The names of its columns.
    pub(crate) names: Vec<String>,
    reader: csv::Reader<Bounded<R>>,
    allowed: Rc<Cell<u64>>,
    ended: bool,
}

impl<R: Read> Table<R> {
    /// Reads the header.
    pub(crate) fn new(input: R) -> Result<Table<R>, Problem> {
        let allowed = Rc::new(Cell::new(ROW));
        let bounded = Bounded { input, allowed: Rc::clone(&allowed) };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bounded);
        let header = reader.headers().map_err(|error| complain(&error))?;
        if header.len() > COLUMNS {
            return Err(Problem::line(1, format!("has more than {COLUMNS} columns")));
        }
        let name = |name: &str| name.trim().trim_start_matches('\u{feff}').to_owned();
        let names = header.iter().map(name).collect();
        Ok(Table { names, reader, allowed, ended: false })
    }
}

impl<R: Read> Iterator for Table<R> {
    type Item = Result<(u64, StringRecord), Problem>;

    /// A row and its line. One that cannot be read does not end the table, unless it is because nothing can.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.allowed.set(ROW);
        let mut record = StringRecord::new();
        match self.reader.read_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let line = record.position().map_or(0, Position::line);
                let (found, wanted) = (record.len(), self.names.len());
                if found != wanted {
                    let what = format!("has {found} cells, the header has {wanted}");
                    return Some(Err(Problem::line(line, what)));
                }
                Some(Ok((line, record)))
            }
            Err(error) => {
                self.ended = error.is_io_error();
                Some(Err(complain(&error)))
            }
        }
    }
}

fn complain(error: &csv::Error) -> Problem {
    let line = error.position().map_or(1, Position::line);
    Problem::line(line, error.to_string())
}

/// Gives no more than is allowed for one row.
struct Bounded<R> {
    input: R,
    allowed: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let allowed = self.allowed.get();
        if allowed == 0 {
            let why = format!(
                "a row is longer than the limit of {}; the rest was not read",
                number::mebibytes(ROW)
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let room = usize::try_from(allowed).unwrap_or(usize::MAX).min(into.len());
        let count = self.input.read(&mut into[..room])?;
        self.allowed.set(allowed - count as u64);
        Ok(count)
    }
}
