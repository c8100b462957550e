//! The models' tokenizers behind the worker's socket.

use engine::{Encoded, Tokeniser};
use std::path::Path;

struct FileTokeniser(models::Tokeniser);

impl Tokeniser for FileTokeniser {
    fn encode(&self, texts: &[String], length: Option<usize>) -> Result<Encoded, String> {
        let encoded = self.0.encode(texts, texts.len(), length).map_err(|error| spell(&error))?;
        let models::Encoded { ids, mask, types, length, .. } = encoded;
        Ok(Encoded { ids, mask, types, length })
    }

    fn decode(&self, tokens: &[i64]) -> Result<String, String> {
        self.0.decode(tokens).map_err(|error| spell(&error))
    }
}

/// Opens a tokenizer file for the worker.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Tokeniser>, String> {
    let tokeniser = models::Tokeniser::load(path).map_err(|error| spell(&error))?;
    Ok(Box::new(FileTokeniser(tokeniser)))
}

/// An error with its causes in one line, for the wire.
fn spell(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", spell(source)),
        None => error.to_string(),
    }
}
