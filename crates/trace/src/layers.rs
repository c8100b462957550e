//! The layers of a stored run as a timeline: how long each took is known, not when.

use crate::info::TraceInfo;
use analysis::{TimeNode, TimeTree};
use report::clean;
use types::{LayerReport, Span, SpanKind, Timeline, Track};

/// The layers of one inference or step, laid end to end in the order in which they ran, a module around those inside it.
#[must_use]
pub fn layers_timeline(report: &LayerReport, info: &TraceInfo, began_at: i64) -> Timeline {
    let tree = TimeTree::of(report, &info.title(), clean);
    // Where the next module inside each node begins. What a module takes itself comes after those inside.
    let mut next = vec![0.0; tree.nodes.len()];
    let mut spans = Vec::with_capacity(tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        let start = node.parent.map_or(0.0, |parent| next[parent]);
        next[index] = start;
        if let Some(parent) = node.parent {
            next[parent] = start + node.total;
        }
        spans.push(span(node, start));
    }
    let what = if report.is_step() { "one step" } else { "one inference" };
    let track = Track { group: "layers".into(), name: what.into() };
    Timeline { began_at, tracks: vec![track], spans, laid_out: true, ..Timeline::default() }
}

fn span(node: &TimeNode<'_>, start: f64) -> Span {
    // Both ends are rounded alike, so that what lies inside stays inside.
    let nanos = |seconds: f64| (seconds * 1e9).round() as u64;
    let (begin, end) = (nanos(start), nanos(start + node.total));
    Span {
        name: node.label.clone(),
        kind: if node.parent.is_none() { SpanKind::Step } else { SpanKind::Module },
        track: 0,
        start: begin,
        length: end.saturating_sub(begin),
        path: node.path.clone(),
        flow: None,
    }
}
