//! Where every span is drawn: processes, threads, and the span around it.
//!
//! Viewers drop a span that overlaps another of its thread without lying inside it. The spans of a track should never
//! do that; where they do, the later one moves to a further row of the same track and is kept.

use std::{cmp::Reverse, collections::BTreeMap};
use types::{Span, Timeline};

/// What stands for a track that the timeline does not name.
const UNKNOWN: &str = "unknown";

/// A line of the picture: a track, or what did not fit on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The process or device, as an index into [`Rows::groups`].
    pub(crate) group: usize,
    /// The thread or queue.
    pub(crate) name: String,
}

/// Where every span is drawn.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Processes and devices, in the order they are first named.
    pub(crate) groups: Vec<String>,
    /// The lines, track by track.
    pub(crate) rows: Vec<Row>,
    /// Spans by row, then by start, a longer one before what lies inside it.
    pub(crate) order: Vec<u32>,
    /// The row of each span.
    row_of: Vec<u32>,
    /// The span around each span; `u32::MAX` where there is none.
    parents: Vec<u32>,
    /// Spans that had to leave their track's first row.
    pub(crate) moved: usize,
    /// Spans on a track that the timeline does not name.
    pub(crate) unknown: usize,
}

impl Rows {
    pub(crate) fn of(timeline: &Timeline) -> Rows {
        let spans = &timeline.spans;
        let mut order: Vec<u32> = (0..u32::try_from(spans.len()).unwrap_or(u32::MAX)).collect();
        order.sort_unstable_by_key(|index| {
            let span = &spans[*index as usize];
            (span.track, span.start, Reverse(end(span)), *index)
        });
        let mut rows = Rows {
            groups: Vec::new(),
            rows: Vec::new(),
            order: Vec::new(),
            row_of: vec![0; spans.len()],
            parents: vec![u32::MAX; spans.len()],
            moved: 0,
            unknown: 0,
        };
        let lanes = rows.stack(spans, &order);
        let first = rows.name(timeline, &lanes);
        for (span, row) in spans.iter().zip(&mut rows.row_of) {
            *row += first.get(&span.track).copied().unwrap_or_default();
        }
        order.sort_by_key(|index| rows.row_of[*index as usize]);
        rows.order = order;
        rows
    }

    /// The row of a span.
    pub(crate) fn row(&self, span: u32) -> usize {
        self.row_of[span as usize] as usize
    }

    /// The span around this one, on the same row.
    pub(crate) fn parent(&self, span: u32) -> Option<u32> {
        Some(self.parents[span as usize]).filter(|parent| *parent != u32::MAX)
    }

    /// What there is to say of spans that were not where they should be.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let moved = match self.moved {
            0 => None,
            1 => {
                Some("1 span overlaps another span of its track and is on an additional row".into())
            }
            moved => Some(format!(
                "{moved} spans overlap other spans of their tracks and are on additional rows"
            )),
        };
        let unknown = match self.unknown {
            0 => None,
            1 => Some("1 span lies on a track without a name".into()),
            unknown => Some(format!("{unknown} spans lie on tracks without a name")),
        };
        moved.into_iter().chain(unknown).collect()
    }

    /// Gives every span a lane of its track and the span around it there; returns the lanes of each track.
    fn stack(&mut self, spans: &[Span], order: &[u32]) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for track in order.chunk_by(|a, b| spans[*a as usize].track == spans[*b as usize].track) {
            let mut lanes: Vec<Vec<u32>> = Vec::new();
            for index in track {
                let span = &spans[*index as usize];
                let lane = free_lane(&mut lanes, spans, span);
                self.moved += usize::from(lane > 0);
                self.row_of[*index as usize] = lane as u32;
                self.parents[*index as usize] = lanes[lane].last().copied().unwrap_or(u32::MAX);
                lanes[lane].push(*index);
            }
            counts.insert(spans[track[0] as usize].track, lanes.len());
        }
        counts
    }

    /// Names the rows of every track, with and without spans; returns the first row of each.
    fn name(&mut self, timeline: &Timeline, lanes: &BTreeMap<u32, usize>) -> BTreeMap<u32, u32> {
        let known = timeline.tracks.len();
        let nameless = lanes.keys().copied().filter(|track| *track as usize >= known);
        let mut first = BTreeMap::new();
        for track in (0..known as u32).chain(nameless) {
            let (group, name) = match timeline.tracks.get(track as usize) {
                Some(named) => (named.group.as_str(), named.name.clone()),
                None => (UNKNOWN, format!("track {track}")),
            };
            let group = self.group(group);
            first.insert(track, self.rows.len() as u32);
            for lane in 0..lanes.get(&track).copied().unwrap_or(1) {
                let name = if lane == 0 { name.clone() } else { format!("{name} ({})", lane + 1) };
                self.rows.push(Row { group, name });
            }
        }
        self.unknown = timeline.spans.iter().filter(|span| span.track as usize >= known).count();
        first
    }

    fn group(&mut self, name: &str) -> usize {
        let found = self.groups.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            self.groups.push(name.to_string());
            self.groups.len() - 1
        })
    }
}

