//! The state around a run: taken before the worker starts and after it ended, and what changed between.
//!
//! The machine's identity comes from `hardware`, versions and threads from whoever runs the worker; together with
//! [`Conditions`] they make a [`types::Environment`].

use crate::{
    device_state::{DeviceConditions, DeviceState},
    frequency, load,
    procfs::{Ticks, parse_machine_ticks},
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
    ticks: Option<Ticks>,
    devices: DeviceState,
}

/// What held around a run; the fields bear the names of [`types::Environment`]'s.
#[derive(Debug, Clone, Default, PartialEq)]
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
        Snapshot {
            governor: frequency::governor(root),
            frequency: frequency::current(root).ok().map(|current| current.hertz),
            smt: fs::read_to_string("/sys/devices/system/cpu/smt/control")
                .ok()
                .and_then(|text| parse_smt(&text)),
            load_average: load::load().ok().map(|reading| reading.average),
            memory_available: hardware::available_memory(),
            cgroup: hardware::cgroup::limits(std::process::id()),
            ticks: fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|text| parse_machine_ticks(&text))
                .map(|(machine, _)| machine),
            devices: DeviceState::take(),
        }
    }

    /// What held from this snapshot to a later one; `ours` are the process ids of the run itself.
    #[must_use]
    pub fn diff(&self, after: &Snapshot, ours: &[u32]) -> Conditions {
        let DeviceConditions { throttle, gpus } = self.devices.until(&after.devices, ours);
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
            throttle,
            gpus,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smt_is_read_from_the_kernels_words() {
        assert_eq!(parse_smt("on\n"), Some(true));
        assert_eq!(parse_smt("notsupported\n"), Some(false));
        assert_eq!(parse_smt("?"), None);
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
