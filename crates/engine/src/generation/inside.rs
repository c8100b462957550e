//! Looks inside of samples of a model that generates: where the time of a prompt or a step goes, and its memory.

use super::writer::Writer;
use crate::{
    AllocationTracker, Arena, Detail, EngineError, EngineErrorKind, MemoryRecord, NodeProfile,
    NodeTime, OpenProfiled, RunRecord, TimelineWriter, watch_runs, worker::Recorder,
};
use std::collections::HashMap;
use types::{Bytes, MissingCode, Reading, Remark, RemarkCode};

/// Samples more than those that count: the first ones are slower under new instruments, and somebody may have printed into the
/// engine's record of others.
const SPARE: usize = 2;

impl Writer<'_> {
    /// Takes samples under instruments; `None` if the engine has none.
    pub(super) fn profile(
        &mut self,
        count: u64,
        detail: Detail,
        open: OpenProfiled<'_>,
    ) -> Result<Option<NodeProfile>, EngineError> {
        // The depth is no part of what is looked at.
        self.fill()?;
        let Some(log) = self.generator_mut().feed_log() else { return Ok(None) };
        log.begin(open)?;
        let count = usize::try_from(count.max(1)).unwrap_or(usize::MAX);
        let mut taken = Vec::new();
        let mut outcome = Ok(());
        for _ in 0..count.saturating_add(SPARE) {
            outcome = self.sample(&mut Recorder::default());
            if outcome.is_err() {
                break;
            }
            taken.extend(self.last);
        }
        // What a feed of the record left behind goes before the graph that it came from.
        let rewound = self.restart();
        let Some(log) = self.generator_mut().feed_log() else { return Ok(None) };
        let records = log.records();
        outcome?;
        rewound?;
        let records = records?;
        let mut sheet = Sheet::default();
        let mut writer = (detail == Detail::Timeline).then(TimelineWriter::laid_out);
        let records = by_sample(records, taken.len())?;
        for remark in records.iter().flat_map(|record| &record.remarks) {
            if !sheet.remarks.contains(remark) {
                sheet.remarks.push(remark.clone());
            }
        }
        let whole = taken.iter().zip(&records).filter(|(_, record)| !record.calls.is_empty());
        let whole: Vec<_> = whole.collect();
        // The first ones prepare what comes with the instruments.
        for ((begin, length), record) in whole.into_iter().rev().take(count).rev() {
            let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
            sheet.run_nanos.push(nanos.saturating_sub(record.paused).max(1));
            for call in &record.calls {
                sheet.push(&call.path, &call.kind, call.own);
            }
            if let Some(writer) = &mut writer {
                let start = writer.inference(*begin, nanos) + record.before;
                for call in &record.calls {
                    let track = match call.thread {
                        0 => 0,
                        thread => writer.track(&format!("thread {}", thread + 1)),
                    };
                    let node = (call.path.as_str(), call.kind.as_str());
                    writer.operator(track, node, start + call.start, call.length);
                }
            }
        }
        if sheet.run_nanos.is_empty() {
            let why = "other output was mixed into the engine's record of every sample";
            return Err(EngineError::new(EngineErrorKind::Failed, why));
        }
        Ok(Some(NodeProfile {
            runs: sheet.run_nanos.len() as u64,
            total_nanos: sheet.run_nanos.iter().sum(),
            run_nanos: sheet.run_nanos,
            nodes: sheet.nodes,
            parts: None,
            timeline: writer.map(TimelineWriter::finish),
            remarks: sheet.remarks,
        }))
    }

    /// Takes samples while allocations are written down; `None` if the engine tells nothing of its memory.
    pub(super) fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
    ) -> Result<Option<MemoryRecord>, EngineError> {
        self.fill()?;
        let mark = match self.generator_mut().feed_log() {
            Some(log) => log.begin_marks()?,
            None => None,
        };
        if let Some(mark) = mark {
            let watched =
                watch_runs(count, tracker, mark, &mut || self.sample(&mut Recorder::default()))?;
            let log = self.generator_mut().feed_log();
            return log.map(|log| log.name_marks(&watched)).transpose();
        }
        let Some(before) = self.generator().arena() else { return Ok(None) };
        let watched =
            watch_runs(count, tracker, || 0, &mut || self.sample(&mut Recorder::default()))?;
        let mut record = watched.record("the arena of the engine");
        let sums = "an arena reports totals, not single allocations";
        record.allocations = Reading::missing(MissingCode::NotSeparable, sums);
        record.layers = Reading::missing(MissingCode::NotSeparable, sums);
        let after = self.generator().arena().unwrap_or_else(|| Err("the arena is gone".into()));
        fill(&mut record, before, after, count.max(1) as f64);
        Ok(Some(record))
    }
}

