//! Memory of a process with all that it started, as a browser is: each page of memory is counted once, in shares.

use crate::{
    procfs::{descendants, field_in_bytes, read_text},
    socket::Watch,
};
use std::time::Duration;
use types::{Device, Direction, Metric, Unit};

/// The kernel walks the page tables of every process for a reading, some milliseconds each.
const PERIOD: Duration = Duration::from_millis(500);

/// Whether work on this device is done by processes that the worker started.
pub(crate) fn works_in_a_tree(device: Device) -> bool {
    matches!(device, Device::Wasm | Device::Webgpu | Device::Webnn)
}

/// The shares of memory of all processes of a tree, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Shares {
    all: u64,
    anonymous: u64,
    file: u64,
    shared: u64,
    swap: u64,
    processes: u64,
}

/// `None` once the first process has ended; others come and go.
fn shares(pid: u32) -> Option<Shares> {
    let mut sum = Shares::default();
    add(&mut sum, &read_text(format!("/proc/{pid}/smaps_rollup")).ok()?);
    for helper in descendants(pid) {
        if let Ok(text) = read_text(format!("/proc/{helper}/smaps_rollup")) {
            add(&mut sum, &text);
        }
    }
    (sum.all > 0).then_some(sum)
}

fn add(sum: &mut Shares, text: &str) {
    let bytes = |key: &str| field_in_bytes(text, key).unwrap_or(0);
    sum.all += bytes("Pss");
    sum.anonymous += bytes("Pss_Anon");
    sum.file += bytes("Pss_File");
    sum.shared += bytes("Pss_Shmem");
    sum.swap += bytes("SwapPss");
    sum.processes += 1;
}

/// Watches the memory of a tree.
pub(crate) struct TreeWatch {
    pid: u32,
    last: Shares,
    peak: u64,
    sum: f64,
    count: u64,
}

impl TreeWatch {
    pub(crate) fn start(pid: u32) -> Result<TreeWatch, String> {
        let first = shares(pid).ok_or_else(|| format!("process {pid} has no memory of its own"))?;
        Ok(TreeWatch { pid, last: first, peak: first.all, sum: first.all as f64, count: 1 })
    }
}

impl Watch for TreeWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        let Some(now) = shares(self.pid) else { return };
        self.peak = self.peak.max(now.all);
        self.sum += now.all as f64;
        self.count += 1;
        self.last = now;
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let bytes =
            |key: &str, value: f64| Metric::measured(key, Unit::Bytes, Direction::Lower, value);
        let (peak, last) = (self.peak as f64, self.last);
        vec![
            bytes("memory.peak", peak),
            bytes("memory.peak.window", peak),
            bytes("memory.average", self.sum / self.count as f64),
            bytes("memory.anonymous", last.anonymous as f64),
            bytes("memory.file", last.file as f64),
            bytes("memory.shared", last.shared as f64),
            bytes("memory.swap", last.swap as f64),
            bytes("memory.proportional", last.all as f64),
            Metric::measured(
                "memory.processes",
                Unit::Count,
                Direction::Neutral,
                last.processes as f64,
            ),
        ]
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_helper_counts_with_the_process_that_started_it() {
        let mut helper = Command::new("sleep").arg("60").spawn().unwrap();
        let all = shares(std::process::id()).unwrap();
        assert!(all.processes >= 2 && all.all > 0);
        assert!(all.anonymous + all.file + all.shared <= all.all + 4096 * all.processes);
        helper.kill().unwrap();
        helper.wait().unwrap();
        assert_eq!(shares(u32::MAX), None);
    }

    #[test]
    fn a_browser_works_in_a_tree_and_an_engine_of_our_worker_does_not() {
        assert!(works_in_a_tree(Device::Wasm) && works_in_a_tree(Device::Webgpu));
        assert!(!works_in_a_tree(Device::Cpu) && !works_in_a_tree(Device::Cuda(0)));
    }
}
