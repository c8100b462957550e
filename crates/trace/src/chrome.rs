//! Trace events as Perfetto and chrome://tracing read them.

use crate::{
    arrows::Arrows,
    document::{Document, Event, FIRST_PROCESS, LAID_OUT, Place, category, metadata, thread},
    grid::micros,
    info::TraceInfo,
    rows::Rows,
};
use serde::Serialize;
use serde_json::{Map, json};
use std::{
    borrow::Cow,
    io::{self, Write},
};
use types::{Span, Timeline, Track};

/// What an arrow is called; both of its ends must say the same.
const ARROW: &str = "launch";

/// The row of what the time went through.
const CRITICAL_PATH: &str = "critical path";

/// What is shown of a span beside its name.
#[derive(Debug, Serialize)]
struct Arguments<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    module: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<u64>,
}

/// Writes the timeline as trace events in JSON; give a buffered writer.
///
/// # Errors
/// Where the writer fails.
pub fn write_chrome_trace(
    timeline: &Timeline,
    info: &TraceInfo,
    out: &mut dyn Write,
) -> io::Result<()> {
    let timeline = &with_critical_path(timeline);
    let rows = Rows::of(timeline);
    let arrows = Arrows::of(&timeline.spans);
    let mut head = Map::new();
    head.insert("displayTimeUnit".into(), "ms".into());
    head.insert("otherData".into(), metadata(timeline, info, &rows, &arrows).into());
    let mut document = Document::begin(&head, out)?;
    let processes: Vec<u64> =
        (1..=rows.groups.len() as u64).map(|group| group * FIRST_PROCESS).collect();
    document.names(&rows, &processes)?;
    if timeline.laid_out {
        for process in &processes {
            let place = Place { process: *process, thread: 0 };
            document.name("process_labels", place, json!({ "labels": LAID_OUT }))?;
        }
    }
    for index in &rows.order {
        let span = &timeline.spans[*index as usize];
        let row = rows.row(*index);
        let place = Place { process: processes[rows.rows[row].group], thread: thread(row) };
        document.event(&complete(span, place))?;
        // Right behind its span: an arrow's end belongs to the span that a reader opened last.
        for number in arrows.at_tail(*index) {
            document.event(&end_of_arrow("s", number, span, place))?;
        }
        if let Some((number, _)) = arrows.at_head(*index) {
            document.event(&end_of_arrow("f", number, span, place))?;
        }
    }
    let process = processes.first().copied().unwrap_or(FIRST_PROCESS);
    document.counters(&timeline.counters, process)?;
    document.end()
}

/// The timeline with a track of its own for what the time went through.
pub(crate) fn with_critical_path(timeline: &Timeline) -> Cow<'_, Timeline> {
    if timeline.critical_path.is_empty() {
        return Cow::Borrowed(timeline);
    }
    let mut timeline = timeline.clone();
    let track = u32::try_from(timeline.tracks.len()).unwrap_or(u32::MAX);
    timeline.tracks.push(Track { group: CRITICAL_PATH.into(), name: "longest chain".into() });
    let stretches = std::mem::take(&mut timeline.critical_path);
    timeline.spans.extend(stretches.into_iter().map(|span| Span { track, ..span }));
    Cow::Owned(timeline)
}

fn complete(span: &Span, place: Place) -> Event<'_, Arguments<'_>> {
    let arguments = Arguments { module: &span.path, flow: span.flow };
    let says_nothing = span.path.is_empty() && span.flow.is_none();
    Event {
        ph: "X",
        name: &span.name,
        cat: Some(category(span)),
        pid: place.process,
        tid: Some(place.thread),
        ts: Some(micros(span.start)),
        dur: Some(micros(span.length)),
        id: None,
        bp: None,
        args: (!says_nothing).then_some(arguments),
    }
}

fn end_of_arrow(
    ph: &'static str,
    number: u32,
    span: &Span,
    place: Place,
) -> Event<'static, Arguments<'static>> {
    Event {
        ph,
        name: ARROW,
        cat: Some("flow"),
        pid: place.process,
        tid: Some(place.thread),
        ts: Some(micros(span.start)),
        dur: None,
        id: Some(number),
        // The end binds to the span around it; without this a reader takes the next one.
        bp: (ph == "f").then_some("e"),
        args: None,
    }
}
