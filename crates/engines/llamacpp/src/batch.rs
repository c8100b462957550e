//! Tokens on their way into the library.

use crate::api::RawBatch;
use std::ptr;

/// The arrays of a call; kept, so that no step allocates.
pub(crate) struct Batch {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    /// How many sequences a token belongs to: always one.
    ones: Vec<i32>,
    sequences: Vec<*mut i32>,
    is_scored: Vec<i8>,
    /// The numbers of the rows, which `sequences` points to; never changed after it was made.
    rows: Box<[i32]>,
}

impl Batch {
    pub(crate) fn new(rows: i32) -> Batch {
        Batch {
            tokens: Vec::new(),
            positions: Vec::new(),
            ones: Vec::new(),
            sequences: Vec::new(),
            is_scored: Vec::new(),
            rows: (0..rows).collect(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.ones.clear();
        self.sequences.clear();
        self.is_scored.clear();
    }

    /// Adds a token of a row.
    pub(crate) fn push(&mut self, row: usize, token: i32, position: i32, is_scored: bool) {
        self.tokens.push(token);
        self.positions.push(position);
        self.ones.push(1);
        self.sequences.push(&raw mut self.rows[row]);
        self.is_scored.push(i8::from(is_scored));
    }

    /// The place that the next token gets.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The arrays as the library takes them; valid until this changes.
    pub(crate) fn raw(&mut self) -> RawBatch {
        RawBatch {
            count: i32::try_from(self.tokens.len()).unwrap_or(i32::MAX),
            token: self.tokens.as_mut_ptr(),
            embedding: ptr::null_mut(),
            position: self.positions.as_mut_ptr(),
            sequences: self.ones.as_mut_ptr(),
            sequence: self.sequences.as_mut_ptr(),
            is_scored: self.is_scored.as_mut_ptr(),
        }
    }
}
