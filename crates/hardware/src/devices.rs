//! Every device a model could run on, or why it is not here and what would bring it.

use crate::{identity::machine, nvidia};
use schemars::JsonSchema;
use serde::Serialize;
use std::{fs, path::Path};
use types::{Bytes, Device, Machine};

/// One device; if it is not `available`, `note` says why and what would help.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceInfo {
    /// Which one.
    pub device: Device,
    /// Whether the system has it, regardless of whether an engine can use it.
    pub available: bool,
    /// Its name, if the device is present.
    pub name: Option<String>,
    /// Its memory.
    pub memory: Option<Bytes>,
    /// Its driver and version.
    pub driver: Option<String>,
    /// Details for people: cores and vector units, or why it is missing and what would help.
    pub note: String,
}

/// Every device this program knows, the absent ones with their reason.
#[must_use]
pub fn devices() -> Vec<DeviceInfo> {
    let machine = machine();
    let mut devices = vec![cpu(&machine)];
    devices.extend(cuda(&machine));
    devices.extend(rocm(Path::new("/")));
    devices.push(mps(&machine));
    devices
}

fn absent(device: Device, note: impl Into<String>) -> DeviceInfo {
    DeviceInfo {
        device,
        available: false,
        name: None,
        memory: None,
        driver: None,
        note: note.into(),
    }
}

fn cpu(machine: &Machine) -> DeviceInfo {
    let cpu = &machine.cpu;
    let mut note = format!("{} cores, {} threads", cpu.cores, cpu.threads);
    if !cpu.features.is_empty() {
        note.push_str(&format!("; {}", cpu.features.join(" ")));
    }
    DeviceInfo {
        device: Device::Cpu,
        available: true,
        name: Some(cpu.model.clone()),
        memory: Some(machine.memory).filter(|memory| memory.0 > 0),
        driver: None,
        note,
    }
}

fn cuda(machine: &Machine) -> Vec<DeviceInfo> {
    let driver = match nvidia::driver() {
        Ok(driver) => driver,
        Err(why) => {
            return vec![absent(
                Device::Cuda(0),
                format!("{why}; install NVIDIA's driver for the GPU"),
            )];
        }
    };
    if machine.gpus.is_empty() {
        return vec![absent(Device::Cuda(0), "the NVIDIA driver answers but lists no GPU")];
    }
    let version = driver.sys_driver_version().ok();
    let cuda = driver.sys_cuda_driver_version().ok().map(|version| {
        // NVML packs 13.2 as 13020.
        format!("supports CUDA {}.{}", version / 1000, version % 1000 / 10)
    });
    machine
        .gpus
        .iter()
        .map(|gpu| DeviceInfo {
            device: Device::Cuda(gpu.index),
            available: true,
            name: Some(gpu.name.clone()),
            memory: Some(gpu.memory),
            driver: version.as_ref().map(|version| format!("NVIDIA {version}")),
            note: cuda.clone().unwrap_or_default(),
        })
        .collect()
}

/// AMD's compute driver lists its nodes under `/sys/class/kfd`; a node without vector units is a processor.
fn rocm(root: &Path) -> Vec<DeviceInfo> {
    let nodes = root.join("sys/class/kfd/kfd/topology/nodes");
    let mut numbers: Vec<u32> = fs::read_dir(&nodes)
        .map(|entries| {
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        })
        .unwrap_or_default();
    numbers.sort_unstable();
    let driver = fs::read_to_string(root.join("sys/module/amdgpu/version"))
        .ok()
        .map(|version| format!("amdgpu {}", version.trim()));
    let mut found = Vec::new();
    for number in numbers {
        let node = nodes.join(number.to_string());
        let properties = fs::read_to_string(node.join("properties")).unwrap_or_default();
        if kfd_property(&properties, "simd_count").unwrap_or(0) == 0 {
            continue;
        }
        let name = fs::read_to_string(node.join("name")).ok().map(|name| name.trim().to_owned());
        found.push(DeviceInfo {
            device: Device::Rocm(found.len() as u32),
            available: true,
            name: name.filter(|name| !name.is_empty()).or_else(|| Some("AMD GPU".to_owned())),
            memory: kfd_memory(&node),
            driver: driver.clone(),
            note: kfd_property(&properties, "gfx_target_version")
                .map(|version| format!("target {version}"))
                .unwrap_or_default(),
        });
    }
    if found.is_empty() {
        let why = if root.join("dev/kfd").exists() {
            "AMD's compute driver is loaded but lists no GPU"
        } else {
            "no AMD compute driver answers (`/dev/kfd` not found); install ROCm's `amdgpu` driver for the GPU"
        };
        found.push(absent(Device::Rocm(0), why));
    }
    found
}

fn kfd_property(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

/// The banks of a node's own memory, added up.
fn kfd_memory(node: &Path) -> Option<Bytes> {
    let banks = fs::read_dir(node.join("mem_banks")).ok()?;
    let bytes: u64 = banks
        .flatten()
        .filter_map(|bank| fs::read_to_string(bank.path().join("properties")).ok())
        .filter_map(|text| kfd_property(&text, "size_in_bytes"))
        .sum();
    (bytes > 0).then_some(Bytes(bytes))
}

fn mps(machine: &Machine) -> DeviceInfo {
    if !cfg!(target_os = "macos") {
        return absent(
            Device::Mps,
            format!("Apple's GPU exists only under macOS; this is {}", machine.os),
        );
    }
    if !cfg!(target_arch = "aarch64") {
        return absent(Device::Mps, "this Mac has no Apple processor");
    }
    DeviceInfo {
        device: Device::Mps,
        available: true,
        name: Some("Apple GPU".to_owned()),
        memory: Some(machine.memory).filter(|memory| memory.0 > 0),
        driver: None,
        note: "shares the memory of the processor".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amd_card_is_read_from_the_kernels_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let nodes = folder.path().join("sys/class/kfd/kfd/topology/nodes");
        fs::create_dir_all(nodes.join("0")).unwrap();
        fs::write(nodes.join("0/properties"), "cpu_cores_count 16\nsimd_count 0\n").unwrap();
        fs::create_dir_all(nodes.join("1/mem_banks/0")).unwrap();
        fs::write(nodes.join("1/properties"), "simd_count 440\ngfx_target_version 90010\n")
            .unwrap();
        fs::write(nodes.join("1/name"), "aldebaran\n").unwrap();
        fs::write(
            nodes.join("1/mem_banks/0/properties"),
            "heap_type 1\nsize_in_bytes 68702699520\n",
        )
        .unwrap();
        let found = rocm(folder.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].device, Device::Rocm(0));
        assert_eq!(found[0].name.as_deref(), Some("aldebaran"));
        assert_eq!(found[0].memory, Some(Bytes(68702699520)));
        assert!(found[0].available);
    }

    #[test]
    fn a_missing_driver_says_what_would_help() {
        let folder = tempfile::tempdir().unwrap();
        let found = rocm(folder.path());
        assert!(!found[0].available);
        assert!(
            found[0].note.contains("`/dev/kfd` not found") && found[0].note.contains("install")
        );
    }
}
