//! What a model executes on.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr};

/// What a model runs on. `Auto` is a request, never a recorded fact; in an imported run it means that the device is unknown.
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
    /// An Intel GPU by index.
    Xpu(u32),
    /// A neural processor beside the CPU.
    Npu,
    /// An NVIDIA GPU by index, through TensorRT.
    Tensorrt(u32),
    /// An AMD GPU by index, through MIGraphX.
    Migraphx(u32),
    /// Whatever OpenVINO takes, inside another engine.
    Openvino,
    /// Apple's Core ML.
    Coreml,
    /// A Windows GPU by index, through DirectML.
    Directml(u32),
    /// The CPU through XNNPACK.
    Xnnpack,
    /// The GPU of a browser.
    Webgpu,
    /// The neural network API of a browser.
    Webnn,
    /// WebAssembly in a browser.
    Wasm,
}

/// A device name is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown device `{0}`; known devices: auto, cpu, cuda, cuda:N, rocm, rocm:N, mps, xpu, npu, tensorrt, migraphx, \
     openvino, coreml, directml, xnnpack, webgpu, webnn, wasm"
)]
pub struct ParseDeviceError(pub String);

impl Device {
    /// The order in which `auto` prefers devices.
    pub const PREFERENCE: [Device; 4] =
        [Device::Cuda(0), Device::Rocm(0), Device::Mps, Device::Cpu];

    /// The names of all devices but `auto`, as a regular expression.
    pub const RECORDED: &str = "cpu|(cuda|rocm|xpu|tensorrt|migraphx|directml):[0-9]+|mps|npu|openvino|coreml|xnnpack|webgpu|webnn|wasm";

    /// The NVIDIA GPU behind it, if there is one.
    #[must_use]
    pub fn nvidia_index(self) -> Option<u32> {
        match self {
            Device::Cuda(index) | Device::Tensorrt(index) => Some(index),
            _ => None,
        }
    }

    /// The device whose ceilings apply to this one; `None` if its hardware is unknown.
    #[must_use]
    pub fn bounded_by(self) -> Option<Device> {
        match self {
            Device::Cpu | Device::Xnnpack | Device::Wasm => Some(Device::Cpu),
            Device::Cuda(index) | Device::Tensorrt(index) => Some(Device::Cuda(index)),
            Device::Rocm(index) | Device::Migraphx(index) => Some(Device::Rocm(index)),
            Device::Mps | Device::Xpu(_) => Some(self),
            _ => None,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.pad("auto"),
            Device::Cpu => f.pad("cpu"),
            Device::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Device::Rocm(index) => f.pad(&format!("rocm:{index}")),
            Device::Mps => f.pad("mps"),
            Device::Xpu(index) => f.pad(&format!("xpu:{index}")),
            Device::Npu => f.pad("npu"),
            Device::Tensorrt(index) => f.pad(&format!("tensorrt:{index}")),
            Device::Migraphx(index) => f.pad(&format!("migraphx:{index}")),
            Device::Openvino => f.pad("openvino"),
            Device::Coreml => f.pad("coreml"),
            Device::Directml(index) => f.pad(&format!("directml:{index}")),
            Device::Xnnpack => f.pad("xnnpack"),
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
            ("xpu" | "intel-gpu", index) => Ok(Device::Xpu(index.unwrap_or(0))),
            ("npu", None) => Ok(Device::Npu),
            ("tensorrt" | "trt", index) => Ok(Device::Tensorrt(index.unwrap_or(0))),
            ("migraphx", index) => Ok(Device::Migraphx(index.unwrap_or(0))),
            ("openvino", None) => Ok(Device::Openvino),
            ("coreml", None) => Ok(Device::Coreml),
            ("directml" | "dml", index) => Ok(Device::Directml(index.unwrap_or(0))),
            ("xnnpack", None) => Ok(Device::Xnnpack),
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

impl JsonSchema for Device {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Device".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^(auto|{})$", Device::RECORDED) })
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
        for device in [
            Device::Auto,
            Device::Cpu,
            Device::Cuda(3),
            Device::Mps,
            Device::Xpu(1),
            Device::Npu,
            Device::Wasm,
        ] {
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
