//! What the worker says a device can do at best. Tests have no GPU; the same code runs on the processors.

use crate::worker::{Worker, job};
use engine::{EngineErrorKind, Reply, Request};
use types::{Ceilings, Device, Precision};

fn ceilings(worker: &mut Worker, device: Device, threads: u32) -> Ceilings {
    match worker.ask(&Request::Calibrate { device, threads }) {
        Reply::Calibrated { ceilings } => *ceilings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_is_measured_without_a_model() {
    let mut worker = Worker::start();
    let found = ceilings(&mut worker, Device::Cpu, 2);
    assert_eq!((found.device, found.threads), (Device::Cpu, 2));
    assert!(found.measured_at > 1_700_000_000_000_000, "{found:?}");
    for precision in Precision::ALL {
        assert!(found.has_tried(precision), "{precision}: {found:?}");
        assert_eq!(found.flops_at(precision).is_some(), found.way(precision).is_some());
    }
    let fp32 = found.flops_at(Precision::Fp32).unwrap();
    assert!(fp32.value > 1e8, "{found:?}");
    let memory = found.bandwidth.unwrap();
    assert!(memory.value > 1e7, "{found:?}");
    for ceiling in found.flops.iter().map(|(_, ceiling)| *ceiling).chain([memory]) {
        assert!(ceiling.interval.low <= ceiling.value && ceiling.value == ceiling.interval.high);
    }
    assert!(found.tf32.is_none(), "processors have no TF32");
    let balance = found.balance(Precision::Fp32).unwrap();
    assert_eq!(found.attainable(Precision::Fp32, balance * 10.0), Some(fp32.value));
}

#[test]
fn a_device_that_is_not_there_is_refused_and_the_worker_goes_on() {
    let mut worker = Worker::start();
    for device in [Device::Cuda(99), Device::Npu] {
        match worker.ask(&Request::Calibrate { device, threads: 0 }) {
            Reply::Failed(failure) => {
                assert_eq!(failure.kind, EngineErrorKind::Unsupported, "{failure:?}");
                assert!(failure.message.contains(&format!("`{device}`")), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    // It can still load; what it refuses then is the file, not the asking.
    worker.refuse(&job(None), EngineErrorKind::Unsupported);
}
