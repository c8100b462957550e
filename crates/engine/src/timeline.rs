//! Writes down what happened when, for engines that profile in our own worker.

use std::time::{Instant, SystemTime, UNIX_EPOCH};
use types::{Span, SpanKind, Timeline, Track};

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
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timeline = Timeline {
            began_at: i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
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

    /// Writes down an operator that ran for a node.
    pub fn operator(&mut self, track: u32, node: (&str, &str), start: u64, length: u64) {
        let (name, kind) = node;
        self.push(Span {
            name: kind.to_owned(),
            kind: SpanKind::Operator,
            track,
            start,
            length,
            path: module_of(name, kind),
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

/// The module behind the name of a node; empty where the name says none.
///
/// `encoder.layer.0/Add_1` belongs to `encoder.layer.0`, and so do a node `encoder.layer.0.Add_1` of kind `Add` and the
/// exporter's `/encoder/layer.0/Add_1`.
#[must_use]
pub fn module_of(name: &str, kind: &str) -> String {
    // What ONNX Runtime puts before the name of a product that took in its activation.
    let name = name.strip_prefix("fused ").unwrap_or(name);
    let outer = |path: &str| path.rsplit_once('.').map_or("", |(outer, _)| outer).to_owned();
    if let Some(scoped) = name.strip_prefix('/') {
        let scoped = scoped.trim_end_matches('/');
        return scoped
            .rsplit_once('/')
            .map_or_else(String::new, |(path, _)| path.replace('/', "."));
    }
    match name.split_once('/') {
        // A fusion's mark stands behind the whole old name: `query.MatMul/MatMulAddFusion`.
        Some((node, mark)) if mark.trim_end_matches('/').ends_with("Fusion") => outer(node),
        Some((module, _)) => module.to_owned(),
        None if is_operator(name.rsplit('.').next().unwrap_or_default(), kind) => outer(name),
        // One word says nothing of a module.
        None if !name.contains('.') => String::new(),
        None => name.to_owned(),
    }
}

/// Whether a part of a name is the operator: its kind, perhaps numbered, or the one that a fused kind ends with.
fn is_operator(part: &str, kind: &str) -> bool {
    let stem = part.split('_').next().unwrap_or_default();
    !kind.is_empty() && (stem == kind || kind.strip_prefix("Fused") == Some(stem))
}

#[cfg(test)]
mod tests {
    use super::module_of;

    #[test]
    fn nodes_lead_to_their_modules() {
        for (name, kind, module) in [
            ("encoder.layer.0.query/MatMul", "MatMul", "encoder.layer.0.query"),
            ("encoder.layer.0.query.MatMul", "MatMul", "encoder.layer.0.query"),
            (
                "encoder.layer.0.self.MatMul/MatMulScaleFusion/",
                "FusedMatMul",
                "encoder.layer.0.self",
            ),
            ("encoder.layer.0.output.Add_1", "Add", "encoder.layer.0.output"),
            ("fused pooler.dense.MatMul/MatMulAddFusion", "FusedGemm", "pooler.dense"),
            ("/encoder/layer.0/query/MatMul", "MatMul", "encoder.layer.0.query"),
            ("/Cast", "Cast", ""),
            ("BiasGelu_token_12", "BiasGelu", ""),
            ("output.LayerNorm.LayerNormalization", "LayerNormalization", "output.LayerNorm"),
        ] {
            assert_eq!(module_of(name, kind), module, "{name}");
        }
    }
}
