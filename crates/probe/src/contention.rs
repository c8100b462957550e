//! Who else wanted the processors between two moments: other work, waiting, stolen time.

use crate::{
    accounts::accounts,
    clock::process_time,
    procfs::{Ticks, descendants, parse_machine_ticks},
};
use std::{
    fs,
    time::{Duration, Instant},
};
use types::TurnConditions;

/// The kernel counts a machine's busy time in hundredths of a second; a shorter window says nothing.
const SHORTEST: Duration = Duration::from_millis(100);

/// The accounts of a machine and of one piece of work at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    taken: Instant,
    machine: Option<(Ticks, usize)>,
    spent: Option<Duration>,
    waited: Option<Duration>,
}

/// What happened between two moments; several can be added up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Contention {
    window: Duration,
    machine: Option<(Ticks, usize)>,
    spent: Option<Duration>,
    waited: Option<Duration>,
}

impl Moment {
    /// The accounts now, of the machine and of a process with all it has started.
    #[must_use]
    pub fn take(pid: u32) -> Moment {
        let family: Vec<u32> = [pid].into_iter().chain(descendants(pid)).collect();
        let machine = fs::read_to_string("/proc/stat").ok();
        Moment {
            taken: Instant::now(),
            machine: machine
                .and_then(|text| parse_machine_ticks(&text))
                .map(|(machine, each)| (machine, each.len().max(1))),
            spent: family.iter().map(|pid| process_time(*pid)).sum(),
            waited: family.iter().map(|pid| Some(accounts(*pid)?.waited)).sum(),
        }
    }

    /// What happened until a later moment.
    #[must_use]
    pub fn until(&self, later: &Moment) -> Contention {
        let between = |before: Option<Duration>, after: Option<Duration>| {
            Some(after?.saturating_sub(before?))
        };
        Contention {
            window: later.taken - self.taken,
            machine: self
                .machine
                .zip(later.machine)
                .map(|((before, _), (after, processors))| (after.since(before), processors)),
            spent: between(self.spent, later.spent),
            waited: between(self.waited, later.waited),
        }
    }
}

impl Contention {
    /// Both windows together.
    #[must_use]
    pub fn and(self, other: Contention) -> Contention {
        if self.window.is_zero() {
            return other;
        }
        Contention {
            window: self.window + other.window,
            machine: self.machine.zip(other.machine).map(|((one, processors), (two, _))| {
                let busy = one.busy + two.busy;
                (
                    Ticks { busy, idle: one.idle + two.idle, steal: one.steal + two.steal },
                    processors,
                )
            }),
            spent: self.spent.zip(other.spent).map(|(one, two)| one + two),
            waited: self.waited.zip(other.waited).map(|(one, two)| one + two),
        }
    }

    /// The same as shares; `None` if the window is too short or the system does not count.
    #[must_use]
    pub fn conditions(&self) -> TurnConditions {
        let window = self.window.as_secs_f64();
        let long_enough = self.machine.filter(|_| self.window >= SHORTEST);
        let other_work = long_enough.zip(self.spent).and_then(|((ticks, processors), spent)| {
            let ours = spent.as_secs_f64() / window / processors as f64;
            Some((ticks.share(ticks.busy)? - ours).max(0.0))
        });
        TurnConditions {
            other_work,
            waited: self.waited.filter(|_| window > 0.0).map(|time| time.as_secs_f64() / window),
            steal: long_enough.and_then(|(ticks, _)| ticks.share(ticks.steal)),
            ..TurnConditions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(millis: u64, busy: u64, spent: u64, waited: u64) -> Contention {
        Contention {
            window: Duration::from_millis(millis),
            // Two processors, a hundred ticks a second each.
            machine: Some((Ticks { busy, idle: millis / 5 - busy, steal: 0 }, 2)),
            spent: Some(Duration::from_millis(spent)),
            waited: Some(Duration::from_millis(waited)),
        }
    }

    #[test]
    fn what_is_not_ours_is_other_work() {
        let conditions = window(1000, 200, 1500, 500).conditions();
        assert_eq!(conditions.other_work, Some(0.25));
        assert_eq!(conditions.waited, Some(0.5));
        assert_eq!(conditions.steal, Some(0.0));
    }

    #[test]
    fn a_short_window_tells_waiting_alone_and_several_tell_the_rest() {
        let short = window(50, 10, 50, 25);
        assert_eq!(short.conditions().other_work, None);
        assert_eq!(short.conditions().waited, Some(0.5));
        let both = Contention::default().and(short).and(short);
        assert_eq!(both.conditions().other_work, Some(0.5));
        assert_eq!(both.conditions().waited, Some(0.5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_of_another_process_is_seen_and_our_own_is_not() {
        use std::process::{Command, Stdio};
        let processors = std::thread::available_parallelism().unwrap().get();
        let shell = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text]).stdin(Stdio::null()).spawn().unwrap()
        };
        let mut others: Vec<_> = (0..processors).map(|_| shell("while :; do :; done")).collect();
        // What a process started counts as its own, so somebody else is asked who started nothing.
        let idle = shell("exec sleep 60");
        let before = Moment::take(idle.id());
        std::thread::sleep(Duration::from_millis(500));
        let found = before.until(&Moment::take(idle.id())).conditions();
        let own = Moment::take(std::process::id());
        std::thread::sleep(Duration::from_millis(500));
        let own = own.until(&Moment::take(std::process::id()));
        others.push(idle);
        for child in &mut others {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(found.other_work.unwrap() > 0.4, "{found:?}");
        assert!(own.spent.unwrap() > Duration::from_millis(50), "{own:?}");
    }
}