/// One record a sample: some generators read the texts of a batch token by token.
fn by_sample(records: Vec<RunRecord>, samples: usize) -> Result<Vec<RunRecord>, EngineError> {
    let each = records.len() / samples.max(1);
    if each == 0 || each * samples != records.len() {
        let why = "the engine's record lacks a feed";
        return Err(EngineError::new(EngineErrorKind::Failed, why));
    }
    let joined = |feeds: &[RunRecord]| {
        let is_whole = feeds.iter().all(|feed| !feed.calls.is_empty());
        RunRecord {
            calls: match is_whole {
                true => feeds.iter().flat_map(|feed| feed.calls.clone()).collect(),
                false => Vec::new(),
            },
            before: feeds.first().map_or(0, |feed| feed.before),
            paused: feeds.iter().map(|feed| feed.paused).sum(),
            laid_out: feeds.iter().any(|feed| feed.laid_out),
            remarks: feeds.iter().flat_map(|feed| feed.remarks.clone()).collect(),
        }
    };
    Ok(records.chunks_exact(each).map(joined).collect())
}

/// The peak from the arena; its high-water mark is that of all samples so far.
fn fill(
    record: &mut MemoryRecord,
    before: Result<Arena, String>,
    after: Result<Arena, String>,
    samples: f64,
) {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => {
            record.peak = Reading::missing(MissingCode::NotReported, why.as_str());
            record.in_use_peak = Reading::missing(MissingCode::NotReported, why.as_str());
            record.reserved_peak = Reading::missing(MissingCode::NotReported, why.as_str());
            record.asked = Reading::missing(MissingCode::NotReported, why.as_str());
            return;
        }
    };
    record.base = Reading::of(Bytes(before.in_use));
    record.peak = Reading::of(Bytes(after.most_in_use.saturating_sub(before.in_use)));
    record.in_use_peak = Reading::of(Bytes(after.most_in_use));
    record.reserved_peak = Reading::of(Bytes(after.reserved));
    let asked = after.allocations.saturating_sub(before.allocations);
    record.asked = Reading::of(asked as f64 / samples);
    record.remarks.push(Remark::new(
        RemarkCode::PeakOfAllSteps,
        "an arena's high-water mark cannot be reset: the peak is that of all samples so far, filling the cache included",
    ));
}

/// The times of all samples, node by node.
#[derive(Default)]
struct Sheet {
    nodes: Vec<NodeTime>,
    places: HashMap<(String, String), usize>,
    run_nanos: Vec<u64>,
    remarks: Vec<Remark>,
}

impl Sheet {
    fn push(&mut self, path: &str, kind: &str, nanos: u64) {
        let key = (path.to_owned(), kind.to_owned());
        let place = *self.places.entry(key).or_insert_with(|| {
            let (path, kind) = (path.to_owned(), kind.to_owned());
            self.nodes.push(NodeTime { path, kind, calls: 0, nanos: 0, phase: None });
            self.nodes.len() - 1
        });
        self.nodes[place].calls += 1;
        self.nodes[place].nanos += nanos;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeCall;

    #[test]
    fn several_feeds_of_one_sample_are_one_record() {
        let call = |own| NodeCall {
            path: "a".into(),
            kind: "MatMul".into(),
            thread: 0,
            start: 0,
            length: own,
            own,
        };
        let feed = |own| RunRecord { calls: vec![call(own)], paused: 1, ..RunRecord::default() };
        let joined = by_sample(vec![feed(1), feed(2), feed(3), feed(4)], 2).unwrap();
        assert_eq!(joined.len(), 2);
        assert_eq!((joined[1].calls.len(), joined[1].paused), (2, 2));
        assert!(by_sample(vec![feed(1), feed(2), feed(3)], 2).is_err());
        assert!(by_sample(Vec::new(), 2).is_err());
    }

    #[test]
    fn an_arena_tells_the_most_above_what_it_held_before() {
        let arena = |in_use, most_in_use, allocations| Arena {
            in_use,
            most_in_use,
            reserved: 500,
            allocations,
        };
        let mut record = MemoryRecord::default();
        fill(&mut record, Ok(arena(100, 120, 10)), Ok(arena(110, 180, 30)), 4.0);
        assert_eq!(record.peak.value, Some(Bytes(80)));
        assert_eq!((record.base.value, record.asked.value), (Some(Bytes(100)), Some(5.0)));
        fill(&mut record, Err("no statistics".into()), Ok(arena(0, 0, 0)), 1.0);
        assert_eq!(record.peak.why.as_deref(), Some("no statistics"));
    }
}
