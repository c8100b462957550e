//! Text to token ids, with the model's own tokenizer.

use crate::{Encoded, ModelError, folder::read_regular};
use std::{io, path::Path};
use tokenizers::{PaddingDirection, PostProcessor, Tokenizer, TruncationDirection};

/// The most bytes of a tokenizer that are read; the largest in use have 35 MiB.
const MOST: u64 = 256 << 20;

/// A model's tokenizer. It works on one thread, so that its time is comparable between machines.
pub struct Tokeniser {
    tokenizer: Tokenizer,
    pad: Pad,
    truncation: TruncationDirection,
}

#[derive(Clone, Copy)]
struct Pad {
    id: u32,
    kind: u32,
    direction: PaddingDirection,
}

impl Tokeniser {
    /// The text of tokens, those that stand for no text left out.
    ///
    /// # Errors
    /// Where a token is not in the vocabulary.
    pub fn decode(&self, tokens: &[i64]) -> Result<String, ModelError> {
        let known = |token: &i64| u32::try_from(*token).unwrap_or(u32::MAX);
        let ids: Vec<u32> = tokens.iter().map(known).collect();
        self.tokenizer.decode(&ids, true).map_err(ModelError::Decode)
    }

    /// Loads a `tokenizer.json`; the padding token comes from it or from the `config.json` beside it.
    pub fn load(path: &Path) -> Result<Tokeniser, ModelError> {
        let failed = |source| ModelError::Tokenizer { path: path.to_owned(), source };
        let bytes = read_regular(path, MOST).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ModelError::MissingFile { path: path.to_owned() },
            _ => ModelError::Read { path: path.to_owned(), source },
        })?;
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(failed)?;
        let pad = match tokenizer.get_padding() {
            Some(padding) => {
                Pad { id: padding.pad_id, kind: padding.pad_type_id, direction: padding.direction }
            }
            None => Pad {
                id: configured_pad(path).or_else(|| usual_pad(&tokenizer)).unwrap_or(0),
                kind: 0,
                direction: PaddingDirection::Right,
            },
        };
        let truncation = tokenizer
            .get_truncation()
            .map_or(TruncationDirection::Right, |truncation| truncation.direction);
        // Both depend on the call, not on the file.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(failed)?;
        Ok(Tokeniser { tokenizer, pad, truncation })
    }

    /// Encodes `batch` rows; texts repeat in turn. Rows are cut to `length` and padded to it, or to the longest row
    /// where there is none.
    pub fn encode(
        &self,
        texts: &[String],
        batch: usize,
        length: Option<usize>,
    ) -> Result<Encoded, ModelError> {
        if texts.is_empty() {
            return Err(ModelError::NoText);
        }
        let special = self
            .tokenizer
            .get_post_processor()
            .map_or(0, |processor| processor.added_tokens(false));
        let mut cut = 0;
        let rows = (0..batch)
            .map(|row| {
                let text = texts[row % texts.len()].as_str();
                let mut encoding = self.tokenizer.encode_fast(text, false)?;
                let whole = encoding.len() + special;
                if let Some(length) = length {
                    encoding.truncate(length.saturating_sub(special), 0, self.truncation);
                }
                let mut encoding = self.tokenizer.post_process(encoding, None, true)?;
                if let Some(length) = length {
                    // Only where not even the special tokens fit.
                    encoding.truncate(length, 0, self.truncation);
                }
                cut += whole.saturating_sub(encoding.len());
                Ok(encoding)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(ModelError::Encode)?;
        let longest = rows.iter().map(tokenizers::Encoding::len).max().unwrap_or(0).max(1);
        let length = length.unwrap_or(longest);
        let mut encoded = Encoded { length, cut, ..Encoded::default() };
        for row in &rows {
            let missing = length - row.len();
            let before = match self.pad.direction {
                PaddingDirection::Left => missing,
                PaddingDirection::Right => 0,
            };
            append(&mut encoded.ids, row.get_ids(), self.pad.id, before, length);
            append(&mut encoded.types, row.get_type_ids(), self.pad.kind, before, length);
            append(&mut encoded.mask, &vec![1; row.len()], 0, before, length);
            encoded.tokens += row.len();
            encoded.padding += missing;
        }
        Ok(encoded)
    }

    /// One above the largest token id.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }
}

/// Appends one row of `length` values, padded before and after.
fn append(all: &mut Vec<i64>, row: &[u32], pad: u32, before: usize, length: usize) {
    let end = all.len() + length;
    all.extend(std::iter::repeat_n(i64::from(pad), before));
    all.extend(row.iter().map(|&value| i64::from(value)));
    all.resize(end, i64::from(pad));
}

fn configured_pad(tokenizer: &Path) -> Option<u32> {
    let config = crate::folder::config(tokenizer.parent()?).ok()??;
    config.get("pad_token_id")?.as_u64()?.try_into().ok()
}

fn usual_pad(tokenizer: &Tokenizer) -> Option<u32> {
    ["[PAD]", "<pad>", "<|endoftext|>", "</s>"]
        .iter()
        .find_map(|token| tokenizer.token_to_id(token))
}
