//! Trace packets as Perfetto writes them itself: a third of the size of its JSON, and read faster.
//!
//! Only a few fields of `perfetto_trace.proto` are needed, so their numbers stand here; names are written once and
//! referred to by number.

use crate::{
    arrows::Arrows,
    chrome::with_critical_path,
    document::{EXPORTER, FIRST_PROCESS, LAID_OUT, category, metadata, thread},
    info::TraceInfo,
    rows::Rows,
};
use std::{
    collections::HashMap,
    io::{self, Write},
    path::Path,
};
use types::Timeline;

/// Endings of files that Perfetto's own programs write.
const ENDINGS: [&str; 3] = ["pftrace", "perfetto-trace", "perfetto_trace"];

/// Whether a file's name asks for this format.
#[must_use]
pub fn is_perfetto_trace(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one))
}

/// Field numbers of the messages that are written.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) mod packet {
        pub(in super::super) const TIME: u32 = 8;
        pub(in super::super) const SEQUENCE: u32 = 10;
        pub(in super::super) const EVENT: u32 = 11;
        pub(in super::super) const INTERNED: u32 = 12;
        pub(in super::super) const FLAGS: u32 = 13;
        pub(in super::super) const TRACK: u32 = 60;
    }
    pub(super) mod track {
        pub(in super::super) const UUID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const THREAD: u32 = 4;
        pub(in super::super) const PARENT: u32 = 5;
        pub(in super::super) const COUNTER: u32 = 8;
        /// In a process and in a thread.
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const TID: u32 = 2;
        pub(in super::super) const THREAD_NAME: u32 = 5;
        pub(in super::super) const PROCESS_NAME: u32 = 6;
        pub(in super::super) const LABELS: u32 = 8;
    }
    pub(super) mod event {
        pub(in super::super) const CATEGORY: u32 = 3;
        pub(in super::super) const ANNOTATION: u32 = 4;
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const NAME: u32 = 10;
        pub(in super::super) const TRACK: u32 = 11;
        pub(in super::super) const VALUE: u32 = 44;
        pub(in super::super) const FLOW: u32 = 47;
        pub(in super::super) const LAST_FLOW: u32 = 48;
        /// Of an annotation.
        pub(in super::super) const OF_NAME: u32 = 1;
        pub(in super::super) const OF_TEXT: u32 = 17;
    }
    pub(super) mod interned {
        pub(in super::super) const CATEGORY: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const ANNOTATION: u32 = 3;
        pub(in super::super) const TEXT: u32 = 29;
        /// Of each of them: its number and its text.
        pub(in super::super) const NUMBER: u32 = 1;
        pub(in super::super) const VALUE: u32 = 2;
    }
}

const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;
/// Names begin anew with this packet; the others need them.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;
const SEQUENCE: u64 = 1;
/// The name of the annotation that has a span's module.
const MODULE: &str = "module";

/// Writes the timeline as packets; give a buffered writer.
///
/// # Errors
/// Where the writer fails.
pub fn write_perfetto_trace(
    timeline: &Timeline,
    info: &TraceInfo,
    out: &mut dyn Write,
) -> io::Result<()> {
    let timeline = &with_critical_path(timeline);
    let rows = Rows::of(timeline);
    let arrows = Arrows::of(&timeline.spans);
    let mut writer = Writer { out, names: HashMap::new() };
    writer.begin(timeline, info, &rows, &arrows)?;
    // Spans of a row that are open, the innermost last, and when each ends.
    let mut open: Vec<(u32, u64)> = Vec::new();
    let mut row = usize::MAX;
    for index in &rows.order {
        let span = &timeline.spans[*index as usize];
        let around = rows.parent(*index);
        while let Some((_, end)) = open.pop_if(|(one, _)| Some(*one) != around) {
            writer.end_span(row, end)?;
        }
        row = rows.row(*index);
        let mut event = Message::default();
        event.number(field::event::TYPE, BEGIN);
        event.number(field::event::TRACK, row_uuid(row));
        let category = (field::interned::CATEGORY, category(span));
        let name = (field::interned::NAME, span.name.as_str());
        event.number(field::event::CATEGORY, writer.name(category)?);
        event.number(field::event::NAME, writer.name(name)?);
        if !span.path.is_empty() {
            let mut annotation = Message::default();
            annotation
                .number(field::event::OF_NAME, writer.name((field::interned::ANNOTATION, MODULE))?);
            let text = (field::interned::TEXT, span.path.as_str());
            annotation.number(field::event::OF_TEXT, writer.name(text)?);
            event.message(field::event::ANNOTATION, &annotation);
        }
        for number in arrows.at_tail(*index) {
            event.fixed(field::event::FLOW, u64::from(number));
        }
        if let Some((number, _)) = arrows.at_head(*index) {
            event.fixed(field::event::LAST_FLOW, u64::from(number));
        }
        writer.event(span.start, &event)?;
        open.push((*index, span.start.saturating_add(span.length)));
    }
    while let Some((_, end)) = open.pop() {
        writer.end_span(row, end)?;
    }
    writer.counters(timeline)?;
    writer.out.flush()
}

