//! Resident memory of the process: its high-water mark, its average, and what it consists of at the end.

use crate::{
    followed::Followed,
    process_tree::{TreeWatch, works_in_a_tree},
    procfs::{field_in_bytes, read_text, require_process},
    socket::{PERIOD, Probe, Target, Watch},
};
use std::{fs, time::Duration};
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Memory;

impl Probe for Memory {
    fn id(&self) -> &'static str {
        "memory"
    }

    fn describe(&self) -> &'static str {
        "resident memory: the kernel's high-water mark, the sampled average, and at the end its anonymous, file and proportional parts; swap"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let pid = target.pid;
        if works_in_a_tree(target.device) {
            return Ok(Box::new(TreeWatch::start(pid)?));
        }
        // 5 lowers the high-water mark to what is resident now (proc(5), clear_refs).
        let file = format!("/proc/{pid}/clear_refs");
        let reset = fs::write(&file, "5").map_err(|error| {
            format!(
                "the high-water mark could not be reset (`{file}`: {error}), so `memory.peak` covers the whole life of the process"
            )
        });
        let first = status(pid).ok_or_else(|| format!("process {pid} has no memory of its own"))?;
        let sum = first.resident as f64;
        Ok(Box::new(MemoryWatch {
            pid,
            reset,
            sum,
            count: 1,
            process: Followed::begin(pid, first),
        }))
    }
}

/// What `/proc/PID/status` says about memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    peak: u64,
    resident: u64,
    anonymous: u64,
    file: u64,
    shared: u64,
    swap: u64,
}

fn status(pid: u32) -> Option<Status> {
    parse_status(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// `None` for a process that has ended: its memory is gone before its entry is.
fn parse_status(text: &str) -> Option<Status> {
    let bytes = |key: &str| field_in_bytes(text, key);
    Some(Status {
        peak: bytes("VmHWM")?,
        resident: bytes("VmRSS")?,
        anonymous: bytes("RssAnon").unwrap_or(0),
        file: bytes("RssFile").unwrap_or(0),
        shared: bytes("RssShmem").unwrap_or(0),
        swap: bytes("VmSwap").unwrap_or(0),
    })
}

struct MemoryWatch {
    pid: u32,
    /// Whether the mark counts from the start of the window, or why not.
    reset: Result<(), String>,
    sum: f64,
    count: u64,
    process: Followed<Status>,
}

impl Watch for MemoryWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        let reading = status(self.pid);
        if let Some(status) = reading {
            self.sum += status.resident as f64;
            self.count += 1;
        }
        self.process.update(reading);
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let last = self.process.last;
        let bytes = |key: &str, value: u64| {
            Metric::measured(key, Unit::Bytes, Direction::Lower, value as f64)
        };
        let mut metrics = vec![
            bytes("memory.peak", last.peak),
            match &self.reset {
                Ok(()) => bytes("memory.peak.window", last.peak),
                Err(why) => Metric::missing(
                    "memory.peak.window",
                    Unit::Bytes,
                    Direction::Lower,
                    why.as_str(),
                ),
            },
            Metric::measured(
                "memory.average",
                Unit::Bytes,
                Direction::Lower,
                self.sum / self.count as f64,
            ),
            bytes("memory.anonymous", last.anonymous),
            bytes("memory.file", last.file),
            bytes("memory.shared", last.shared),
            bytes("memory.swap", last.swap),
        ];
        // Walks the page tables, so only once, at the end.
        let proportional = read_text(format!("/proc/{}/smaps_rollup", self.pid)).and_then(|text| {
            field_in_bytes(&text, "Pss")
                .ok_or_else(|| "`smaps_rollup` has no line `Pss`".to_owned())
        });
        metrics.push(match (proportional, self.process.why_lost()) {
            (Ok(value), None) => bytes("memory.proportional", value),
            (Err(why), None) | (_, Some(why)) => {
                Metric::missing("memory.proportional", Unit::Bytes, Direction::Lower, why)
            }
        });
        metrics.extend(self.process.rest("memory"));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_in_bytes_and_a_dead_process_has_none() {
        let text = "Name:\tworker\nVmHWM:\t  108 kB\nVmRSS:\t   64 kB\nRssAnon:\t 40 kB\nRssFile:\t 20 kB\nRssShmem:\t 4 kB\nVmSwap:\t 1 kB\n";
        let status = parse_status(text).unwrap();
        assert_eq!((status.peak, status.resident), (108 * 1024, 64 * 1024));
        assert_eq!((status.anonymous, status.file, status.shared), (40960, 20480, 4096));
        assert_eq!(parse_status("Name:\tworker\nState:\tZ (zombie)\n"), None);
    }
}
