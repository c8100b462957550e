//! A limit on a worker's memory, and what enforces it.

use crate::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What enforces a worker's memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// A control group for the worker: the kernel limits the resident memory of the worker and its children, without swap.
    Cgroup,
    /// `RLIMIT_DATA`: the kernel counts the writable private memory that a process has asked for, each process by itself.
    Rlimit,
    /// The allocator of the device's framework; memory of the driver itself is not counted.
    DeviceAllocator,
    /// Nothing enforces it: the engine has no means for this device.
    Nobody,
}

impl LimitedBy {
    /// The name used in tables, in JSON and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::Cgroup => "cgroup",
            LimitedBy::Rlimit => "rlimit",
            LimitedBy::DeviceAllocator => "device-allocator",
            LimitedBy::Nobody => "nobody",
        }
    }

    /// Who it is, after "by".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            LimitedBy::Cgroup => "a control group",
            LimitedBy::Rlimit => "RLIMIT_DATA",
            LimitedBy::DeviceAllocator => "the device's allocator",
            LimitedBy::Nobody => "nobody",
        }
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no means of holding a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseLimitedByError(String);

impl fmt::Display for ParseLimitedByError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a process is limited by `cgroup` or `rlimit`, not by `{}`", self.0)
    }
}

impl std::error::Error for ParseLimitedByError {}

impl FromStr for LimitedBy {
    type Err = ParseLimitedByError;

    /// Only limits that the user can choose; on a device, the enforcement is fixed.
    fn from_str(word: &str) -> Result<LimitedBy, ParseLimitedByError> {
        match word.to_ascii_lowercase().as_str() {
            "cgroup" => Ok(LimitedBy::Cgroup),
            "rlimit" => Ok(LimitedBy::Rlimit),
            _ => Err(ParseLimitedByError(word.to_owned())),
        }
    }
}

/// A memory limit of a worker, and how it was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLimit {
    /// The limit.
    #[schemars(range(min = 1))]
    pub bytes: Bytes,
    /// What enforces it.
    pub by: LimitedBy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_means_is_written_as_it_is_read() {
        for by in [LimitedBy::Cgroup, LimitedBy::Rlimit] {
            assert_eq!(by.name().parse(), Ok(by));
            assert_eq!(serde_json::to_string(&by).unwrap(), format!("\"{by}\""));
        }
        let error = "quota".parse::<LimitedBy>().unwrap_err();
        assert!(error.to_string().contains("`quota`"));
    }
}
