use super::*;
use crate::read::{Call, EventRecord, Kernel, Shape};
use gpu_inject::format::Event;
use types::{GpuDevice, GpuGapCause};

const MICRO: u64 = 1_000;
const THREAD: u32 = 7;

/// Texts of a recording: calls, kernels, ranges.
const TEXTS: [&str; 9] = [
    "(other)",
    "cudaLaunchKernel_v7000",
    "cudaStreamSynchronize_v3020",
    "gemm",
    "ncclDevKernel_AllReduce",
    "step",
    "load",
    "\u{2}layer.0",
    "cudaGraphLaunch_v10000",
];

fn recording() -> Recording {
    Recording {
        process: 1,
        texts: TEXTS.map(str::to_owned).to_vec(),
        shapes: (0..9).map(|text| Shape { text, ..Shape::default() }).collect(),
        places: vec![[0; 3], [0, 1, 7], [0, 1, 8], [1, 1, 7]],
        ..Recording::default()
    }
}

fn kernel(start: u64, end: u64, shape: u32, place: u32, correlation: u32) -> Kernel {
    Kernel { start: start * MICRO, end: end * MICRO, node: 0, shape, place, correlation }
}

fn call(start: u64, end: u64, text: u32, correlation: u32) -> Call {
    Call { start: start * MICRO, end: end * MICRO, thread: THREAD, correlation, text }
}

fn event(time: u64, event: Event, text: u32) -> EventRecord {
    let (first, number) = (0, 0);
    EventRecord { thread: THREAD, time: time * MICRO, event, first, text, number }
}

fn device(recording: &Recording) -> GpuDevice {
    analyse(std::slice::from_ref(recording), Vec::new()).processes[0].devices[0].clone()
}

fn gap(device: &GpuDevice, cause: GpuGapCause) -> f64 {
    let found = device.gaps.iter().find(|gap| gap.cause == cause);
    found.map_or(0.0, |gap| (gap.time * 1e6).round())
}

#[test]
fn the_four_times_add_up_and_hidden_communication_is_not_exposed() {
    let mut one = recording();
    one.kernels = vec![
        kernel(0, 10, 3, 1, 1),
        // Half of it behind compute.
        kernel(5, 20, 4, 2, 2),
        kernel(30, 40, 3, 1, 3),
    ];
    let device = device(&one);
    let micros = |seconds: f64| (seconds * 1e6).round();
    assert_eq!(micros(device.window), 40.0);
    assert_eq!(micros(device.compute), 20.0);
    assert_eq!(micros(device.communication), 10.0);
    assert_eq!(micros(device.communication_all), 15.0);
    assert_eq!(micros(device.idle), 10.0);
    assert!(
        (device.compute + device.communication + device.copies + device.idle - device.window).abs()
            < 1e-12
    );
    assert_eq!(device.streams, 2);
    // Without its call a launch cannot be judged.
    assert_eq!(gap(&device, GpuGapCause::Unknown), 10.0);
}

#[test]
fn a_gap_is_divided_by_what_the_program_did() {
    let mut one = recording();
    one.kernels = vec![kernel(10, 20, 3, 1, 1), kernel(1_030, 1_040, 3, 1, 2)];
    // The wait returns at 22; then 100 µs belong to it, the rest is the program's, the launch takes from 1000 to 1030.
    one.calls = vec![call(5, 7, 1, 1), call(8, 22, 2, 9), call(1_000, 1_005, 1, 2)];
    one.events =
        vec![event(0, Event::Push, 5), event(15, Event::Push, 6), event(900, Event::Pop, 0)];
    let device = device(&one);
    assert_eq!(gap(&device, GpuGapCause::Synchronisation), 102.0);
    assert_eq!(gap(&device, GpuGapCause::HostLate), 878.0);
    assert_eq!(gap(&device, GpuGapCause::Launch), 30.0);
    let late = device.gaps.iter().find(|gap| gap.cause == GpuGapCause::HostLate).unwrap();
    assert_eq!(late.places[0].0, "step / load");
    let wait = device.gaps.iter().find(|gap| gap.cause == GpuGapCause::Synchronisation).unwrap();
    assert_eq!(wait.places[0].0, "cudaStreamSynchronize in step");
}

#[test]
fn a_wait_that_seems_to_return_early_is_a_wait() {
    let mut one = recording();
    one.kernels = vec![kernel(10, 20, 3, 1, 1), kernel(90, 95, 3, 1, 2)];
    one.calls = vec![call(5, 7, 1, 1), call(8, 18, 2, 9), call(80, 82, 1, 2)];
    let device = device(&one);
    assert_eq!(gap(&device, GpuGapCause::Synchronisation), 60.0);
    assert_eq!(gap(&device, GpuGapCause::Launch), 10.0);
}

#[test]
fn work_that_was_launched_long_before_waited_for_something_else() {
    let mut one = recording();
    one.kernels =
        vec![kernel(10, 20, 3, 1, 1), kernel(100, 110, 3, 1, 2), kernel(112, 113, 3, 1, 3)];
    one.calls = vec![call(1, 2, 1, 1), call(3, 4, 1, 2), call(105, 106, 1, 3)];
    let device = device(&one);
    assert_eq!(gap(&device, GpuGapCause::Dependency), 80.0);
    assert_eq!(gap(&device, GpuGapCause::Launch), 2.0);
}

