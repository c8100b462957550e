//! What a model executes on.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What a model executes on; `Auto` is a wish, never a recorded fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    /// The best device an engine here can use: cuda, then rocm, mps, cpu.
    Auto,
    /// The host processor.
    Cpu,
    /// An NVIDIA GPU by index.
    Cuda(u32),
    /// An AMD GPU by index.
    Rocm(u32),
    /// Apple's GPU.
    Mps,
    /// The GPU of a browser.
    Webgpu,
    /// The neural network API of a browser.
    Webnn,
    /// WebAssembly in a browser.
    Wasm,
}

/// A device name nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown device `{0}`; known are auto, cpu, cuda, cuda:N, rocm, rocm:N, mps, webgpu, webnn, wasm"
)]
pub struct ParseDeviceError(pub String);

impl Device {
    /// The order in which `auto` prefers devices.
    pub const PREFERENCE: [Device; 4] =
        [Device::Cuda(0), Device::Rocm(0), Device::Mps, Device::Cpu];
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.pad("auto"),
            Device::Cpu => f.pad("cpu"),
            Device::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Device::Rocm(index) => f.pad(&format!("rocm:{index}")),
            Device::Mps => f.pad("mps"),
            Device::Webgpu => f.pad("webgpu"),
            Device::Webnn => f.pad("webnn"),
            Device::Wasm => f.pad("wasm"),
        }
    }
}

impl FromStr for Device {
    type Err = ParseDeviceError;

    fn from_str(text: &str) -> Result<Device, ParseDeviceError> {
        let lower = text.to_ascii_lowercase();
        let (name, index) = match lower.split_once(':') {
            Some((name, index)) => {
                let index = index.parse::<u32>().map_err(|_| ParseDeviceError(text.into()))?;
                (name, Some(index))
            }
            None => (lower.as_str(), None),
        };
        match (name, index) {
            ("auto", None) => Ok(Device::Auto),
            ("cpu", None) => Ok(Device::Cpu),
            ("cuda" | "gpu", index) => Ok(Device::Cuda(index.unwrap_or(0))),
            ("rocm" | "hip", index) => Ok(Device::Rocm(index.unwrap_or(0))),
            ("mps", None) => Ok(Device::Mps),
            ("webgpu", None) => Ok(Device::Webgpu),
            ("webnn", None) => Ok(Device::Webnn),
            ("wasm", None) => Ok(Device::Wasm),
            _ => Err(ParseDeviceError(text.into())),
        }
    }
}

impl Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Device, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_survives_its_name() {
        for device in [Device::Auto, Device::Cpu, Device::Cuda(3), Device::Mps, Device::Wasm] {
            assert_eq!(device.to_string().parse::<Device>(), Ok(device));
        }
        assert_eq!("CUDA".parse(), Ok(Device::Cuda(0)));
    }

    #[test]
    fn an_unknown_device_is_named_in_the_error() {
        let error = "tpu".parse::<Device>().unwrap_err();
        assert!(error.to_string().contains("`tpu`"));
        assert!("cuda:x".parse::<Device>().is_err());
    }
}
