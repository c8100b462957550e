//! How much of a file is taken at once, and the one reader that keeps to it.
//!
//! A file of another program may be endless, or a few bytes that stand for gigabytes. Every bound here is far above what
//! real files hold and is meant to keep the memory of a reader under one or two gigabytes. Whoever meets one says it, with the way round.

use number::mebibytes;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// How many bytes of a file are read, and what to do with a larger one.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Bytes.
    pub bytes: u64,
    /// What to do instead.
    pub instead: &'static str,
}

/// A file of results that is read whole; an ONNX Runtime profile of a million events has about 200 MB.
pub const RESULTS: Bound = Bound { bytes: 256 << 20, instead: "split it into several files" };

/// A file that a person writes: a plan, prices, texts.
pub const BY_HAND: Bound = Bound { bytes: 16 << 20, instead: "split it into several files" };

/// Bytes of one line of JSON: a run with 15 million samples.
pub(crate) const LINE: u64 = 128 << 20;
/// Objects in one line of JSON; each may become a kilobyte in memory.
pub(crate) const OBJECTS: usize = 1_000_000;
/// Bytes of one row of a table.
pub(crate) const ROW: u64 = 16 << 20;
/// Columns of a table; ours has about a hundred.
pub(crate) const COLUMNS: usize = 4096;
/// Results that are held at once; a table of timm has 1,500.
pub(crate) const HELD: usize = 100_000;
/// Bytes that the results held at once have as JSON.
pub(crate) const HELD_BYTES: u64 = 256 << 20;
/// Records in a row that are none before the rest is not read, and problems of one file that are kept.
pub(crate) const PROBLEMS: usize = 1_000;
/// Bytes that the values of one JSON text may take in memory.
pub(crate) const VALUES: usize = 512 << 20;
/// Bytes of one page of Parquet without its compression; writers make pages of one megabyte.
#[cfg(feature = "parquet")]
pub(crate) const PAGE: u64 = 64 << 20;
/// Bytes of the largest pages of all columns of a group, which are in memory together.
#[cfg(feature = "parquet")]
pub(crate) const PAGES: u64 = 256 << 20;
/// Pages of one Parquet file.
#[cfg(feature = "parquet")]
pub(crate) const PAGE_COUNT: usize = 1_000_000;
/// Values in the lists of one column of a group.
#[cfg(feature = "parquet")]
pub(crate) const LISTED: u64 = 1 << 24;
/// Values in the dictionaries of a group.
#[cfg(feature = "parquet")]
pub(crate) const DICTIONARIES: u64 = 1 << 23;

/// The bytes of a file, unless there are more than the bound allows.
///
/// # Errors
/// Where it cannot be read, or is too large: then it is not read at all.
pub fn read_file(path: &Path, bound: Bound) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // A pipe has no length; it is bounded while it is read.
    if file.metadata()?.len() > bound.bytes {
        return Err(too_large(bound));
    }
    read_bytes(file, bound)
}

/// The text of a file, unless it is longer than the bound allows.
///
/// # Errors
/// As [`read_file`], and where it is not UTF-8.
pub fn read_text(path: &Path, bound: Bound) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read_file(path, bound)?).map_err(not_text)
}

/// What a stream gives until it ends, unless that is more than the bound allows.
///
/// # Errors
/// Where it cannot be read, or gives more.
pub fn read_bytes(input: impl Read, bound: Bound) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(bound.bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bound.bytes {
        return Err(too_large(bound));
    }
    Ok(bytes)
}

fn too_large(bound: Bound) -> io::Error {
    let Bound { bytes, instead } = bound;
    let why = format!("it is larger than the limit of {}: {instead}", mebibytes(bytes));
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_read_to_the_bound_and_no_further() {
        let bound = Bound { bytes: 3 << 20, instead: "stop" };
        assert_eq!(read_bytes(io::repeat(0).take(3 << 20), bound).unwrap().len(), 3 << 20);
        let error = read_bytes(io::repeat(0), bound).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than the limit of 3 MiB: stop");
        assert!(read_file(Path::new("/dev/zero"), bound).is_err());
    }
}
