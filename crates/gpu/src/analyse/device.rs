//! One device as one process used it: where its time went.

use super::{
    calls::Calls, gaps::Gaps, intervals::Intervals, median, parts, ranges::Ranges, seconds,
};
use crate::{name::short_name, read::Recording};
use std::collections::HashMap;
use types::{CopyDirection, CopyMemory, GpuCopies, GpuDevice, GpuKernel, GpuLaunches};

/// A kernel shorter than this takes about as long as its launch.
const SHORT: u64 = 10_000;
/// Parts in which the use of a device over time is told.
const PARTS: usize = 120;

/// Something that a device did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) correlation: u32,
    pub(super) node: u64,
    /// The text of a kernel; 0 for copies and sets.
    pub(super) text: u32,
    pub(super) stream: u32,
    pub(super) is_copy: bool,
    pub(super) is_communication: bool,
}

/// By range: kernels that were launched in it, and their time.
pub(super) type ByRange = HashMap<u32, (u64, u64)>;

/// What is known of the process.
pub(super) struct Process<'a> {
    pub(super) recording: &'a Recording,
    pub(super) calls: &'a Calls<'a>,
    pub(super) ranges: &'a Ranges,
    /// For each text: whether it is a kernel that moves data between devices.
    pub(super) communicates: &'a [bool],
}

