//! Language models that keep what they have read: what an engine needs to generate token by token.

use crate::{Arena, EngineError, LoadRequest, MemoryRecord, ProfiledRunner, RunRecord, Watched};
use std::borrow::Cow;
use types::{DecoderDialect, DecoderShape, Remark};

/// Loads models that generate.
pub trait GeneratorLoader {
    /// Reads the model and makes it ready. `None` where the engine only runs such a graph: then its outputs are copied into the
    /// inputs of the next step.
    ///
    /// # Errors
    /// As [`Loader::load`](crate::Loader::load); where there is no memory for the cache, too.
    fn generator(
        &self,
        request: &GeneratorRequest<'_>,
    ) -> Result<Option<Box<dyn Generator>>, EngineError>;
}

/// A model to load that generates.
#[derive(Debug, Clone, Copy)]
pub struct GeneratorRequest<'a> {
    /// The model, the device and the settings.
    pub load: &'a LoadRequest,
    /// Its sizes.
    pub shape: &'a DecoderShape,
    /// Texts that are generated together.
    pub batch: usize,
    /// The most tokens that each of them has.
    pub context: usize,
    /// The operators that its graph is written in.
    pub dialect: DecoderDialect,
}

/// A language model with a cache of its own. All rows of the batch have as many tokens in it. Whoever calls it keeps within its
/// context, and asks for scores after a feed only.
pub trait Generator {
    /// Where it really runs.
    fn placement(&self) -> String;

    /// What a reader of the results must know.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Reads `tokens`, the same number for each row (row after row), after what the cache holds, and leaves the scores of the
    /// last token of each row; returns only when they are on the host.
    ///
    /// # Errors
    /// When a token is unknown, or the model fails.
    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError>;

    /// The scores that the last feed left: `[batch, vocabulary]`.
    ///
    /// # Errors
    /// When they cannot be read.
    fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError>;

    /// Remembers what the cache holds now; [`Generator::rewind`] comes back to it.
    ///
    /// # Errors
    /// When the engine cannot.
    fn mark(&mut self) -> Result<(), EngineError>;

    /// Forgets what was fed since the mark; everything where there is none.
    ///
    /// # Errors
    /// When the engine cannot.
    fn rewind(&mut self) -> Result<(), EngineError>;

    /// Forgets everything, the mark too.
    ///
    /// # Errors
    /// When the engine cannot.
    fn clear(&mut self) -> Result<(), EngineError>;

    /// What the cache holds.
    fn cache(&self) -> CacheState;

    /// The ability to write down what runs inside of feeds, where the engine has it.
    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        None
    }

    /// What the engine's own arena holds, or why it does not tell; `None` if it has none that it shows.
    fn arena(&self) -> Option<Result<Arena, String>> {
        None
    }
}

/// Makes the graph of a generator once more, with instruments.
pub type OpenProfiled<'a> = &'a dyn Fn() -> Result<Box<dyn ProfiledRunner>, EngineError>;

/// Writes down what runs inside of a generator's feeds, in a pass of its own.
pub trait FeedLog {
    /// From now on every feed is written down. `open` makes the graph with instruments, for those that only run graphs.
    ///
    /// # Errors
    /// When the engine's record cannot be opened.
    fn begin(&mut self, open: OpenProfiled<'_>) -> Result<(), EngineError>;

    /// Ends the record and tells every feed since, in their order.
    ///
    /// # Errors
    /// When the engine's record cannot be read or lacks a feed.
    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError>;

    /// From now on the engine tells at every allocation what runs; the function is asked then. `None` if it cannot.
    ///
    /// # Errors
    /// When the engine's record cannot be opened.
    fn begin_marks(&mut self) -> Result<Option<fn() -> u64>, EngineError> {
        Ok(None)
    }

    /// Ends that, and names what was allocated.
    ///
    /// # Errors
    /// When the engine's record cannot be read.
    fn name_marks(&mut self, watched: &Watched) -> Result<MemoryRecord, EngineError> {
        Ok(watched.record("every allocation of the worker"))
    }
}

/// The cache of a generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheState {
    /// Tokens of each row.
    pub tokens: usize,
    /// Its bytes as the engine has them, all rows together; `Err` says why it does not tell.
    pub bytes: Result<u64, String>,
    /// The number format: `f32`, `f16`.
    pub element: String,
    /// Who holds it, and how a step appends to it: `by the engine, appended in place`.
    pub kept: String,
}
