//! What every profile keeps, whoever made it.

use crate::{Detail, NodeProfile};
use std::collections::HashSet;
use types::{Span, SpanKind, Timeline};

/// Engines round to microseconds: so much may a call seem longer than it was, in nanoseconds.
const ROUNDING: u64 = 1000;

/// Examines a profile of so many runs.
pub(crate) fn check(
    profile: &NodeProfile,
    count: u64,
    detail: Detail,
    rule: &mut impl FnMut(bool, &str),
) {
    rule(profile.runs == count, "a profile has the runs asked");
    let each = &profile.run_nanos;
    rule(each.len() as u64 == count, "a profile tells the time of every run");
    rule(each.iter().all(|&nanos| nanos > 0), "no run of a profile takes no time");
    let total: u64 = each.iter().sum();
    rule(total == profile.total_nanos, "the runs of a profile add up to its total");

    rule(!profile.nodes.is_empty(), "a profile has nodes");
    rule(profile.nodes.iter().all(|node| node.calls > 0), "every node of a profile ran");
    let mut known = HashSet::new();
    let once = profile.nodes.iter().all(|node| known.insert((&node.path, &node.kind)));
    rule(once, "no node of a profile is told twice");
    let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    let calls: u64 = profile.nodes.iter().map(|node| node.calls).sum();
    rule(sum <= total + calls * ROUNDING, "the parts are not more than the whole");

    match (&profile.timeline, detail) {
        (Some(timeline), Detail::Timeline) => check_timeline(timeline, count, rule),
        (None, Detail::Times) => {}
        (None, Detail::Timeline) => rule(false, "a profile has a timeline when asked for one"),
        (Some(_), Detail::Times) => rule(false, "a profile has no timeline unless asked for one"),
    }
}

fn check_timeline(timeline: &Timeline, count: u64, rule: &mut impl FnMut(bool, &str)) {
    rule(timeline.began_at > 0, "a timeline says when it begins");
    let spans = &timeline.spans;
    let on_track = spans.iter().all(|span| (span.track as usize) < timeline.tracks.len());
    rule(on_track, "every span lies on a track");
    let runs: Vec<&Span> = spans.iter().filter(|span| span.kind == SpanKind::Phase).collect();
    let named = runs.iter().all(|span| span.name == "inference");
    rule(named && runs.len() as u64 == count, "a timeline has an `inference` for every run");
    let is_part = |span: &&Span| span.kind != SpanKind::Phase;
    rule(spans.iter().any(|span| is_part(&span)), "a timeline tells what a run consists of");
    let lies_in = |span: &Span, run: &Span| run.start <= span.start && end(span) <= end(run);
    let inside = spans.iter().filter(is_part).all(|span| runs.iter().any(|run| lies_in(span, run)));
    rule(inside, "every span lies inside a run");
    let tracks = 0..timeline.tracks.len();
    let nests = tracks
        .into_iter()
        .all(|track| nests(spans.iter().filter(|span| span.track as usize == track).collect()));
    rule(nests, "spans of one track nest or follow each other");
    let flows = |kind: SpanKind| -> HashSet<u64> {
        spans.iter().filter(|span| span.kind == kind).filter_map(|span| span.flow).collect()
    };
    let launched = flows(SpanKind::Kernel).is_subset(&flows(SpanKind::Launch));
    rule(launched, "what flows into a kernel comes from a launch");
}

fn end(span: &Span) -> u64 {
    span.start + span.length
}

fn nests(mut spans: Vec<&Span>) -> bool {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.length)));
    let mut open: Vec<u64> = Vec::new();
    spans.into_iter().all(|span| {
        while open.last().is_some_and(|&around| around <= span.start) {
            open.pop();
        }
        let fits = open.last().is_none_or(|&around| end(span) <= around);
        open.push(end(span));
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeTime, TimelineWriter};

    /// A profile of two runs of 10 µs that keeps every rule.
    fn good() -> NodeProfile {
        let mut writer = TimelineWriter::laid_out();
        for start in [0, 10_000] {
            writer.inference_at(start, 10_000);
            writer.operator(0, ("a/If", "If"), start, 6000);
            writer.operator(0, ("a/Add", "Add"), start + 1000, 5000);
            writer.operator(0, ("b/Add", "Add"), start + 6000, 4000);
        }
        let node = |path: &str, nanos| NodeTime {
            path: path.into(),
            kind: "Add".into(),
            calls: 2,
            nanos,
            phase: None,
        };
        NodeProfile {
            runs: 2,
            total_nanos: 20_000,
            run_nanos: vec![10_000, 10_000],
            nodes: vec![node("a", 12_000), node("b", 8000)],
            parts: None,
            timeline: Some(writer.finish()),
            remarks: Vec::new(),
        }
    }

    fn broken(profile: &NodeProfile, detail: Detail) -> Vec<String> {
        let mut broken = Vec::new();
        check(profile, 2, detail, &mut |holds, text| {
            if !holds {
                broken.push(text.to_owned());
            }
        });
        broken
    }

    #[test]
    fn a_good_profile_breaks_no_rule() {
        assert_eq!(broken(&good(), Detail::Timeline), Vec::<String>::new());
        let plain = NodeProfile { timeline: None, ..good() };
        assert_eq!(broken(&plain, Detail::Times), Vec::<String>::new());
    }

    type Change = fn(&mut NodeProfile);

    #[test]
    fn every_rule_can_be_broken() {
        let change = |change: Change| {
            let mut profile = good();
            change(&mut profile);
            broken(&profile, Detail::Timeline)
        };
        fn spans(profile: &mut NodeProfile) -> &mut Vec<Span> {
            &mut profile.timeline.as_mut().unwrap().spans
        }
        let cases: [(Change, &str); 11] = [
            (|p| p.runs = 3, "the runs asked"),
            (|p| p.run_nanos = vec![20_000], "time of every run"),
            (|p| p.total_nanos = 19_000, "add up"),
            (|p| p.nodes[0].calls = 0, "ran"),
            (|p| p.nodes[1].path = "a".into(), "told twice"),
            (|p| p.nodes[1].nanos = 13_000, "more than the whole"),
            (|p| p.timeline = None, "when asked"),
            (|p| spans(p)[1].track = 7, "on a track"),
            (|p| spans(p)[0].name = "run".into(), "`inference`"),
            (|p| spans(p)[3].length = 9000, "inside a run"),
            (|p| spans(p)[2].length = 5500, "nest"),
        ];
        for (case, text) in cases {
            let broken = change(case);
            assert!(broken.iter().any(|rule| rule.contains(text)), "{text}: {broken:?}");
        }
        assert!(broken(&good(), Detail::Times)[0].contains("unless asked"));
    }
}
