//! One mapped file: its metadata by key, and where its tensors lie.

use super::{
    blocks::BlockFormat,
    cursor::{Cursor, Fault},
};
use crate::ModelError;
use memmap2::Mmap;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

/// What every file begins with.
const MAGIC: [u8; 4] = *b"GGUF";
/// Real files have a few dozen keys and, with a hundred layers, a thousand tensors.
const MOST_KEYS: u64 = 1 << 16;
const MOST_TENSORS: u64 = 1 << 18;
/// The largest vocabularies have a quarter of it.
const MOST_NUMBERS: u64 = 1 << 20;
/// The bytes in which everything but the weights must lie; real files need 30 MB at most.
const LONGEST_HEADER: usize = 256 << 20;
/// The format's own limit.
const MOST_DIMENSIONS: u32 = 4;
/// Where a file does not say how tensors are aligned.
const ALIGNMENT: u64 = 32;

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Signed(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    /// Texts, still in the file: a vocabulary has a hundred thousand.
    Texts {
        count: u64,
        place: Range<usize>,
    },
    /// Whole numbers.
    Numbers(Vec<i64>),
    /// An array that nobody here reads.
    Other,
}

/// A tensor, still in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    /// As `transformers` counts them: the last one lies together.
    pub(crate) dims: Vec<usize>,
    /// `Err` with the number of the type where it is none that is read.
    pub(crate) format: Result<BlockFormat, u32>,
    /// Empty where the format is unknown.
    pub(crate) place: Range<usize>,
}

/// A mapped file whose header was checked against its length.
pub(crate) struct Gguf {
    pub(super) path: PathBuf,
    map: Mmap,
    metadata: BTreeMap<String, Value>,
    tensors: Vec<Tensor>,
}

impl Gguf {
    pub(crate) fn open(path: &Path) -> Result<Gguf, ModelError> {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let file = graph::open_regular(path).map_err(read)?;
        // SAFETY: the file is only read; one that somebody rewrites while it is being read is broken anyway.
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        match parse(&map) {
            Ok((metadata, tensors)) => Ok(Gguf { path: path.to_owned(), map, metadata, tensors }),
            Err(Fault::Ends { needed }) => {
                let present = map.len() as u64;
                Err(ModelError::Truncated { path: path.to_owned(), needed, present })
            }
            Err(Fault::Damaged(why)) => Err(ModelError::Header { path: path.to_owned(), why }),
        }
    }

    pub(crate) fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The map, and where tensors lie in it.
    pub(crate) fn into_map(self) -> Mmap {
        self.map
    }

