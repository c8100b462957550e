//! `calibrate` as people and programs see it, on numbers made by hand.

use crate::sample::text_run;
use modelmeter_report::{
    CeilingsView, ResultDocument, Style, ceilings_document, ceilings_line, machine_devices,
};
use std::path::Path;
use types::{
    Bytes, CacheBandwidth, Ceiling, Ceilings, CopyCeiling, CopyDirection, CopyMemory, Device, Gpu,
    Interval, Machine, Precision, Unmeasured,
};

fn ceiling(value: f64, low: f64) -> Ceiling {
    Ceiling { value, interval: Interval { low, high: value } }
}

fn cache(level: u32, size: u64, value: f64) -> CacheBandwidth {
    CacheBandwidth { level, size: Bytes(size), ceiling: ceiling(value, value * 0.95) }
}

pub(crate) fn processors() -> Ceilings {
    Ceilings {
        flops: vec![
            (Precision::Fp32, ceiling(304e9, 291e9)),
            (Precision::Fp16, ceiling(304e9, 291e9)),
            (Precision::Bf16, ceiling(3.21e12, 3.1e12)),
            (Precision::Int8, ceiling(6.4e12, 6.2e12)),
        ],
        ways: vec![
            (Precision::Fp32, "AVX-512 `vfmadd`".into()),
            (Precision::Fp16, "AVX-512 `vfmadd` in fp32: no fp16 units here".into()),
            (Precision::Bf16, "AMX `tdpbf16ps`".into()),
            (Precision::Int8, "AMX `tdpbusd`".into()),
        ],
        bandwidth: Some(ceiling(22.9e9, 22.1e9)),
        caches: vec![cache(1, 32 << 10, 480e9), cache(2, 1 << 20, 170e9)],
        copies: Vec::new(),
        launches: None,
        unmeasured: vec![Unmeasured {
            what: "L3".into(),
            why: "its 1408 KiB for each of 2 threads are not larger than the level before".into(),
        }],
        measured_at: 1_794_800_000_000_000,
        ..Ceilings::of(Device::Cpu, 2)
    }
}

pub(crate) fn machine() -> Machine {
    let gpu = Gpu { index: 0, name: "NVIDIA H200".into(), uuid: "GPU-1".into(), memory: Bytes(0) };
    Machine { gpus: vec![gpu], ..text_run().environment.machine }
}

#[test]
fn the_processors_at_80() {
    let (machine, standing) = (machine(), processors());
    let stored = Some(Path::new("/home/me/runs.db"));
    let page =
        CeilingsView { machine: &machine, standing: &standing, measured: Some(&standing), stored };
    insta::assert_snapshot!(ceilings_document(&page).terminal(&Style::plain(80), Some(80)));
}

#[test]
fn a_busy_machine_keeps_the_higher_numbers_and_says_so() {
    let (machine, standing) = (machine(), processors());
    let mut measured = standing.clone();
    measured.flops[0].1 = ceiling(190e9, 60e9);
    measured.bandwidth = Some(ceiling(9e9, 4e9));
    measured.caches[1].ceiling = ceiling(100e9, 90e9);
    let page = CeilingsView {
        machine: &machine,
        standing: &standing,
        measured: Some(&measured),
        stored: None,
    };
    insta::assert_snapshot!(ceilings_document(&page).terminal(&Style::plain(80), Some(80)));
}

#[test]
fn a_gpu_at_60() {
    let machine = machine();
    let standing = Ceilings {
        flops: vec![
            (Precision::Fp32, ceiling(51.2e12, 50.9e12)),
            (Precision::Bf16, ceiling(792e12, 760e12)),
        ],
        tf32: Some(ceiling(410e12, 400e12)),
        ways: vec![(Precision::Fp32, "torch.matmul, 8192 × 8192".into())],
        bandwidth: Some(ceiling(4.1e12, 4.0e12)),
        caches: Vec::new(),
        copies: Vec::new(),
        launches: None,
        unmeasured: vec![Unmeasured { what: "int8".into(), why: "no such product".into() }],
        ..Ceilings { measured_at: 1_794_800_000_000_000, ..Ceilings::of(Device::Cuda(0), 0) }
    };
    let page =
        CeilingsView { machine: &machine, standing: &standing, measured: None, stored: None };
    insta::assert_snapshot!(ceilings_document(&page).terminal(&Style::plain(60), Some(60)));
}

