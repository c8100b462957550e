//! When the next turn starts: at fixed slots, whatever a turn takes.

use modelmeter::Control;
use std::{
    thread,
    time::{Duration, Instant},
};

/// How often somebody who waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Slots from the first turn on.
pub(super) struct Schedule {
    begin: Instant,
    every: Duration,
    /// The slot of the running turn.
    slot: u32,
}

/// The next turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// How long until it starts.
    pub(super) wait: Duration,
    /// How long the last turn took.
    pub(super) took: Duration,
    /// Slots that it ran over.
    pub(super) skipped: u32,
}

impl Schedule {
    pub(super) fn new(every: Duration) -> Schedule {
        Schedule { begin: Instant::now(), every, slot: 0 }
    }

    pub(super) fn next(&mut self) -> Next {
        self.after(self.begin.elapsed())
    }

    /// The next turn, so long after the first began.
    fn after(&mut self, elapsed: Duration) -> Next {
        let passed = (elapsed.as_secs_f64() / self.every.as_secs_f64()) as u32;
        let took = elapsed.saturating_sub(self.every * self.slot);
        let skipped = passed.saturating_sub(self.slot);
        self.slot = passed + 1;
        Next { wait: (self.every * self.slot).saturating_sub(elapsed), took, skipped }
    }
}

/// Waits so long; whether nobody stopped it meanwhile.
pub(super) fn wait(span: Duration, control: &Control) -> bool {
    let until = Instant::now() + span;
    loop {
        if control.is_stopping() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// The moment so long from now, in microseconds since the epoch.
pub(super) fn moment_in(later: Duration) -> i64 {
    clock::now().saturating_add(i64::try_from(later.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_start_at_slots_and_one_that_overran_skips_some() {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let mut schedule = Schedule::new(minutes(60));
        let next = schedule.after(minutes(20));
        assert_eq!(next, Next { wait: minutes(40), took: minutes(20), skipped: 0 });
        // The second began at 60 and ended at 130: over the slot at 120.
        let next = schedule.after(minutes(130));
        assert_eq!(next, Next { wait: minutes(50), took: minutes(70), skipped: 1 });
        let next = schedule.after(minutes(181));
        assert_eq!(next, Next { wait: minutes(59), took: minutes(1), skipped: 0 });
    }

    #[test]
    fn somebody_who_stops_it_need_not_wait() {
        let control = Control::default();
        assert!(wait(Duration::ZERO, &control));
        control.stop();
        assert!(!wait(Duration::from_secs(3600), &control));
    }
}
