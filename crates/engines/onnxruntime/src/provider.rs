//! Execution providers: which device each one serves, what it needs, and what can be used here.

use engine::found::Library;
use std::path::Path;
use types::{Device, Precision};

/// An execution provider.
pub(crate) struct Provider {
    /// The library's name for it.
    pub(crate) name: &'static str,
    /// The name by which its own interface takes it, and the middle of its own library's name, where it has one.
    pub(crate) short: &'static str,
    /// How it comes.
    carrier: Carrier,
}

/// How a provider comes.
enum Carrier {
    /// In a library of its own beside the main one.
    Beside { file: &'static str, hardware: Hardware },
    /// Inside the main one, on this system alone.
    BuiltIn { system: &'static str },
    /// Inside the main one, where its builder wished so; only loading shows.
    Perhaps,
}

/// What must be in the machine.
enum Hardware {
    Nvidia,
    Amd,
    Any,
}

/// The device families beside the cpu, with one device each.
const FAMILIES: [Device; 8] = [
    Device::Cuda(0),
    Device::Tensorrt(0),
    Device::Rocm(0),
    Device::Migraphx(0),
    Device::Openvino,
    Device::Coreml,
    Device::Directml(0),
    Device::Xnnpack,
];

impl Provider {
    /// The provider of a device; the cpu needs none, and for some devices there is none.
    pub(crate) fn of(device: Device) -> Option<Provider> {
        let beside = |file, hardware| Carrier::Beside { file, hardware };
        let built_in = |system| Carrier::BuiltIn { system };
        let (name, short, carrier) = match device {
            Device::Cuda(_) => ("CUDAExecutionProvider", "CUDA", beside("cuda", Hardware::Nvidia)),
            Device::Tensorrt(_) => {
                ("TensorrtExecutionProvider", "TensorRT", beside("tensorrt", Hardware::Nvidia))
            }
            Device::Rocm(_) => ("ROCMExecutionProvider", "ROCM", beside("rocm", Hardware::Amd)),
            Device::Migraphx(_) => {
                ("MIGraphXExecutionProvider", "MIGraphX", beside("migraphx", Hardware::Amd))
            }
            Device::Openvino => {
                ("OpenVINOExecutionProvider", "OpenVINO", beside("openvino", Hardware::Any))
            }
            Device::Coreml => ("CoreMLExecutionProvider", "CoreML", built_in("macos")),
            Device::Directml(_) => ("DmlExecutionProvider", "DML", built_in("windows")),
            Device::Xnnpack => ("XnnpackExecutionProvider", "XNNPACK", Carrier::Perhaps),
            _ => return None,
        };
        Some(Provider { name, short, carrier })
    }

    /// Why this provider cannot be used here, as far as can be seen without loading the library.
    pub(crate) fn problem(&self, library: &Library) -> Option<String> {
        match &self.carrier {
            Carrier::Beside { file, hardware } => {
                let file = if cfg!(windows) {
                    format!("onnxruntime_providers_{file}.dll")
                } else {
                    format!("libonnxruntime_providers_{file}.so")
                };
                let name = self.short;
                if !library.folder().join(file).is_file() {
                    return Some(format!("ONNX Runtime is installed without its {name} provider"));
                }
                let missing = hardware.missing()?;
                Some(format!("its {name} provider is here but {missing}"))
            }
            Carrier::BuiltIn { system } if *system != std::env::consts::OS => {
                Some(format!("its {} provider exists on {system} only", self.short))
            }
            _ => None,
        }
    }
}

impl Hardware {
    /// What does not answer; devices of the kernel are looked at, because asking a driver takes long.
    fn missing(&self) -> Option<&'static str> {
        let any = |paths: &[&str]| paths.iter().any(|path| Path::new(path).exists());
        match self {
            // The last is how Windows hands its GPU to a Linux inside it.
            Hardware::Nvidia if !any(&["/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"]) => {
                Some("no NVIDIA driver answers")
            }
            Hardware::Amd if !any(&["/dev/kfd"]) => Some("no AMD driver answers"),
            _ => None,
        }
    }

    /// How many devices there are; one where only the driver can be seen.
    fn count(&self) -> u32 {
        let nvidia = |index: &u32| Path::new(&format!("/dev/nvidia{index}")).exists();
        match self {
            Hardware::Nvidia => (0..64).take_while(nvidia).count().max(1) as u32,
            Hardware::Amd | Hardware::Any => 1,
        }
    }
}

/// The devices that a library can use here.
pub(crate) fn devices(library: &Library) -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    for family in FAMILIES {
        let Some(provider) = Provider::of(family) else { continue };
        let count = match &provider.carrier {
            Carrier::Beside { hardware, .. } => hardware.count(),
            Carrier::BuiltIn { .. } => 1,
            // A device is listed when it can be had, and that is not known.
            Carrier::Perhaps => continue,
        };
        if provider.problem(library).is_none() {
            devices.extend((0..count).map(|index| with_index(family, index)));
        }
    }
    devices
}

/// Why a library cannot use a device, where it would elsewhere.
pub(crate) fn absence(library: &Library, device: Device) -> Option<String> {
    let provider = Provider::of(device)?;
    match provider.carrier {
        Carrier::Perhaps => Some(format!(
            "few builds of ONNX Runtime have the {} provider, and only loading shows it",
            provider.short
        )),
        _ => provider.problem(library),
    }
}

/// The precisions that run on a device. The graph brings its precision along; nothing is converted here.
pub(crate) fn precisions(device: Device) -> &'static [Precision] {
    match device {
        // fp16 graphs run with casts around each node, so they are right but slow; bf16 has no kernels on the cpu.
        Device::Cpu => &[Precision::Fp32, Precision::Fp16, Precision::Int8, Precision::Stored],
        Device::Cuda(_) | Device::Tensorrt(_) => {
            &[Precision::Fp32, Precision::Fp16, Precision::Int8]
        }
        // On the cpu this provider leaves fp16 nodes to others.
        Device::Openvino => &[Precision::Fp32, Precision::Int8],
        Device::Rocm(_) | Device::Migraphx(_) | Device::Coreml | Device::Directml(_) => {
            &[Precision::Fp32, Precision::Fp16]
        }
        Device::Xnnpack => &[Precision::Fp32],
        _ => &[],
    }
}

/// Which of several devices of a family.
pub(crate) fn index(device: Device) -> Option<u32> {
    match device {
        Device::Cuda(index)
        | Device::Tensorrt(index)
        | Device::Rocm(index)
        | Device::Migraphx(index)
        | Device::Directml(index) => Some(index),
        _ => None,
    }
}

fn with_index(family: Device, index: u32) -> Device {
    match family {
        Device::Cuda(_) => Device::Cuda(index),
        Device::Tensorrt(_) => Device::Tensorrt(index),
        other => other,
    }
}
