//! Page faults of the process.

use crate::{
    followed::Followed,
    procfs::{ProcessStat, process_stat, require_process},
    socket::{PERIOD, Probe, Target, Watch},
};
use std::time::Duration;
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Faults;

impl Probe for Faults {
    fn id(&self) -> &'static str {
        "faults"
    }

    fn describe(&self) -> &'static str {
        "page faults of the process: minor (memory handed out) and major (read from disk)"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let stat = process_stat(target.pid)
            .ok_or_else(|| format!("process {} is not running", target.pid))?;
        Ok(Box::new(FaultsWatch { pid: target.pid, process: Followed::begin(target.pid, stat) }))
    }
}

struct FaultsWatch {
    pid: u32,
    process: Followed<ProcessStat>,
}

impl Watch for FaultsWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        self.process.update(process_stat(self.pid));
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let (first, last) = (self.process.first, self.process.last);
        let count = |key: &str, last: u64, first: u64| {
            let count = last.saturating_sub(first) as f64;
            Metric::measured(key, Unit::Count, Direction::Lower, count)
        };
        let mut metrics = vec![
            count("faults.minor", last.minor_faults, first.minor_faults),
            count("faults.major", last.major_faults, first.major_faults),
        ];
        metrics.extend(self.process.rest("faults"));
        metrics
    }
}
