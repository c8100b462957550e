//! Recordings as a timeline, for trace files.

use crate::{name::short_name, read::Recording};
use gpu_inject::format::{Event, MODULE_MARK};
use std::collections::{BTreeMap, HashMap};
use types::{Span, SpanKind, Timeline, Track};

/// Most spans of a trace: viewers in a browser open about so many.
pub const LARGEST_TRACE: usize = 3_000_000;

/// Everything that happened, by time; and how many of the last spans were left out because they were too many.
#[must_use]
pub fn timeline(recordings: &[Recording]) -> (Timeline, usize) {
    let starts = recordings.iter().flat_map(|one| {
        let work = one.kernels.iter().map(|kernel| kernel.start);
        let work = work.chain(one.copies.iter().map(|copy| copy.start));
        let work = work.chain(one.calls.iter().map(|call| call.start));
        work.chain(one.events.iter().map(|event| event.time))
    });
    let begin = starts.min().unwrap_or(0);
    let anchor = recordings.first().map_or((0, 0), |one| one.anchor);
    let epoch = anchor.1.saturating_sub(anchor.0).saturating_add(begin);
    let mut writer = Writer {
        timeline: Timeline { began_at: (epoch / 1000) as i64, ..Timeline::default() },
        tracks: HashMap::new(),
        begin,
    };
    for (at, recording) in recordings.iter().enumerate() {
        writer.recording(at as u64, recording);
    }
    let mut timeline = writer.timeline;
    let spans = &mut timeline.spans;
    let left_out = spans.len().saturating_sub(LARGEST_TRACE);
    if left_out > 0 {
        spans.sort_by_key(|span| span.start);
        spans.truncate(LARGEST_TRACE);
    }
    (timeline, left_out)
}

struct Writer {
    timeline: Timeline,
    tracks: HashMap<(String, String), u32>,
    begin: u64,
}

impl Writer {
    fn track(&mut self, group: &str, name: String) -> u32 {
        let tracks = &mut self.timeline.tracks;
        *self.tracks.entry((group.to_owned(), name)).or_insert_with_key(|(group, name)| {
            tracks.push(Track { group: group.clone(), name: name.clone() });
            tracks.len() as u32 - 1
        })
    }

    fn span(
        &mut self,
        track: u32,
        kind: SpanKind,
        name: String,
        times: (u64, u64),
        flow: Option<u64>,
    ) {
        self.timeline.spans.push(Span {
            name,
            kind,
            track,
            start: times.0.saturating_sub(self.begin),
            length: times.1.saturating_sub(times.0),
            path: String::new(),
            flow,
        });
    }

    fn recording(&mut self, number: u64, recording: &Recording) {
        let host = match recording.rank {
            Some(rank) => format!("rank {rank} (process {})", recording.process),
            None => format!("process {}", recording.process),
        };
        // Correlations are numbers of one process.
        let flow = |correlation: u32| Some(number << 32 | u64::from(correlation));
        let started: std::collections::HashSet<u32> =
            recording.kernels.iter().map(|one| one.correlation).collect();
        for call in &recording.calls {
            let track = self.track(&host, format!("thread {} CUDA", call.thread));
            let name = recording.text(call.text).to_owned();
            let flow = flow(call.correlation).filter(|_| started.contains(&call.correlation));
            self.span(track, SpanKind::Launch, name, (call.start, call.end), flow);
        }
        let mut names: HashMap<u32, String> = HashMap::new();
        let place = |place: u32| recording.places.get(place as usize).copied().unwrap_or_default();
        let mut launched = std::collections::HashSet::new();
        for kernel in &recording.kernels {
            let [device, _, stream] = place(kernel.place);
            let track = self.track(&format!("{host} cuda:{device}"), format!("stream {stream}"));
            let text = recording.kernel_text(kernel.shape);
            let name =
                names.entry(text).or_insert_with(|| short_name(recording.text(text))).clone();
            let size = recording.shapes.get(kernel.shape as usize).map(|shape| shape.size);
            let name = match size {
                Some([blocks, threads]) => format!("{name} [{blocks} × {threads}]"),
                None => name,
            };
            // An arrow has one head: of a graph's kernels, the first.
            let flow = flow(kernel.correlation).filter(|_| launched.insert(kernel.correlation));
            self.span(track, SpanKind::Kernel, name, (kernel.start, kernel.end), flow);
        }
        for copy in &recording.copies {
            let [device, _, stream] = place(copy.place);
            let track = self.track(&format!("{host} cuda:{device}"), format!("stream {stream}"));
            let name = copy_name(copy.kinds, copy.bytes);
            self.span(track, SpanKind::Kernel, name, (copy.start, copy.end), None);
        }
        for set in &recording.sets {
            let [device, _, stream] = place(set.place);
            let track = self.track(&format!("{host} cuda:{device}"), format!("stream {stream}"));
            self.span(track, SpanKind::Kernel, "Memset".into(), (set.start, set.end), None);
        }
        self.ranges(&host, recording);
    }

    fn ranges(&mut self, host: &str, recording: &Recording) {
        let mut threads: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, event) in recording.events.iter().enumerate() {
            threads.entry(event.thread).or_default().push(at);
        }
        for (thread, mut events) in threads {
            events.sort_by_key(|at| recording.events[*at].time);
            let track = self.track(host, format!("thread {thread} ranges"));
            let mut open: Vec<(u64, u64, u32)> = Vec::new();
            for event in events.iter().map(|at| &recording.events[*at]) {
                match event.event {
                    Event::Push => open.push((event.first, event.time, event.text)),
                    Event::Pop => {
                        let last = open.iter().rposition(|(domain, _, _)| *domain == event.first);
                        if let Some((_, since, text)) = last.map(|at| open.remove(at)) {
                            let text = recording.text(text);
                            let plain = text.strip_prefix(char::from(MODULE_MARK));
                            let kind =
                                if plain.is_some() { SpanKind::Module } else { SpanKind::Phase };
                            let name = plain.unwrap_or(text).to_owned();
                            self.span(track, kind, name, (since, event.time), None);
                        }
                    }
                    Event::Start | Event::Stop | Event::Mark | Event::Node | Event::Part => {}
                }
            }
        }
    }
}

/// A copy as PyTorch's profiler names it, by which traces tell it from a kernel, and its bytes.
fn copy_name([direction, from, to]: [u8; 3], bytes: u64) -> String {
    let direction = match direction {
        1 => "HtoD",
        2 => "DtoH",
        8 => "DtoD",
        9 => "HtoH",
        10 => "PtoP",
        _ => "Unknown",
    };
    let memory = |kind| match kind {
        1 => "Pageable",
        2 => "Pinned",
        3 => "Device",
        4 => "Array",
        5 => "Managed",
        _ => "Unknown",
    };
    format!("Memcpy {direction} ({} -> {}) of {bytes} bytes", memory(from), memory(to))
}
