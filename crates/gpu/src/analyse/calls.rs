//! Calls into CUDA: which call started which work, and which calls made the program wait.

use crate::read::{Call, Recording};
use std::collections::HashMap;

/// What a call does to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Starts a kernel or a graph.
    Launch,
    /// Waits for the device.
    Wait,
    /// Copies, sets, takes or gives back memory: may wait.
    Memory,
    /// Anything else.
    Other,
}

impl Class {
    fn of(name: &str) -> Class {
        let name = name.trim_start_matches('_');
        let known = ["cuda", "cu", "hip"].iter().find_map(|tool| name.strip_prefix(tool));
        // `hipModuleLaunchKernel`, `hipExtLaunchKernel`
        let name = known.unwrap_or(name).trim_start_matches("Ext").trim_start_matches("Module");
        if name.contains("Synchronize") {
            Class::Wait
        } else if name.starts_with("Launch") || name.starts_with("GraphLaunch") {
            Class::Launch
        } else if ["Mem", "Malloc", "Free", "HostAlloc", "HostMalloc", "HostFree"]
            .iter()
            .any(|what| name.starts_with(what))
        {
            Class::Memory
        } else {
            Class::Other
        }
    }
}

/// Calls of one thread that are inside each other, at most.
const NESTED: usize = 8;

/// The calls of a process.
pub(crate) struct Calls<'a> {
    recording: &'a Recording,
    /// The class of each text that names a call.
    classes: Vec<Class>,
    /// Calls by correlation: the outermost of those that share one.
    by_correlation: HashMap<u32, u32>,
    /// Calls that may wait, by thread and start.
    waits: HashMap<u32, Vec<u32>>,
}

impl<'a> Calls<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Calls<'a> {
        let classes: Vec<Class> = recording.texts.iter().map(|text| Class::of(text)).collect();
        let mut by_correlation: HashMap<u32, u32> = HashMap::with_capacity(recording.calls.len());
        let mut waits: HashMap<u32, Vec<u32>> = HashMap::new();
        for (at, call) in (0_u32..).zip(&recording.calls) {
            by_correlation
                .entry(call.correlation)
                .and_modify(|known| {
                    if call.start < recording.calls[*known as usize].start {
                        *known = at;
                    }
                })
                .or_insert(at);
            let class = classes.get(call.text as usize).copied().unwrap_or(Class::Other);
            if matches!(class, Class::Wait | Class::Memory) {
                waits.entry(call.thread).or_default().push(at);
            }
        }
        for calls in waits.values_mut() {
            calls.sort_unstable_by_key(|at| recording.calls[*at as usize].start);
        }
        Calls { recording, classes, by_correlation, waits }
    }

    /// The call that started work.
    pub(crate) fn of_work(&self, correlation: u32) -> Option<&'a Call> {
        let at = self.by_correlation.get(&correlation)?;
        self.recording.calls.get(*at as usize)
    }

    pub(super) fn class(&self, call: &Call) -> Class {
        self.classes.get(call.text as usize).copied().unwrap_or(Class::Other)
    }

    /// The name of a call without the version of its arguments.
    pub(super) fn name(&self, call: &Call) -> &'a str {
        let name = self.recording.text(call.text);
        let name = name.split("_v").next().unwrap_or(name);
        name.split("_pt").next().unwrap_or(name)
    }

    /// Calls of a thread that may wait and were running in a stretch of time, by start.
    pub(super) fn waits(&self, thread: u32, from: u64, to: u64) -> impl Iterator<Item = &'a Call> {
        let recording = self.recording;
        let all: &[u32] = self.waits.get(&thread).map_or(&[], Vec::as_slice);
        let call = move |at: &u32| &recording.calls[*at as usize];
        let inside = all.partition_point(|at| call(at).start < from);
        let end = all.partition_point(|at| call(at).start < to).max(inside);
        // Calls of one thread follow each other, or lie inside each other a few deep.
        let before = all[..inside].iter().rev().take(NESTED).take_while(|at| call(at).end > from);
        let begin = inside - before.count();
        all[begin..end].iter().map(call)
    }

    /// Median time of a call that launches, in nanoseconds.
    pub(super) fn launch_median(&self) -> Option<u64> {
        let is_launch = |call: &&Call| self.class(call) == Class::Launch;
        let mut times: Vec<u64> = self
            .recording
            .calls
            .iter()
            .filter(is_launch)
            .map(|call| call.end - call.start)
            .collect();
        super::median(&mut times)
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn calls_are_sorted_by_what_they_do() {
        for (name, class) in [
            ("cudaLaunchKernel_v7000", Class::Launch),
            ("__cudaLaunchKernel_v13000", Class::Launch),
            ("cuLaunchKernelEx", Class::Launch),
            ("cudaGraphLaunch_v10000", Class::Launch),
            ("cudaStreamSynchronize_v3020", Class::Wait),
            ("cuCtxSynchronize", Class::Wait),
            ("cudaMemcpyAsync_v3020", Class::Memory),
            ("cuMemcpyDtoHAsync_v2", Class::Memory),
            ("cudaMalloc_v3020", Class::Memory),
            ("cudaGraphInstantiateWithFlags_v11040", Class::Other),
            ("cuModuleLoadData", Class::Other),
            ("hipLaunchKernel", Class::Launch),
            ("hipModuleLaunchKernel", Class::Launch),
            ("hipExtLaunchKernel", Class::Launch),
            ("hipGraphLaunch", Class::Launch),
            ("hipStreamSynchronize", Class::Wait),
            ("hipMemcpyAsync", Class::Memory),
            ("hipMalloc", Class::Memory),
            ("hipHostMalloc", Class::Memory),
            ("hipGetDevice", Class::Other),
            ("layer 1", Class::Other),
        ] {
            assert_eq!(Class::of(name), class, "{name}");
        }
    }
}
