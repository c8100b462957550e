//! The events of such a trace, each with what the plugin joins it by.

use super::{
    places::{Places, device_properties},
    steps::Steps,
};
use crate::{
    arrows::Arrows,
    document::{Document, Event, Place, category, metadata, thread},
    grid::exact_micros,
    info::TraceInfo,
    rows::{Rows, end},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    io::{self, Write},
};
use types::{SpanKind, Timeline};

/// What the plugin reads of a span beside its name.
#[derive(Debug, Default, Serialize)]
struct Arguments<'a> {
    #[serde(rename = "External id", skip_serializing_if = "Option::is_none")]
    external: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<u64>,
    #[serde(rename = "Python id", skip_serializing_if = "Option::is_none")]
    python: Option<u32>,
    #[serde(rename = "Python parent id", skip_serializing_if = "Option::is_none")]
    python_parent: Option<u32>,
    #[serde(rename = "Python module id", skip_serializing_if = "Option::is_none")]
    python_module: Option<usize>,
    #[serde(skip_serializing_if = "str::is_empty")]
    module: &'a str,
    /// The span's own name, where the plugin wants another.
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

/// Writes the timeline as a trace of PyTorch's profiler; give a buffered writer, and a file whose name ends in
/// `.pt.trace.json`.
///
/// # Errors
/// Where the writer fails.
pub fn write_torch_trace(
    timeline: &Timeline,
    info: &TraceInfo,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = Rows::of(timeline);
    let arrows = Arrows::of(&timeline.spans);
    let steps = Steps::of(&timeline.spans);
    let places = Places::of(timeline, &rows);
    let head = head(timeline, info, &rows, &arrows, &steps);
    let mut document = Document::begin(&head, out)?;
    document.names(&rows, &places.processes)?;
    if let Some((start, end)) = steps.whole() {
        let place = Place { process: places.spare(), thread: thread(rows.rows.len()) };
        document.name("thread_name", place, json!({ "name": "whole timeline" }))?;
        document.event(&whole(start, end, place))?;
    }
    let mut writer = SpanWriter {
        timeline,
        rows: &rows,
        arrows: &arrows,
        steps: &steps,
        places: &places,
        modules: HashMap::new(),
        next_correlation: timeline.spans.iter().filter_map(|span| span.flow).max().unwrap_or(0),
    };
    for index in &rows.order {
        writer.write(*index, &mut document)?;
    }
    document.counters(&timeline.counters, places.host())?;
    document.end()
}

fn head(
    timeline: &Timeline,
    info: &TraceInfo,
    rows: &Rows,
    arrows: &Arrows,
    steps: &Steps,
) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("schemaVersion".into(), 1.into());
    if !info.gpus.is_empty() {
        head.insert("deviceProperties".into(), device_properties(&info.gpus));
    }
    head.insert("displayTimeUnit".into(), "ms".into());
    let base = timeline.began_at.saturating_mul(1000);
    head.insert("baseTimeNanoseconds".into(), base.into());
    let mut said = metadata(timeline, info, rows, arrows);
    if let (Some(remark), Some(Value::Array(remarks))) = (steps.remark(), said.get_mut("remarks")) {
        remarks.push(remark.into());
    }
    head.insert("otherData".into(), said.into());
    head
}

fn whole(start: u64, end: u64, place: Place) -> Event<'static, Arguments<'static>> {
    let (start, end) = (exact_micros(start), exact_micros(end));
    event("ProfilerStep#0", "user_annotation", start, end, place, Arguments::default())
}

fn event<'a>(
    name: &'a str,
    category: &'static str,
    start: f64,
    end: f64,
    place: Place,
    arguments: Arguments<'a>,
) -> Event<'a, Arguments<'a>> {
    Event {
        ph: "X",
        name,
        cat: Some(category),
        pid: place.process,
        tid: Some(place.thread),
        ts: Some(start),
        dur: Some(end - start),
        id: None,
        bp: None,
        args: Some(arguments),
    }
}

/// Everything a span must be joined with.
struct SpanWriter<'a> {
    timeline: &'a Timeline,
    rows: &'a Rows,
    arrows: &'a Arrows,
    steps: &'a Steps,
    places: &'a Places,
    /// A number for each module's name.
    modules: HashMap<&'a str, usize>,
    /// Above every number that the timeline uses; a launch without a number must share none.
    next_correlation: u64,
}

impl<'a> SpanWriter<'a> {
    fn write(&mut self, index: u32, document: &mut Document<'_>) -> io::Result<()> {
        let span = &self.timeline.spans[index as usize];
        let row = self.rows.row(index);
        let group = self.rows.rows[row].group;
        let place = Place { process: self.places.processes[group], thread: thread(row) };
        let (start, end) = (exact_micros(span.start), exact_micros(end(span)));
        let mut arguments = Arguments { module: &span.path, ..Arguments::default() };
        if let Some(number) = self.steps.number(index) {
            let name = format!("ProfilerStep#{number}");
            arguments.name = &span.name;
            return document.event(&event(&name, "user_annotation", start, end, place, arguments));
        }
        match span.kind {
            SpanKind::Step | SpanKind::Phase => {
                document.event(&event(&span.name, "user_annotation", start, end, place, arguments))
            }
            SpanKind::Module => {
                let name = format!("nn.Module: {}", span.name);
                let next = self.modules.len();
                arguments.python = Some(index + 1);
                arguments.python_parent = self.around(index, SpanKind::Module).map(|id| id + 1);
                arguments.python_module = Some(*self.modules.entry(&span.name).or_insert(next));
                document.event(&event(&name, "python_function", start, end, place, arguments))
            }
            SpanKind::Operator => {
                arguments.external = Some(index + 1);
                document.event(&event(&span.name, "cpu_op", start, end, place, arguments))
            }
            SpanKind::Launch => {
                arguments.external = Some(self.operator_around(index));
                arguments.correlation = Some(span.flow.unwrap_or_else(|| {
                    self.next_correlation = self.next_correlation.saturating_add(1);
                    self.next_correlation
                }));
                document.event(&event(&span.name, "runtime", start, end, place, arguments))
            }
            SpanKind::Kernel => {
                let cause = self.arrows.at_head(index).map(|(_, cause)| cause);
                arguments.external = cause.map(|cause| self.operator_around(cause));
                arguments.correlation = span.flow;
                arguments.device = self.places.devices[group];
                arguments.stream = Some(self.places.stream(&self.rows.rows[row].name, row));
                document.event(&event(&span.name, category(span), start, end, place, arguments))
            }
        }
    }

    /// The number of the operator in which a span lies, or which it is; 0 where there is none.
    fn operator_around(&self, index: u32) -> u32 {
        if self.timeline.spans[index as usize].kind == SpanKind::Operator {
            return index + 1;
        }
        self.around(index, SpanKind::Operator).map_or(0, |id| id + 1)
    }

    /// The smallest span of a kind in which a span lies.
    fn around(&self, index: u32, kind: SpanKind) -> Option<u32> {
        let mut around = self.rows.parent(index);
        while let Some(parent) = around {
            if self.timeline.spans[parent as usize].kind == kind {
                return Some(parent);
            }
            around = self.rows.parent(parent);
        }
        None
    }
}