#[test]
fn programs_get_every_number_with_its_unit() {
    let (machine, standing) = (machine(), processors());
    let page = CeilingsView {
        machine: &machine,
        standing: &standing,
        measured: Some(&standing),
        stored: Some(Path::new("/home/me/runs.db")),
    };
    let json = ceilings_document(&page).json;
    assert_eq!(json["schema"], "modelmeter.ceilings/1");
    assert_eq!(json["compute"][3]["precision"], "int8");
    assert_eq!(json["compute"][0]["value"], 304e9);
    assert_eq!(json["compute"][0]["unit"], "FLOP/s");
    assert_eq!(json["compute"][0]["measured_now"], 304e9);
    assert!((json["compute"][0]["flops_per_byte"].as_f64().unwrap() - 304.0 / 22.9).abs() < 1e-9);
    assert_eq!(json["caches"][0]["level"], 1);
    assert_eq!(json["memory"]["unit"], "B/s");
    assert_eq!(json["unmeasured"][0]["what"], "L3");
    assert_eq!(json["tf32"], serde_json::Value::Null);
    assert_eq!(json["stored"], "/home/me/runs.db");
}

#[test]
fn one_line_holds_what_matters() {
    let line = ceilings_line(&processors());
    assert!(line.starts_with("fp32 304 GFLOP/s · fp16 304 GFLOP/s"), "{line}");
    assert!(line.ends_with("int8 6.40 TOP/s · memory 22.9 GB/s"), "{line}");
    assert_eq!(ceilings_line(&Ceilings::of(Device::Cpu, 1)), "–");
}

/// The table of devices as text.
fn devices(machine: &Machine, ceilings: &[Ceilings]) -> String {
    let blocks = vec![machine_devices(machine, ceilings)];
    ResultDocument { blocks, ..ResultDocument::default() }.markdown()
}

#[test]
fn a_machine_shows_what_each_gpu_has_and_does() {
    let gpu = |index: u32, memory: u64| Gpu {
        index,
        name: "NVIDIA H200".into(),
        uuid: format!("GPU-{index}"),
        memory: Bytes(memory),
    };
    let machine = Machine { gpus: vec![gpu(0, 150_000_000_000), gpu(1, 0)], ..machine() };
    let copy = |direction: CopyDirection, memory: CopyMemory, rate: f64| CopyCeiling {
        direction,
        memory,
        ceiling: ceiling(rate, rate),
    };
    let card = Ceilings {
        flops: vec![(Precision::Bf16, ceiling(792e12, 760e12))],
        bandwidth: Some(ceiling(4.1e12, 4e12)),
        copies: vec![
            copy(CopyDirection::HostToDevice, CopyMemory::Pageable, 9e9),
            copy(CopyDirection::HostToDevice, CopyMemory::Pinned, 55e9),
            copy(CopyDirection::DeviceToHost, CopyMemory::Pinned, 54e9),
        ],
        launches: Some(ceiling(400e3, 300e3)),
        ..Ceilings::of(Device::Cuda(0), 0)
    };
    let one_thread = Ceilings { threads: 1, bandwidth: None, ..processors() };
    let text = devices(&machine, &[one_thread, processors(), card]);
    let row = |start: &str| text.lines().find(|line| line.contains(start)).unwrap().to_owned();
    let known = row("cuda:0");
    for part in ["NVIDIA H200", "150 GB", "bf16 792 TFLOP/s", "4.10 TB/s", "2.50 µs"] {
        assert!(known.contains(part), "{part} in {known}");
    }
    assert!(known.contains("host to device 55.0 GB/s · device to host 54.0 GB/s"), "{known}");
    assert!(!known.contains("9.00 GB/s"), "of two kinds of memory the pinned one: {known}");
    let unknown = row("cuda:1");
    assert!(unknown.contains("modelmeter calibrate --device cuda:1"), "{unknown}");
    assert!(row("| cpu").contains("22.9 GB/s"), "of the most threads: {text}");
    // Nothing of copies and launches where only processors are.
    let text = devices(&Machine { gpus: Vec::new(), ..machine }, &[processors()]);
    assert!(!text.contains("copies") && !text.contains("launch"), "{text}");
}
