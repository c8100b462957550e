//! Texts, shapes and places by number, each written once.

use crate::format::put;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher, Hash},
};

/// Most texts that are kept apart; further ones share [`OTHER`].
const MOST_TEXTS: usize = 1 << 16;
/// Most shapes and places that are kept apart.
const MOST_SHAPES: usize = 1 << 18;
/// Longest text, in bytes; mangled names of kernels can reach several thousand.
pub(crate) const LONGEST: usize = 8 << 10;
/// The number of every text after the last one that is kept.
pub(crate) const OTHER: u32 = 0;

type Numbers<K> = HashMap<K, u32, BuildHasherDefault<DefaultHasher>>;

/// Numbered values, and those that are not yet in the file.
pub(crate) struct Table<K> {
    numbers: Numbers<K>,
    most: usize,
    fresh: Vec<u8>,
    fresh_count: u32,
}

impl<K: Hash + Eq + Clone> Table<K> {
    fn new(most: usize) -> Table<K> {
        Table { numbers: HashMap::default(), most, fresh: Vec::new(), fresh_count: 0 }
    }

    /// The number of a value; `write` writes it the first time.
    pub(crate) fn number<Q: Hash + Eq + ToOwned<Owned = K> + ?Sized>(
        &mut self,
        value: &Q,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> u32
    where
        K: std::borrow::Borrow<Q>,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        if self.numbers.len() >= self.most {
            return OTHER;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(value.to_owned(), number);
        put(&mut self.fresh, u64::from(number));
        write(&mut self.fresh);
        self.fresh_count += 1;
        number
    }

    /// What the file does not have yet.
    pub(crate) fn take_fresh(&mut self) -> Option<(u32, Vec<u8>)> {
        let count = std::mem::take(&mut self.fresh_count);
        (count > 0).then(|| (count, std::mem::take(&mut self.fresh)))
    }
}

/// The tables of one process.
pub(crate) struct Tables {
    pub(crate) texts: Table<Vec<u8>>,
    pub(crate) shapes: Table<[u32; 10]>,
    pub(crate) places: Table<[u32; 3]>,
}

impl Tables {
    pub(crate) fn new() -> Tables {
        Tables {
            texts: Table::new(MOST_TEXTS),
            shapes: Table::new(MOST_SHAPES),
            places: Table::new(MOST_SHAPES),
        }
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> u32 {
        let text = &text[..text.len().min(LONGEST)];
        self.texts.number(text, |out| {
            put(out, text.len() as u64);
            out.extend_from_slice(text);
        })
    }

    pub(crate) fn shape(&mut self, shape: [u32; 10]) -> u32 {
        self.shapes.number(&shape, |out| shape.iter().for_each(|part| put(out, u64::from(*part))))
    }

    pub(crate) fn place(&mut self, place: [u32; 3]) -> u32 {
        self.places.number(&place, |out| place.iter().for_each(|part| put(out, u64::from(*part))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_and_the_last_ones_share_a_number() {
        let mut tables = Tables::new();
        assert_eq!((tables.text(b"gemm"), tables.text(b"copy"), tables.text(b"gemm")), (1, 2, 1));
        assert_eq!(tables.texts.take_fresh().map(|(count, _)| count), Some(2));
        assert!(tables.texts.take_fresh().is_none());
        for number in 0..MOST_TEXTS {
            tables.text(number.to_string().as_bytes());
        }
        assert_eq!(tables.text(b"one more"), OTHER);
        assert_eq!(tables.text(b"gemm"), 1);
    }
}
