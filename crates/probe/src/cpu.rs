//! Processor time: the process, the whole machine, each processor.

use crate::{
    clock::process_time,
    contention::Moment,
    followed::Followed,
    process_tree::works_in_a_tree,
    procfs::{Ticks, descendants, parse_machine_ticks, process_stat, read_text, require_process},
    socket::{PERIOD, Probe, Target, Watch},
};
use std::{collections::BTreeMap, time::Duration};
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Cpu;

impl Probe for Cpu {
    fn id(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> &'static str {
        "processor time of the process in seconds, in busy processors and as a share of the machine; number of its \
         threads that waited for a processor; utilisation of the machine and of each processor"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let (machine, cores) = machine_ticks()?;
        let time = process_seconds(target.pid)
            .ok_or_else(|| format!("process {} is not running", target.pid))?;
        let process = Followed::begin(target.pid, time);
        let helpers = Helpers::of(target.pid);
        let began = Moment::take(target.pid);
        let is_tree = works_in_a_tree(target.device);
        Ok(Box::new(CpuWatch { pid: target.pid, is_tree, machine, cores, process, helpers, began }))
    }
}

struct CpuWatch {
    pid: u32,
    /// Whether the processes that it started do its work, and their time is its own.
    is_tree: bool,
    machine: Ticks,
    cores: BTreeMap<u32, Ticks>,
    process: Followed<f64>,
    helpers: Helpers,
    began: Moment,
}

/// The processes that a process has started, and theirs: ranks that train together are one piece of work.
#[derive(Default)]
struct Helpers {
    /// Processor time when it was first and last seen, by process; one that came later began at nothing.
    times: BTreeMap<u32, (f64, f64)>,
}

impl Helpers {
    fn of(pid: u32) -> Helpers {
        let known = |pid| process_seconds(pid).map(|time| (pid, (time, time)));
        Helpers { times: descendants(pid).into_iter().filter_map(known).collect() }
    }

    fn update(&mut self, pid: u32) {
        for helper in descendants(pid) {
            if let Some(time) = process_seconds(helper) {
                self.times.entry(helper).or_insert((0.0, time)).1 = time;
            }
        }
    }

    fn spent(&self) -> f64 {
        self.times.values().map(|(first, last)| last - first).sum()
    }
}

fn machine_ticks() -> Result<(Ticks, BTreeMap<u32, Ticks>), String> {
    let text = read_text("/proc/stat")?;
    parse_machine_ticks(&text).ok_or_else(|| "`/proc/stat` has no line `cpu`".to_owned())
}

/// Seconds of processor time; `None` once the process has ended.
fn process_seconds(pid: u32) -> Option<f64> {
    let ticks = process_stat(pid)?.ticks;
    Some(process_time(pid).map_or(ticks as f64 / ticks_per_second(), |time| time.as_secs_f64()))
}

#[cfg(unix)]
fn ticks_per_second() -> f64 {
    // SAFETY: the call takes a number and returns one.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // Linux shows hundredths to programs on every processor.
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(not(unix))]
fn ticks_per_second() -> f64 {
    100.0
}

impl Watch for CpuWatch {
    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn read(&mut self) {
        self.process.update(process_seconds(self.pid));
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        self.helpers.update(self.pid);
        let processors = self.cores.len().max(1) as f64;
        let helped = self.helpers.spent();
        let (own, beside) = if self.is_tree { (helped, 0.0) } else { (0.0, helped) };
        let seconds = self.process.last - self.process.first + own;
        let mut metrics =
            vec![Metric::measured("cpu.process.time", Unit::Seconds, Direction::Lower, seconds)];
        let window = self.process.window().as_secs_f64();
        let busy = (window > 0.0).then(|| seconds / window);
        let why = || "the process was seen only once".to_owned();
        metrics.push(share("cpu.process.cores", Unit::Count, busy, why));
        metrics.push(share(
            "cpu.process.utilisation",
            Unit::Ratio,
            busy.map(|b| b / processors),
            why,
        ));

        let waited = self.began.until(&Moment::take(self.pid)).conditions().waited;
        let untold = || "the system does not report how long threads wait".to_owned();
        metrics.push(share("cpu.process.waited", Unit::Count, waited, untold));

        let now = machine_ticks();
        let why = || match &now {
            Ok(_) => "no clock tick passed; the window was shorter than 10 ms".to_owned(),
            Err(why) => why.clone(),
        };
        let machine = now.as_ref().ok().map(|(machine, _)| machine.since(self.machine));
        let utilisation = machine.and_then(|ticks| ticks.share(ticks.busy));
        metrics.push(share("cpu.machine.utilisation", Unit::Ratio, utilisation, why));
        // What is left when this process and those it started are taken away: other work on the same machine.
        let others = match (utilisation, busy) {
            (Some(all), Some(busy)) => {
                let ours = busy + beside / window;
                Some((all - ours / processors).max(0.0))
            }
            _ => None,
        };
        metrics.push(share("cpu.others.utilisation", Unit::Ratio, others, why));
        for (number, before) in &self.cores {
            let ticks = now.as_ref().ok().and_then(|(_, cores)| cores.get(number));
            let ticks = ticks.map(|ticks| ticks.since(*before));
            let utilisation = ticks.and_then(|ticks| ticks.share(ticks.busy));
            metrics.push(share(
                &format!("cpu.core.{number}.utilisation"),
                Unit::Ratio,
                utilisation,
                why,
            ));
        }
        metrics.extend(self.process.rest("cpu"));
        metrics
    }
}

fn share(key: &str, unit: Unit, value: Option<f64>, why: impl Fn() -> String) -> Metric {
    match value {
        Some(value) => Metric::measured(key, unit, Direction::Neutral, value),
        None => Metric::missing(key, unit, Direction::Neutral, why()),
    }
}
