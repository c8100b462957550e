//! The file around the events of a trace, and the events that both trace formats share.

use crate::{arrows::Arrows, grid::micros, info::TraceInfo, rows::Rows};
use report::rfc3339;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use types::{Counter, Span, SpanKind, Timeline};

/// Who wrote a file.
pub(crate) const EXPORTER: &str = concat!("modelmeter ", env!("CARGO_PKG_VERSION"));

/// A process of the first group; numbers far from those of threads, so that no thread looks like a main one.
pub(crate) const FIRST_PROCESS: u64 = 1000;

/// One event; what a kind of event does not have is left out.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a, A> {
    /// What it is: `X` a span, `C` a number, `s` and `f` the ends of an arrow, `M` a name.
    pub(crate) ph: &'static str,
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cat: Option<&'static str>,
    pub(crate) pid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<A>,
}

/// Where a span or a name stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) process: u64,
    pub(crate) thread: u64,
}

/// A trace being written: its head, then its events, then its end.
pub(crate) struct Document<'a> {
    out: &'a mut dyn Write,
    any: bool,
}

impl<'a> Document<'a> {
    /// Writes the keys before the events.
    pub(crate) fn begin(
        head: &Map<String, Value>,
        out: &'a mut dyn Write,
    ) -> io::Result<Document<'a>> {
        out.write_all(b"{\n")?;
        for (key, value) in head {
            serde_json::to_writer(&mut *out, key)?;
            out.write_all(b": ")?;
            serde_json::to_writer(&mut *out, value)?;
            out.write_all(b",\n")?;
        }
        out.write_all(b"\"traceEvents\": [")?;
        Ok(Document { out, any: false })
    }

    /// Writes one event on a line of its own.
    pub(crate) fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    /// Writes what comes after the last event.
    pub(crate) fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]\n}\n")?;
        self.out.flush()
    }

    /// The name of a process or a thread, its labels, or its place among the others.
    pub(crate) fn name(&mut self, what: &str, place: Place, args: Value) -> io::Result<()> {
        self.event(&Event {
            ph: "M",
            name: what,
            cat: None,
            pid: place.process,
            tid: Some(place.thread),
            ts: None,
            dur: None,
            id: None,
            bp: None,
            args: Some(args),
        })
    }

    /// The names of all rows.
    pub(crate) fn names(&mut self, rows: &Rows, processes: &[u64]) -> io::Result<()> {
        for (index, (group, process)) in rows.groups.iter().zip(processes).enumerate() {
            let place = Place { process: *process, thread: 0 };
            self.name("process_name", place, json!({ "name": group }))?;
            self.name("process_sort_index", place, json!({ "sort_index": index }))?;
        }
        for (index, row) in rows.rows.iter().enumerate() {
            let place = Place { process: processes[row.group], thread: thread(index) };
            self.name("thread_name", place, json!({ "name": row.name }))?;
            self.name("thread_sort_index", place, json!({ "sort_index": index }))?;
        }
        Ok(())
    }

    /// The numbers beside the spans; what is not a number leaves a gap.
    pub(crate) fn counters(&mut self, counters: &[Counter], process: u64) -> io::Result<()> {
        for counter in counters {
            let unit = if counter.unit.is_empty() { "value" } else { counter.unit.as_str() };
            for (at, value) in counter.points.iter().filter(|(_, value)| value.is_finite()) {
                self.event(&Event {
                    ph: "C",
                    name: &counter.name,
                    cat: None,
                    pid: process,
                    tid: None,
                    ts: Some(micros(*at)),
                    dur: None,
                    id: None,
                    bp: None,
                    args: Some(json!({ unit: value })),
                })?;
            }
        }
        Ok(())
    }
}

/// The thread number of a row.
pub(crate) fn thread(row: usize) -> u64 {
    row as u64 + 1
}

/// What is said of the whole trace.
pub(crate) fn metadata(
    timeline: &Timeline,
    info: &TraceInfo,
    rows: &Rows,
    arrows: &Arrows,
) -> Map<String, Value> {
    let points = timeline.counters.iter().flat_map(|counter| &counter.points);
    let gaps = points.clone().filter(|(_, value)| !value.is_finite()).count();
    let mut remarks = Vec::new();
    if timeline.spans.is_empty() {
        remarks.push("empty: no spans were recorded".to_string());
    }
    if timeline.laid_out {
        remarks.push(LAID_OUT.to_string());
    }
    remarks.extend(rows.remarks());
    remarks.extend(arrows.remarks());
    match gaps {
        0 => {}
        1 => remarks.push("1 point of a counter is not a number and left out".into()),
        _ => remarks.push(format!("{gaps} points of counters are not numbers and left out")),
    }
    let mut metadata = Map::new();
    metadata.insert("exporter".into(), EXPORTER.into());
    if !info.run.is_empty() {
        metadata.insert("run".into(), info.run.as_str().into());
    }
    metadata.insert("model".into(), info.title().into());
    metadata.insert("setting".into(), info.setting.as_str().into());
    metadata.insert("began_at".into(), rfc3339(timeline.began_at).into());
    metadata.insert("spans".into(), timeline.spans.len().into());
    metadata.insert("arrows".into(), arrows.count().into());
    metadata.insert("points".into(), (points.count() - gaps).into());
    metadata.insert("remarks".into(), remarks.into());
    metadata
}

/// What is said where an engine tells no starts.
pub(crate) const LAID_OUT: &str =
    "it is known only how long each part took; starts are laid end to end";

/// The category of a span: its kind; for work on a device, what PyTorch's profiler calls it.
pub(crate) fn category(span: &Span) -> &'static str {
    match span.kind {
        SpanKind::Step => "step",
        SpanKind::Phase => "phase",
        SpanKind::Module => "module",
        SpanKind::Operator => "operator",
        SpanKind::Launch => "launch",
        SpanKind::Kernel => work(span),
    }
}

/// Copies and sets are told from kernels by their names.
fn work(span: &Span) -> &'static str {
    let begins =
        |word: &str| span.name.get(..word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word));
    if begins("memcpy") {
        "gpu_memcpy"
    } else if begins("memset") {
        "gpu_memset"
    } else {
        "kernel"
    }
}
