//! Processor time that the hypervisor gave to others.

use crate::{
    procfs::{Ticks, parse_machine_ticks, read_text},
    socket::{Probe, Target, Watch, require_linux},
};
use std::time::Duration;
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Steal;

impl Probe for Steal {
    fn id(&self) -> &'static str {
        "steal"
    }

    fn describe(&self) -> &'static str {
        "share of the machine's processor time that the hypervisor took; 0 on a machine without one"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        ticks().map(|_| ())
    }

    fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
        Ok(Box::new(StealWatch { first: ticks()? }))
    }
}

fn ticks() -> Result<Ticks, String> {
    let text = read_text("/proc/stat")?;
    let (machine, _) = parse_machine_ticks(&text).ok_or("`/proc/stat` reports no steal time")?;
    Ok(machine)
}

struct StealWatch {
    first: Ticks,
}

impl Watch for StealWatch {
    fn period(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self) {}

    fn stop(self: Box<Self>) -> Vec<Metric> {
        let share = ticks().and_then(|now| {
            let window = now.since(self.first);
            let share = window.share(window.steal);
            share
                .ok_or_else(|| "no clock tick passed; the window was shorter than 10 ms".to_owned())
        });
        vec![match share {
            Ok(share) => Metric::measured("steal.share", Unit::Ratio, Direction::Lower, share),
            Err(why) => Metric::missing("steal.share", Unit::Ratio, Direction::Lower, why),
        }]
    }
}