/// The first lane on which the span follows or lies inside what is there; spans that have ended leave their lane.
fn free_lane(lanes: &mut Vec<Vec<u32>>, spans: &[Span], span: &Span) -> usize {
    for (lane, open) in lanes.iter_mut().enumerate() {
        while open.last().is_some_and(|top| end(&spans[*top as usize]) <= span.start) {
            open.pop();
        }
        if open.last().is_none_or(|top| end(span) <= end(&spans[*top as usize])) {
            return lane;
        }
    }
    lanes.push(Vec::new());
    lanes.len() - 1
}

/// When a span ended, in nanoseconds since the timeline's begin.
pub(crate) fn end(span: &Span) -> u64 {
    span.start.saturating_add(span.length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{SpanKind, Track};

    fn span(track: u32, start: u64, length: u64) -> Span {
        let kind = SpanKind::Operator;
        Span { name: "a".into(), kind, track, start, length, path: String::new(), flow: None }
    }

    fn track(group: &str, name: &str) -> Track {
        Track { group: group.into(), name: name.into() }
    }

    #[test]
    fn a_span_lies_in_the_smallest_one_around_it() {
        let spans = vec![span(0, 2, 3), span(0, 0, 10), span(0, 1, 5), span(0, 6, 4)];
        let timeline =
            Timeline { tracks: vec![track("worker", "main")], spans, ..Default::default() };
        let rows = Rows::of(&timeline);
        assert_eq!(rows.order, [1, 2, 0, 3]);
        assert_eq!(rows.parent(0), Some(2));
        assert_eq!(rows.parent(2), Some(1));
        assert_eq!(rows.parent(3), Some(1));
        assert_eq!(rows.parent(1), None);
        assert_eq!(rows.rows.len(), 1);
        assert!(rows.remarks().is_empty());
    }

    #[test]
    fn what_overlaps_moves_to_a_further_row_and_is_counted() {
        let spans = vec![span(0, 0, 10), span(0, 5, 10), span(0, 12, 1), span(0, 16, 1)];
        let timeline =
            Timeline { tracks: vec![track("worker", "main")], spans, ..Default::default() };
        let rows = Rows::of(&timeline);
        let names: Vec<&str> = rows.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["main", "main (2)"]);
        assert_eq!((0..4).map(|span| rows.row(span)).collect::<Vec<_>>(), [0, 1, 0, 0]);
        assert_eq!(rows.order, [0, 2, 3, 1]);
        assert_eq!(
            rows.remarks(),
            ["1 span overlaps another span of its track and is on an additional row"]
        );
    }

    #[test]
    fn a_track_nobody_named_keeps_its_spans() {
        let timeline = Timeline {
            tracks: vec![track("worker", "main"), track("cuda:0", "stream 7")],
            spans: vec![span(u32::MAX, 0, 1), span(1, 0, 1)],
            ..Default::default()
        };
        let rows = Rows::of(&timeline);
        assert_eq!(rows.groups, ["worker", "cuda:0", "unknown"]);
        assert_eq!(rows.rows[2], Row { group: 2, name: "track 4294967295".into() });
        assert_eq!((rows.row(0), rows.row(1)), (2, 1));
        assert_eq!(rows.unknown, 1);
    }

    #[test]
    fn spans_of_no_length_follow_each_other() {
        let spans = vec![span(0, 5, 0), span(0, 5, 0), span(0, 5, u64::MAX)];
        let timeline =
            Timeline { tracks: vec![track("worker", "main")], spans, ..Default::default() };
        let rows = Rows::of(&timeline);
        assert_eq!((rows.parent(0), rows.parent(1)), (Some(2), Some(2)));
        assert_eq!(rows.moved, 0);
    }
}
