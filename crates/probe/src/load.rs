//! Load average and runnable tasks of the machine.

use crate::{
    procfs::read_text,
    socket::{PERIOD, Probe, Target, Watch, require_linux},
};
use std::time::Duration;
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Load;

impl Probe for Load {
    fn id(&self) -> &'static str {
        "load"
    }

    fn describe(&self) -> &'static str {
        "the machine's one-minute load average at start and end, and number of runnable tasks, including the measured \
         work itself"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        load().map(|_| ())
    }

    fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
        let first = load()?;
        Ok(Box::new(LoadWatch {
            first: first.average,
            last: first.average,
            sum: 0,
            peak: 0,
            count: 0,
        }))
    }
}

/// The parts of `/proc/loadavg` that matter here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Over one minute.
    pub(crate) average: f64,
    /// Tasks that run or could run now, the reader itself among them.
    runnable: u64,
}

pub(crate) fn load() -> Result<Reading, String> {
    let text = read_text("/proc/loadavg")?;
    parse_load(&text).ok_or_else(|| "`/proc/loadavg` has an unexpected format".to_owned())
}

fn parse_load(text: &str) -> Option<Reading> {
    let mut fields = text.split_whitespace();
    let average = fields.next()?.parse().ok()?;
    let (runnable, _) = fields.nth(2)?.split_once('/')?;
    Some(Reading { average, runnable: runnable.parse().ok()? })
}

struct LoadWatch {
    first: f64,
    last: f64,
    sum: u64,
    peak: u64,
    count: u64,
}

impl Watch for LoadWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        if let Ok(reading) = load() {
            // Less the thread that reads.
            let runnable = reading.runnable.saturating_sub(1);
            self.last = reading.average;
            self.sum += runnable;
            self.peak = self.peak.max(runnable);
            self.count += 1;
        }
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let fact =
            |key: &str, value: f64| Metric::measured(key, Unit::Count, Direction::Neutral, value);
        let mut metrics = vec![fact("load.start", self.first), fact("load.end", self.last)];
        if self.count > 0 {
            metrics.push(fact("load.runnable.average", self.sum as f64 / self.count as f64));
            metrics.push(fact("load.runnable.peak", self.peak as f64));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_and_runnable_are_read() {
        let reading = parse_load("0.10 0.28 0.17 3/99 6551\n").unwrap();
        assert_eq!(reading, Reading { average: 0.1, runnable: 3 });
        assert_eq!(parse_load("0.10\n"), None);
    }
}
