//! Which machine a number was measured on.

use crate::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host processor; nothing here changes with a reboot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// A hash over all fields below except the host name; it does not change with a reboot.
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
    /// The hypervisor, if one is detected: `kvm`.
    pub hypervisor: Option<String>,
}

/// What keys of machines begin with on which another tool measured; ours are hashes alone.
const IMPORTED: &str = "imported-";

/// What keys of machines begin with of which a page alone was known.
const BROWSER: &str = "browser-";

impl Machine {
    /// The key of a machine of which a page alone is known.
    #[must_use]
    pub fn browser_key(hash: &str) -> String {
        format!("{BROWSER}{hash}")
    }

    /// Whether a page alone was known of the machine with this key, so that no command runs there.
    #[must_use]
    pub fn is_browser_key(key: &str) -> bool {
        key.starts_with(BROWSER)
    }

    /// The key of a machine on which another tool measured.
    #[must_use]
    pub fn imported_key(key: &str) -> String {
        format!("{IMPORTED}{key}")
    }

    /// Whether another tool measured on the machine with this key.
    #[must_use]
    pub fn is_imported_key(key: &str) -> bool {
        key.starts_with(IMPORTED)
    }

    /// The key without the mark of an import.
    #[must_use]
    pub fn own_key(key: &str) -> &str {
        key.strip_prefix(IMPORTED).unwrap_or(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imported_key_is_told_from_ours_and_given_back() {
        let key = Machine::imported_key("c0ffee");
        assert!(Machine::is_imported_key(&key) && !Machine::is_imported_key("c0ffee"));
        assert_eq!((Machine::own_key(&key), Machine::own_key("c0ffee")), ("c0ffee", "c0ffee"));
    }
}
