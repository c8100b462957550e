//! Which GPUs PyTorch could use here: what it was built with, and whether a driver is there.
//!
//! PyTorch itself is not asked: that would mean importing it. What only its loading can show is said by loading.

use crate::interpreter::Found;
use std::{fs, path::Path};
use types::Device;

/// The GPUs whose drivers are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Graphics {
    pub(crate) nvidia: u32,
    pub(crate) amd: u32,
    pub(crate) apple: bool,
    pub(crate) intel: u32,
}

impl Graphics {
    /// Those of this machine.
    pub(crate) fn here() -> Graphics {
        Graphics::below(Path::new("/"))
    }

    fn below(root: &Path) -> Graphics {
        Graphics {
            nvidia: nvidia(root),
            amd: amd(root),
            apple: cfg!(all(target_os = "macos", target_arch = "aarch64")),
            intel: intel(root),
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = String> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The driver lists its GPUs; in a container their device files may be all there is, in WSL one file is for all.
fn nvidia(root: &Path) -> u32 {
    let listed = entries(&root.join("proc/driver/nvidia/gpus")).count();
    let is_gpu = |name: &String| {
        name.strip_prefix("nvidia")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let files = entries(&root.join("dev")).filter(is_gpu).count();
    let shared = usize::from(root.join("dev/dxg").exists());
    // A container may see the driver's whole list and own fewer device files.
    let count = if files > 0 { files } else { listed.max(shared) };
    u32::try_from(count).unwrap_or(0)
}

/// Nodes of the driver's topology that have compute units; the CPU is a node too and has none.
fn amd(root: &Path) -> u32 {
    if !root.join("dev/kfd").exists() {
        return 0;
    }
    let topology = root.join("sys/class/kfd/kfd/topology/nodes");
    let computes = |name: &String| {
        let properties = fs::read_to_string(topology.join(name).join("properties"));
        properties.is_ok_and(|text| {
            text.lines()
                .filter_map(|line| line.strip_prefix("simd_count "))
                .any(|count| count.trim() != "0")
        })
    };
    let count = entries(&topology).filter(computes).count();
    // The driver is here, its topology may be hidden.
    u32::try_from(count).unwrap_or(0).max(1)
}

/// Render nodes whose vendor is Intel.
fn intel(root: &Path) -> u32 {
    let class = root.join("sys/class/drm");
    let is_intel = |name: &String| {
        name.starts_with("renderD")
            && fs::read_to_string(class.join(name).join("device/vendor"))
                .is_ok_and(|vendor| vendor.trim() == "0x8086")
    };
    u32::try_from(entries(&class).filter(is_intel).count()).unwrap_or(0)
}

/// The devices that this PyTorch can use with these drivers.
pub(crate) fn devices(found: &Found, graphics: &Graphics) -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    if found.cuda.is_some() {
        devices.extend((0..graphics.nvidia).map(Device::Cuda));
    }
    if found.hip.is_some() {
        devices.extend((0..graphics.amd).map(Device::Rocm));
    }
    if graphics.apple {
        devices.push(Device::Mps);
    }
    if found.xpu.is_some() {
        devices.extend((0..graphics.intel).map(Device::Xpu));
    }
    devices
}

/// Why a device that PyTorch could use elsewhere is not among those.
pub(crate) fn absence(found: &Found, graphics: &Graphics, device: Device) -> Option<String> {
    let (brand, built, count, index, driver) = match device {
        Device::Cuda(index) => ("CUDA", &found.cuda, graphics.nvidia, index, "NVIDIA"),
        Device::Rocm(index) => ("ROCm", &found.hip, graphics.amd, index, "AMD"),
        Device::Xpu(index) => ("XPU support", &found.xpu, graphics.intel, index, "Intel"),
        Device::Mps if !graphics.apple => {
            return Some("Apple's GPU is only in Apple's own processors".into());
        }
        _ => return None,
    };
    let version = &found.torch;
    match built {
        None => Some(format!("PyTorch {version} is installed, but built without {brand}")),
        Some(built) if count == 0 => Some(format!(
            "PyTorch {version} is installed, built with {brand} {built}, but no {driver} driver answers"
        )),
        Some(_) if index >= count => {
            let plural = if count == 1 { "" } else { "s" };
            Some(format!(
                "there {} {count} {driver} GPU{plural}",
                if count == 1 { "is" } else { "are" }
            ))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cuda: Option<&str>, hip: Option<&str>) -> Found {
        Found {
            torch: "2.15.0".into(),
            cuda: cuda.map(str::to_owned),
            hip: hip.map(str::to_owned),
            xpu: None,
        }
    }

    fn machine(files: &[(&str, &str)]) -> Graphics {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Graphics::below(root.path())
    }

    #[test]
    fn gpus_are_counted_by_what_their_drivers_show() {
        let listed = machine(&[
            ("proc/driver/nvidia/gpus/0000:01:00.0", ""),
            ("proc/driver/nvidia/gpus/0000:02:00.0", ""),
        ]);
        assert_eq!(listed.nvidia, 2);
        let container = machine(&[
            ("proc/driver/nvidia/gpus/0000:01:00.0", ""),
            ("proc/driver/nvidia/gpus/0000:02:00.0", ""),
            ("dev/nvidia1", ""),
            ("dev/nvidiactl", ""),
            ("dev/nvidia-uvm", ""),
        ]);
        assert_eq!(container.nvidia, 1);
        let amd = machine(&[
            ("dev/kfd", ""),
            ("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\nsimd_count 0\n"),
            ("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 416\n"),
        ]);
        assert_eq!((amd.amd, amd.nvidia), (1, 0));
        let intel = machine(&[
            ("sys/class/drm/renderD128/device/vendor", "0x8086\n"),
            ("sys/class/drm/renderD129/device/vendor", "0x10de\n"),
        ]);
        assert_eq!(intel.intel, 1);
        let none = machine(&[]);
        assert_eq!((none.nvidia, none.amd, none.intel), (0, 0, 0));
    }

    #[test]
    fn a_device_needs_both_the_build_and_the_driver() {
        let graphics = Graphics { nvidia: 2, amd: 1, apple: false, intel: 0 };
        let cuda = devices(&found(Some("13.2"), None), &graphics);
        assert_eq!(cuda, [Device::Cpu, Device::Cuda(0), Device::Cuda(1)]);
        let rocm = devices(&found(None, Some("6.4")), &graphics);
        assert_eq!(rocm, [Device::Cpu, Device::Rocm(0)]);
        assert_eq!(devices(&found(None, None), &graphics), [Device::Cpu]);
    }

    #[test]
    fn an_absent_device_is_explained() {
        let none = Graphics::default();
        let why = |found: Found, graphics: &Graphics, device| absence(&found, graphics, device);
        assert_eq!(
            why(found(Some("13.2"), None), &none, Device::Cuda(0)).unwrap(),
            "PyTorch 2.15.0 is installed, built with CUDA 13.2, but no NVIDIA driver answers"
        );
        assert_eq!(
            why(found(None, None), &none, Device::Rocm(0)).unwrap(),
            "PyTorch 2.15.0 is installed, but built without ROCm"
        );
        let one = Graphics { nvidia: 1, ..none };
        let few = why(found(Some("13.2"), None), &one, Device::Cuda(3)).unwrap();
        assert_eq!(few, "there is 1 NVIDIA GPU");
        assert_eq!(why(found(Some("13.2"), None), &one, Device::Cuda(0)), None);
        assert!(why(found(None, None), &none, Device::Mps).unwrap().contains("Apple"));
        assert_eq!(why(found(None, None), &none, Device::Wasm), None);
    }
}
