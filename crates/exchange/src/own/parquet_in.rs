//! Rows of Parquet become runs, group by group; columns may stand in any order, and others beside them are passed over.

use super::{flat::Cell, pages, parquet_out::SAMPLES, row::Row};
use crate::{Problem, bounds};
use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::{
        metadata::ParquetMetaData,
        reader::{ChunkReader, FileReader, Length},
        serialized_reader::SerializedFileReader,
    },
    record::{Field, Row as Record, reader::RowIter},
};
use std::sync::Arc;
use types::{Run, caught};

/// The columns without which a row is no run.
const NEEDED: [&str; 3] = ["run_id", "model", "engine"];

/// The runs of all rows.
pub(crate) fn read<R: ChunkReader + 'static>(
    file: &str,
    input: R,
) -> Result<impl Iterator<Item = Result<Run, Problem>> + use<R>, Problem> {
    let file = file.to_owned();
    let input = Shared(Arc::new(input));
    let reader = guarded(|| SerializedFileReader::new(input.clone())).map_err(Problem::file)?;
    check(reader.metadata(), input.len())?;
    pages::check(reader.metadata(), &input)?;
    let mut rows =
        guarded(|| Ok(RowIter::from_file_into(Box::new(reader)))).map_err(Problem::file)?;
    let mut line = 0;
    let mut ended = false;
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        line += 1;
        match guarded(|| rows.next().transpose()) {
            Ok(record) => Some(row(&record?, line).run(&file)),
            Err(why) => {
                // What follows in a group that is damaged is not where it seems to be.
                ended = true;
                Some(Err(Problem::line(line, format!("could not be read: {why}"))))
            }
        }
    }))
}

/// What the pages are read from, after it was looked through.
struct Shared<R>(Arc<R>);

impl<R> Clone for Shared<R> {
    fn clone(&self) -> Shared<R> {
        Shared(Arc::clone(&self.0))
    }
}

impl<R: ChunkReader> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Result<R::T, ParquetError> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// What the library says, or that it gave up: it panics on some files that are damaged.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match caught(work) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the file is damaged".into()),
    }
}

/// Needed columns are there, and every column lies inside the file.
fn check(facts: &ParquetMetaData, length: u64) -> Result<(), Problem> {
    let schema = facts.file_metadata().schema_descr().root_schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    if facts.file_metadata().schema_descr().num_columns() > bounds::COLUMNS {
        return Err(Problem::file(format!("has more than {} columns", bounds::COLUMNS)));
    }
    if let Some(missing) = NEEDED.iter().find(|needed| !names.contains(needed)) {
        let what = format!("has no column `{missing}`: is it an export of Modelmeter?");
        return Err(Problem::file(what));
    }
    for column in facts.row_groups().iter().flat_map(|group| group.columns()) {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let is_inside = start >= 0
            && column.compressed_size() >= 0
            && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= length));
        if !is_inside {
            let what = format!("is damaged: column `{}` lies outside of it", column.column_path());
            return Err(Problem::file(what));
        }
    }
    Ok(())
}

fn row(record: &Record, line: u64) -> Row {
    let mut row = Row { line, cells: std::collections::HashMap::new(), samples: Vec::new() };
    for (name, field) in record.get_column_iter() {
        if name == SAMPLES {
            row.samples = samples(field);
        } else if let Some(cell) = cell(field) {
            row.cells.insert(name.clone(), cell);
        }
    }
    row
}

fn samples(field: &Field) -> Vec<u64> {
    let Field::ListInternal(list) = field else { return Vec::new() };
    let nanos = list.elements().iter().map(|element| match element {
        Field::Long(nanos) => u64::try_from(*nanos).ok(),
        Field::ULong(nanos) => Some(*nanos),
        _ => None,
    });
    nanos.flatten().collect()
}

fn cell(field: &Field) -> Option<Cell> {
    let whole = |count: i64| match u64::try_from(count) {
        Ok(count) => Cell::Whole(count),
        Err(_) => Cell::Real(count as f64),
    };
    Some(match field {
        Field::Str(text) if text.is_empty() => return None,
        Field::Str(text) => Cell::Text(text.clone()),
        Field::Bytes(bytes) => Cell::Text(String::from_utf8_lossy(bytes.data()).into_owned()),
        Field::ULong(count) => Cell::Whole(*count),
        Field::UInt(count) => Cell::Whole(u64::from(*count)),
        Field::Long(count) => whole(*count),
        Field::Int(count) => whole(i64::from(*count)),
        Field::Double(number) => Cell::Real(*number),
        Field::Float(number) => Cell::Real(f64::from(*number)),
        Field::Bool(flag) => Cell::Flag(*flag),
        Field::TimestampMicros(micros) => Cell::Moment(*micros),
        Field::TimestampMillis(millis) => Cell::Moment(millis.saturating_mul(1000)),
        _ => return None,
    })
}
