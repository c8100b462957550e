//! Built without the feature `tokenizers`: text cannot be turned into tokens.

use crate::{Encoded, ModelError};
use std::path::Path;

/// A model's tokenizer; there is none in this build.
pub struct Tokeniser(std::convert::Infallible);

impl Tokeniser {
    /// Text of tokens.
    pub fn decode(&self, _tokens: &[i64]) -> Result<String, ModelError> {
        match self.0 {}
    }

    /// Loads nothing.
    ///
    /// # Errors
    /// Always.
    pub fn load(_path: &Path) -> Result<Tokeniser, ModelError> {
        Err(ModelError::TokenizersAbsent)
    }

    /// Token ids of texts.
    pub fn encode(
        &self,
        _texts: &[String],
        _batch: usize,
        _length: Option<usize>,
    ) -> Result<Encoded, ModelError> {
        match self.0 {}
    }

    /// One above the largest token id.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        match self.0 {}
    }
}
