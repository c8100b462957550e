//! Which machines share a plan: those whose numbers are comparable. Serial numbers of cards do not matter for that.

use std::hash::{DefaultHasher, Hash, Hasher};
use types::{Machine, stable_hash};

/// A short name, equal for machines of one kind.
pub(crate) fn kind(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let gpus: Vec<_> = machine.gpus.iter().map(|gpu| (&gpu.name, gpu.memory.0)).collect();
    let facts = (&machine.os, &cpu.model, &cpu.architecture, cpu.cores, cpu.threads);
    let text = serde_json::to_string(&(facts, machine.memory.0, gpus)).unwrap_or_default();
    format!("{:08x}", stable_hash(text.bytes()) >> 32)
}

/// The name that versions before 0.2 gave; plans that are stored by it get the new one.
pub(crate) fn former_kind(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let mut hasher = DefaultHasher::new();
    (&machine.os, &cpu.model, &cpu.architecture, cpu.cores, cpu.threads).hash(&mut hasher);
    machine.memory.0.hash(&mut hasher);
    for gpu in &machine.gpus {
        (&gpu.name, gpu.memory.0).hash(&mut hasher);
    }
    format!("{:08x}", hasher.finish() >> 32)
}
