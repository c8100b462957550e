//! Flat columns as Parquet, group by group, with the samples of the main phase as a list.

use super::flat::{Cell, Column, Kind, columns, main_phase};
use crate::WriteError;
use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::Type},
};
use std::{io::Write, sync::Arc};
use types::Run;

/// The column of the samples.
pub(crate) const SAMPLES: &str = "samples_ns";
/// The version of the columns, among the file's own facts.
const VERSION: (&str, &str) = ("modelmeter.flat", "1");
/// A group ends with so many runs…
const GROUP_RUNS: usize = 4096;
/// …or so many samples, so that memory stays bounded.
const GROUP_SAMPLES: usize = 1 << 20;

/// Holds at most one group.
pub(crate) struct ParquetOut<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: Vec<Vec<Option<Cell>>>,
    samples: Vec<Vec<i64>>,
    held: usize,
}

impl<W: Write + Send> ParquetOut<W> {
    pub(crate) fn new(out: W) -> Result<ParquetOut<W>, WriteError> {
        let version = KeyValue::new(VERSION.0.to_owned(), VERSION.1.to_owned());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("modelmeter {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![version]))
            .build();
        let writer = SerializedFileWriter::new(out, schema()?, Arc::new(properties))?;
        Ok(ParquetOut { writer, rows: Vec::new(), samples: Vec::new(), held: 0 })
    }

    pub(crate) fn push(&mut self, run: &Run) -> Result<(), WriteError> {
        self.rows.push(columns().iter().map(|column| (column.cell)(run)).collect());
        let nanos = run.samples_of(main_phase(run)).unwrap_or_default();
        self.held += nanos.len();
        self.samples
            .push(nanos.iter().map(|&nanos| i64::try_from(nanos).unwrap_or(i64::MAX)).collect());
        if self.rows.len() >= GROUP_RUNS || self.held >= GROUP_SAMPLES {
            self.end_group()?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        self.end_group()?;
        self.writer.finish()?;
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), WriteError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (at, column) in columns().iter().enumerate() {
            let cells = self.rows.iter().map(|row| row[at].as_ref());
            write_column(&mut group, column, cells)?;
        }
        write_samples(&mut group, &self.samples)?;
        group.close()?;
        (self.rows, self.samples, self.held) = (Vec::new(), Vec::new(), 0);
        Ok(())
    }
}

/// Every column may be empty; the samples are a list by Parquet's own three levels.
fn schema() -> Result<Arc<Type>, WriteError> {
    let fields: Vec<String> = columns()
        .iter()
        .map(|column| match column.kind {
            Kind::Text => format!("optional binary {} (UTF8);", column.name),
            Kind::Whole => format!("optional int64 {} (INTEGER(64,false));", column.name),
            Kind::Real => format!("optional double {};", column.name),
            Kind::Flag => format!("optional boolean {};", column.name),
            Kind::Moment => format!("optional int64 {} (TIMESTAMP(MICROS,true));", column.name),
        })
        .collect();
    let text = format!(
        "message run {{ {} optional group {SAMPLES} (LIST) {{ repeated group list {{ required int64 element; }} }} }}",
        fields.join(" ")
    );
    Ok(Arc::new(parse_message_type(&text)?))
}

fn write_column<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    cells: impl Iterator<Item = Option<&'a Cell>> + Clone,
) -> Result<(), WriteError> {
    let levels: Vec<i16> = cells.clone().map(|cell| i16::from(cell.is_some())).collect();
    let known = cells.flatten();
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    match column.kind {
        Kind::Text => {
            let values: Vec<ByteArray> = known.filter_map(as_text).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Whole | Kind::Moment => {
            let values: Vec<i64> = known.filter_map(as_whole).collect();
            writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Real => {
            let values: Vec<f64> = known.filter_map(as_real).collect();
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Flag => {
            let flags = known
                .filter_map(|cell| if let Cell::Flag(flag) = cell { Some(*flag) } else { None });
            let values: Vec<bool> = flags.collect();
            writer.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
        }
    }
    writer.close()?;
    Ok(())
}

fn as_text(cell: &Cell) -> Option<ByteArray> {
    if let Cell::Text(text) = cell { Some(ByteArray::from(text.as_str())) } else { None }
}

/// A count is kept as the same 64 bits; the schema says that they have no sign.
fn as_whole(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Whole(count) => Some(count.cast_signed()),
        Cell::Moment(micros) => Some(*micros),
        _ => None,
    }
}

fn as_real(cell: &Cell) -> Option<f64> {
    if let Cell::Real(number) = cell { Some(*number) } else { None }
}

/// A run without samples has no list; in a list the first sample begins a row and the others go on with it.
fn write_samples<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    samples: &[Vec<i64>],
) -> Result<(), WriteError> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let mut levels = Vec::new();
    let mut repeats = Vec::new();
    for nanos in samples {
        let count = nanos.len().max(1);
        levels.extend(std::iter::repeat_n(if nanos.is_empty() { 0 } else { 2 }, count));
        repeats.extend((0..count).map(|at| i16::from(at > 0)));
    }
    let values = samples.concat();
    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), Some(&repeats))?;
    writer.close()?;
    Ok(())
}
