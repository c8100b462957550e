//! Whose memory a number is about: one place that decides it.
//!
//! What watches a process sees host memory, what watches a GPU the memory there. Readers ask for `memory.peak` and mean the
//! memory where the model computes. Runs that were stored before this was decided are put right when they are read.

use crate::{Device, Direction, Metric, Run, Unit, key};
use std::borrow::Cow;

/// Keys that are about host memory as probes report them, and their names where the model computes elsewhere.
const HOST: [(&str, &str); 5] = [
    (key::MEMORY_PEAK, key::MEMORY_HOST_PEAK),
    (key::MEMORY_PEAK_LOADING, "memory.host.peak.loading"),
    (key::MEMORY_PEAK_SAMPLING, "memory.host.peak.sampling"),
    (key::MEMORY_PEAK_WINDOW, "memory.host.peak.window"),
    (key::MEMORY_AVERAGE, key::MEMORY_HOST_AVERAGE),
];

impl Device {
    /// Whether it has memory of its own, so that the memory of the host is not where a model computes.
    #[must_use]
    pub fn has_own_memory(self) -> bool {
        match self {
            Device::Cuda(_)
            | Device::Rocm(_)
            | Device::Xpu(_)
            | Device::Tensorrt(_)
            | Device::Migraphx(_)
            | Device::Directml(_)
            | Device::Webgpu => true,
            Device::Auto
            | Device::Cpu
            | Device::Mps
            | Device::Npu
            | Device::Openvino
            | Device::Coreml
            | Device::Xnnpack
            | Device::Webnn
            | Device::Wasm => false,
        }
    }
}

impl Run {
    /// Gives every memory number its one meaning: on a device with its own memory `memory.peak` is the device's and
    /// `memory.host.peak` stands beside it. A run that is so already stays as it is.
    pub fn settle_memory(&mut self) {
        if self.is_memory_settled() {
            return;
        }
        let device = device_peak(self);
        let all = self.metrics.iter_mut();
        for metric in all.chain(self.probes.iter_mut().flat_map(|probe| &mut probe.metrics)) {
            if let Some((_, host)) = HOST.iter().find(|(key, _)| *key == metric.key) {
                metric.key = (*host).to_owned();
            }
        }
        let place = self.metrics.iter().position(|metric| metric.key == key::MEMORY_HOST_PEAK);
        let place = place.unwrap_or_else(|| {
            let why = "the host's memory was not measured";
            let missing =
                Metric::missing(key::MEMORY_HOST_PEAK, Unit::Bytes, Direction::Lower, why);
            self.metrics.push(missing);
            self.metrics.len() - 1
        });
        self.metrics.insert(place, device);
    }

    /// The run with every memory number in its one meaning.
    #[must_use]
    pub fn with_settled_memory(&self) -> Cow<'_, Run> {
        if self.is_memory_settled() {
            return Cow::Borrowed(self);
        }
        let mut run = self.clone();
        run.settle_memory();
        Cow::Owned(run)
    }

    fn is_memory_settled(&self) -> bool {
        let probes = self.probes.iter().flat_map(|probe| &probe.metrics);
        let is_about_memory = |metric: &Metric| {
            metric.key == key::GPU_MEMORY_PROCESS
                || HOST.iter().any(|(known, _)| *known == metric.key)
        };
        !self.cell.device.has_own_memory()
            || self.metric(key::MEMORY_HOST_PEAK).is_some()
            || !self.metrics.iter().chain(probes).any(is_about_memory)
    }
}

/// What the device held of the worker at most.
fn device_peak(run: &Run) -> Metric {
    let probes = run.probes.iter().flat_map(|probe| &probe.metrics);
    let mut all = run.metrics.iter().chain(probes);
    match all.find(|metric| metric.key == key::GPU_MEMORY_PROCESS) {
        Some(known) => Metric { key: key::MEMORY_PEAK.into(), ..known.clone() },
        None => {
            let why = format!("the memory of `{}` was not measured", run.cell.device);
            Metric::missing(key::MEMORY_PEAK, Unit::Bytes, Direction::Lower, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(key: &str, value: f64) -> Metric {
        Metric::measured(key, Unit::Bytes, Direction::Lower, value)
    }

    #[test]
    fn devices_with_their_own_memory_are_told_from_those_that_share_the_hosts() {
        for own in [Device::Cuda(1), Device::Rocm(0), Device::Tensorrt(0), Device::Xpu(0)] {
            assert!(own.has_own_memory(), "{own}");
        }
        for shared in [Device::Cpu, Device::Mps, Device::Openvino, Device::Xnnpack, Device::Npu] {
            assert!(!shared.has_own_memory(), "{shared}");
        }
    }

    #[test]
    fn every_key_of_the_host_has_a_name_of_its_own_beside_a_device() {
        let mut names: Vec<&str> = HOST.iter().flat_map(|(own, host)| [*own, *host]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * HOST.len());
        assert_eq!(metric(key::MEMORY_PEAK, 1.0).key, "memory.peak");
    }
}
