//! The operating system, the installed memory and the hypervisor.

use std::{fs, path::Path};
use types::Bytes;

const GIB: u64 = 1 << 30;

/// The operating system's own name for itself: `Debian GNU/Linux 12 (bookworm)`.
#[must_use]
pub fn os() -> String {
    fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| parse_os_release(&text))
        .unwrap_or_else(|| std::env::consts::OS.to_owned())
}

fn parse_os_release(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = line.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The kernel's release: `6.1.0-18-amd64`; `unknown` where the system does not tell.
#[must_use]
pub fn kernel() -> String {
    uname(Uname::Release).unwrap_or_else(|| "unknown".to_owned())
}

/// The name of this machine; `unknown` where the system does not tell.
#[must_use]
pub fn hostname() -> String {
    uname(Uname::Node).unwrap_or_else(|| "unknown".to_owned())
}

enum Uname {
    Node,
    Release,
}

#[cfg(unix)]
fn uname(part: Uname) -> Option<String> {
    let mut names = std::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: `uname` fills the structure it is given and keeps no pointer to it.
    if unsafe { libc::uname(names.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: zeroed bytes are a valid `utsname`, and the call above succeeded.
    let names = unsafe { names.assume_init() };
    let field = match part {
        Uname::Node => &names.nodename,
        Uname::Release => &names.release,
    };
    let bytes: Vec<u8> =
        field.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(not(unix))]
fn uname(_part: Uname) -> Option<String> {
    None
}

/// Installed memory in whole GiB: a kernel keeps a different remainder for itself after every update.
pub(crate) fn installed_memory(root: &Path) -> Bytes {
    let kib = fs::read_to_string(root.join("proc/meminfo"))
        .ok()
        .and_then(|text| meminfo_field(&text, "MemTotal"))
        .unwrap_or(0);
    Bytes(round_to_gib(kib * 1024))
}

/// Memory that programs could take now without swapping.
#[must_use]
pub fn available_memory() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    meminfo_field(&text, "MemAvailable").map(|kib| Bytes(kib * 1024))
}

fn meminfo_field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == key).then(|| value.split_whitespace().next()?.parse().ok())?
    })
}

/// Rounded up: what the kernel withholds is always taken from a whole number of GiB.
fn round_to_gib(bytes: u64) -> u64 {
    bytes.div_ceil(GIB) * GIB
}

/// The hypervisor this machine runs under: `kvm`, `xen`, `vmware`, `hyperv`.
pub(crate) fn hypervisor(root: &Path) -> Option<String> {
    if let Ok(kind) = fs::read_to_string(root.join("sys/hypervisor/type")) {
        return Some(kind.trim().to_owned());
    }
    if let Some(signature) = hypervisor_signature() {
        return Some(name_hypervisor(&signature));
    }
    let compatible =
        fs::read_to_string(root.join("proc/device-tree/hypervisor/compatible")).ok()?;
    Some(compatible.trim_end_matches('\0').trim().to_owned())
}

/// The twelve letters a hypervisor answers to its own CPUID leaf.
#[cfg(target_arch = "x86_64")]
fn hypervisor_signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|register| register.to_le_bytes()).collect();
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_signature() -> Option<String> {
    None
}

fn name_hypervisor(signature: &str) -> String {
    let known = match signature {
        "KVMKVMKVM" => "kvm",
        "Microsoft Hv" => "hyperv",
        "VMwareVMware" => "vmware",
        "XenVMMXenVMM" => "xen",
        "TCGTCGTCGTCG" => "qemu",
        "bhyve bhyve " => "bhyve",
        "VBoxVBoxVBox" => "virtualbox",
        other => other.trim(),
    };
    if known.is_empty() { "unknown".to_owned() } else { known.to_owned() }
}

/// The firmware's name for the board, from what every user may read.
///
/// Serial numbers and the product's uuid are left out: only root reads them, and the key must not depend on who asks.
pub(crate) fn firmware(root: &Path) -> Vec<String> {
    ["sys_vendor", "product_name", "board_name"]
        .iter()
        .filter_map(|name| fs::read_to_string(root.join("sys/class/dmi/id").join(name)).ok())
        .map(|text| text.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pretty_name_is_read_without_its_quotes() {
        let text = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(parse_os_release(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(parse_os_release("ID=x\n"), None);
    }

    #[test]
    fn a_kernel_that_keeps_more_for_itself_has_the_same_memory() {
        let text = "MemTotal:       24682416 kB\nMemFree:        22612008 kB\nMemAvailable:   24157876 kB\n";
        let total = meminfo_field(text, "MemTotal").unwrap() * 1024;
        assert_eq!(round_to_gib(total), 24 * GIB);
        assert_eq!(round_to_gib(total - (100 << 20)), 24 * GIB);
        assert_eq!(meminfo_field(text, "MemAvailable"), Some(24157876));
    }

    #[test]
    fn hypervisors_have_short_names_and_unknown_ones_keep_theirs() {
        assert_eq!(name_hypervisor("KVMKVMKVM"), "kvm");
        assert_eq!(name_hypervisor("SomethingNew"), "SomethingNew");
        assert_eq!(name_hypervisor(""), "unknown");
    }
}