    pub(super) fn bytes(&self, tensor: &Tensor) -> &[u8] {
        &self.map[tensor.place.clone()]
    }

    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        match *self.value(key)? {
            Value::Number(number) => Some(number),
            Value::Signed(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match *self.value(key)? {
            Value::Float(number) => Some(number),
            Value::Number(number) => Some(number as f64),
            Value::Signed(number) => Some(number as f64),
            _ => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match *self.value(key)? {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn numbers(&self, key: &str) -> Option<&[i64]> {
        match self.value(key)? {
            Value::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// A list of texts, read when it is asked for.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<&str>> {
        let Value::Texts { count, place } = self.value(key)? else { return None };
        let mut cursor = Cursor::new(&self.map[place.clone()]);
        (0..*count).map(|_| cursor.text().ok()).collect()
    }
}

type Content = (BTreeMap<String, Value>, Vec<Tensor>);

fn parse(bytes: &[u8]) -> Result<Content, Fault> {
    match header(bytes) {
        Err(Fault::Ends { needed }) if needed <= bytes.len() as u64 => {
            let most = LONGEST_HEADER >> 20;
            Err(Fault::Damaged(format!("it is longer than {most} MiB")))
        }
        result => result,
    }
}

fn header(bytes: &[u8]) -> Result<Content, Fault> {
    let mut cursor = Cursor::new(&bytes[..bytes.len().min(LONGEST_HEADER)]);
    if cursor.array::<4>()? != MAGIC {
        return Err(Fault::Damaged("it does not begin with `GGUF`".into()));
    }
    let version = cursor.u32()?;
    match version {
        2 | 3 => {}
        _ if (2..=3).contains(&version.swap_bytes()) => {
            return Err(Fault::Damaged(
                "it is written for machines with the other byte order".into(),
            ));
        }
        _ => {
            let why = format!("it has version {version} of the format; 2 and 3 are read");
            return Err(Fault::Damaged(why));
        }
    }
    let (tensors, keys) = (cursor.u64()?, cursor.u64()?);
    for (count, most, what) in [(tensors, MOST_TENSORS, "tensors"), (keys, MOST_KEYS, "keys")] {
        if count > most {
            return Err(Fault::Damaged(format!("it claims to have {count} {what}")));
        }
    }
    let mut metadata = BTreeMap::new();
    for _ in 0..keys {
        let key = cursor.text()?.to_owned();
        let kind = cursor.u32()?;
        let value = value(&mut cursor, kind)?;
        metadata.insert(key, value);
    }
    let alignment = match metadata.get("general.alignment") {
        None => ALIGNMENT,
        Some(&Value::Number(number)) if number.is_power_of_two() && number <= 1 << 20 => number,
        Some(_) => return Err(Fault::Damaged("`general.alignment` is no power of two".into())),
    };
    let infos: Vec<Info> =
        (0..tensors).map(|_| Info::read(&mut cursor)).collect::<Result<_, _>>()?;
    let start = (cursor.at() as u64).next_multiple_of(alignment);
    let place = |info: Info| info.place(start, alignment, bytes.len() as u64);
    Ok((metadata, infos.into_iter().map(place).collect::<Result<_, _>>()?))
}

fn value(cursor: &mut Cursor<'_>, kind: u32) -> Result<Value, Fault> {
    Ok(match kind {
        0 => Value::Number(cursor.array::<1>()?[0].into()),
        1 => Value::Signed(i8::from_le_bytes(cursor.array()?).into()),
        2 => Value::Number(u16::from_le_bytes(cursor.array()?).into()),
        3 => Value::Signed(i16::from_le_bytes(cursor.array()?).into()),
        4 => Value::Number(cursor.u32()?.into()),
        5 => Value::Signed(i32::from_le_bytes(cursor.array()?).into()),
        6 => Value::Float(f32::from_le_bytes(cursor.array()?).into()),
        7 => Value::Flag(cursor.array::<1>()?[0] != 0),
        8 => Value::Text(cursor.text()?.to_owned()),
        9 => array(cursor)?,
        10 => Value::Number(cursor.u64()?),
        11 => Value::Signed(i64::from_le_bytes(cursor.array()?)),
        12 => Value::Float(f64::from_le_bytes(cursor.array()?)),
        _ => return Err(Fault::Damaged(format!("a value has the unknown type {kind}"))),
    })
}

fn array(cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
    let (kind, count) = (cursor.u32()?, cursor.u64()?);
    let smallest = match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        8 | 10..=12 => 8,
        _ => return Err(Fault::Damaged(format!("a list has elements of the type {kind}"))),
    };
    let needed = count.saturating_mul(smallest);
    if needed > cursor.remaining() as u64 {
        return Err(Fault::Ends { needed: (cursor.at() as u64).saturating_add(needed) });
    }
    if kind == 8 {
        let start = cursor.at();
        for _ in 0..count {
            cursor.text()?;
        }
        return Ok(Value::Texts { count, place: start..cursor.at() });
    }
    if matches!(kind, 6 | 12) || count > MOST_NUMBERS {
        cursor.take(needed)?;
        return Ok(Value::Other);
    }
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(match value(cursor, kind)? {
            Value::Number(number) => i64::try_from(number).unwrap_or(i64::MAX),
            Value::Signed(number) => number,
            Value::Flag(flag) => flag.into(),
            _ => unreachable!("texts, floats and lists were sorted out above"),
        });
    }
    Ok(Value::Numbers(numbers))
}

/// A tensor as the header describes it.
struct Info {
    name: String,
    dims: Vec<u64>,
    kind: u32,
    offset: u64,
}

impl Info {
    fn read(cursor: &mut Cursor<'_>) -> Result<Info, Fault> {
        let name = cursor.text()?.to_owned();
        let count = cursor.u32()?;
        if count > MOST_DIMENSIONS {
            return Err(Fault::Damaged(format!("tensor `{name}` has {count} dimensions")));
        }
        let dims = (0..count).map(|_| cursor.u64()).collect::<Result<_, _>>()?;
        Ok(Info { name, dims, kind: cursor.u32()?, offset: cursor.u64()? })
    }

    fn place(self, start: u64, alignment: u64, length: u64) -> Result<Tensor, Fault> {
        let Info { name, dims, kind, offset } = self;
        let damaged = |why: &str| Fault::Damaged(format!("tensor `{name}` {why}"));
        if !offset.is_multiple_of(alignment) {
            return Err(damaged("is not aligned"));
        }
        let format = BlockFormat::of(kind);
        let mut place = 0..0;
        // Zeros apart, so that the product of some of the dimensions overflows nowhere either.
        let mut sizes = dims.iter().filter(|size| **size > 0);
        let most = sizes
            .try_fold(1u64, |all, &size| all.checked_mul(size))
            .ok_or_else(|| damaged("is larger than any file"))?;
        if let Some(format) = format {
            let row = dims.first().copied().unwrap_or(1);
            if !row.is_multiple_of(format.elements() as u64) {
                return Err(damaged("has rows that are no whole number of blocks"));
            }
            let elements = dims.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
            let bytes = elements
                .map(|elements| elements / format.elements() as u64)
                .and_then(|blocks| blocks.checked_mul(format.bytes() as u64))
                .ok_or_else(|| damaged("is larger than any file"))?;
            let begin = start.saturating_add(offset);
            let end = begin.saturating_add(bytes);
            if end > length {
                return Err(Fault::Ends { needed: end });
            }
            // Both are at most the length of a map.
            place = begin as usize..end as usize;
        }
        // Every format has more than one bit for a number.
        if most / 8 > length {
            return Err(Fault::Ends { needed: start.saturating_add(most / 8) });
        }
        // The file counts from the innermost dimension.
        let dims = dims.iter().rev().map(|&size| usize::try_from(size).unwrap_or(usize::MAX));
        Ok(Tensor { dims: dims.collect(), format: format.ok_or(kind), place, name })
    }
}
