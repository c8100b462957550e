//! Rules over what a GPU did: the same for a run of ours and for any program.

use super::judgement::{WORTH_IT, evidence, gain};
use types::{CopyMemory, Evidence, ExpectedGain, Goal, GpuDevice, GpuGapCause, GpuProfile, Unit};

/// A launch takes about as long as a kernel that is shorter than 10 µs.
const MANY_SHORT: f64 = 0.3;

/// How advice about a program is tried without a change to it: what the Python hook does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// Every outermost module is compiled.
    Compile,
    /// `.item()` of the program answers what it was one call before, so that nothing waits.
    LateItems,
    /// What is copied to the device lies in pinned memory and is copied without waiting.
    Pin,
}

impl Fix {
    /// Its name for the hook.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fix::Compile => "compile",
            Fix::LateItems => "late-items",
            Fix::Pin => "pin",
        }
    }

    /// What it does, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Fix::Compile => "with every outermost module compiled (`torch.compile`)",
            Fix::LateItems => "with `.item()` answering one call late, which waits for nothing",
            Fix::Pin => "with pinned memory for what is copied to the GPU",
        }
    }
}

/// One question about what a GPU did.
pub struct GpuRule {
    /// Its stable name: `launch-bound`.
    pub id: &'static str,
    /// What it looks at, in one line.
    pub about: &'static str,
    /// How advice about a program is tried.
    pub fix: Option<Fix>,
    judge: fn(&GpuDevice) -> Found,
}

/// What a rule found.
pub struct Found {
    /// What to do.
    pub title: &'static str,
    /// The numbers; the first one says whether there is anything to do.
    pub evidence: Vec<Evidence>,
    /// What it would gain; nothing where it is not worth a change.
    pub gain: Option<ExpectedGain>,
    /// What it costs or may break.
    pub caveat: &'static str,
}

/// Every rule over what a GPU did.
pub static GPU_RULES: [GpuRule; 5] = [
    GpuRule {
        id: "launch-bound",
        about: "time in which the GPU waits for kernels to be launched",
        fix: Some(Fix::Compile),
        judge: launch_bound,
    },
    GpuRule {
        id: "synchronisation",
        about: "time in which the GPU is idle because the program waited for it",
        fix: Some(Fix::LateItems),
        judge: synchronisation,
    },
    GpuRule {
        id: "pinned-memory",
        about: "copies between the GPU and pageable memory",
        fix: Some(Fix::Pin),
        judge: pinned_memory,
    },
    GpuRule {
        id: "small-kernels",
        about: "time in kernels that are shorter than their launch",
        fix: Some(Fix::Compile),
        judge: small_kernels,
    },
    GpuRule {
        id: "hidden-copies",
        about: "copies that no kernel hides",
        fix: None,
        judge: hidden_copies,
    },
];

impl GpuRule {
    /// Judges the device that was used longest; none without work of a GPU.
    #[must_use]
    pub fn judge(&self, profile: &GpuProfile) -> Option<Found> {
        let devices = profile.processes.iter().flat_map(|process| &process.devices);
        let longest = devices.max_by(|a, b| a.window.total_cmp(&b.window))?;
        (longest.window > 0.0).then(|| (self.judge)(longest))
    }
}

fn idle(device: &GpuDevice, causes: &[GpuGapCause]) -> f64 {
    device.gaps.iter().filter(|gap| causes.contains(&gap.cause)).map(|gap| gap.time).sum()
}

/// The place of the most idle time of a cause.
fn place(device: &GpuDevice, cause: GpuGapCause) -> Option<(&str, f64)> {
    let gap = device.gaps.iter().find(|gap| gap.cause == cause)?;
    gap.places.first().map(|(place, time)| (place.as_str(), *time))
}

/// Time in copies from and to memory that is not pinned.
fn pageable(device: &GpuDevice) -> f64 {
    let kinds = device.copy_kinds.iter();
    kinds.filter(|one| [one.from, one.to].contains(&CopyMemory::Pageable)).map(|one| one.time).sum()
}

