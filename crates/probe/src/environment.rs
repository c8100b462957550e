//! The state around a run: taken before the worker starts and after it ended, and what changed between.
//!
//! The machine's identity comes from `hardware`, versions and threads from whoever runs the worker; together with
//! [`Conditions`] they make a [`types::Environment`].

use crate::{
    frequency, load, nvml, pid_namespace,
    procfs::{Ticks, parse_machine_ticks},
    throttling,
};
use std::{fs, path::Path};
use types::{Bytes, CgroupLimits, GpuState, Throttle};

/// The state of the machine at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    governor: Option<String>,
    frequency: Option<f64>,
    smt: Option<bool>,
    load_average: Option<f64>,
    memory_available: Option<Bytes>,
    cgroup: CgroupLimits,
    gpus: Vec<GpuState>,
    ticks: Option<Ticks>,
    throttle: Result<throttling::Events, String>,
}

/// What held around a run; the fields bear the names of [`types::Environment`]'s.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// CPU frequency in Hz, averaged over processors and both ends; nominal where the system shows nothing else.
    pub frequency: Option<f64>,
    /// Whether simultaneous multithreading is on.
    pub smt: Option<bool>,
    /// Load average over one minute when the run began.
    pub load_average: Option<f64>,
    /// Share of processor time the hypervisor took between the two.
    pub steal: Option<f64>,
    /// Memory that was available when the run began.
    pub memory_available: Option<Bytes>,
    /// The limit of the control group.
    pub cgroup: CgroupLimits,
    /// Clock throttling between the two.
    pub throttle: Throttle,
    /// GPUs: clocks and temperature after, throttle reasons of both ends, processes that are not ours.
    pub gpus: Vec<GpuState>,
}

impl Snapshot {
    /// The state now; before a run it must be taken before the worker starts, so that the GPUs' other processes are known.
    #[must_use]
    pub fn take() -> Snapshot {
        let root = Path::new("/");
        let linux = cfg!(target_os = "linux");
        Snapshot {
            governor: frequency::governor(root),
            frequency: frequency::current(root).ok().map(|current| current.hertz),
            smt: fs::read_to_string("/sys/devices/system/cpu/smt/control")
                .ok()
                .and_then(|text| parse_smt(&text)),
            load_average: load::load().ok().map(|reading| reading.average),
            memory_available: hardware::available_memory(),
            cgroup: hardware::cgroup::limits(std::process::id()),
            gpus: nvml::states(),
            ticks: fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|text| parse_machine_ticks(&text))
                .map(|(machine, _)| machine),
            throttle: if linux {
                throttling::events(root)
            } else {
                Err("only Linux counts throttling".to_owned())
            },
        }
    }

    /// What held from this snapshot to a later one; `ours` are the process ids of the run itself.
    #[must_use]
    pub fn diff(&self, after: &Snapshot, ours: &[u32]) -> Conditions {
        Conditions {
            governor: self.governor.clone(),
            frequency: match (self.frequency, after.frequency) {
                (Some(before), Some(after)) => Some((before + after) / 2.0),
                (before, after) => before.or(after),
            },
            smt: self.smt,
            load_average: self.load_average,
            steal: self.ticks.zip(after.ticks).and_then(|(before, after)| {
                let window = after.since(before);
                window.share(window.steal)
            }),
            memory_available: self.memory_available,
            cgroup: self.cgroup.clone(),
            throttle: throttle(&self.throttle, &after.throttle),
            gpus: gpus(&self.gpus, &after.gpus, ours, pid_namespace::is_hosts_own()),
        }
    }
}

/// `notsupported` and `notimplemented` mean that a core has one thread.
fn parse_smt(text: &str) -> Option<bool> {
    match text.trim() {
        "on" => Some(true),
        "off" | "forceoff" | "notsupported" | "notimplemented" => Some(false),
        _ => None,
    }
}

fn throttle(
    before: &Result<throttling::Events, String>,
    after: &Result<throttling::Events, String>,
) -> Throttle {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            Throttle { events: Some(after.since(*before).total()), why: None }
        }
        (Err(why), _) | (_, Err(why)) => Throttle { events: None, why: Some(why.clone()) },
    }
}

/// Joins both ends. Where ids are not the driver's own, only those seen before the worker started are surely not ours.
fn gpus(
    before: &[GpuState],
    after: &[GpuState],
    ours: &[u32],
    ids_are_the_drivers: bool,
) -> Vec<GpuState> {
    let mut joined = Vec::new();
    for state in if after.is_empty() { before } else { after } {
        let mut state = state.clone();
        if !ids_are_the_drivers {
            state.other_processes.clear();
        }
        if let Some(earlier) = before.iter().find(|earlier| earlier.index == state.index) {
            state.other_processes.extend(&earlier.other_processes);
            state.throttle_reasons.extend(earlier.throttle_reasons.iter().cloned());
        }
        state.other_processes.retain(|pid| !ours.contains(pid));
        state.other_processes.sort_unstable();
        state.other_processes.dedup();
        state.throttle_reasons.sort_unstable();
        state.throttle_reasons.dedup();
        joined.push(state);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(other_processes: &[u32], reasons: &[&str]) -> GpuState {
        GpuState {
            other_processes: other_processes.to_vec(),
            throttle_reasons: reasons.iter().map(|reason| (*reason).to_owned().into()).collect(),
            ..GpuState::default()
        }
    }

    #[test]
    fn our_own_processes_are_not_others() {
        let (before, after) = (card(&[5], &["gpu idle"]), card(&[5, 9, 12], &["sw power cap"]));
        let joined = gpus(&[before], &[after], &[9], true);
        assert_eq!(joined[0].other_processes, [5, 12]);
        assert_eq!(
            joined[0].throttle_reasons,
            [types::ThrottleReason::GpuIdle, types::ThrottleReason::SwPowerCap]
        );
    }

    #[test]
    fn in_a_container_only_those_before_the_worker_are_surely_others() {
        let joined = gpus(&[card(&[77], &[])], &[card(&[77, 4242], &[])], &[9], false);
        assert_eq!(joined[0].other_processes, [77]);
    }

    #[test]
    fn smt_is_read_from_the_kernels_words() {
        assert_eq!(parse_smt("on\n"), Some(true));
        assert_eq!(parse_smt("notsupported\n"), Some(false));
        assert_eq!(parse_smt("?"), None);
    }

    #[test]
    fn throttling_that_cannot_be_counted_is_not_zero() {
        let counted = throttle(&Err("why".into()), &Err("why".into()));
        assert_eq!((counted.events, counted.why.as_deref()), (None, Some("why")));
    }

    #[test]
    fn a_snapshot_of_this_machine_compares_with_a_later_one() {
        let before = Snapshot::take();
        let conditions = before.diff(&Snapshot::take(), &[std::process::id()]);
        assert_eq!(conditions.throttle.events.is_none(), conditions.throttle.why.is_some());
        if cfg!(target_os = "linux") {
            assert!(conditions.load_average.is_some() && conditions.memory_available.is_some());
        }
    }
}
