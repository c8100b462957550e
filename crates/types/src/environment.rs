//! The state of the machine and its software during a run.

use crate::{Bytes, Machine, MemoryLimit, ThrottleReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Limits the control group puts on this process; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// 1 or 2; `None` if there are no control groups.
    #[schemars(extend("enum" = [1, 2, null]))]
    pub version: Option<u8>,
    /// CPU limit in processors: quota ÷ period.
    #[schemars(range(min = 0))]
    pub cpus: Option<f64>,
    /// Memory limit.
    pub memory: Option<Bytes>,
    /// The processors that this process may use: `0-1`.
    pub cpuset: Option<String>,
}

/// Whether and how much the clock was throttled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throttle {
    /// Throttle events counted during the run; `None` if the machine does not count them.
    pub events: Option<u64>,
    /// Why there is no count.
    pub why: Option<String>,
}

/// A GPU's state around the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuState {
    /// Index in the driver's list.
    pub index: u32,
    /// Driver version.
    pub driver: String,
    /// Current graphics clock in Hz.
    #[schemars(range(min = 0))]
    pub clock_graphics: Option<f64>,
    /// Current memory clock in Hz.
    #[schemars(range(min = 0))]
    pub clock_memory: Option<f64>,
    /// Enforced power limit in watts.
    #[schemars(range(min = 0))]
    pub power_limit: Option<f64>,
    /// Temperature in Celsius.
    pub temperature: Option<f64>,
    /// Active throttle reasons, in the driver's words.
    #[schemars(with = "Vec<String>")]
    pub throttle_reasons: Vec<ThrottleReason>,
    /// Ids of other processes that use the device.
    pub other_processes: Vec<u32>,
}

/// The state of the machine and its software during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(range(min = 0))]
    pub frequency: Option<f64>,
    /// Whether simultaneous multithreading is on.
    pub smt: Option<bool>,
    /// Load average over one minute when the run began.
    #[schemars(range(min = 0))]
    pub load_average: Option<f64>,
    /// Share of processor time the hypervisor took during the run.
    #[schemars(range(min = 0))]
    pub steal: Option<f64>,
    /// Memory that was available when the run began.
    pub memory_available: Option<Bytes>,
    /// The limit of the control group.
    pub cgroup: CgroupLimits,
    /// The memory limit of the worker, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
    /// Clock throttling.
    pub throttle: Throttle,
    /// GPUs, if there are any.
    pub gpus: Vec<GpuState>,
    /// Versions: `modelmeter`, the engine, its libraries.
    pub versions: BTreeMap<String, String>,
    /// Threads that the engine was configured to use.
    pub threads: u32,
    /// Git commit of the model's folder, if it is a checkout.
    pub model_commit: Option<String>,
    /// The Git checkout that the command was run in; histories are ordered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
}

/// A state of the user's source code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// The full hash of the commit.
    pub commit: String,
    /// The branch, if one was checked out.
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
