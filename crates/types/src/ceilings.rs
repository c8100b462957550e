//! What a machine can do at best, and where a piece of work stands under that roof.

use crate::{Bound, Bytes, CopyDirection, CopyMemory, Device, Interval, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One measured upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Operations a second, or bytes per second: the best repetition.
    pub value: f64,
    /// From the repetitions' 2.5th percentile to the best one.
    pub interval: Interval,
}

impl Ceiling {
    /// The higher of two measurements of the same thing: a disturbance only ever lowers one.
    #[must_use]
    fn higher(self, other: Ceiling) -> Ceiling {
        if other.value > self.value { other } else { self }
    }
}

/// Read bandwidth of one cache level, all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheBandwidth {
    /// 1 is next to the core.
    pub level: u32,
    /// One such cache; there may be one for each core.
    pub size: Bytes,
    /// Bytes a second.
    pub ceiling: Ceiling,
}

/// How fast the host and a device copy from one to the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyCeiling {
    /// To or from the device.
    pub direction: CopyDirection,
    /// The host's memory: pinned or pageable.
    pub memory: CopyMemory,
    /// Bytes a second.
    pub ceiling: Ceiling,
}

/// Something that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmeasured {
    /// A precision's name, `L3`, `memory`.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// The measured ceilings of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceilings {
    /// The device that was measured; older documents knew only the CPU.
    #[serde(default = "processors")]
    pub device: Device,
    /// Threads used for the measurement; 0 if the device is not the CPU.
    pub threads: u32,
    /// Operations a second by precision; a multiply-add is 2.
    pub flops: Vec<(Precision, Ceiling)>,
    /// fp32 with matrix products that round their factors to TF32, which some engines do by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tf32: Option<Ceiling>,
    /// Which unit or kernel reached each precision's ceiling.
    #[serde(default)]
    pub ways: Vec<(Precision, String)>,
    /// Memory bandwidth in bytes per second, over arrays far larger than the caches.
    pub bandwidth: Option<Ceiling>,
    /// The same for each cache, level 1 first.
    #[serde(default)]
    pub caches: Vec<CacheBandwidth>,
    /// Copies between the host and the device; empty if the device is the CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CopyCeiling>,
    /// Kernels that the host launches a second, one after the other; `None` if the device is the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<Ceiling>,
    /// What could not be measured.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured>,
    /// When, in microseconds since the epoch.
    pub measured_at: i64,
}

fn processors() -> Device {
    Device::Cpu
}

impl Ceilings {
    /// Nothing measured yet.
    #[must_use]
    pub fn of(device: Device, threads: u32) -> Ceilings {
        Ceilings {
            device,
            threads,
            flops: Vec::new(),
            tf32: None,
            ways: Vec::new(),
            bandwidth: None,
            caches: Vec::new(),
            copies: Vec::new(),
            launches: None,
            unmeasured: Vec::new(),
            measured_at: 0,
        }
    }

    /// The ceiling for a precision in operations per second, if it was measured.
    #[must_use]
    pub fn flops_at(&self, precision: Precision) -> Option<Ceiling> {
        self.flops.iter().find(|(known, _)| *known == precision).map(|(_, ceiling)| *ceiling)
    }

    /// How a precision's ceiling was reached.
    #[must_use]
    pub fn way(&self, precision: Precision) -> Option<&str> {
        self.ways.iter().find(|(known, _)| *known == precision).map(|(_, way)| way.as_str())
    }

    /// The ceiling of copies in a direction with memory of a kind, if it was measured.
    #[must_use]
    pub fn copy(&self, direction: CopyDirection, memory: CopyMemory) -> Option<Ceiling> {
        let copies = self.copies.iter();
        let mut same = copies.filter(|copy| copy.direction == direction && copy.memory == memory);
        same.next().map(|copy| copy.ceiling)
    }

