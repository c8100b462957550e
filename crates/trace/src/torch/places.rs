//! Process numbers as the plugin wants them: a device's own index for devices, anything else for hosts.

use crate::{document::FIRST_PROCESS, rows::Rows};
use serde_json::{Value, json};
use types::{Gpu, SpanKind, Timeline};

/// The plugin keeps tables of so many devices and fails beyond.
const MOST_DEVICES: u64 = 64;

/// Process numbers by group.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) processes: Vec<u64>,
    /// The device's index, for groups that are devices.
    pub(super) devices: Vec<Option<u64>>,
}

impl Places {
    /// A group with kernels is a device; its index is the number in its name, or the next free one.
    pub(super) fn of(timeline: &Timeline, rows: &Rows) -> Places {
        let mut has_kernels = vec![false; rows.groups.len()];
        for (index, span) in timeline.spans.iter().enumerate() {
            let group = rows.rows[rows.row(index as u32)].group;
            has_kernels[group] |= span.kind == SpanKind::Kernel;
        }
        let mut taken = [false; MOST_DEVICES as usize];
        let mut devices = vec![None; rows.groups.len()];
        for (group, name) in rows.groups.iter().enumerate().filter(|(group, _)| has_kernels[*group])
        {
            let named = number_at_end(name)
                .and_then(|number| usize::try_from(number).ok())
                .filter(|number| taken.get(*number) == Some(&false));
            let free = taken.iter().position(|taken| !taken);
            // With more devices than the plugin can hold, the last one stands for the rest.
            let device = named.or(free).unwrap_or(taken.len() - 1);
            taken[device] = true;
            devices[group] = Some(device as u64);
        }
        let process = |(group, device): (usize, &Option<u64>)| {
            device.unwrap_or((group as u64 + 1) * FIRST_PROCESS)
        };
        let processes = devices.iter().enumerate().map(process).collect();
        Places { processes, devices }
    }

    /// The process that counters belong to: the first host.
    pub(super) fn host(&self) -> u64 {
        let hosts = self.processes.iter().zip(&self.devices).filter(|(_, device)| device.is_none());
        hosts.map(|(process, _)| *process).next().unwrap_or_else(|| self.spare())
    }

    /// A process number that nobody has.
    pub(super) fn spare(&self) -> u64 {
        (self.processes.len() as u64 + 1) * FIRST_PROCESS
    }

    /// The queue of a device: the number in its name, or that of its row.
    pub(super) fn stream(&self, name: &str, row: usize) -> u64 {
        number_at_end(name).unwrap_or(row as u64)
    }
}

/// The number with which a name ends: `cuda:0`, `stream 7`.
fn number_at_end(name: &str) -> Option<u64> {
    let begin = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[begin..].parse().ok()
}

/// The machine's GPUs; the plugin looks a device up by its place in the list.
pub(super) fn device_properties(gpus: &[Gpu]) -> Value {
    let count = gpus.iter().map(|gpu| u64::from(gpu.index) + 1).max().unwrap_or(0);
    let properties = |index: u64| {
        let gpu = gpus.iter().find(|gpu| u64::from(gpu.index) == index);
        gpu.map_or_else(
            || json!({ "id": index }),
            |gpu| json!({ "id": index, "name": gpu.name, "totalGlobalMem": gpu.memory.0 }),
        )
    };
    (0..count.min(MOST_DEVICES)).map(properties).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_number() {
        assert_eq!(number_at_end("cuda:12"), Some(12));
        assert_eq!(number_at_end("stream 7"), Some(7));
        assert_eq!(number_at_end("mps"), None);
        assert_eq!(number_at_end(""), None);
    }
}