/// The gain of saving between half and all of a part of the window.
fn saves(device: &GpuDevice, part: f64, basis: &str) -> Option<ExpectedGain> {
    let factor = |saved: f64| device.window / (device.window - saved).max(device.window * 0.02);
    let (low, high) = (factor(part / 2.0), factor(part));
    (low >= WORTH_IT).then(|| gain(Goal::Latency, low, high, basis))
}

fn share(text: &str, key: &str, part: f64, whole: f64) -> Evidence {
    let ratio = if whole > 0.0 { part / whole } else { 0.0 };
    evidence(text, key, ratio, Unit::Ratio)
}

fn launch_bound(device: &GpuDevice) -> Found {
    let late = idle(device, &[GpuGapCause::HostLate, GpuGapCause::Launch]);
    let launches = &device.launches;
    let short = launches.short as f64 / launches.kernels.max(1) as f64;
    let mut numbers = vec![
        share("time in which the GPU waits for the host", "gpu.idle.launch", late, device.window),
        evidence("kernels shorter than 10 µs", "gpu.kernels.short", short, Unit::Ratio),
    ];
    if let Some(call) = launches.call {
        numbers.push(evidence("a launch takes", "gpu.launch", call, Unit::Seconds));
    }
    let is_replayed = launches.graph_kernels * 2 > launches.kernels;
    let basis = "half to all of the time in which the GPU waits for launches";
    Found {
        title: "start kernels with fewer calls: CUDA graphs or `torch.compile`",
        evidence: numbers,
        gain: saves(device, late, basis).filter(|_| short > MANY_SHORT && !is_replayed),
        caveat: "graphs need fixed shapes, and no waiting for the device inside",
    }
}

fn synchronisation(device: &GpuDevice) -> Found {
    let waits = idle(device, &[GpuGapCause::Synchronisation]);
    let mut numbers = vec![share(
        "idle after the program waited",
        "gpu.idle.synchronisation",
        waits,
        device.window,
    )];
    if let Some((place, time)) = place(device, GpuGapCause::Synchronisation) {
        numbers.push(share(&format!("of it at `{place}`"), "gpu.idle.place", time, waits));
    }
    let basis = "half to all of the idle time behind these waits";
    Found {
        title: "wait for the GPU less often: `.item()`, `.cpu()`, `print` of a tensor, `synchronize`",
        evidence: numbers,
        gain: saves(device, waits, basis),
        caveat: "what is read later is known later: a check for a bad loss, for example",
    }
}

fn pinned_memory(device: &GpuDevice) -> Found {
    // While such a copy runs, the program waits, and launches nothing.
    let copies = pageable(device).min(device.copies + idle(device, &[GpuGapCause::Copy]));
    let part = copies + idle(device, &[GpuGapCause::Copy]);
    let part = part.min(device.copies + device.idle);
    let numbers = vec![share(
        "exposed copies with pageable memory",
        "gpu.copies.pageable",
        part,
        device.window,
    )];
    let is_pageable = pageable(device) > 0.0;
    let basis = "pinned copies are at least twice as fast, and the program does not wait for them";
    Found {
        title: "copy from pinned memory: `pin_memory=True`, `non_blocking=True`",
        evidence: numbers,
        gain: saves(device, part, basis).filter(|_| is_pageable),
        caveat: "pinned memory cannot be swapped out",
    }
}

fn small_kernels(device: &GpuDevice) -> Found {
    let launches = &device.launches;
    let numbers = vec![share(
        "time in kernels shorter than 10 µs",
        "gpu.kernels.short_time",
        launches.short_time,
        device.window,
    )];
    let basis = "fused, half to all of them become part of others";
    Found {
        title: "fuse small kernels: `torch.compile`, fused optimisers and layers",
        evidence: numbers,
        gain: saves(device, launches.short_time, basis),
        caveat: "the first run compiles, which takes seconds to minutes",
    }
}

