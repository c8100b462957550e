//! Context switches of the process, all its threads together.

use crate::{
    followed::Followed,
    procfs::{field, process_stat, require_process},
    socket::{Probe, Target, Watch},
};
use std::{collections::BTreeMap, fs, time::Duration};
use types::{Direction, Metric, Unit};

/// Longer than the others' period: one file a thread is read, and an engine may have hundreds.
const THREADS_PERIOD: Duration = Duration::from_millis(500);

/// See [`Probe::describe`].
pub(crate) struct Switches;

impl Probe for Switches {
    fn id(&self) -> &'static str {
        "switches"
    }

    fn describe(&self) -> &'static str {
        "context switches of all threads: voluntary (waited) and involuntary (was preempted); threads that live less \
         than half a second are not counted"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let first =
            threads(target.pid).ok_or_else(|| format!("process {} is not running", target.pid))?;
        Ok(Box::new(SwitchesWatch { pid: target.pid, process: Followed::begin(target.pid, first) }))
    }
}

/// Voluntary and involuntary switches by thread.
type Threads = BTreeMap<u32, (u64, u64)>;

fn threads(pid: u32) -> Option<Threads> {
    process_stat(pid)?;
    let mut threads = Threads::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(entry.path().join("status")) else { continue };
        if let Some(switches) = parse_switches(&text) {
            threads.insert(thread, switches);
        }
    }
    Some(threads)
}

fn parse_switches(text: &str) -> Option<(u64, u64)> {
    Some((field(text, "voluntary_ctxt_switches")?, field(text, "nonvoluntary_ctxt_switches")?))
}

struct SwitchesWatch {
    pid: u32,
    process: Followed<Threads>,
}

impl Watch for SwitchesWatch {
    fn period(&self) -> Option<Duration> {
        Some(THREADS_PERIOD)
    }

    fn read(&mut self) {
        // Threads that have ended keep their last numbers.
        let reading = threads(self.pid).map(|now| {
            let mut known = self.process.last.clone();
            known.extend(now);
            known
        });
        self.process.update(reading);
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let (voluntary, involuntary) = total(&self.process.first, &self.process.last);
        let count = |key: &str, count: u64| {
            Metric::measured(key, Unit::Count, Direction::Lower, count as f64)
        };
        let mut metrics = vec![
            count("switches.voluntary", voluntary),
            count("switches.involuntary", involuntary),
            Metric::measured(
                "switches.threads",
                Unit::Count,
                Direction::Neutral,
                self.process.last.len() as f64,
            ),
        ];
        metrics.extend(self.process.rest("switches"));
        metrics
    }
}

/// A thread that was not there at the start counts from zero.
fn total(first: &Threads, last: &Threads) -> (u64, u64) {
    last.iter().fold((0, 0), |sum, (thread, now)| {
        let before = first.get(thread).copied().unwrap_or_default();
        (sum.0 + now.0.saturating_sub(before.0), sum.1 + now.1.saturating_sub(before.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_read_and_not_mixed_up() {
        let text = "Threads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_switches(text), Some((150, 545)));
        assert_eq!(parse_switches("Threads:\t1\n"), None);
    }

    #[test]
    fn new_threads_count_from_zero_and_old_ones_from_the_start() {
        let first = Threads::from([(1, (10, 1))]);
        let last = Threads::from([(1, (15, 1)), (2, (3, 4))]);
        assert_eq!(total(&first, &last), (8, 4));
    }
}
