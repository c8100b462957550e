//! Traces as JSON: escaping, pairs of arrows, order in time, a million spans, and a disk that is full.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test, which is what it is for")]

use crate::{
    encoder::layers,
    sample::text_run,
    timeline::{On, gpu, timeline},
};
use modelmeter_trace::{
    TraceInfo, is_torch_trace, layers_timeline, write_chrome_trace, write_perfetto_trace,
    write_speedscope, write_torch_trace,
};
use serde_json::Value;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    path::Path,
};
use types::{LayerReport, Span, SpanKind, Timeline, Track};

fn info() -> TraceInfo {
    TraceInfo {
        run: "7f3a09c41be2d650".into(),
        model: "bert-base-uncased".into(),
        setting: "rten 0.27.0 on cpu (Xeon, 2 cores) · fp32 · batch 4 × 128 tokens · 2 threads"
            .into(),
        gpus: Vec::new(),
    }
}

pub(crate) fn chrome(timeline: &Timeline) -> Vec<u8> {
    let mut out = Vec::new();
    write_chrome_trace(timeline, &info(), &mut out).unwrap();
    out
}

pub(crate) fn perfetto(timeline: &Timeline) -> Vec<u8> {
    let mut out = Vec::new();
    write_perfetto_trace(timeline, &info(), &mut out).unwrap();
    out
}

pub(crate) fn torch(timeline: &Timeline) -> Vec<u8> {
    let mut out = Vec::new();
    let info = TraceInfo { gpus: vec![gpu()], ..info() };
    write_torch_trace(timeline, &info, &mut out).unwrap();
    out
}

fn speedscope(layers: Option<&LayerReport>, timeline: Option<&Timeline>) -> Vec<u8> {
    let mut out = Vec::new();
    write_speedscope(layers, timeline, &info(), &mut out).unwrap();
    out
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn events(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().unwrap()
}

fn of_phase<'a>(trace: &'a Value, phase: &str) -> Vec<&'a Value> {
    events(trace).iter().filter(|event| event["ph"] == phase).collect()
}

fn span(name: &str, start: u64, length: u64) -> Span {
    let kind = SpanKind::Operator;
    Span { name: name.into(), kind, track: 0, start, length, path: String::new(), flow: None }
}

fn of_spans(spans: Vec<Span>) -> Timeline {
    let tracks = vec![Track { group: "worker".into(), name: "main".into() }];
    Timeline { tracks, spans, ..Timeline::default() }
}

/// Every writer, on one timeline.
fn all(timeline: &Timeline) -> [Vec<u8>; 3] {
    [chrome(timeline), torch(timeline), speedscope(None, Some(timeline))]
}

#[test]
fn names_from_outside_come_back_as_they_were() {
    let name = "a\"b\\c\n\u{0}\u{1b}[31m</script>\u{202e}\u{2028}模型";
    let mut strange = of_spans(vec![span(name, 0, 10)]);
    strange.spans[0].path = name.into();
    strange.tracks[0] = Track { group: name.into(), name: name.into() };
    for bytes in all(&strange) {
        let bare = bytes.iter().filter(|byte| **byte < 0x20 && **byte != b'\n').count();
        assert_eq!(bare, 0);
        json(&bytes);
    }
    let trace = json(&chrome(&strange));
    let spans = of_phase(&trace, "X");
    assert_eq!(spans[0]["name"], name);
    assert_eq!(spans[0]["args"]["module"], name);
    let names: Vec<_> = of_phase(&trace, "M").iter().map(|m| m["args"]["name"].clone()).collect();
    assert_eq!(names.iter().filter(|given| *given == name).count(), 2);
}

