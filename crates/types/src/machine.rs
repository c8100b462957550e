//! Which machine a number was measured on.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// The host processor; nothing here changes with a reboot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Marketing name: `Intel(R) Xeon(R) Processor @ 2.50GHz`.
    pub model: String,
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// Physical cores.
    pub cores: u32,
    /// Logical processors.
    pub threads: u32,
    /// Sockets.
    pub sockets: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Vector extensions that matter to inference: `avx2`, `avx512f`, `avx512_vnni`, `amx_bf16`.
    pub features: Vec<String>,
    /// Last-level cache, where known.
    pub cache: Option<Bytes>,
}

/// A GPU; nothing here changes with a reboot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its index in the driver's list.
    pub index: u32,
    /// `NVIDIA H200`.
    pub name: String,
    /// The driver's stable identifier.
    pub uuid: String,
    /// Total device memory.
    pub memory: Bytes,
}

/// A machine's identity: equal keys mean comparable numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// A hash over everything below but the host name; stable over reboots.
    pub key: String,
    /// The host's name, for people.
    pub hostname: String,
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// The processor.
    pub cpu: Cpu,
    /// Installed memory, rounded to whole GiB so that a kernel update does not change the key.
    pub memory: Bytes,
    /// The GPUs that the driver lists.
    pub gpus: Vec<Gpu>,
    /// The hypervisor, where one is seen: `kvm`.
    pub hypervisor: Option<String>,
}
