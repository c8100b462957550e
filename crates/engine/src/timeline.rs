//! Writes down what happened when, for engines that profile in our own worker.

use std::time::Instant;
use types::{Names, Span, SpanKind, Timeline, Track, module_of};

/// The track of the thread that asks for inferences.
const MAIN: u32 = 0;

/// A timeline that is being written; it begins when this is made.
pub struct TimelineWriter {
    began: Instant,
    timeline: Timeline,
}

impl TimelineWriter {
    /// For an engine that tells when its nodes began.
    #[must_use]
    pub fn new() -> TimelineWriter {
        let timeline = Timeline {
            began_at: clock::now(),
            tracks: vec![Track { group: "worker".into(), name: "main".into() }],
            ..Timeline::default()
        };
        TimelineWriter { began: Instant::now(), timeline }
    }

    /// For an engine that tells only how long they took.
    #[must_use]
    pub fn laid_out() -> TimelineWriter {
        let mut writer = TimelineWriter::new();
        writer.timeline.laid_out = true;
        writer
    }

    /// Writes down an inference as the worker saw it, in nanoseconds; tells its start.
    pub fn inference(&mut self, begin: Instant, length: u64) -> u64 {
        let since = begin.saturating_duration_since(self.began);
        let start = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        self.inference_at(start, length);
        start
    }

    /// Writes down an inference as the engine told it, in nanoseconds since the timeline's begin.
    pub fn inference_at(&mut self, start: u64, length: u64) {
        self.push(Span {
            name: "inference".into(),
            kind: SpanKind::Phase,
            track: MAIN,
            start,
            length,
            path: String::new(),
            flow: None,
        });
    }

    /// Writes down a training step or one of its parts as the worker saw it; tells its start in nanoseconds.
    pub fn part(&mut self, name: &str, kind: SpanKind, begin: Instant, length: u64) -> u64 {
        let start = self.since(begin);
        let (name, path) = (name.to_owned(), String::new());
        self.push(Span { name, kind, track: MAIN, start, length, path, flow: None });
        start
    }

    /// A moment in nanoseconds since the timeline's begin.
    #[must_use]
    pub fn since(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.began);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Says that starts were laid end to end.
    pub fn lay_out(&mut self) {
        self.timeline.laid_out = true;
    }

    /// Writes down an operator that ran for a node.
    pub fn operator(&mut self, track: u32, node: (&str, &str), start: u64, length: u64) {
        let (name, kind) = node;
        self.push(Span {
            name: kind.to_owned(),
            kind: SpanKind::Operator,
            track,
            start,
            length,
            path: module_of(name, kind, Names::Nodes),
            flow: None,
        });
    }

    /// The track with this name in the worker; the first is `main`.
    pub fn track(&mut self, name: &str) -> u32 {
        let tracks = &mut self.timeline.tracks;
        let place = tracks.iter().position(|track| track.name == name).unwrap_or_else(|| {
            tracks.push(Track { group: "worker".into(), name: name.to_owned() });
            tracks.len() - 1
        });
        u32::try_from(place).unwrap_or(MAIN)
    }

    fn push(&mut self, span: Span) {
        self.timeline.spans.push(span);
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> Timeline {
        self.timeline
    }
}

impl Default for TimelineWriter {
    fn default() -> TimelineWriter {
        TimelineWriter::new()
    }
}
