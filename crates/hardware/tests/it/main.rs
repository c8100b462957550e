//! The machine these tests run on, asked for real.

use modelmeter_hardware::{self as hardware, Scope};
use types::{Device, Precision};

#[test]
fn the_machine_has_the_same_key_in_two_calls() {
    let (first, second) = (hardware::machine(), hardware::machine());
    assert_eq!(first, second);
    assert_eq!(first.key.len(), 16);
    assert!(first.key.chars().all(|digit| digit.is_ascii_hexdigit()));
    assert!(first.cpu.cores >= 1 && first.cpu.threads >= first.cpu.cores);
}

#[test]
fn default_threads_never_exceed_the_processors() {
    let threads = hardware::default_threads();
    assert!(threads >= 1);
    assert!(threads <= hardware::machine().cpu.threads);
}

#[test]
fn the_ceilings_are_plausible_and_lie_in_their_intervals() {
    let mut steps = Vec::new();
    let ceilings = hardware::ceilings(1, Scope::All, &mut |done, of| steps.push((done, of)));
    let flops = ceilings.flops_at(Precision::Fp32).expect("every processor adds and multiplies");
    let bandwidth = ceilings.bandwidth.expect("the memory outgrows the caches");
    assert!(flops.value > 1e9, "{flops:?}");
    assert!(bandwidth.value > 1e8, "{bandwidth:?}");
    let caches = ceilings.caches.iter().map(|cache| cache.ceiling);
    let all = ceilings.flops.iter().map(|(_, ceiling)| *ceiling).chain(caches);
    for ceiling in all.chain([bandwidth]) {
        assert!(ceiling.interval.low <= ceiling.value && ceiling.value <= ceiling.interval.high);
    }
    assert_eq!(steps.first().map(|(done, _)| *done), Some(0));
    assert!(steps.last().is_some_and(|(done, of)| done == of));
    let fine = steps.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].1 == pair[1].1);
    assert!(fine, "{steps:?}");
}

#[test]
fn every_precision_and_level_is_measured_or_says_why_not() {
    let ceilings = hardware::ceilings(1, Scope::All, &mut |_, _| {});
    for precision in Precision::ALL {
        assert!(ceilings.has_tried(precision), "{precision}: {ceilings:?}");
        let measured = ceilings.flops_at(precision).is_some();
        assert_eq!(measured, ceilings.way(precision).is_some(), "{precision}");
    }
    for missing in &ceilings.unmeasured {
        assert!(!missing.why.is_empty(), "{missing:?}");
    }
    // Whatever is narrower may always be widened.
    let fp32 = ceilings.flops_at(Precision::Fp32).unwrap().value;
    assert!(ceilings.flops.iter().all(|(_, ceiling)| ceiling.value >= fp32), "{ceilings:?}");
}

#[test]
fn only_what_is_needed_is_measured_when_one_precision_is_asked_for() {
    let ceilings = hardware::ceilings(1, Scope::Only(Precision::Int8), &mut |_, _| {});
    assert!(ceilings.has_tried(Precision::Fp32) && ceilings.has_tried(Precision::Int8));
    assert!(!ceilings.has_tried(Precision::Fp16) && !ceilings.has_tried(Precision::Bf16));
    assert!(ceilings.caches.is_empty() && ceilings.bandwidth.is_some());
}

#[test]
fn every_device_is_there_or_says_why_not() {
    let devices = hardware::devices();
    assert!(devices.iter().any(|device| device.device == Device::Cpu && device.available));
    for device in &devices {
        assert_eq!(device.available, device.name.is_some(), "{device:?}");
        assert!(device.available || !device.note.is_empty(), "{device:?}");
    }
    for wanted in ["cuda:0", "rocm:0", "mps"] {
        assert!(devices.iter().any(|device| device.device.to_string() == wanted), "{wanted}");
    }
}
