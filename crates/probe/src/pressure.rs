//! Pressure stall information: the share of time in which tasks waited for processor, memory or storage.

use crate::{
    procfs::read_text,
    socket::{Probe, Target, Watch, require_linux},
};
use std::time::{Duration, Instant};
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Pressure;

const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

impl Probe for Pressure {
    fn id(&self) -> &'static str {
        "pressure"
    }

    fn describe(&self) -> &'static str {
        "share of the window in which some, or all, tasks of the machine waited for processor, memory or storage"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        read_text("/proc/pressure/cpu").map(|_| ()).map_err(|why| {
            format!("{why}; the kernel needs `CONFIG_PSI`, on some systems also `psi=1` at boot")
        })
    }

    fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
        Ok(Box::new(PressureWatch { started: Instant::now(), first: RESOURCES.map(stalls) }))
    }
}

/// Microseconds stalled since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stalls {
    some: u64,
    /// Kernels before 5.13 do not tell it for the processor.
    full: Option<u64>,
}

fn stalls(resource: &str) -> Result<Stalls, String> {
    let text = read_text(format!("/proc/pressure/{resource}"))?;
    parse_stalls(&text).ok_or_else(|| format!("`/proc/pressure/{resource}` has no line `some`"))
}

fn parse_stalls(text: &str) -> Option<Stalls> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.split_once("total=")?.1.trim().parse().ok()
    };
    Some(Stalls { some: total("some ")?, full: total("full ") })
}

struct PressureWatch {
    started: Instant,
    first: [Result<Stalls, String>; 3],
}

impl Watch for PressureWatch {
    fn period(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self) {}

    fn stop(self: Box<Self>) -> Vec<Metric> {
        let window = self.started.elapsed().as_micros() as f64;
        let mut metrics = Vec::new();
        for (resource, first) in RESOURCES.iter().zip(self.first) {
            let both = first.and_then(|first| stalls(resource).map(|last| (first, last)));
            let some = both.as_ref().map(|(first, last)| last.some.saturating_sub(first.some));
            metrics.push(share(
                &format!("pressure.{resource}.some"),
                some.map_err(Clone::clone),
                window,
            ));
            let full = both.and_then(|(first, last)| match (first.full, last.full) {
                (Some(first), Some(last)) => Ok(last.saturating_sub(first)),
                _ => Err(format!("this kernel does not report full pressure of `{resource}`")),
            });
            metrics.push(share(&format!("pressure.{resource}.full"), full, window));
        }
        metrics
    }
}

fn share(key: &str, stalled: Result<u64, String>, window: f64) -> Metric {
    match stalled {
        // The kernel adds up in steps, so a short window may show a little more than all of it.
        Ok(stalled) => {
            let share = (stalled as f64 / window.max(1.0)).min(1.0);
            Metric::measured(key, Unit::Ratio, Direction::Lower, share)
        }
        Err(why) => Metric::missing(key, Unit::Ratio, Direction::Lower, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_an_old_kernel_has_no_full_line() {
        let text = "some avg10=5.25 avg60=1.03 avg300=0.74 total=10600563\nfull avg10=5.18 avg60=1.00 avg300=0.70 total=10185050\n";
        assert_eq!(parse_stalls(text), Some(Stalls { some: 10600563, full: Some(10185050) }));
        let old = "some avg10=1.54 avg60=1.18 avg300=1.36 total=12869953\n";
        assert_eq!(parse_stalls(old), Some(Stalls { some: 12869953, full: None }));
        assert_eq!(parse_stalls(""), None);
    }

    #[test]
    fn a_stall_is_a_share_of_the_window() {
        assert_eq!(share("x", Ok(250), 1000.0).value, Some(0.25));
        assert_eq!(share("x", Err("why".into()), 1000.0).value, None);
    }
}
