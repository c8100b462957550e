//! Text as the numbers that a model takes.

/// A batch of token ids, row by row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encoded {
    /// Token ids, `batch × length`.
    pub ids: Vec<i64>,
    /// 1 for a real token, 0 for padding.
    pub mask: Vec<i64>,
    /// Segment ids.
    pub types: Vec<i64>,
    /// Tokens in each row, padding included.
    pub length: usize,
    /// Real tokens in all rows.
    pub tokens: usize,
    /// Padding in all rows.
    pub padding: usize,
    /// Tokens in all rows that were cut off because they did not fit.
    pub cut: usize,
}
