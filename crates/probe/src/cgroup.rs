//! What the control group of the process allows, uses and holds back.

use crate::{
    procfs::{field, read_number, require_process},
    socket::{Probe, Target, Watch},
};
use hardware::cgroup::{Group, group};
use std::{fs, time::Duration};
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Cgroup;

impl Probe for Cgroup {
    fn id(&self) -> &'static str {
        "cgroup"
    }

    fn describe(&self) -> &'static str {
        "limits of the control group (version 1 or 2), the memory of all processes in it, and how long its quota \
         throttled them"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)?;
        match (group(target.pid, "cpu"), group(target.pid, "memory")) {
            (None, None) => Err("no control group of this process can be reached".to_owned()),
            _ => Ok(()),
        }
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let cpu = group(target.pid, "cpu");
        let first = cpu.as_ref().map_or_else(unreachable_group, throttled);
        Ok(Box::new(CgroupWatch { cpu, memory: group(target.pid, "memory"), first }))
    }
}

fn unreachable_group<T>() -> Result<T, String> {
    Err("this controller's group cannot be reached".to_owned())
}

/// How often and how long a quota held the group back, since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Throttled {
    periods: u64,
    throttled_periods: u64,
    nanos: u64,
}

fn throttled(group: &Group) -> Result<Throttled, String> {
    let path = group.folder.join("cpu.stat");
    let text = crate::procfs::read_text(&path)?;
    parse_throttled(&text).ok_or_else(|| {
        format!("`{}` does not count throttling; the group has no quota", path.display())
    })
}

/// Version 1 counts nanoseconds, version 2 microseconds, under different names.
fn parse_throttled(text: &str) -> Option<Throttled> {
    Some(Throttled {
        periods: field(text, "nr_periods")?,
        throttled_periods: field(text, "nr_throttled")?,
        nanos: field(text, "throttled_time")
            .or_else(|| field(text, "throttled_usec").map(|micros| micros * 1000))?,
    })
}

struct CgroupWatch {
    cpu: Option<Group>,
    memory: Option<Group>,
    first: Result<Throttled, String>,
}

impl Watch for CgroupWatch {
    fn period(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self) {}

    fn stop(self: Box<Self>) -> Vec<Metric> {
        let fact = |key: &str, unit: Unit, value: Result<f64, String>| match value {
            Ok(value) => Metric::measured(key, unit, Direction::Neutral, value),
            Err(why) => Metric::missing(key, unit, Direction::Neutral, why),
        };
        let limit = |value: Option<f64>| value.ok_or_else(|| "no limit is set".to_owned());
        let window = self.first.and_then(|first| {
            let last = self.cpu.as_ref().map_or_else(unreachable_group, throttled)?;
            Ok(Throttled {
                periods: last.periods.saturating_sub(first.periods),
                throttled_periods: last.throttled_periods.saturating_sub(first.throttled_periods),
                nanos: last.nanos.saturating_sub(first.nanos),
            })
        });
        let mut metrics = vec![
            fact("cgroup.cpu.limit", Unit::Count, limit(self.cpu.as_ref().and_then(Group::cpus))),
            fact(
                "cgroup.cpu.throttled.periods",
                Unit::Count,
                window.clone().map(|window| window.throttled_periods as f64),
            ),
            fact(
                "cgroup.cpu.throttled.time",
                Unit::Seconds,
                window.clone().map(|window| window.nanos as f64 / 1e9),
            ),
            fact("cgroup.cpu.throttled.share", Unit::Ratio, window.and_then(share)),
        ];
        let Some(memory) = self.memory else {
            metrics.push(fact("cgroup.memory.limit", Unit::Bytes, unreachable_group()));
            return metrics;
        };
        metrics.push(fact(
            "cgroup.memory.limit",
            Unit::Bytes,
            limit(memory.memory().map(|bytes| bytes.0 as f64)),
        ));
        let (current, peak) = match memory.version {
            2 => ("memory.current", "memory.peak"),
            _ => ("memory.usage_in_bytes", "memory.max_usage_in_bytes"),
        };
        metrics.push(fact("cgroup.memory.current", Unit::Bytes, bytes(&memory, current)));
        metrics.push(fact("cgroup.memory.peak", Unit::Bytes, bytes(&memory, peak)));
        metrics
    }
}

/// Of the quota's periods in the window, those in which the group was held back.
fn share(window: Throttled) -> Result<f64, String> {
    if window.periods == 0 {
        return Err("no period of a quota passed".to_owned());
    }
    Ok(window.throttled_periods as f64 / window.periods as f64)
}

fn bytes(group: &Group, file: &str) -> Result<f64, String> {
    let path = group.folder.join(file);
    if let Some(bytes) = read_number(&path) {
        return Ok(bytes as f64);
    }
    let why = match fs::metadata(&path) {
        Ok(_) => "unreadable",
        Err(_) => "not found; the topmost group has no such file, and older kernels do not have it",
    };
    Err(format!("`{}` is {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read_in_nanoseconds() {
        let one = "nr_periods 10\nnr_throttled 4\nthrottled_time 123456789\n";
        let two = "usage_usec 206802215\nuser_usec 165394852\nsystem_usec 41407363\nnr_periods 10\nnr_throttled 4\nthrottled_usec 123456\n";
        assert_eq!(parse_throttled(one).unwrap().nanos, 123_456_789);
        assert_eq!(parse_throttled(two).unwrap().nanos, 123_456_000);
        assert_eq!(parse_throttled("usage_usec 206802215\n"), None);
    }

    #[test]
    fn without_a_quota_there_is_no_share() {
        assert!(share(Throttled { periods: 0, throttled_periods: 0, nanos: 0 }).is_err());
        let window = Throttled { periods: 8, throttled_periods: 2, nanos: 1 };
        assert_eq!(share(window), Ok(0.25));
    }
}
