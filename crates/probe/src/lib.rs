//! Observers of the machine while work runs, one file a probe, each with an honest 'unavailable: why'.
//!
//! A [`Probe`] says whether it can see anything here; started on a [`Target`] it becomes a [`Watch`], which is read now and then
//! and, when stopped, gives its metrics. A [`Watcher`] runs the readings of all watches on one sleeping thread and says
//! what that cost. [`PROBES`] is the only list: help, documentation and tests walk it.
//!
//! The watched process may end at any moment. Its numbers are then those of the last reading, and the metric `PROBE.rest`
//! is missing with the reason, so that nobody takes them for the whole window.
//!
//! What does not change while work runs (the processor, the limits of a control group) belongs in `hardware`.

mod accounts;
mod clock;
mod contention;
mod device_state;
mod energy;
mod environment;
mod followed;
mod jitter;
mod malloc;
mod mapped;
mod pid_namespace;
mod process_tree;
mod procfs;
mod readings;
mod rest;
mod series;
mod socket;
mod tracker;
mod watcher;

mod amd;
mod cgroup;
mod cpu;
mod disk;
mod faults;
mod frequency;
mod heat;
mod load;
mod memory;
mod network;
mod nvml;
mod pressure;
mod rapl;
mod steal;
mod switches;
mod throttling;

pub use contention::{Contention, Moment};
pub use device_state::{DeviceConditions, DeviceState};
pub use energy::IdlePower;
pub use environment::{Conditions, Snapshot};
pub use heat::{Heat, heat};
pub use jitter::jitter;
pub use malloc::allocated;
pub use mapped::{anonymous, mapped_from};
pub use rest::rest;
pub use series::Series;
pub use socket::{PERIOD, Probe, Target, Watch};
pub use tracker::{Mark, Recording, TrackerError, TrackingAllocator, refused_allocation};
pub use watcher::Watcher;

/// Every probe, in the order of reports; a new one is a file and a line here.
pub const PROBES: &[&dyn Probe] = &[
    &cpu::Cpu,
    &memory::Memory,
    &faults::Faults,
    &switches::Switches,
    &disk::Disk,
    &network::Network,
    &pressure::Pressure,
    &steal::Steal,
    &load::Load,
    &frequency::Frequency,
    &throttling::Throttling,
    &cgroup::Cgroup,
    &rapl::Rapl,
    &nvml::Gpu,
    &amd::AmdGpu,
];