#[test]
fn every_span_is_written_with_its_place_kind_and_module() {
    let timeline = timeline(2, 2, On::Device);
    let trace = json(&chrome(&timeline));
    let written = of_phase(&trace, "X");
    assert_eq!(written.len(), timeline.spans.len());
    let kinds: BTreeSet<&str> = written.iter().map(|x| x["cat"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    let kernel = written.iter().find(|x| x["cat"] == "kernel").unwrap();
    assert_eq!(kernel["args"]["module"], "embeddings.word_embeddings");
    let place = [&kernel["pid"], &kernel["tid"]];
    let name = of_phase(&trace, "M");
    let named = |what: &str| {
        let names = name.iter().filter(|m| m["name"] == what && m["pid"] == *place[0]);
        names.map(|m| m["args"]["name"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(named("process_name"), ["cuda:0"]);
    assert_eq!(named("thread_name"), ["stream 7"]);
    let counters = of_phase(&trace, "C");
    assert_eq!(counters.len(), 40);
    assert_eq!(counters[0]["args"]["MB"], 271.3);
    assert_eq!(trace["otherData"]["spans"], timeline.spans.len());
}

#[test]
fn arrows_pair_up_and_point_forward() {
    let timeline = timeline(2, 2, On::Device);
    let trace = json(&chrome(&timeline));
    let ends = |phase| -> BTreeMap<u64, f64> {
        let ends = of_phase(&trace, phase);
        ends.iter().map(|e| (e["id"].as_u64().unwrap(), e["ts"].as_f64().unwrap())).collect()
    };
    let (tails, heads) = (ends("s"), ends("f"));
    let kernels = timeline.spans.iter().filter(|span| span.kind == SpanKind::Kernel).count();
    assert_eq!(tails.len(), kernels);
    assert_eq!(tails.keys().collect::<Vec<_>>(), heads.keys().collect::<Vec<_>>());
    assert!(tails.iter().all(|(id, at)| heads[id] >= *at));
    assert!(of_phase(&trace, "f").iter().all(|end| end["bp"] == "e"));
    assert_eq!(trace["otherData"]["arrows"], kernels);
}

#[test]
fn times_never_run_backwards_on_a_row() {
    let mut shuffled = timeline(3, 2, On::Device);
    shuffled.spans.reverse();
    for bytes in [chrome(&shuffled), torch(&shuffled)] {
        let trace = json(&bytes);
        let mut last: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        for event in of_phase(&trace, "X") {
            let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let start = event["ts"].as_f64().unwrap();
            assert!(last.insert(row, start).unwrap_or(0.0) <= start, "{event}");
        }
        assert_eq!(last.len(), 2);
    }
}

#[test]
fn what_lay_inside_lies_inside_for_a_reader_that_adds_binary_fractions() {
    let mut spans = vec![span("around", 1, 9_999_999)];
    // Starts and lengths whose sum in decimal microseconds is a rounding away from the end of the span around them.
    spans.extend((1..4_000_u64).map(|n| span("inside", 1 + n * 2_003, 2_003)));
    spans.extend(
        (1..4_000_u64).map(|n| span("innermost", 1 + n * 2_003 + n % 997, 2_003 - n % 997)),
    );
    let trace = json(&torch(&of_spans(spans)));
    let mut open: Vec<f64> = Vec::new();
    for event in of_phase(&trace, "X").iter().filter(|x| x["cat"] == "cpu_op") {
        let [start, length] = ["ts", "dur"].map(|key| event[key].as_f64().unwrap());
        while open.last().is_some_and(|end| *end <= start) {
            open.pop();
        }
        assert!(open.last().is_none_or(|end| start + length <= *end), "{event}");
        open.push(start + length);
    }
}

#[test]
fn the_same_timeline_gives_the_same_bytes() {
    let (one, same) = (timeline(4, 2, On::Device), timeline(4, 2, On::Device));
    assert_eq!(all(&one), all(&same));
    let report = layers(4);
    assert_eq!(speedscope(Some(&report), None), speedscope(Some(&layers(4)), None));
}

#[test]
fn nothing_at_all_is_a_valid_trace_that_says_so() {
    let nothing = Timeline::default();
    for bytes in [chrome(&nothing), torch(&nothing)] {
        let trace = json(&bytes);
        assert_eq!(events(&trace).len(), 0);
        assert_eq!(trace["otherData"]["remarks"][0], "empty: no spans were recorded");
    }
    let file = json(&speedscope(None, None));
    assert_eq!(file["profiles"], serde_json::json!([]));
    let name = file["name"].as_str().unwrap();
    assert!(name.ends_with("empty: no layers and no spans were recorded"), "{name}");
}

#[test]
fn what_a_trace_cannot_show_is_said_in_it() {
    let mut odd = timeline(1, 1, On::Device);
    odd.laid_out = true;
    odd.counters[0].points[3].1 = f64::NAN;
    odd.spans.push(Span { track: 9, ..span("lost", 0, 1) });
    let kernel = odd.spans.iter().position(|span| span.kind == SpanKind::Kernel).unwrap();
    odd.spans[kernel].start = 0;
    let last = odd.spans.iter().rposition(|span| span.track == 1 || span.track == 0).unwrap();
    let across = Span { length: 10_000_000, ..odd.spans[last].clone() };
    odd.spans.push(Span { start: across.start + 1, flow: None, ..across });
    let trace = json(&chrome(&odd));
    assert_eq!(of_phase(&trace, "X").len(), odd.spans.len());
    let remarks: Vec<&str> = trace["otherData"]["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r.as_str().unwrap())
        .collect();
    assert_eq!(
        remarks,
        [
            "it is known only how long each part took; starts are laid end to end",
            "1 span overlaps another span of its track and is on an additional row",
            "1 span lies on a track without a name",
            "1 kernel begins before its launch and has no arrow",
            "1 point of a counter is not a number and left out",
        ]
    );
}

#[test]
fn a_trace_says_which_run_it_shows() {
    let info = TraceInfo::of(&text_run());
    assert_eq!(info.run, "7f3a09c41be2d650");
    assert_eq!(info.model, "distilbert-base-uncased");
    let setting = "rten 0.27.0 on cpu (Xeon, 2 cores) · fp32 · batch 4 × 128 tokens · 2 threads";
    assert_eq!(info.setting, setting);
    let mut out = Vec::new();
    write_chrome_trace(&timeline(1, 1, On::Host), &info, &mut out).unwrap();
    let said = &json(&out)["otherData"];
    assert_eq!((&said["run"], &said["model"]), (&info.run.into(), &info.model.into()));
    assert_eq!(said["setting"], setting);
    assert_eq!(said["began_at"], "2026-11-16T06:12:34.123456Z");
}

#[test]
fn a_torch_trace_is_known_by_its_name() {
    for (name, is) in [
        ("run.pt.trace.json", true),
        ("folder.d/a.b.pt.trace.json", true),
        ("trace.json", false),
        ("run.pt.trace.json.gz", false),
        ("pt.trace.json/", false),
        ("-", false),
    ] {
        assert_eq!(is_torch_trace(Path::new(name)), is, "{name}");
    }
}

#[test]
fn a_torch_trace_has_steps_and_joins_kernels_to_operators() {
    let timeline = timeline(1, 3, On::Device);
    let trace = json(&torch(&timeline));
    assert_eq!(trace["schemaVersion"], 1);
    assert_eq!(trace["deviceProperties"][0]["name"], "NVIDIA H200");
    let spans = of_phase(&trace, "X");
    let steps = spans.iter().filter(|x| x["name"].as_str().unwrap().starts_with("ProfilerStep#"));
    let steps: Vec<(&Value, &Value)> = steps.map(|x| (&x["name"], &x["args"]["name"])).collect();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[1].0, "ProfilerStep#1");
    assert_eq!(steps[1].1, "sample 1");
    let by = |cat: &str, key: &'static str| -> BTreeMap<u64, u64> {
        let of_kind = spans.iter().filter(|x| x["cat"] == cat);
        of_kind
            .map(|x| (x["args"][key].as_u64().unwrap(), x["args"]["External id"].as_u64().unwrap()))
            .collect()
    };
    let (launches, kernels) = (by("runtime", "correlation"), by("kernel", "correlation"));
    assert_eq!(launches, kernels);
    let operators = by("cpu_op", "External id");
    assert!(!kernels.is_empty() && kernels.values().all(|id| operators.contains_key(id)));
}

#[test]
fn speedscope_opens_and_closes_in_order() {
    let (report, timeline) = (layers(2), timeline(2, 2, On::Device));
    let file = json(&speedscope(Some(&report), Some(&timeline)));
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = file["shared"]["frames"].as_array().unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    // One of the layers and one for each track with spans; nothing ran in the pool.
    assert_eq!(profiles.len(), 3);

    let tree = &profiles[0];
    assert_eq!(tree["type"], "sampled");
    let weights: Vec<f64> =
        tree["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    assert_eq!(tree["samples"].as_array().unwrap().len(), weights.len());
    assert!((weights.iter().sum::<f64>() - report.sum.0).abs() < 1e-9);
    assert!((tree["endValue"].as_f64().unwrap() - report.sum.0).abs() < 1e-9);
    let deepest =
        tree["samples"].as_array().unwrap().iter().max_by_key(|s| s.as_array().unwrap().len());
    let names: Vec<&str> = deepest
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frames[frame.as_u64().unwrap() as usize]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["bert-base-uncased", "encoder", "encoder.layer.1"]);

    let mut opened = 0;
    for profile in &profiles[1..] {
        assert_eq!(profile["type"], "evented");
        let (mut open, mut last) = (Vec::new(), 0);
        for event in profile["events"].as_array().unwrap() {
            let [at, frame] = ["at", "frame"].map(|key| event[key].as_u64().unwrap());
            assert!(at >= last && frame < frames.len() as u64);
            last = at;
            if event["type"] == "O" {
                opened += 1;
                open.push(frame);
            } else {
                assert_eq!(open.pop(), Some(frame));
            }
        }
        assert!(open.is_empty() && profile["endValue"].as_u64().unwrap() >= last);
    }
    assert_eq!(opened, timeline.spans.len());
}

#[test]
fn a_full_disk_is_an_error_from_every_writer() {
    let timeline = timeline(12, 20, On::Device);
    let full = || BufWriter::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let report = layers(2);
    let (info, mut failures) = (info(), Vec::new());
    failures.push(write_chrome_trace(&timeline, &info, &mut full()));
    failures.push(write_torch_trace(&timeline, &info, &mut full()));
    failures.push(write_speedscope(Some(&report), Some(&timeline), &info, &mut full()));
    // So small that only the last flush can tell.
    failures.push(write_chrome_trace(&Timeline::default(), &info, &mut full()));
    for failure in failures {
        assert_eq!(failure.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

/// Counts what the thread that asks holds in memory; other tests run beside it.
struct Counted;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn hold(bytes: isize) {
    // A thread that is ending has no counters any more, and nobody asks.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// A writer that keeps nothing but the count.
#[derive(Default)]
struct Sink(usize);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_million_spans_are_written_without_being_held() {
    const SPANS: u64 = 1_000_000;
    let million = (0..SPANS).map(|n| {
        let mut span = span(["MatMul", "Add", "Softmax"][n as usize % 3], n * 1_001, 1_000);
        span.kind = if n % 2 == 0 { SpanKind::Launch } else { SpanKind::Kernel };
        span.track = (n % 2) as u32;
        span.flow = Some(n / 2);
        span
    });
    let million = of_spans(million.collect());
    let (info, report) = (info(), layers(1));
    type Writer<'a> = &'a dyn Fn(&mut Sink) -> io::Result<()>;
    let writers: [Writer<'_>; 3] = [
        &|out| write_chrome_trace(&million, &info, out),
        &|out| write_torch_trace(&million, &info, out),
        &|out| write_speedscope(Some(&report), Some(&million), &info, out),
    ];
    for write in writers {
        let before = HELD.get();
        MOST.set(before);
        let mut out = Sink::default();
        write(&mut out).unwrap();
        let most = MOST.get() - before;
        assert!(out.0 > 70_000_000, "{}", out.0);
        assert!(most < 80 * SPANS as isize, "{most} bytes held");
    }
}

#[test]
fn layers_of_a_stored_run_lie_end_to_end_inside_the_modules_around_them() {
    let report = layers(3);
    let timeline = layers_timeline(&report, &info(), 1_794_800_000_000_000);
    assert!(timeline.laid_out);
    assert_eq!(timeline.spans.len(), report.layers.len() + 1);
    let whole = &timeline.spans[0];
    assert_eq!(
        (whole.name.as_str(), whole.kind, whole.start),
        ("bert-base-uncased", SpanKind::Step, 0)
    );
    assert!((whole.length as f64 / 1e9 - report.sum.0).abs() < 1e-6, "{}", whole.length);
    let end = |span: &Span| span.start + span.length;
    for span in &timeline.spans[1..] {
        let around = span
            .path
            .rsplit_once('.')
            .and_then(|(path, _)| timeline.spans.iter().find(|one| one.path == path));
        let around = around.unwrap_or(whole);
        assert!(span.start >= around.start && end(span) <= end(around) + 1, "{}", span.path);
    }
    // Who stands beside another begins where that one ends.
    let [query, key] = ["query", "key"].map(|name| {
        let path = format!("encoder.layer.0.attention.self.{name}");
        timeline.spans.iter().find(|span| span.path == path).unwrap()
    });
    assert!(query.start.abs_diff(key.start) >= query.length.min(key.length), "{query:?} {key:?}");
    let trace = json(&chrome(&timeline));
    assert_eq!(of_phase(&trace, "X").len(), timeline.spans.len());
    assert!(trace["otherData"]["remarks"].to_string().contains("laid end to end"), "{trace}");
}