    /// Why something was not measured, if known.
    #[must_use]
    pub fn why_not(&self, what: &str) -> Option<&str> {
        self.unmeasured.iter().find(|missing| missing.what == what).map(|found| found.why.as_str())
    }

    /// Whether a measurement has dealt with this precision, well or in vain.
    #[must_use]
    pub fn has_tried(&self, precision: Precision) -> bool {
        self.flops_at(precision).is_some() || self.why_not(precision.name()).is_some()
    }

    /// Operations for each byte of memory at which neither units nor memory wait for the other.
    #[must_use]
    pub fn balance(&self, precision: Precision) -> Option<f64> {
        let (flops, bandwidth) = (self.flops_at(precision)?, self.bandwidth?);
        (bandwidth.value > 0.0).then(|| flops.value / bandwidth.value)
    }

    /// The most operations per second that work with so many operations for each byte of memory can reach.
    #[must_use]
    pub fn attainable(&self, precision: Precision, intensity: f64) -> Option<f64> {
        let (flops, bandwidth) = (self.flops_at(precision)?, self.bandwidth?);
        Some(flops.value.min(intensity * bandwidth.value))
    }

    /// What keeps work with so many operations for each byte of memory from being faster.
    #[must_use]
    pub fn bound(&self, precision: Precision, intensity: f64) -> Option<Bound> {
        let balance = self.balance(precision)?;
        Some(if intensity < balance { Bound::Memory } else { Bound::Compute })
    }

    /// These ceilings after another measurement of the same device: of each number the higher one.
    ///
    /// A busy machine measures too little, never too much, so the higher number is the nearer one. What only one of them
    /// has stays; what neither could measure keeps the newer reason.
    #[must_use]
    pub fn raised_by(&self, newer: &Ceilings) -> Ceilings {
        let mut merged = newer.clone();
        for (precision, before) in &self.flops {
            match merged.flops.iter_mut().find(|(known, _)| known == precision) {
                Some((_, now)) if now.value >= before.value => continue,
                Some((_, now)) => *now = *before,
                None => merged.flops.push((*precision, *before)),
            }
            merged.ways.retain(|(known, _)| known != precision);
            merged.ways.extend(self.ways.iter().find(|(known, _)| known == precision).cloned());
        }
        merged.tf32 = either(self.tf32, newer.tf32);
        merged.bandwidth = either(self.bandwidth, newer.bandwidth);
        for before in &self.caches {
            match merged.caches.iter_mut().find(|cache| cache.level == before.level) {
                Some(now) => now.ceiling = before.ceiling.higher(now.ceiling),
                None => merged.caches.push(*before),
            }
        }
        for before in &self.copies {
            let is_same = |now: &&mut CopyCeiling| {
                (now.direction, now.memory) == (before.direction, before.memory)
            };
            match merged.copies.iter_mut().find(is_same) {
                Some(now) => now.ceiling = before.ceiling.higher(now.ceiling),
                None => merged.copies.push(before.clone()),
            }
        }
        merged.launches = either(self.launches, newer.launches);
        merged.flops.sort_by_key(|(precision, _)| *precision);
        merged.ways.sort_by_key(|(precision, _)| *precision);
        merged.caches.sort_by_key(|cache| cache.level);
        for missing in &self.unmeasured {
            if merged.why_not(&missing.what).is_none() {
                merged.unmeasured.push(missing.clone());
            }
        }
        let has = |what: &str| {
            merged.flops.iter().any(|(precision, _)| precision.name() == what)
                || merged.caches.iter().any(|cache| format!("L{}", cache.level) == what)
                || (what == "memory" && merged.bandwidth.is_some())
        };
        let left = merged.unmeasured.iter().filter(|missing| !has(&missing.what)).cloned();
        merged.unmeasured = left.collect();
        merged
    }
}

