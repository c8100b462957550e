//! The state of the machine and its software during a run.

use crate::{Bytes, Machine, MemoryLimit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Limits the control group puts on this process; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// 1 or 2; `None` where there are no control groups.
    pub version: Option<u8>,
    /// Processors' worth of time: quota ÷ period.
    pub cpus: Option<f64>,
    /// Memory limit.
    pub memory: Option<Bytes>,
    /// The processors this process may run on: `0-1`.
    pub cpuset: Option<String>,
}

/// Whether and how much the clock was held back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Throttle {
    /// Throttle events counted during the run; `None` where the machine does not count them.
    pub events: Option<u64>,
    /// Why there is no count.
    pub why: Option<String>,
}

/// A GPU's state around the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuState {
    /// Index in the driver's list.
    pub index: u32,
    /// Driver version.
    pub driver: String,
    /// Current graphics clock in Hz.
    pub clock_graphics: Option<f64>,
    /// Current memory clock in Hz.
    pub clock_memory: Option<f64>,
    /// Enforced power limit in watts.
    pub power_limit: Option<f64>,
    /// Temperature in Celsius.
    pub temperature: Option<f64>,
    /// Active throttle reasons, in the driver's words.
    pub throttle_reasons: Vec<String>,
    /// Process ids of others that hold the device.
    pub other_processes: Vec<u32>,
}

/// The state of the machine and its software during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The machine's stable identity.
    pub machine: Machine,
    /// `Debian GNU/Linux 12`.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU frequency governor, where the system has one.
    pub governor: Option<String>,
    /// Current CPU frequency in Hz, averaged over processors.
    pub frequency: Option<f64>,
    /// Whether simultaneous multithreading is on.
    pub smt: Option<bool>,
    /// Load average over one minute when the run began.
    pub load_average: Option<f64>,
    /// Share of processor time the hypervisor took during the run.
    pub steal: Option<f64>,
    /// Memory that was available when the run began.
    pub memory_available: Option<Bytes>,
    /// What the control group allows.
    pub cgroup: CgroupLimits,
    /// What the worker was held to, where a limit was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
    /// Clock throttling.
    pub throttle: Throttle,
    /// GPUs, where there are any.
    pub gpus: Vec<GpuState>,
    /// Versions: `modelmeter`, the engine, its libraries.
    pub versions: BTreeMap<String, String>,
    /// Threads the engine was told to use.
    pub threads: u32,
    /// Git commit of the model's folder, where it is a checkout.
    pub model_commit: Option<String>,
    /// The checkout that the measurement was asked for in: what a history goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
}

/// A state of somebody's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The commit's whole hash.
    pub commit: String,
    /// The branch, where one was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Revision {
    /// As much of the hash as people write.
    #[must_use]
    pub fn short(&self) -> &str {
        self.commit.get(..9).unwrap_or(&self.commit)
    }
}
