//! Where the time of every device went, from the records of every process.

mod calls;
mod device;
mod gaps;
mod intervals;
mod parts;
mod ranges;

use crate::read::Recording;
pub(crate) use calls::Calls;
use device::Process;
use ranges::Ranges;
use std::collections::HashMap;
use types::{GpuProblem, GpuProblemKind, GpuProcess, GpuProfile};

/// Rows of a table that are kept; a program that numbers its ranges may have any number.
const MOST_ROWS: usize = 2000;

/// Devices of one process; no machine has so many.
const MOST_DEVICES: usize = 64;

/// Where the time went.
#[must_use]
pub fn analyse(recordings: &[Recording], unread: Vec<(String, String)>) -> GpuProfile {
    GpuProfile { processes: recordings.iter().map(process).collect(), unread }
}

fn process(recording: &Recording) -> GpuProcess {
    let calls = Calls::of(recording);
    let ranges = Ranges::of(recording);
    let communicates: Vec<bool> =
        recording.texts.iter().map(|text| is_communication(text)).collect();
    let process =
        Process { recording, calls: &calls, ranges: &ranges, communicates: &communicates };
    let places = recording.kernels.iter().map(|one| one.place);
    let places = places.chain(recording.copies.iter().map(|one| one.place));
    let places = places.chain(recording.sets.iter().map(|one| one.place));
    let mut devices: Vec<u32> = places.map(|place| recording.device(place)).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut problems = recording.problems.clone();
    if devices.len() > MOST_DEVICES {
        let text = format!(
            "the recording names {} devices, which is damage: the first {MOST_DEVICES} are shown",
            devices.len()
        );
        problems.push(GpuProblem { kind: GpuProblemKind::Cut, text });
        devices.truncate(MOST_DEVICES);
    }
    let mut kernels: HashMap<u32, u64> = HashMap::new();
    let devices = devices
        .into_iter()
        .filter_map(|device| {
            let (device, by_range) = process.device(device)?;
            by_range.into_iter().for_each(|(range, (_, time))| {
                let sum: &mut u64 = kernels.entry(range).or_default();
                *sum = sum.saturating_add(time);
            });
            Some(device)
        })
        .collect();
    GpuProcess {
        process: recording.process,
        parent: recording.parent,
        rank: recording.rank,
        command: recording.command.clone(),
        cupti: recording.cupti,
        length: seconds(length(recording)),
        devices,
        ranges: ranges.tree(recording, &kernels),
        calls: recording.calls.len() as u64,
        problems,
    }
}

/// From the first to the last record.
fn length(recording: &Recording) -> u64 {
    let times = || {
        let work = recording.kernels.iter().map(|one| (one.start, one.end));
        let work = work.chain(recording.copies.iter().map(|one| (one.start, one.end)));
        let calls = recording.calls.iter().map(|one| (one.start, one.end));
        work.chain(calls).chain(recording.events.iter().map(|one| (one.time, one.time)))
    };
    let first = times().map(|(start, _)| start).min().unwrap_or(0);
    times().map(|(_, end)| end).max().unwrap_or(0).saturating_sub(first)
}

/// Whether a kernel moves data between devices.
fn is_communication(symbol: &str) -> bool {
    ["ncclDevKernel", "ncclKernel", "nvshmem", "rcclGenericKernel"]
        .iter()
        .any(|part| symbol.contains(part))
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The middle one; of two, the lower.
fn median(values: &mut [u64]) -> Option<u64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests;
