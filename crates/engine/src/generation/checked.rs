//! A generator that is asked for nothing it cannot do: what all of them would have to check is checked here, once.

use crate::{Arena, CacheState, EngineError, EngineErrorKind, FeedLog, Generator};
use std::borrow::Cow;
use types::{DecoderDialect, Remark};

/// A generator, how much it may hold, and how much it holds.
pub(crate) struct Checked {
    inner: Box<dyn Generator>,
    dialect: DecoderDialect,
    batch: usize,
    context: usize,
    tokens: usize,
    mark: usize,
    has_scores: bool,
}

impl Checked {
    pub(super) fn new(
        inner: Box<dyn Generator>,
        dialect: DecoderDialect,
        batch: usize,
        context: usize,
    ) -> Checked {
        let batch = batch.max(1);
        Checked { inner, dialect, batch, context, tokens: 0, mark: 0, has_scores: false }
    }

    pub(crate) fn placement(&self) -> String {
        self.inner.placement()
    }

    pub(crate) fn remarks(&self) -> Vec<Remark> {
        self.inner.remarks()
    }

    pub(crate) fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        self.inner.feed_log()
    }

    pub(crate) fn arena(&self) -> Option<Result<Arena, String>> {
        self.inner.arena()
    }

    /// Whether it reads several tokens of each text at once behind others.
    pub(crate) fn reads_behind(&self) -> bool {
        self.batch == 1 || self.dialect == DecoderDialect::Standard
    }

    /// As [`Generator::feed`]; what does not fit is refused.
    pub(crate) fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let new = tokens.len() / self.batch;
        let after = self.tokens.saturating_add(new);
        if after > self.context {
            let text = format!("{after} tokens do not fit in a context of {}", self.context);
            return Err(EngineError::new(EngineErrorKind::BadInput, text));
        }
        if self.tokens > 0 && new > 1 && !self.reads_behind() {
            for place in 0..new {
                let column = tokens.chunks_exact(new).map(|row| row[place]);
                self.inner.feed(&column.collect::<Vec<i64>>())?;
            }
        } else {
            self.inner.feed(tokens)?;
        }
        (self.tokens, self.has_scores) = (after, true);
        Ok(())
    }

    /// The scores that the last feed left: `[batch, vocabulary]`.
    pub(crate) fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
        match self.has_scores {
            true => self.inner.scores(),
            false => Err(EngineError::new(EngineErrorKind::Failed, "nothing was fed yet")),
        }
    }

    pub(crate) fn mark(&mut self) -> Result<(), EngineError> {
        self.mark = self.tokens;
        self.inner.mark()
    }

    pub(crate) fn rewind(&mut self) -> Result<(), EngineError> {
        self.tokens = self.mark;
        self.inner.rewind()
    }

    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        (self.tokens, self.mark) = (0, 0);
        self.inner.clear()
    }

    pub(crate) fn cache(&self) -> CacheState {
        CacheState { tokens: self.tokens, ..self.inner.cache() }
    }
}