/// The number of a process' track; those of rows and counters follow in ranges of their own.
fn process_uuid(group: usize) -> u64 {
    group as u64 + 1
}

fn row_uuid(row: usize) -> u64 {
    (1 << 32) + row as u64
}

fn counter_uuid(counter: usize) -> u64 {
    (2 << 32) + counter as u64
}

fn process_number(group: usize) -> u64 {
    (group as u64 + 1) * FIRST_PROCESS
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// The numbers of names, by the table that they are in.
    names: HashMap<(u32, String), u64>,
}

impl Writer<'_> {
    /// Names everything that spans lie on.
    fn begin(
        &mut self,
        timeline: &Timeline,
        info: &TraceInfo,
        rows: &Rows,
        arrows: &Arrows,
    ) -> io::Result<()> {
        let mut cleared = Message::default();
        cleared.number(field::packet::FLAGS, CLEARED);
        self.packet(cleared)?;
        for (group, name) in rows.groups.iter().enumerate() {
            let mut process = Message::default();
            process.number(field::track::PID, process_number(group));
            process.text(field::track::PROCESS_NAME, name);
            if group == 0 {
                process.text(field::track::LABELS, EXPORTER);
                // A packet has no place for free text; a process has labels.
                for (key, value) in metadata(timeline, info, rows, arrows) {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    process.text(field::track::LABELS, &format!("{key}: {value}"));
                }
            }
            if timeline.laid_out {
                process.text(field::track::LABELS, LAID_OUT);
            }
            self.track(process_uuid(group), |track| {
                track.message(field::track::PROCESS, &process);
            })?;
        }
        for (row, place) in rows.rows.iter().enumerate() {
            let mut of_row = Message::default();
            of_row.number(field::track::PID, process_number(place.group));
            of_row.number(field::track::TID, thread(row));
            of_row.text(field::track::THREAD_NAME, &place.name);
            self.track(row_uuid(row), |track| track.message(field::track::THREAD, &of_row))?;
        }
        Ok(())
    }

    fn counters(&mut self, timeline: &Timeline) -> io::Result<()> {
        for (at, counter) in timeline.counters.iter().enumerate() {
            let name = format!("{} {}", counter.name, counter.unit);
            self.track(counter_uuid(at), |track| {
                track.text(field::track::NAME, name.trim_end());
                track.number(field::track::PARENT, process_uuid(0));
                track.message(field::track::COUNTER, &Message::default());
            })?;
            for (time, value) in counter.points.iter().filter(|(_, value)| value.is_finite()) {
                let mut event = Message::default();
                event.number(field::event::TYPE, COUNTER);
                event.number(field::event::TRACK, counter_uuid(at));
                event.double(field::event::VALUE, *value);
                self.event(*time, &event)?;
            }
        }
        Ok(())
    }

    fn track(&mut self, uuid: u64, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let (mut packet, mut track) = (Message::default(), Message::default());
        track.number(field::track::UUID, uuid);
        fill(&mut track);
        packet.message(field::packet::TRACK, &track);
        self.packet(packet)
    }

    fn end_span(&mut self, row: usize, time: u64) -> io::Result<()> {
        let mut event = Message::default();
        event.number(field::event::TYPE, END);
        event.number(field::event::TRACK, row_uuid(row));
        self.event(time, &event)
    }

    fn event(&mut self, time: u64, event: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.number(field::packet::TIME, time);
        packet.number(field::packet::FLAGS, NEEDED);
        packet.message(field::packet::EVENT, event);
        self.packet(packet)
    }

    /// The number of a name in its table; a new one is written first.
    fn name(&mut self, (table, text): (u32, &str)) -> io::Result<u64> {
        let key = (table, text.to_owned());
        if let Some(known) = self.names.get(&key) {
            return Ok(*known);
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert(key, number);
        let (mut entry, mut interned) = (Message::default(), Message::default());
        entry.number(field::interned::NUMBER, number);
        entry.text(field::interned::VALUE, text);
        interned.message(table, &entry);
        let mut packet = Message::default();
        packet.number(field::packet::FLAGS, NEEDED);
        packet.message(field::packet::INTERNED, &interned);
        self.packet(packet)?;
        Ok(number)
    }

    fn packet(&mut self, mut packet: Message) -> io::Result<()> {
        packet.number(field::packet::SEQUENCE, SEQUENCE);
        let mut head = Message::default();
        head.key(field::TRACE_PACKET, 2);
        head.varint(packet.0.len() as u64);
        self.out.write_all(&head.0)?;
        self.out.write_all(&packet.0)
    }
}

/// A message of Protocol Buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    fn text(&mut self, field: u32, text: &str) {
        self.key(field, 2);
        self.varint(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.key(field, 2);
        self.varint(message.0.len() as u64);
        self.0.extend_from_slice(&message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_endings() {
        for name in ["a.pftrace", "b.perfetto-trace"] {
            assert!(is_perfetto_trace(Path::new(name)), "{name}");
        }
        for name in ["a.json", "pftrace", "a.pt.trace.json"] {
            assert!(!is_perfetto_trace(Path::new(name)), "{name}");
        }
    }
}
