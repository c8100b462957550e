//! What OpenVINO can use here, judged by files and the processor's flags; the truth is asked when a model is loaded.

use std::{fs, path::Path};
use types::{Device, Precision};

/// Intel's number among makers of PCI devices.
const INTEL: &str = "0x8086";

/// What stands between us and a kind of device.
struct Kind {
    /// The plugin beside the C library.
    plugin: &'static str,
    /// Where the system lists such devices.
    class: &'static str,
    /// How their entries begin.
    entry: &'static str,
    /// What people call it.
    name: &'static str,
}

const GPU: Kind = Kind {
    plugin: "libopenvino_intel_gpu_plugin.so",
    class: "/sys/class/drm",
    entry: "renderD",
    name: "Intel GPU",
};

const NPU: Kind = Kind {
    plugin: "libopenvino_intel_npu_plugin.so",
    class: "/sys/class/accel",
    entry: "accel",
    name: "Intel NPU",
};

/// The devices that this library has a plugin for and the machine seems to have.
pub(crate) fn devices(library: &Path) -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    let gpus = if has_plugin(library, &GPU) { count(Path::new(GPU.class), &GPU) } else { 0 };
    devices.extend((0..gpus).map(Device::Xpu));
    if has_plugin(library, &NPU) && count(Path::new(NPU.class), &NPU) > 0 {
        devices.push(Device::Npu);
    }
    devices
}

/// Why a device that OpenVINO uses elsewhere is not among ours.
pub(crate) fn absence(library: &Path, device: Device) -> Option<String> {
    let (kind, wanted) = match device {
        Device::Xpu(index) => (GPU, index),
        Device::Npu => (NPU, 0),
        _ => return None,
    };
    if !has_plugin(library, &kind) {
        return Some(format!("this OpenVINO comes without `{}`", kind.plugin));
    }
    match count(Path::new(kind.class), &kind) {
        0 => Some(format!("no {} under `{}`", kind.name, kind.class)),
        there if there <= wanted => Some(format!("{there} {} under `{}`", kind.name, kind.class)),
        _ => None,
    }
}

/// The precisions a device computes in, widest first; int8 means graphs that are quantised already.
pub(crate) fn precisions(device: Device) -> Vec<Precision> {
    let can = |precision: Precision| match (device, precision) {
        (Device::Cpu, Precision::Fp16) => computes_fp16(),
        (Device::Cpu, Precision::Bf16) => computes_bf16(),
        (Device::Cpu, _) => true,
        (Device::Xpu(_), precision) => precision != Precision::Bf16,
        (Device::Npu, precision) => matches!(precision, Precision::Fp16 | Precision::Int8),
        _ => false,
    };
    let of_files = (device == Device::Cpu).then_some(Precision::Stored);
    Precision::ALL.into_iter().filter(|&precision| can(precision)).chain(of_files).collect()
}

fn has_plugin(library: &Path, kind: &Kind) -> bool {
    library.parent().is_some_and(|folder| folder.join(kind.plugin).is_file())
}

fn count(class: &Path, kind: &Kind) -> u32 {
    let entries = fs::read_dir(class).into_iter().flatten().flatten();
    let of_intel = entries.filter(|entry| {
        let is_kind = entry.file_name().to_string_lossy().starts_with(kind.entry);
        let maker = fs::read_to_string(entry.path().join("device/vendor")).unwrap_or_default();
        is_kind && maker.trim() == INTEL
    });
    u32::try_from(of_intel.count()).unwrap_or(u32::MAX)
}

/// Every processor with tiles for bf16 (AMX) has these vector instructions too, so they stand for both.
#[cfg(target_arch = "x86_64")]
fn computes_bf16() -> bool {
    std::is_x86_feature_detected!("avx512bf16")
}

/// As above: who has fp16 tiles has these.
#[cfg(target_arch = "x86_64")]
fn computes_fp16() -> bool {
    std::is_x86_feature_detected!("avx512fp16")
}

#[cfg(target_arch = "aarch64")]
fn computes_bf16() -> bool {
    false
}

#[cfg(target_arch = "aarch64")]
fn computes_fp16() -> bool {
    std::arch::is_aarch64_feature_detected!("fp16")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn computes_bf16() -> bool {
    false
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn computes_fp16() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_render_nodes_of_intel_count() {
        let class = tempfile::tempdir().unwrap();
        for (entry, maker) in
            [("renderD128", "0x8086\n"), ("renderD129", "0x10de\n"), ("card0", "0x8086\n")]
        {
            let device = class.path().join(entry).join("device");
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("vendor"), maker).unwrap();
        }
        fs::create_dir(class.path().join("renderD130")).unwrap();
        assert_eq!(count(class.path(), &GPU), 1);
        assert_eq!(count(&class.path().join("none"), &GPU), 0);
    }

    #[test]
    fn a_device_without_its_plugin_is_absent_for_that_reason() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libopenvino_c.so.2641");
        assert_eq!(devices(&library), [Device::Cpu]);
        let why = absence(&library, Device::Npu).unwrap();
        assert!(why.contains("libopenvino_intel_npu_plugin.so"), "{why}");
        assert_eq!(absence(&library, Device::Cpu), None);
        assert_eq!(absence(&library, Device::Cuda(0)), None);
    }

    #[test]
    fn the_cpu_runs_fp32_and_quantised_graphs_everywhere() {
        let precisions = precisions(Device::Cpu);
        assert!(precisions.contains(&Precision::Fp32) && precisions.contains(&Precision::Int8));
        assert_eq!(super::precisions(Device::Cuda(0)), [Precision::Fp32; 0]);
    }
}
