//! Who else wanted the processors between two moments: other work, waiting, stolen time.

use crate::{
    accounts::{Accounts, of_threads},
    clock::process_time,
    procfs::{Ticks, descendants, parse_machine_ticks},
};
use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};
use types::TurnConditions;

/// The kernel counts a machine's busy time in hundredths of a second; a shorter window says nothing.
const SHORTEST: Duration = Duration::from_millis(100);

/// The accounts of a machine and of one piece of work at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    taken: Instant,
    machine: Option<(Ticks, usize)>,
    /// By process; `None` if the system does not tell of the first one.
    spent: Option<BTreeMap<u32, Duration>>,
    /// By thread, of all processes.
    threads: Option<BTreeMap<u32, Accounts>>,
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
        let helpers = descendants(pid);
        let machine = fs::read_to_string("/proc/stat").ok();
        let machine = machine.and_then(|text| parse_machine_ticks(&text));
        let taken = Instant::now();
        // A helper may end while it is looked at; what it did until then is lost.
        let spent = process_time(pid).map(|own| {
            let of_helper = |pid: &u32| Some((*pid, process_time(*pid)?));
            helpers.iter().filter_map(of_helper).chain([(pid, own)]).collect()
        });
        let threads = of_threads(pid).map(|mut threads| {
            threads.extend(helpers.iter().filter_map(|pid| of_threads(*pid)).flatten());
            threads
        });
        let machine = machine.map(|(machine, each)| (machine, each.len().max(1)));
        Moment { taken, machine, spent, threads }
    }

    /// What happened until a later moment.
    #[must_use]
    pub fn until(&self, later: &Moment) -> Contention {
        let window = later.taken - self.taken;
        let spent = self.spent.as_ref().zip(later.spent.as_ref()).map(|(before, after)| {
            let spent = |(pid, after): (&u32, &Duration)| {
                after.saturating_sub(before.get(pid).copied().unwrap_or_default())
            };
            after.iter().map(spent).sum()
        });
        Contention {
            window,
            machine: self
                .machine
                .zip(later.machine)
                .map(|((before, _), (after, processors))| (after.since(before), processors)),
            spent,
            waited: self
                .threads
                .as_ref()
                .zip(later.threads.as_ref())
                .map(|(before, after)| waited(before, after, window)),
        }
    }
}

/// A thread that wanted a processor for less than one part in so many of what the busiest one wanted only helps.
const HELPS: u32 = 4;

/// How long the threads that compute waited in a window.
///
/// The kernel books a wait when it ends, so that a window may be charged for one that began long before it: no thread is
/// taken to have waited longer than it did not run. Threads that are woken for moments, of which a browser has dozens, wait
/// a little each time; that is not counted, because nobody's time rests on it. While they run they may take a processor from
/// those that compute, which is the program's own doing and no other work.
fn waited(
    before: &BTreeMap<u32, Accounts>,
    after: &BTreeMap<u32, Accounts>,
    window: Duration,
) -> Duration {
    let of_thread = |(number, after): (&u32, &Accounts)| {
        let before = before.get(number).copied().unwrap_or_default();
        let spent = after.spent.saturating_sub(before.spent);
        let waited = after.waited.saturating_sub(before.waited).min(window.saturating_sub(spent));
        (spent, waited)
    };
    let threads: Vec<(Duration, Duration)> = after.iter().map(of_thread).collect();
    let wanted = |(spent, waited): &(Duration, Duration)| *spent + *waited;
    let most = threads.iter().map(wanted).max().unwrap_or_default();
    let (compute, help): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(|thread| wanted(thread) >= most / HELPS);
    let waited: Duration = compute.iter().map(|(_, waited)| *waited).sum();
    waited.saturating_sub(help.iter().map(|(spent, _)| *spent).sum())
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
            used: self.spent.filter(|_| window > 0.0).map(|time| time.as_secs_f64() / window),
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
        assert_eq!(conditions.used, Some(1.5));
        assert_eq!(conditions.steal, Some(0.0));
    }

    #[test]
    fn a_wait_that_began_before_the_window_fills_it_and_no_more() {
        let millis = Duration::from_millis;
        let threads = |each: &[(u32, u64, u64)]| -> BTreeMap<u32, Accounts> {
            let account = |&(number, spent, waited): &(u32, u64, u64)| {
                (number, Accounts { spent: millis(spent), waited: millis(waited) })
            };
            each.iter().map(account).collect()
        };
        let before = threads(&[(1, 70, 5), (2, 10, 1)]);
        // The first waited for 20 ms until it ran for 2 ms of a window of 5 ms.
        let after = threads(&[(1, 72, 25), (2, 10, 1)]);
        assert_eq!(waited(&before, &after, millis(5)), millis(3));
        assert_eq!(waited(&before, &after, millis(50)), millis(20));
        // One that began meanwhile counts, and one that ended hides none of the others' waiting.
        let other = threads(&[(2, 10, 4), (3, 1, 2)]);
        assert_eq!(waited(&before, &other, millis(50)), millis(5));
    }

    #[test]
    fn threads_that_only_help_wait_for_nobody() {
        let millis = Duration::from_millis;
        let account = |spent, waited| Accounts { spent: millis(spent), waited: millis(waited) };
        let nothing = BTreeMap::new();
        // A page: one thread computes, three are woken for moments, and run for 80 ms.
        let page = [
            (1, account(900, 90)),
            (2, account(70, 40)),
            (3, account(10, 23)),
            (4, account(0, 30)),
        ];
        assert_eq!(waited(&nothing, &page.into(), millis(1000)), millis(10));
        // Two that compute beside other work.
        let both = [(1, account(500, 500)), (2, account(480, 490)), (3, account(1, 2))];
        assert_eq!(waited(&nothing, &both.into(), millis(1000)), millis(989));
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
        let threads = of_threads(std::process::id()).unwrap().len() as f64;
        assert!(own.conditions().waited.unwrap() <= threads, "{own:?}");
    }
}
