//! Counters of a process that may end at any moment: the last known numbers stay, with the reason why there are no newer ones.

use std::time::{Duration, Instant};
use types::{Direction, Metric, Unit};

/// The first and the last reading of something that belongs to a process.
pub(crate) struct Followed<T> {
    pid: u32,
    pub(crate) first: T,
    pub(crate) last: T,
    started: Instant,
    seen: Instant,
    lost: bool,
}

impl<T: Clone> Followed<T> {
    pub(crate) fn begin(pid: u32, first: T) -> Followed<T> {
        let now = Instant::now();
        Followed { pid, last: first.clone(), first, started: now, seen: now, lost: false }
    }

    /// Keeps a new reading, or notes that there is none any more.
    pub(crate) fn update(&mut self, reading: Option<T>) {
        match reading {
            Some(reading) if !self.lost => {
                self.last = reading;
                self.seen = Instant::now();
            }
            // Once lost stays lost: another process may be given the same id.
            _ => self.lost = true,
        }
    }

    /// From the first to the last reading.
    pub(crate) fn window(&self) -> Duration {
        self.seen - self.started
    }

    /// Why there are no numbers of the end, where the process ended first.
    pub(crate) fn why_lost(&self) -> Option<String> {
        self.lost.then(|| {
            format!(
                "process {} could no longer be read after {} of {}; the other numbers are its last known",
                self.pid,
                number::duration(self.window()),
                number::duration(self.started.elapsed())
            )
        })
    }

    /// The metric that says the numbers do not reach to the end of the window.
    pub(crate) fn rest(&self, probe: &str) -> Option<Metric> {
        let why = self.why_lost()?;
        Some(Metric::missing(format!("{probe}.rest"), Unit::Seconds, Direction::Neutral, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vanished_process_leaves_its_last_numbers_and_a_reason() {
        let mut followed = Followed::begin(7, 1);
        followed.update(Some(5));
        assert!(followed.rest("disk").is_none());
        followed.update(None);
        followed.update(Some(900));
        assert_eq!((followed.first, followed.last), (1, 5));
        let rest = followed.rest("disk").unwrap();
        assert_eq!((rest.key.as_str(), rest.value), ("disk.rest", None));
        assert!(rest.why.unwrap().contains("process 7"));
    }
}
