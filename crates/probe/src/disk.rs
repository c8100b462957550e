//! What the process reads and writes.

use crate::{
    followed::Followed,
    procfs::{field, read_text, require_process},
    socket::{PERIOD, Probe, Target, Watch},
};
use std::time::Duration;
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Disk;

impl Probe for Disk {
    fn id(&self) -> &'static str {
        "disk"
    }

    fn describe(&self) -> &'static str {
        "bytes that the process read from and wrote to storage, and bytes of its read and write calls (with pipes, \
         without mapped files)"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)?;
        io(target.pid).map(|_| ())
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let first = io(target.pid)?;
        Ok(Box::new(DiskWatch { pid: target.pid, process: Followed::begin(target.pid, first) }))
    }
}

/// The counters in the order of [`KEYS`].
type Counters = [u64; 4];

/// The kernel's name and ours.
const KEYS: [(&str, &str); 4] = [
    ("read_bytes", "disk.read"),
    ("write_bytes", "disk.written"),
    ("rchar", "disk.read.requested"),
    ("wchar", "disk.written.requested"),
];

fn io(pid: u32) -> Result<Counters, String> {
    let text = read_text(format!("/proc/{pid}/io"))?;
    parse_io(&text).ok_or_else(|| format!("`/proc/{pid}/io` has no counters"))
}

fn parse_io(text: &str) -> Option<Counters> {
    let mut counters = Counters::default();
    for (counter, (key, _)) in counters.iter_mut().zip(KEYS) {
        *counter = field(text, key)?;
    }
    Some(counters)
}

struct DiskWatch {
    pid: u32,
    process: Followed<Counters>,
}

impl Watch for DiskWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        self.process.update(io(self.pid).ok());
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let counters = self.process.last.iter().zip(self.process.first);
        let mut metrics: Vec<Metric> = KEYS
            .iter()
            .zip(counters)
            .map(|((_, key), (last, first))| {
                let bytes = last.saturating_sub(first) as f64;
                Metric::measured(*key, Unit::Bytes, Direction::Lower, bytes)
            })
            .collect();
        metrics.extend(self.process.rest("disk"));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_counters_are_read() {
        let text = "rchar: 6976\nwchar: 5\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n";
        assert_eq!(parse_io(text), Some([4096, 8192, 6976, 5]));
        assert_eq!(parse_io("rchar: 6976\n"), None);
    }
}
