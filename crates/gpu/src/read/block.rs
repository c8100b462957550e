//! The blocks of a file, one after the other.

use gpu_inject::format::{
    BLOCK_HEAD, ERROR_AT, HEAD, Kind, LARGEST_BLOCK, MAGIC, VERSION, checksum,
};

/// A block whose content is whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) kind: Kind,
    pub(super) records: u32,
    pub(super) content: &'a [u8],
}

/// The blocks of a file.
pub(super) struct Blocks<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Blocks<'a> {
    /// The blocks, and the number of the error that ended writing; none if it is another file.
    pub(super) fn of(bytes: &'a [u8]) -> Option<(Blocks<'a>, i32)> {
        let head = bytes.get(..HEAD)?;
        if !head.starts_with(&MAGIC) || number(head, MAGIC.len())? != VERSION {
            return None;
        }
        Some((Blocks { bytes, at: HEAD }, number(head, ERROR_AT)?.cast_signed()))
    }

    /// Where the next block begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next block; `Some(None)` if it is not whole.
    pub(super) fn next(&mut self) -> Option<Option<Block<'a>>> {
        (self.at < self.bytes.len()).then(|| self.whole())
    }

    fn whole(&mut self) -> Option<Block<'a>> {
        let head = self.bytes.get(self.at..self.at.checked_add(BLOCK_HEAD)?)?;
        let kind = Kind::of(number(head, 0)?)?;
        let length = number(head, 8)? as usize;
        if length > LARGEST_BLOCK {
            return None;
        }
        let from = self.at + BLOCK_HEAD;
        let content = self.bytes.get(from..from.checked_add(length)?)?;
        if checksum(content) != number(head, 12)? {
            return None;
        }
        self.at = from + length;
        Some(Block { kind, records: number(head, 4)?, content })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
