//! All watches of a run on one background thread that sleeps between readings.

use crate::{
    clock::thread_time,
    socket::{Probe, Target, Watch},
};
use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use types::ProbeReport;

/// One probe at work and what it has cost so far.
struct Running {
    watch: Box<dyn Watch>,
    period: Option<Duration>,
    due: Instant,
    readings: u64,
    cost: Duration,
}

/// A place in the report: a probe at work, or the reason why it is not.
struct Entry {
    probe: &'static str,
    state: Result<Running, String>,
}

/// Watches a process until it is stopped.
pub struct Watcher {
    /// Dropping it wakes the thread and ends it.
    end: mpsc::Sender<()>,
    thread: Option<JoinHandle<Vec<Entry>>>,
    /// Kept here where the system refused the thread; both ends are still read.
    idle: Vec<Entry>,
}

impl Watcher {
    /// Starts every probe that can see something; the others say why not in the report.
    #[must_use]
    pub fn start(probes: &[&dyn Probe], target: &Target) -> Watcher {
        let entries: Vec<Entry> = probes.iter().map(|probe| begin(*probe, target)).collect();
        let (end, ended) = mpsc::channel();
        let (give, take) = mpsc::channel();
        // The entries travel through a channel, so that they are not lost with a thread that could not be had.
        let spawned = thread::Builder::new()
            .name("probes".to_owned())
            .spawn(move || take.recv().map_or_else(|_| Vec::new(), |entries| run(entries, &ended)));
        match spawned {
            Ok(thread) => {
                let idle = match give.send(entries) {
                    Ok(()) => Vec::new(),
                    Err(mpsc::SendError(entries)) => entries,
                };
                Watcher { end, thread: Some(thread), idle }
            }
            Err(_) => Watcher { end, thread: None, idle: entries },
        }
    }

    /// Takes the last readings and gives what every probe saw, in the order of the list.
    #[must_use]
    pub fn stop(self) -> Vec<ProbeReport> {
        let Watcher { end, thread, idle } = self;
        drop(end);
        let entries = match thread {
            Some(thread) => thread.join().unwrap_or_default(),
            None => idle,
        };
        entries.into_iter().map(finish).collect()
    }
}

fn begin(probe: &dyn Probe, target: &Target) -> Entry {
    let before = thread_time();
    let state = probe.availability(target).and_then(|()| probe.start(target)).map(|watch| {
        let period = watch.period();
        Running {
            period,
            due: Instant::now() + period.unwrap_or_default(),
            watch,
            readings: 1,
            cost: thread_time().saturating_sub(before),
        }
    });
    Entry { probe: probe.id(), state }
}

/// Reads what is due and sleeps until the next is, until the other end of the channel is gone.
fn run(mut entries: Vec<Entry>, ended: &mpsc::Receiver<()>) -> Vec<Entry> {
    loop {
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for running in entries.iter_mut().filter_map(|entry| entry.state.as_mut().ok()) {
            let Some(period) = running.period else { continue };
            if running.due <= now {
                let before = thread_time();
                running.watch.read();
                running.cost += thread_time().saturating_sub(before);
                running.readings += 1;
                // Counted from now, so that a reading that came late is not made up for by a burst.
                running.due = now + period;
            }
            next = Some(next.map_or(running.due, |next| next.min(running.due)));
        }
        let ended = match next {
            Some(next) => {
                let wait = next.saturating_duration_since(Instant::now());
                !matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
            }
            None => ended.recv().is_err(),
        };
        if ended {
            return entries;
        }
    }
}

fn finish(entry: Entry) -> ProbeReport {
    let probe = entry.probe.to_owned();
    match entry.state {
        Ok(running) => {
            let before = thread_time();
            let metrics = running.watch.stop();
            ProbeReport {
                probe,
                unavailable: None,
                metrics,
                readings: running.readings + 1,
                cost: running.cost + thread_time().saturating_sub(before),
                period: running.period,
            }
        }
        Err(why) => ProbeReport {
            probe,
            unavailable: Some(why),
            metrics: Vec::new(),
            readings: 0,
            cost: Duration::ZERO,
            period: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use types::{Device, Direction, Metric, Unit};

    struct Counting(&'static AtomicU64, Option<Duration>);

    impl Probe for Counting {
        fn id(&self) -> &'static str {
            "counting"
        }
        fn describe(&self) -> &'static str {
            "counts its own readings"
        }
        fn availability(&self, target: &Target) -> Result<(), String> {
            if target.pid == 0 { Err("nobody has this id".into()) } else { Ok(()) }
        }
        fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
            Ok(Box::new(Counting(self.0, self.1)))
        }
    }

    impl Watch for Counting {
        fn period(&self) -> Option<Duration> {
            self.1
        }
        fn read(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        fn stop(self: Box<Self>) -> Vec<Metric> {
            let count = self.0.load(Ordering::SeqCst) as f64;
            vec![Metric::measured("counting.readings", Unit::Count, Direction::Neutral, count)]
        }
    }

    #[test]
    fn periodic_readings_happen_until_the_stop_and_are_counted() {
        static READ: AtomicU64 = AtomicU64::new(0);
        let probe = Counting(&READ, Some(Duration::from_millis(1)));
        let watcher = Watcher::start(&[&probe], &Target::new(1, Device::Cpu));
        while READ.load(Ordering::SeqCst) < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        let reports = watcher.stop();
        let after = READ.load(Ordering::SeqCst);
        assert_eq!(reports[0].readings, after + 2, "both ends count");
        assert_eq!(reports[0].metrics[0].value, Some(after as f64));
        assert_eq!(reports[0].period, Some(Duration::from_millis(1)));
    }

    #[test]
    fn a_counter_of_both_ends_is_never_read_between() {
        static READ: AtomicU64 = AtomicU64::new(0);
        let probe = Counting(&READ, None);
        let watcher = Watcher::start(&[&probe], &Target::new(1, Device::Cpu));
        let reports = watcher.stop();
        assert_eq!(READ.load(Ordering::SeqCst), 0);
        assert_eq!((reports[0].readings, reports[0].period), (2, None));
    }

    #[test]
    fn an_unavailable_probe_says_why_and_costs_nothing() {
        static READ: AtomicU64 = AtomicU64::new(0);
        let probe = Counting(&READ, None);
        let reports = Watcher::start(&[&probe], &Target::new(0, Device::Cpu)).stop();
        assert_eq!(reports[0].unavailable.as_deref(), Some("nobody has this id"));
        assert!(reports[0].metrics.is_empty() && reports[0].cost == Duration::ZERO);
    }
}
