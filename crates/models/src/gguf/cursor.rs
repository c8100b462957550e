//! Reads numbers and texts from a mapped file, and never past its end.

/// The longest text that is read: no key or name of a real file comes near, chat templates have 100 kB at most.
const LONGEST_TEXT: u64 = 1 << 24;

/// What is wrong with the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The file ends before this byte.
    Ends { needed: u64 },
    /// It contradicts the format.
    Damaged(String),
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// The number of bytes that were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let needed = (self.at as u64).saturating_add(count);
        let ends = Fault::Ends { needed };
        let Ok(count) = usize::try_from(count) else { return Err(ends) };
        let taken = self.bytes[self.at..].get(..count).ok_or(ends)?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Fault> {
        let taken = self.take(SIZE as u64)?;
        Ok(taken.try_into().expect("exactly as many bytes were taken"))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length and as many bytes of UTF-8.
    pub(super) fn text(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        let length = self.u64()?;
        if length > LONGEST_TEXT {
            let why = format!("the text at byte {start} claims to be {length} bytes long");
            return Err(Fault::Damaged(why));
        }
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes)
            .map_err(|_| Fault::Damaged(format!("the text at byte {start} is not UTF-8")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_past_the_end_is_read() {
        let mut cursor = Cursor::new(&[1, 0, 0, 0, 9]);
        assert_eq!(cursor.u32(), Ok(1));
        assert_eq!(cursor.u32(), Err(Fault::Ends { needed: 8 }));
        assert_eq!(cursor.take(u64::MAX), Err(Fault::Ends { needed: u64::MAX }));
        assert_eq!((cursor.at(), cursor.remaining()), (4, 1));
    }

    #[test]
    fn a_text_without_end_and_one_that_is_no_text_are_damage() {
        let endless = u64::MAX.to_le_bytes();
        assert!(matches!(Cursor::new(&endless).text(), Err(Fault::Damaged(_))));
        let mut bytes = 2u64.to_le_bytes().to_vec();
        bytes.extend([0xff, 0xfe]);
        assert!(matches!(Cursor::new(&bytes).text(), Err(Fault::Damaged(_))));
    }
}