fn either(before: Option<Ceiling>, now: Option<Ceiling>) -> Option<Ceiling> {
    match (before, now) {
        (Some(before), Some(now)) => Some(before.higher(now)),
        (before, now) => now.or(before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(value: f64) -> Ceiling {
        Ceiling { value, interval: Interval { low: value * 0.9, high: value } }
    }

    fn cache(level: u32, value: f64) -> CacheBandwidth {
        CacheBandwidth { level, size: Bytes(1 << 15), ceiling: ceiling(value) }
    }

    fn measured(fp32: f64, bandwidth: f64, at: i64) -> Ceilings {
        Ceilings {
            flops: vec![(Precision::Fp32, ceiling(fp32))],
            ways: vec![(Precision::Fp32, format!("unit {at}"))],
            bandwidth: Some(ceiling(bandwidth)),
            measured_at: at,
            ..Ceilings::of(Device::Cpu, 2)
        }
    }

    #[test]
    fn work_is_bounded_by_memory_below_the_balance_and_by_the_units_above() {
        let ceilings = measured(300.0, 20.0, 0);
        assert_eq!(ceilings.balance(Precision::Fp32), Some(15.0));
        assert_eq!(ceilings.attainable(Precision::Fp32, 2.0), Some(40.0));
        assert_eq!(ceilings.attainable(Precision::Fp32, 100.0), Some(300.0));
        assert_eq!(ceilings.bound(Precision::Fp32, 2.0), Some(Bound::Memory));
        assert_eq!(ceilings.bound(Precision::Fp32, 15.0), Some(Bound::Compute));
        assert_eq!(ceilings.attainable(Precision::Int8, 2.0), None);
    }

    #[test]
    fn of_two_measurements_each_number_keeps_its_higher_value() {
        let mut before = measured(300.0, 18.0, 1);
        before.flops.push((Precision::Int8, ceiling(900.0)));
        before.caches = vec![cache(1, 50.0), cache(2, 20.0)];
        before.unmeasured = vec![Unmeasured { what: "L3".into(), why: "busy".into() }];
        let mut after = measured(250.0, 20.0, 2);
        after.caches = vec![cache(1, 60.0), cache(3, 10.0)];
        after.unmeasured = vec![Unmeasured { what: "int8".into(), why: "no unit".into() }];
        let both = before.raised_by(&after);
        assert_eq!(both.flops_at(Precision::Fp32), Some(ceiling(300.0)));
        assert_eq!(both.way(Precision::Fp32), Some("unit 1"), "the way goes with its number");
        assert_eq!(both.flops_at(Precision::Int8), Some(ceiling(900.0)));
        assert_eq!(both.bandwidth, Some(ceiling(20.0)));
        assert_eq!(both.caches, [cache(1, 60.0), cache(2, 20.0), cache(3, 10.0)]);
        assert!(both.unmeasured.is_empty(), "what one of them measured is measured");
        assert_eq!(both.measured_at, 2);
        assert_eq!(after.raised_by(&before).way(Precision::Fp32), Some("unit 1"));
    }

    #[test]
    fn what_neither_could_measure_keeps_the_newer_reason() {
        let missing = |why: &str| vec![Unmeasured { what: "bf16".into(), why: why.into() }];
        let before = Ceilings { unmeasured: missing("old"), ..Ceilings::of(Device::Cuda(0), 0) };
        let after = Ceilings { unmeasured: missing("new"), ..before.clone() };
        let both = before.raised_by(&after);
        assert_eq!(both.why_not("bf16"), Some("new"));
        assert_eq!(both.unmeasured.len(), 1);
        assert!(both.has_tried(Precision::Bf16) && !both.has_tried(Precision::Fp16));
    }

    #[test]
    fn documents_of_before_are_the_processors() {
        let old = r#"{"threads":2,"flops":[["fp32",{"value":1.0,"interval":{"low":0.9,"high":1.0}}]],
            "bandwidth":null,"measured_at":7}"#;
        let read: Ceilings = serde_json::from_str(old).unwrap();
        assert_eq!((read.device, read.caches.len()), (Device::Cpu, 0));
        assert!(read.flops_at(Precision::Fp32).is_some());
    }
}
