//! What a machine computes on, at a glance: every device with its memory and the best it was seen to do.

use crate::{
    ceilings::operations_line, clean::clean, result::Block, sheet::Grid, summary::processor,
    table::Column, wrap::DOT,
};
use number::{MISSING, bytes, bytes_per_second, seconds};
use types::{Ceilings, CopyMemory, Device, Machine};

/// The headings of the table.
const HEADS: [&str; 7] = ["device", "what", "memory", "compute", "memory rate", "copies", "launch"];

/// The processors and GPUs of a machine with what was measured of them, as a table.
#[must_use]
pub fn machine_devices(machine: &Machine, ceilings: &[Ceilings]) -> Block {
    let rows = rows(machine, ceilings);
    // Processors have no copies and no launches, and a machine may have nothing else.
    let shown: Vec<usize> =
        (0..7).filter(|column| rows.iter().any(|row| row[*column] != MISSING)).collect();
    let column = |index: &usize| match *index {
        2 | 4 | 6 => Column::right(HEADS[*index]),
        _ => Column::left(HEADS[*index]),
    };
    let mut grid = Grid::of(shown.iter().map(column));
    for row in &rows {
        grid.row(shown.iter().map(|index| row[*index].as_str()));
    }
    Block::table("devices", grid)
}

fn rows(machine: &Machine, ceilings: &[Ceilings]) -> Vec<[String; 7]> {
    let cpu = &machine.cpu;
    let cores = if cpu.cores == 1 { "1 core".into() } else { format!("{} cores", cpu.cores) };
    let name = processor(&cpu.model);
    let what = if name.is_empty() { cores } else { format!("{name}, {cores}") };
    let mut rows = vec![row(Device::Cpu, what, machine.memory.0, ceilings)];
    for gpu in &machine.gpus {
        rows.push(row(Device::Cuda(gpu.index), clean(&gpu.name), gpu.memory.0, ceilings));
    }
    rows
}

fn row(device: Device, what: String, memory: u64, ceilings: &[Ceilings]) -> [String; 7] {
    let of_it = ceilings.iter().filter(|one| one.device == device);
    // Of processors there are some for each number of threads; the whole machine is meant.
    let known = of_it.max_by_key(|one| one.threads);
    let or_missing = |text: Option<String>| text.unwrap_or_else(|| MISSING.into());
    let copies = known.map(|known| {
        // Of the host's memory the faster one.
        let fast = known.copies.iter().filter(|copy| copy.memory == CopyMemory::Pinned);
        let told: Vec<String> = fast
            .map(|copy| {
                format!("{} {}", copy.direction.words(), bytes_per_second(copy.ceiling.value))
            })
            .collect();
        told.join(DOT)
    });
    [
        device.to_string(),
        what,
        or_missing((memory > 0).then(|| bytes(memory))),
        known.map_or_else(
            || format!("not measured: `modelmeter calibrate --device {device}`"),
            operations_line,
        ),
        or_missing(known.and_then(|known| known.bandwidth).map(|it| bytes_per_second(it.value))),
        or_missing(copies.filter(|text| !text.is_empty())),
        or_missing(known.and_then(|known| known.launches).map(|it| seconds(1.0 / it.value))),
    ]
}