impl Process<'_> {
    /// Everything that a device did, by start.
    pub(super) fn work(&self, device: u32) -> Vec<Work> {
        let recording = self.recording;
        let is_here = |place: u32| recording.device(place) == device;
        let stream = |place: u32| recording.places.get(place as usize).map_or(0, |place| place[2]);
        let kernels = recording.kernels.iter().filter(|one| is_here(one.place)).map(|one| {
            let text = recording.kernel_text(one.shape);
            Work {
                start: one.start,
                end: one.end,
                correlation: one.correlation,
                node: one.node,
                text,
                stream: stream(one.place),
                is_copy: false,
                is_communication: self.communicates.get(text as usize).copied().unwrap_or(false),
            }
        });
        let moved = |start, end, correlation, place| Work {
            start,
            end,
            correlation,
            node: 0,
            text: 0,
            stream: stream(place),
            is_copy: true,
            is_communication: false,
        };
        let copies = recording.copies.iter().filter(|one| is_here(one.place));
        let copies = copies.map(|one| moved(one.start, one.end, one.correlation, one.place));
        let sets = recording.sets.iter().filter(|one| is_here(one.place));
        let sets = sets.map(|one| moved(one.start, one.end, one.correlation, one.place));
        let mut work: Vec<Work> = kernels.chain(copies).chain(sets).collect();
        work.sort_unstable_by_key(|one| (one.start, one.end));
        work
    }

    /// The range in which work was launched; for nodes of a graph, the one in which the node was made.
    pub(super) fn range(&self, work: &Work) -> (u32, bool) {
        let made = (work.node != 0).then(|| self.ranges.of_graph_node(work.node)).flatten();
        let launched = || {
            let call = self.calls.of_work(work.correlation)?;
            Some(self.ranges.at(call.thread, call.start))
        };
        (made.or_else(launched).unwrap_or(super::ranges::NONE), made.is_some())
    }

    /// Where the time of a device went, and the times of its kernels by range.
    pub(super) fn device(&self, device: u32) -> Option<(GpuDevice, ByRange)> {
        let work = self.work(device);
        let first = work.first()?;
        let (begin, end) = (first.start, work.iter().map(|one| one.end).max()?);
        let union = |is_wanted: &dyn Fn(&Work) -> bool| {
            Intervals::union(
                work.iter().filter(|one| is_wanted(one)).map(|one| (one.start, one.end)),
            )
        };
        let compute = union(&|one| !one.is_copy && !one.is_communication);
        let communication = union(&|one| one.is_communication);
        let copies = union(&|one| one.is_copy);
        let kernels = compute.or(&communication);
        let mut gaps = Gaps::new(self.calls, self.ranges);
        let mut last = first;
        for one in &work[1..] {
            if one.start > last.end {
                gaps.add(last.end, last, one);
            }
            if one.end > last.end {
                last = one;
            }
        }
        // Not the rest of the window: so that the sum of all four can show a mistake.
        let idle = gaps.total;
        let mut by_range: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut launches =
            GpuLaunches { call: self.calls.launch_median().map(seconds), ..GpuLaunches::default() };
        let mut kernel_sum = 0;
        let mut graphs = std::collections::HashSet::new();
        for one in work.iter().filter(|one| !one.is_copy) {
            let time = one.end - one.start;
            kernel_sum = time.saturating_add(kernel_sum);
            let (range, is_named) = self.range(one);
            let sum = by_range.entry(range).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(time));
            if !one.is_communication {
                launches.kernels += 1;
                if time < SHORT {
                    launches.short += 1;
                    launches.short_time += seconds(time);
                }
            }
            if one.node != 0 {
                launches.graph_kernels += 1;
                launches.graph_named += u64::from(is_named);
                graphs.insert(one.correlation);
            }
        }
        launches.graph_launches = graphs.len() as u64;
        let mut streams: Vec<u32> = work.iter().map(|one| one.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let device = GpuDevice {
            device,
            name: None,
            streams: streams.len() as u32,
            window: seconds(end - begin),
            compute: seconds(compute.length()),
            communication: seconds(communication.without(&compute).length()),
            copies: seconds(copies.without(&kernels).length()),
            idle: seconds(idle),
            communication_all: seconds(communication.length()),
            copies_all: seconds(copies.length()),
            kernel_sum: seconds(kernel_sum),
            gaps: gaps.finish(),
            kernels: self.kernels(&work),
            modules: parts::modules(self.ranges, &by_range),
            ranges: parts::ranges(self.ranges, &by_range),
            copy_kinds: self.copies(device),
            launches,
            busy: kernels.shares(begin, end, PARTS),
            memory_peak: self.memory_peak(device),
        };
        Some((device, by_range))
    }

    /// Kernels by name, the most time first.
    fn kernels(&self, work: &[Work]) -> Vec<GpuKernel> {
        let mut names: HashMap<u32, String> = HashMap::new();
        let mut times: HashMap<String, (u32, bool, Vec<u64>)> = HashMap::new();
        let mut by_text: HashMap<u32, Vec<u64>> = HashMap::new();
        for one in work.iter().filter(|one| !one.is_copy) {
            by_text.entry(one.text).or_default().push(one.end - one.start);
        }
        for (text, mut own) in by_text {
            let name = names.entry(text).or_insert_with(|| short_name(self.recording.text(text)));
            let is_communication = self.communicates.get(text as usize).copied().unwrap_or(false);
            let known = times.entry(name.clone()).or_insert((text, is_communication, Vec::new()));
            // The name that stands for all is that of the lowest number, whatever the order of a map.
            known.0 = known.0.min(text);
            known.2.append(&mut own);
        }
        let mut table: Vec<(u64, GpuKernel)> = times
            .into_iter()
            .map(|(name, (text, is_communication, mut times))| {
                let sum = times.iter().fold(0, |sum: u64, time| sum.saturating_add(*time));
                let median = median(&mut times).unwrap_or(0);
                let kernel = GpuKernel {
                    name,
                    symbol: self.recording.text(text).to_owned(),
                    count: times.len() as u64,
                    time: seconds(sum),
                    median: seconds(median),
                    shortest: seconds(times.iter().min().copied().unwrap_or(0)),
                    longest: seconds(times.iter().max().copied().unwrap_or(0)),
                    is_communication,
                };
                (sum, kernel)
            })
            .collect();
        table.sort_by(|a, b| (b.0, &a.1.name).cmp(&(a.0, &b.1.name)));
        table.truncate(super::MOST_ROWS);
        table.into_iter().map(|(_, kernel)| kernel).collect()
    }

    /// Copies by direction and memory, the most time first.
    fn copies(&self, device: u32) -> Vec<GpuCopies> {
        let mut sums: HashMap<[u8; 3], (u64, u64, u64)> = HashMap::new();
        for one in &self.recording.copies {
            if self.recording.device(one.place) == device {
                let sum = sums.entry(one.kinds).or_default();
                *sum = (
                    sum.0 + 1,
                    sum.1.saturating_add(one.bytes),
                    sum.2.saturating_add(one.end - one.start),
                );
            }
        }
        let mut table: Vec<([u8; 3], (u64, u64, u64))> = sums.into_iter().collect();
        table.sort_by(|a, b| (b.1.2, a.0).cmp(&(a.1.2, b.0)));
        let row =
            |([direction, from, to], (count, bytes, time)): ([u8; 3], (u64, u64, u64))| GpuCopies {
                direction: direction_of(direction),
                from: memory_of(from),
                to: memory_of(to),
                count,
                bytes,
                time: seconds(time),
                rate: if time == 0 { 0.0 } else { bytes as f64 / seconds(time) },
            };
        table.into_iter().map(row).collect()
    }

    /// The most memory that was allocated through the driver at once.
    fn memory_peak(&self, device: u32) -> Option<u64> {
        let mut records: Vec<_> = self
            .recording
            .memory
            .iter()
            .filter(|one| one.device == device && one.kind == DEVICE_MEMORY)
            .collect();
        records.sort_by_key(|one| one.time);
        let mut held: HashMap<u64, u64> = HashMap::new();
        let (mut now, mut peak) = (0_u64, None);
        for one in records {
            if one.is_taken {
                now = now.saturating_add(one.bytes);
                held.insert(one.address, one.bytes);
                peak = peak.max(Some(now));
            } else {
                now = now.saturating_sub(held.remove(&one.address).unwrap_or(0));
            }
        }
        peak
    }
}

/// CUPTI's number for memory of the device.
const DEVICE_MEMORY: u8 = 3;

fn direction_of(direction: u8) -> CopyDirection {
    match direction {
        1 | 3 => CopyDirection::HostToDevice,
        2 | 4 => CopyDirection::DeviceToHost,
        5..=8 => CopyDirection::WithinDevice,
        9 => CopyDirection::HostToHost,
        10 => CopyDirection::DeviceToDevice,
        _ => CopyDirection::Unknown,
    }
}

fn memory_of(memory: u8) -> CopyMemory {
    match memory {
        1 => CopyMemory::Pageable,
        2 => CopyMemory::Pinned,
        3 | 6 => CopyMemory::Device,
        4 => CopyMemory::Array,
        5 | 7 => CopyMemory::Managed,
        _ => CopyMemory::Unknown,
    }
}
