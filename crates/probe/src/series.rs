//! A worker's memory and processor use over time, for a trace. What a run stores comes from the probes.

use crate::{
    accounts::accounts,
    procfs::{field_in_bytes, read_text},
};
use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use types::Counter;

/// Short enough to see a layer of a large model, long enough to cost a fraction of a percent.
const PERIOD: Duration = Duration::from_millis(5);

/// One reading.
struct Reading {
    /// Microseconds since the epoch.
    at: i64,
    resident: Option<u64>,
    /// Nanoseconds that all threads have spent on processors.
    busy: Option<u64>,
    taken: Instant,
}

/// Reads a process until it is stopped.
pub struct Series {
    stop: mpsc::Sender<()>,
    /// `None` if the system gave no thread; then there are no readings.
    thread: Option<JoinHandle<Vec<Reading>>>,
}

impl Series {
    /// Begins to read a process.
    #[must_use]
    pub fn start(pid: u32) -> Series {
        let (stop, stopped) = mpsc::channel();
        let work = move || {
            let mut readings = vec![read(pid)];
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                readings.push(read(pid));
            }
            readings.push(read(pid));
            readings
        };
        let thread = thread::Builder::new().name("series".into()).spawn(work).ok();
        Series { stop, thread }
    }

    /// Ends and tells the numbers since `began_at`, in microseconds since the epoch; those before it are left out.
    #[must_use]
    pub fn stop(self, began_at: i64) -> Vec<Counter> {
        let _ = self.stop.send(());
        let readings = self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
        let since = |reading: &Reading| {
            let micros = reading.at.saturating_sub(began_at);
            u64::try_from(micros).ok().map(|micros| micros.saturating_mul(1000))
        };
        let memory = readings
            .iter()
            .filter_map(|reading| Some((since(reading)?, reading.resident? as f64 / 1e6)));
        let memory = Counter { name: "memory".into(), unit: "MB".into(), points: memory.collect() };
        let busy = readings.windows(2).filter_map(|pair| {
            let spent = pair[1].busy?.saturating_sub(pair[0].busy?) as f64;
            let passed = (pair[1].taken - pair[0].taken).as_nanos() as f64;
            (passed > 0.0).then_some((since(&pair[1])?, spent / passed * 100.0))
        });
        let busy = Counter { name: "processors".into(), unit: "%".into(), points: busy.collect() };
        [memory, busy].into_iter().filter(|counter| !counter.points.is_empty()).collect()
    }
}

fn read(pid: u32) -> Reading {
    let status = read_text(format!("/proc/{pid}/status")).ok();
    Reading {
        at: clock::now(),
        resident: status.and_then(|text| field_in_bytes(&text, "VmRSS")),
        busy: accounts(pid).map(|accounts| accounts.spent.as_nanos() as u64),
        taken: Instant::now(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_busy_process_is_seen_with_its_memory() {
        let now = clock::now();
        let series = Series::start(std::process::id());
        let begin = Instant::now();
        let mut count = 0u64;
        while begin.elapsed() < Duration::from_millis(60) {
            count = std::hint::black_box(count + 1);
        }
        let counters = series.stop(now);
        let counter = |name: &str| counters.iter().find(|counter| counter.name == name).unwrap();
        assert!(counter("memory").points.iter().all(|(_, megabytes)| *megabytes > 0.1));
        assert!(counter("processors").points.iter().any(|(_, share)| *share > 1.0), "{counters:?}");
        let times: Vec<u64> = counter("memory").points.iter().map(|(at, _)| *at).collect();
        assert!(times.is_sorted() && times.len() > 2, "{times:?}");
    }

    #[test]
    fn a_process_that_is_gone_has_no_numbers() {
        let series = Series::start(u32::MAX);
        assert!(series.stop(0).is_empty());
    }
}
