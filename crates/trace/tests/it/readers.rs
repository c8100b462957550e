//! Traces read by the programs they are for: Perfetto's trace processor and TensorBoard's torch profiler plugin.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test, which is what it is for")]

use crate::{
    timeline::{On, timeline},
    traces::{chrome, perfetto, torch},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use types::{Span, SpanKind, Timeline};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a reader found in each trace.
fn facts(script: &str, scratch: &Path, traces: &[PathBuf]) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    let script = root.join("tests/python").join(script);
    let output = Command::new(python).arg(script).arg(scratch).args(traces).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the Python script failed:\n{talk}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    traces.iter().map(|trace| found[trace.to_str().unwrap()].clone()).collect()
}

fn write(path: PathBuf, bytes: Vec<u8>) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

fn count(timeline: &Timeline, kind: SpanKind) -> usize {
    timeline.spans.iter().filter(|span| span.kind == kind).count()
}

/// A span as both sides can say it.
type Said = (i64, i64, String, String, String, String);

fn said(timeline: &Timeline, span: &Span) -> Said {
    let kind = serde_json::to_value(span.kind).unwrap();
    let track = &timeline.tracks[span.track as usize];
    (
        span.start as i64,
        span.length as i64,
        span.name.clone(),
        kind.as_str().unwrap().into(),
        format!("{}/{}", track.group, track.name),
        span.path.clone(),
    )
}

fn heard(slice: &Value) -> Said {
    let text = |key: &str| slice[key].as_str().unwrap_or_default().to_string();
    (
        slice["ts"].as_i64().unwrap(),
        slice["dur"].as_i64().unwrap(),
        text("name"),
        text("category"),
        format!("{}/{}", text("process"), text("thread")),
        text("module"),
    )
}

#[test]
fn perfetto_finds_every_span_arrow_and_point() {
    let folder = folder("perfetto");
    let timelines =
        [timeline(3, 2, On::Host), timeline(3, 2, On::Device), odd(), Timeline::default()];
    let names = ["host", "device", "odd", "empty"];
    let both = timelines.iter().zip(names).flat_map(|(timeline, name)| {
        [
            write(folder.join(format!("{name}.json")), chrome(timeline)),
            write(folder.join(format!("{name}.pftrace")), perfetto(timeline)),
        ]
    });
    let traces: Vec<PathBuf> = both.collect();
    let found = facts("perfetto_facts.py", &folder, &traces);
    for (timeline, found) in timelines.iter().flat_map(|one| [one, one]).zip(&found) {
        assert_eq!(found["errors"], serde_json::json!([]));
        let slices = found["slices"].as_array().unwrap();
        let mut heard: Vec<Said> = slices.iter().map(heard).collect();
        let mut said: Vec<Said> = timeline.spans.iter().map(|span| said(timeline, span)).collect();
        heard.sort();
        said.sort();
        assert_eq!(heard, said);
        assert_eq!(found["all_slices"], slices.len());

        let points: usize = timeline.counters.iter().map(|counter| counter.points.len()).sum();
        assert_eq!(found["counters"].as_array().unwrap().len(), points);

        let by_id: BTreeMap<i64, &Value> =
            slices.iter().map(|slice| (slice["id"].as_i64().unwrap(), slice)).collect();
        let arrows = found["flows"].as_array().unwrap();
        assert_eq!(arrows.len(), count(timeline, SpanKind::Kernel));
        for arrow in arrows {
            let [tail, head] = ["tail", "head"].map(|end| by_id[&arrow[end].as_i64().unwrap()]);
            assert_eq!(
                (&tail["category"], &head["category"]),
                (&"launch".into(), &"kernel".into())
            );
            assert_eq!(tail["module"], head["module"]);
        }
    }
    let counter = &found[0]["counters"][0];
    assert_eq!((&counter["name"], &counter["process"]), (&"memory MB".into(), &"worker".into()));
}

