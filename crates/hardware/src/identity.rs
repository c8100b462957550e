//! The machine's identity: equal keys mean comparable numbers.

use crate::{nvidia, processor, system};
use sha2::{Digest, Sha256};
use std::path::Path;
use types::Machine;

/// Hexadecimal digits of the key; 64 bits tell every machine of a fleet apart.
const KEY_DIGITS: usize = 16;

/// This machine; its key changes with the hardware, never with a reboot, a host name or the user who asks.
#[must_use]
pub fn machine() -> Machine {
    let root = Path::new("/");
    let mut machine = Machine {
        key: String::new(),
        hostname: system::hostname(),
        os: std::env::consts::OS.to_owned(),
        cpu: processor::processor(root),
        memory: system::installed_memory(root),
        gpus: nvidia::gpus(),
        hypervisor: system::hypervisor(root),
    };
    machine.key = key(&machine, &system::firmware(root));
    machine
}

/// A hash over everything but the host's name. Each part is ended by a zero byte, so that no two lists of parts read the same.
fn key(machine: &Machine, firmware: &[String]) -> String {
    let cpu = &machine.cpu;
    let mut parts = vec![
        machine.os.clone(),
        cpu.model.clone(),
        cpu.architecture.clone(),
        format!("{} {} {} {}", cpu.cores, cpu.threads, cpu.sockets, cpu.numa_nodes),
        cpu.features.join(" "),
        format!("{:?}", cpu.cache.map(|bytes| bytes.0)),
        machine.memory.0.to_string(),
        format!("{:?}", machine.hypervisor),
    ];
    let gpus_begin = parts.len();
    for gpu in &machine.gpus {
        // The index is left out: the driver may list the same cards in another order after a reboot.
        // So is the memory: a driver update changes how much of it the driver keeps, and the uuid names the card.
        parts.push(format!("{} {}", gpu.uuid, gpu.name));
    }
    parts[gpus_begin..].sort_unstable();
    parts.extend(firmware.iter().cloned());
    let mut hash = Sha256::new();
    for part in &parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let mut digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.truncate(KEY_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Bytes, Gpu};

    fn gpu(index: u32, uuid: &str) -> Gpu {
        Gpu { index, name: "NVIDIA H200".into(), uuid: uuid.into(), memory: Bytes(1 << 37) }
    }

    #[test]
    fn the_key_is_the_same_under_another_host_name() {
        let here = machine();
        let renamed = Machine { hostname: "elsewhere".into(), ..here.clone() };
        assert_eq!(key(&here, &[]), key(&renamed, &[]));
        assert_eq!(here.key.len(), KEY_DIGITS);
    }

    #[test]
    fn the_key_changes_with_the_hardware_but_not_with_the_order_of_the_cards() {
        let mut here = machine();
        here.gpus = vec![gpu(0, "GPU-a"), gpu(1, "GPU-b")];
        let mut swapped = here.clone();
        swapped.gpus = vec![gpu(0, "GPU-b"), gpu(1, "GPU-a")];
        assert_eq!(key(&here, &[]), key(&swapped, &[]));
        let mut smaller = here.clone();
        smaller.memory = Bytes(1 << 30);
        assert_ne!(key(&here, &[]), key(&smaller, &[]));
        assert_ne!(key(&here, &[]), key(&here, &["Dell".into()]));
    }
}