#[test]
fn kernels_belong_to_the_range_that_was_open_when_they_were_launched() {
    let mut one = recording();
    one.kernels =
        vec![kernel(100, 110, 3, 1, 1), kernel(110, 130, 3, 1, 2), kernel(130, 131, 3, 1, 3)];
    one.calls = vec![call(2, 3, 1, 1), call(6, 7, 1, 2), call(20, 21, 1, 3)];
    one.events = vec![
        event(1, Event::Push, 5),
        event(5, Event::Push, 7),
        event(8, Event::Pop, 0),
        event(9, Event::Pop, 0),
    ];
    let profile = analyse(&[one], Vec::new());
    let device = &profile.processes[0].devices[0];
    let parts: Vec<(&str, f64)> =
        device.modules.iter().map(|part| (part.path.as_str(), (part.time * 1e6).round())).collect();
    assert_eq!(parts, [("layer.0", 20.0), ("", 11.0)]);
    let ranges: Vec<(&str, u64, f64)> = device
        .ranges
        .iter()
        .map(|part| (part.path.as_str(), part.calls, (part.total * 1e6).round()))
        .collect();
    assert_eq!(ranges, [("step", 1, 30.0), ("", 0, 1.0)]);
    let tree: Vec<(&str, u32, bool, f64)> = profile.processes[0]
        .ranges
        .iter()
        .map(|range| {
            (range.name.as_str(), range.depth, range.is_module, (range.kernels * 1e6).round())
        })
        .collect();
    assert_eq!(tree, [("step", 0, false, 30.0), ("layer.0", 1, true, 20.0)]);
}

#[test]
fn kernels_of_a_graph_belong_to_where_it_was_captured() {
    let mut one = recording();
    let node = |start, end, node| Kernel { node, ..kernel(start, end, 3, 1, 5) };
    one.kernels = vec![node(100, 110, 0x2_0000_0001), node(111, 121, 0x2_0000_0002)];
    one.calls = vec![call(90, 95, 8, 5)];
    one.clones = vec![(0x2_0000_0001, 0x1_0000_0001)];
    let made = |time, number| EventRecord { first: number, ..event(time, Event::Node, 0) };
    one.events = vec![
        event(1, Event::Push, 7),
        made(2, 0x1_0000_0001),
        event(3, Event::Pop, 0),
        event(80, Event::Push, 5),
        event(200, Event::Pop, 0),
    ];
    let device = device(&one);
    assert_eq!((device.launches.graph_kernels, device.launches.graph_named), (2, 1));
    assert_eq!(device.launches.graph_launches, 1);
    assert_eq!(gap(&device, GpuGapCause::Graph), 1.0);
    assert_eq!(device.modules[0].kernels, 1);
    let step = device.ranges.iter().find(|part| part.path == "step").unwrap();
    assert_eq!(step.kernels, 1, "a node that is not known belongs to its launch");
}

#[test]
fn devices_are_told_apart_and_a_process_without_work_has_none() {
    let mut one = recording();
    one.kernels = vec![kernel(0, 1, 3, 1, 1), kernel(0, 2, 3, 3, 2)];
    let profile = analyse(&[one, recording()], Vec::new());
    let devices: Vec<u32> = profile.processes[0].devices.iter().map(|one| one.device).collect();
    assert_eq!(devices, [0, 1]);
    assert!(profile.processes[1].devices.is_empty());
}

#[test]
fn more_devices_than_a_machine_has_are_damage() {
    let mut one = recording();
    one.places = (0..20_000).map(|device| [device, 0, 0]).collect();
    one.kernels = (0..20_000).map(|place| kernel(0, 1, 3, place, place)).collect();
    let profile = analyse(&[one], Vec::new());
    let process = &profile.processes[0];
    assert_eq!(process.devices.len(), 64);
    assert!(!process.is_valid() && process.problems[0].text.contains("20000 devices"));
}

/// With activation checkpointing, autograd's thread calls modules again and opens their ranges itself.
#[test]
fn backward_kernels_belong_to_the_backward_pass_also_after_a_module_was_computed_again() {
    let mut one = recording();
    one.texts.push("\u{2}(backward)".into());
    let backward = 9;
    let other = THREAD + 1;
    let of = |thread, one: EventRecord| EventRecord { thread, ..one };
    one.events = vec![
        event(1, Event::Push, backward),
        of(other, event(10, Event::Push, 7)),
        of(other, event(20, Event::Pop, 0)),
        // A pass inside the pass, which ends before it.
        of(other, event(22, Event::Push, backward)),
        of(other, event(24, Event::Pop, 0)),
        event(90, Event::Pop, 0),
    ];
    one.kernels = (1..=5).map(|at| kernel(at * 10, at * 10 + 5, 3, 1, at as u32)).collect();
    let times = [5, 12, 21, 30, 95];
    one.calls = (1..=5)
        .map(|at| Call { thread: other, ..call(times[at - 1], times[at - 1] + 1, 1, at as u32) })
        .collect();
    let parts: Vec<(String, u64)> =
        device(&one).modules.iter().map(|part| (part.path.clone(), part.kernels)).collect();
    for part in [("(backward)", 3), ("layer.0", 1), ("", 1)] {
        let part = (part.0.to_owned(), part.1);
        assert!(parts.contains(&part), "{part:?} is not in {parts:?}");
    }
}

#[test]
fn ranges_that_are_never_closed_or_never_opened_do_no_harm() {
    let mut one = recording();
    one.events = vec![
        event(1, Event::Pop, 0),
        event(2, Event::Push, 5),
        event(3, Event::Push, 6),
        event(3, Event::Stop, 0),
        event(9, Event::Mark, 5),
    ];
    let profile = analyse(&[one], Vec::new());
    let tree: Vec<(&str, u64, f64)> = profile.processes[0]
        .ranges
        .iter()
        .map(|range| (range.name.as_str(), range.calls, range.host))
        .collect();
    assert_eq!(tree, [("step", 1, 0.0), ("load", 1, 0.0)]);
}