/// Spans that begin together, that follow without a gap, that are a nanosecond long or none.
fn odd() -> Timeline {
    let mut odd = timeline(1, 1, On::Device);
    odd.spans.clear();
    let mut push = |track, kind, start, length, flow| {
        let name = format!("{start}+{length}");
        odd.spans.push(Span { name, kind, track, start, length, path: "m".into(), flow });
    };
    push(0, SpanKind::Operator, 1_000_001, 999_999, None);
    push(0, SpanKind::Launch, 1_000_001, 1_001, Some(1));
    push(0, SpanKind::Launch, 1_001_002, 0, Some(2));
    push(0, SpanKind::Launch, 1_001_003, 1, Some(3));
    push(0, SpanKind::Launch, 1_999_999, 1, Some(4));
    for (n, flow) in [1, 1, 1, 2, 3, 4].into_iter().enumerate() {
        push(2, SpanKind::Kernel, 2_000_000 + n as u64 * 1_013, 1_013, Some(flow));
    }
    odd
}

#[test]
fn tensorboard_finds_steps_operators_kernels_and_modules() {
    let folder = folder("tensorboard");
    let host = timeline(2, 3, On::Host);
    let device = timeline(2, 3, On::Device);
    let mut inferences = timeline(2, 3, On::Host);
    inferences.spans.retain(|span| span.kind != SpanKind::Step);
    let mut kernels = timeline(2, 3, On::Device);
    kernels.spans.retain(|span| span.kind == SpanKind::Kernel);
    let timelines = [&host, &device, &inferences, &kernels];
    let traces: Vec<PathBuf> = ["host", "device", "inferences", "kernels"]
        .into_iter()
        .zip(timelines)
        .map(|(name, timeline)| write(folder.join(name).join("run.pt.trace.json"), torch(timeline)))
        .collect();
    let found = facts("tensorboard_facts.py", &folder, &traces);
    for found in &found {
        assert_eq!(found["loaded"], true);
        assert_eq!(found["complaints"], serde_json::json!([]));
        assert!(found["step_total"].as_f64().unwrap() > 0.0);
    }
    for (found, timeline) in found[..3].iter().zip(timelines) {
        assert_eq!(found["steps"], serde_json::json!(["0", "1", "2"]));
        let operators = found["operators"].as_object().unwrap();
        let calls: u64 = operators.values().map(|operator| operator[0].as_u64().unwrap()).sum();
        assert_eq!(calls, count(timeline, SpanKind::Operator) as u64);
        let encoder = find_module(&found["modules"], "encoder").unwrap();
        assert_eq!(encoder["count"], 3);
        assert_eq!(encoder["children"].as_array().unwrap().len(), 2);
        assert!(find_module(&found["modules"], "encoder.layer.1.attention.self.query").is_some());
    }
    let device = &found[1];
    assert_eq!(device["gpus"], serde_json::json!([0]));
    assert_eq!(found[0]["gpus"], serde_json::json!([]));
    let views = device["views"].as_array().unwrap();
    assert!(["operator", "kernel", "module"].iter().all(|view| views.contains(&(*view).into())));
    let joined = device["joined"].as_array().unwrap();
    let calls: u64 = joined.iter().map(|kernel| kernel[2].as_u64().unwrap()).sum();
    assert_eq!(calls, count(timelines[1], SpanKind::Kernel) as u64);
    let softmax = joined.iter().find(|kernel| kernel[1] == "Softmax").unwrap();
    assert_eq!(softmax[0], "void softmax_kernel<float, 128>(…)");
    assert!(device["operators"]["MatMul"][2].as_f64().unwrap() > 0.0);
    let alone: u64 =
        found[3]["kernels"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(alone, kernels.spans.len() as u64);
    assert_eq!(found[3]["steps"], serde_json::json!(["0"]));
}

fn find_module<'a>(modules: &'a Value, name: &str) -> Option<&'a Value> {
    modules.as_array()?.iter().find_map(|module| {
        if module["name"] == name { Some(module) } else { find_module(&module["children"], name) }
    })
}
