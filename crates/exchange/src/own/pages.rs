//! The headers of a Parquet file's pages, read before its pages are: a header of twenty bytes may promise gigabytes, and
//! the library takes its word.
//!
//! Headers are Thrift structs in the compact protocol. Only sizes and counts are read; the rest is passed over.

use crate::{Problem, bounds};
use parquet::{
    basic::Type,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        reader::ChunkReader,
    },
};

/// Headers that hold no long statistics fit here; others are read again with more room.
const WINDOWS: [u64; 2] = [1 << 12, 1 << 20];
/// Structs in structs; a header has three levels.
const DEPTH: u8 = 4;

/// Kinds of fields, as the protocol numbers them.
const I32: u8 = 5;
const STRUCT: u8 = 12;

/// Kinds of pages, as the format numbers them.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;

/// What a page's header promises.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    kind: i64,
    /// Bytes after decompression.
    size: i64,
    /// Bytes in the file.
    stored: i64,
    /// Values in it, those that are null too.
    values: i64,
    /// Bytes of the header itself.
    length: u64,
}

/// Refuses a file whose pages would take more memory than [`bounds`] allows, before one of them is read.
pub(super) fn check(facts: &ParquetMetaData, input: &impl ChunkReader) -> Result<(), Problem> {
    let mut pages = 0;
    for group in facts.row_groups() {
        let (mut together, mut dictionaries) = (0, 0);
        for column in group.columns() {
            let found = walk(column, input, &mut pages)?;
            together += found.dictionary + found.largest;
            dictionaries += found.dictionary_values;
            if column.column_descr().max_rep_level() > 0 && found.values > bounds::LISTED {
                let most = bounds::LISTED;
                let what = format!(
                    "has lists of {} values in one group; the limit is {most}: \
                     write smaller row groups, or export as jsonl",
                    found.values
                );
                return Err(complain(column, &what));
            }
        }
        if together > bounds::PAGES || dictionaries > bounds::DICTIONARIES {
            let what = format!(
                "has pages that take {} together, or dictionaries of {dictionaries} values: the most that \
                 is read is {} and {} values; write smaller pages",
                number::mebibytes(together),
                number::mebibytes(bounds::PAGES),
                bounds::DICTIONARIES
            );
            return Err(Problem::file(what));
        }
    }
    Ok(())
}

/// What the pages of one column of one group need.
#[derive(Default)]
struct Needs {
    dictionary: u64,
    dictionary_values: u64,
    largest: u64,
    values: u64,
}

fn walk(
    column: &ColumnChunkMetaData,
    input: &impl ChunkReader,
    pages: &mut usize,
) -> Result<Needs, Problem> {
    // That both lie inside the file was seen before.
    let (mut place, length) = column.byte_range();
    let end = place + length;
    let mut needs = Needs::default();
    while place < end {
        *pages += 1;
        if *pages > bounds::PAGE_COUNT {
            let what = format!("has more than {} pages: split it", bounds::PAGE_COUNT);
            return Err(Problem::file(what));
        }
        let damaged = || complain(column, "is damaged: a page of it has no valid header");
        let header = header(input, place, end).ok_or_else(damaged)?;
        let positive = |number: i64| u64::try_from(number).map_err(|_| damaged());
        let (size, stored) = (positive(header.size)?, positive(header.stored)?);
        if size > bounds::PAGE {
            let what = format!(
                "has a page of {}; the limit is {}: write smaller pages",
                number::mebibytes(size),
                number::mebibytes(bounds::PAGE)
            );
            return Err(complain(column, &what));
        }
        let values = positive(header.values)?;
        match header.kind {
            DICTIONARY if values.saturating_mul(width(column)) > size => {
                let what =
                    format!("is damaged: a dictionary of {size} bytes cannot hold {values} values");
                return Err(complain(column, &what));
            }
            DICTIONARY => {
                needs.dictionary = needs.dictionary.max(size);
                needs.dictionary_values += values;
            }
            DATA | DATA_V2 => {
                needs.largest = needs.largest.max(size);
                needs.values += values;
            }
            _ => {}
        }
        place = place.saturating_add(header.length).saturating_add(stored);
    }
    Ok(needs)
}

