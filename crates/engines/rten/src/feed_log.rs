//! What runs inside of a generator's feeds, from the engine's own log.

use crate::{
    capture::Capture,
    log::Log,
    memory::named,
    node_log::printed,
    profile::{Nodes, uncaught},
};
use engine::{EngineError, MemoryRecord, RunRecord, Watched};
use rten::Model;
use std::time::{Duration, Instant};

/// What is written down while a generator is fed.
#[derive(Default)]
pub(crate) enum FeedLogging {
    /// Nothing.
    #[default]
    Off,
    /// Every feed in a log of its own.
    Times(Vec<LoggedFeed>),
    /// All feeds in one log, whose length says at every allocation what runs.
    Marks(Capture),
}

/// The log of a feed, and what writing it took.
pub(crate) struct LoggedFeed {
    text: String,
    before: u64,
    paused: u64,
}

/// A feed whose log is open.
pub(crate) struct OpenFeed {
    capture: Capture,
    before: Duration,
}

impl FeedLogging {
    /// Whether the engine must print.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self, FeedLogging::Off)
    }

    /// Opens the log of one feed, where each has its own.
    pub(crate) fn open(&self) -> Result<Option<OpenFeed>, EngineError> {
        let FeedLogging::Times(_) = self else { return Ok(None) };
        let asked = Instant::now();
        let capture = Capture::begin().map_err(uncaught)?;
        Ok(Some(OpenFeed { capture, before: asked.elapsed() }))
    }

    /// Keeps the log of a feed.
    pub(crate) fn close(&mut self, open: Option<OpenFeed>) -> Result<(), EngineError> {
        let (Some(OpenFeed { mut capture, before }), FeedLogging::Times(feeds)) = (open, self)
        else {
            return Ok(());
        };
        let end = Instant::now();
        let mut text = String::new();
        capture.take(&mut text).map_err(uncaught)?;
        drop(capture);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let before = nanos(before);
        feeds.push(LoggedFeed { text, before, paused: before + nanos(end.elapsed()) });
        Ok(())
    }

    /// Ends the logs of feeds and reads them.
    pub(crate) fn records(&mut self, model: &Model) -> Vec<RunRecord> {
        let FeedLogging::Times(feeds) = std::mem::take(self) else { return Vec::new() };
        let mut nodes = Nodes::default();
        let record = |feed: LoggedFeed| {
            let log = Log::read(&feed.text, |value| model.find_node(value).is_some());
            // Somebody else's words in the log may hide a node: such a feed tells nothing.
            let calls = if log.is_whole() { nodes.calls(&log) } else { Vec::new() };
            let (before, paused) = (feed.before, feed.paused);
            RunRecord { calls, before, paused, laid_out: true, remarks: Vec::new() }
        };
        let mut records: Vec<RunRecord> = feeds.into_iter().map(record).collect();
        if let Some(first) = records.first_mut() {
            first.remarks = nodes.remarks();
        }
        records
    }

    /// Begins one log for all feeds; its length is what is asked at every allocation.
    pub(crate) fn begin_marks(&mut self) -> Result<fn() -> u64, EngineError> {
        *self = FeedLogging::Marks(Capture::begin().map_err(uncaught)?);
        Ok(printed)
    }

    /// Ends it and names what was allocated.
    pub(crate) fn name_marks(&mut self, watched: &Watched) -> Result<MemoryRecord, EngineError> {
        let mut log = String::new();
        if let FeedLogging::Marks(mut capture) = std::mem::take(self) {
            capture.take(&mut log).map_err(uncaught)?;
        }
        Ok(named(watched, &log))
    }
}