fn hidden_copies(device: &GpuDevice) -> Found {
    let numbers = vec![share("exposed copies", "gpu.copies", device.copies, device.window)];
    let basis = "half to all of the copies run while kernels do";
    Found {
        title: "copy the next batch while the GPU computes: another stream, `non_blocking=True`",
        evidence: numbers,
        // With pageable memory that is another rule's.
        gain: saves(device, device.copies, basis).filter(|_| pageable(device) == 0.0),
        caveat: "two batches are in the GPU's memory at once",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{CopyDirection, GpuCopies, GpuGap, GpuLaunches, GpuProcess};

    fn gap(cause: GpuGapCause, time: f64, place: &str) -> GpuGap {
        GpuGap { cause, count: 1, time, longest: time, places: vec![(place.into(), time)] }
    }

    fn profile(device: GpuDevice) -> GpuProfile {
        let process = GpuProcess { devices: vec![device], ..GpuProcess::default() };
        GpuProfile { processes: vec![process], unread: Vec::new() }
    }

    fn advised(device: &GpuDevice) -> Vec<&'static str> {
        let profile = profile(device.clone());
        let has_gain = |rule: &&GpuRule| rule.judge(&profile).unwrap().gain.is_some();
        GPU_RULES.iter().filter(has_gain).map(|rule| rule.id).collect()
    }

    #[test]
    fn each_mistake_is_found_and_no_other() {
        let fine = GpuDevice {
            window: 1.0,
            compute: 0.98,
            idle: 0.02,
            launches: GpuLaunches { kernels: 100, short: 10, ..GpuLaunches::default() },
            ..GpuDevice::default()
        };
        assert_eq!(advised(&fine), [""; 0]);
        let launches = GpuLaunches { kernels: 100, short: 90, ..GpuLaunches::default() };
        let late = GpuDevice {
            compute: 0.3,
            idle: 0.7,
            gaps: vec![gap(GpuGapCause::HostLate, 0.5, "step"), gap(GpuGapCause::Launch, 0.2, "x")],
            launches: launches.clone(),
            ..fine.clone()
        };
        assert_eq!(advised(&late), ["launch-bound"]);
        let graph = GpuLaunches { graph_kernels: 90, ..launches.clone() };
        assert_eq!(advised(&GpuDevice { launches: graph, ..late }), [""; 0]);
        let waits = GpuDevice {
            compute: 0.6,
            idle: 0.4,
            gaps: vec![gap(GpuGapCause::Synchronisation, 0.4, "cudaStreamSynchronize in layer.3")],
            ..fine.clone()
        };
        assert_eq!(advised(&waits), ["synchronisation"]);
        let found = GPU_RULES[1].judge(&profile(waits)).unwrap();
        assert!(found.evidence[1].text.contains("layer.3"));
        let factor = found.gain.unwrap().factor;
        assert!((factor.low - 1.25).abs() < 1e-9 && (factor.high - 1.0 / 0.6).abs() < 1e-9);
        let copy = |from| GpuCopies {
            direction: CopyDirection::HostToDevice,
            from,
            to: CopyMemory::Device,
            count: 1,
            bytes: 1,
            time: 0.4,
            rate: 1.0,
        };
        let copies = GpuDevice { compute: 0.6, copies: 0.4, idle: 0.0, ..fine.clone() };
        let pageable = GpuDevice { copy_kinds: vec![copy(CopyMemory::Pageable)], ..copies.clone() };
        assert_eq!(advised(&pageable), ["pinned-memory"]);
        let pinned = GpuDevice { copy_kinds: vec![copy(CopyMemory::Pinned)], ..copies };
        assert_eq!(advised(&pinned), ["hidden-copies"]);
        let launches = GpuLaunches { short_time: 0.6, ..launches };
        assert_eq!(advised(&GpuDevice { launches, ..fine }), ["small-kernels"]);
    }
}