/// The fewest bytes that a value of a dictionary has in the file.
fn width(column: &ColumnChunkMetaData) -> u64 {
    match column.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        // A length stands before each.
        Type::BYTE_ARRAY => 4,
        Type::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(column.column_descr().type_length()).unwrap_or(1).max(1)
        }
    }
}

fn complain(column: &ColumnChunkMetaData, what: &str) -> Problem {
    Problem::field(column.column_path().string(), what)
}

fn header(input: &impl ChunkReader, place: u64, end: u64) -> Option<Header> {
    WINDOWS.iter().find_map(|window| {
        let room = usize::try_from((end - place).min(*window)).ok()?;
        let bytes = input.get_bytes(place, room).ok()?;
        Cursor { rest: &bytes, whole: bytes.len() }.header()
    })
}

/// A place in a struct of the compact protocol.
struct Cursor<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl Cursor<'_> {
    fn header(mut self) -> Option<Header> {
        let mut header = Header::default();
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, I32) => header.kind = self.number()?,
                (2, I32) => header.size = self.number()?,
                (3, I32) => header.stored = self.number()?,
                // A checksum.
                (4, I32) => self.number().map(|_| ())?,
                (5, STRUCT) => header.values = header.values.max(self.count(4, 5)?),
                (7, STRUCT) => header.values = header.values.max(self.count(2, 0)?),
                (8, STRUCT) => header.values = header.values.max(self.count(6, 8)?),
                _ => return None,
            }
        }
        header.length = (self.whole - self.rest.len()) as u64;
        Some(header)
    }

    /// The count in the header of a kind of pages: so many numbers, the count first, perhaps a flag, and perhaps
    /// statistics. What the format does not have is refused: the library may take it for something else than we.
    fn count(&mut self, numbers: i64, statistics: i64) -> Option<i64> {
        let (mut id, mut count) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, I32) => count = self.number()?,
                (id, I32) if (2..=numbers).contains(&id) => self.number().map(|_| ())?,
                (id, 1 | 2) if id == numbers + 1 => {}
                (id, STRUCT) if id == statistics => self.pass_over(STRUCT, DEPTH)?,
                _ => return None,
            }
        }
        Some(count)
    }

    /// The kind of the next field; `None` inside where the struct ends.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => self.number()?,
            step => id.checked_add(i64::from(step))?,
        };
        Some(Some(byte & 0x0f))
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number of 32 bits, as all are in these headers.
    fn number(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        let number = (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed();
        i32::try_from(number).ok().map(i64::from)
    }

    fn pass_over(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // A flag is in its field's own byte.
            1 | 2 => Some(()),
            3 => self.bytes(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.bytes(8),
            8 => self.varint().and_then(|length| self.bytes(length)),
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.pass_over(kind, depth)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Header> {
        Cursor { rest: bytes, whole: bytes.len() }.header()
    }

    #[test]
    fn sizes_and_counts_are_found_whatever_lies_around_them() {
        // A dictionary page: 7 = { 1: 3 values, 2: encoding 0 }.
        let bytes = [0x15, 0x04, 0x15, 0x20, 0x15, 0x1e, 0x4c, 0x15, 0x06, 0x15, 0x00, 0, 0, 9, 9];
        let wanted = Header { kind: DICTIONARY, size: 16, stored: 15, values: 3, length: 13 };
        assert_eq!(read(&bytes), Some(wanted));
        // A data page with statistics: 5 = { 1: 2 values, …, 5: { 1: "ab" } }.
        let bytes = [
            0x15, 0x00, 0x15, 0x20, 0x15, 0x1e, 0x2c, 0x15, 0x04, 0x4c, 0x18, 0x02, 0x61, 0x62, 0,
            0, 0,
        ];
        let wanted = Header { kind: DATA, size: 16, stored: 15, values: 2, length: 17 };
        assert_eq!(read(&bytes), Some(wanted));
    }

    #[test]
    fn a_header_that_is_none_is_nothing_and_no_panic() {
        for seed in 0..20_000u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state as u8
                })
                .collect();
            let _ = read(&bytes);
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x1c; 64]), None);
    }
}
