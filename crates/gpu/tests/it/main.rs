//! Programs that really load the library: with a stand-in for CUPTI, NVTX's own headers, forks, kills and faults.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![cfg(target_os = "linux")]

extern crate modelmeter_gpu as gpu;

mod hook;
mod program;

use modelmeter_gpu::Wish;
use program::{Outcome, program};
use std::time::Duration;
use types::{CopyDirection, CopyMemory, GpuGapCause, GpuProblemKind};

fn kinds(outcome: &Outcome) -> Vec<GpuProblemKind> {
    outcome.profile.processes[0].problems.iter().map(|problem| problem.kind).collect()
}

#[test]
fn a_million_kernels_fit_into_forty_megabytes_and_every_one_is_read() {
    let outcome = program("work").count(1_000_000).run();
    assert_eq!(outcome.code, Some(7));
    assert!(outcome.bytes < 40_000_000, "{} bytes", outcome.bytes);
    let process = &outcome.profile.processes[0];
    assert!(process.problems.is_empty(), "{:?}", process.problems);
    assert_eq!((process.cupti, process.calls), (Some(130_001), 1_000_000));
    let device = &process.devices[0];
    let counts: Vec<(&str, u64)> =
        device.kernels.iter().map(|one| (one.name.as_str(), one.count)).collect();
    assert_eq!(counts, [("gemm", 500_000), ("sm90_gemm", 500_000)]);
    let sum = device.compute + device.communication + device.copies + device.idle;
    assert!((sum - device.window).abs() < 1e-9 * device.window);
    // Every gap: one microsecond until the program launches, five until the kernel runs.
    for (cause, time) in [(GpuGapCause::HostLate, 0.999_999), (GpuGapCause::Launch, 4.999_995)] {
        let gap = device.gaps.iter().find(|gap| gap.cause == cause).unwrap();
        assert!((gap.time - time).abs() < 1e-9, "{gap:?}");
    }
}

#[test]
fn records_of_every_version_are_read() {
    for (version, size) in [(24, 208), (130_001, 216), (130_202, 224), (130_400, 248)] {
        let outcome = program("work")
            .set("MOCK_VERSION", version.to_string())
            .set("MOCK_KERNEL", size.to_string())
            .run();
        let process = &outcome.profile.processes[0];
        assert_eq!(process.cupti, Some(version));
        assert_eq!(process.devices[0].launches.kernels, 100, "records of {size} bytes");
        assert!(process.problems.is_empty());
    }
}

#[test]
fn copies_are_counted_to_the_byte() {
    let outcome = program("copies").count(5).run();
    let copies = &outcome.profile.processes[0].devices[0].copy_kinds;
    assert_eq!(copies.len(), 1);
    assert_eq!((copies[0].count, copies[0].bytes), (5, 5 << 20));
    assert_eq!(
        (copies[0].direction, copies[0].from, copies[0].to),
        (CopyDirection::HostToDevice, CopyMemory::Pageable, CopyMemory::Device)
    );
}

#[test]
fn whatever_cupti_refuses_the_program_runs_on_and_the_reason_is_told() {
    let faults = [
        (
            program("work").set("MOCK_REGISTER", "39"),
            GpuProblemKind::OtherTool,
            "MULTIPLE_SUBSCRIBERS",
        ),
        (program("work").set("MOCK_ENABLE", "35"), GpuProblemKind::Refused, "cuptiActivityEnable"),
        (
            program("work").library("without-clock"),
            GpuProblemKind::NoSymbol,
            "RegisterTimestampCallback",
        ),
        (program("work").library("none"), GpuProblemKind::NoCupti, "no CUPTI library"),
    ];
    for (program, kind, words) in faults {
        let outcome = program.run();
        assert_eq!(outcome.code, Some(7), "{kind:?}");
        assert_eq!(outcome.output, "output of the program\n");
        let process = &outcome.profile.processes[0];
        let problem = process.problems.iter().find(|one| one.kind == kind);
        let problem =
            problem.unwrap_or_else(|| panic!("{kind:?} is not in {:?}", process.problems));
        assert!(problem.text.contains(words), "{}", problem.text);
        assert!(process.devices.is_empty());
    }
}

#[test]
fn records_that_were_dropped_or_stolen_make_the_result_not_valid() {
    let dropped = program("work").set("MOCK_DROPPED", "5").run();
    assert!(kinds(&dropped).contains(&GpuProblemKind::Dropped));
    assert!(!dropped.profile.processes[0].is_valid());
    let stolen = program("steal").run();
    assert_eq!(stolen.code, Some(7));
    assert!(kinds(&stolen).contains(&GpuProblemKind::Stolen));
    assert!(!stolen.profile.processes[0].is_valid());
}

#[test]
fn a_process_that_leaves_or_is_killed_keeps_what_was_recorded() {
    let left = program("leave").run();
    assert_eq!(left.code, Some(5));
    let killed = program("killed").run();
    assert_eq!((killed.code, killed.signal), (None, Some(9)));
    for outcome in [left, killed] {
        assert_eq!(kinds(&outcome), [GpuProblemKind::Killed]);
        assert!(outcome.profile.processes[0].is_valid());
        assert_eq!(outcome.profile.processes[0].devices[0].launches.kernels, 100);
    }
}

#[test]
fn a_child_of_a_fork_writes_its_own_file_or_none() {
    let outcome = program("fork").run();
    assert_eq!(outcome.code, Some(7));
    let with_work: Vec<_> =
        outcome.profile.processes.iter().filter(|one| !one.devices.is_empty()).collect();
    assert_eq!(with_work.len(), 1);
    assert_eq!(with_work[0].devices[0].launches.kernels, 100);
    assert!(with_work[0].problems.is_empty());
    for child in outcome.profile.processes.iter().filter(|one| one.devices.is_empty()) {
        assert_eq!(child.parent, with_work[0].process);
        assert_eq!(child.ranges[0].name, "in the child");
    }
}

#[test]
fn a_recording_that_reaches_its_limit_ends_and_says_so() {
    let wish = Wish { limit: Some(100_000), ..Wish::default() };
    let outcome = program("work").count(200_000).wish(wish).run();
    assert_eq!(outcome.code, Some(7));
    assert!(outcome.bytes <= 101_000, "{} bytes", outcome.bytes);
    assert_eq!(kinds(&outcome), [GpuProblemKind::Full], "it ended well, so it was not killed");
    let kernels = outcome.profile.processes[0].devices[0].launches.kernels;
    assert!((1..200_000).contains(&kernels));
}

#[test]
fn a_limit_of_the_system_ends_the_recording_and_not_the_program() {
    let outcome = program("work").count(200_000).set("FILE_LIMIT", "100000").run();
    assert_eq!((outcome.code, outcome.signal), (Some(7), None));
    assert!(outcome.bytes <= 100_000, "{} bytes", outcome.bytes);
    assert_eq!(kinds(&outcome), [GpuProblemKind::Full]);
    let outcome = program("work").count(200_000).set("FILE_LIMIT", "100").run();
    assert_eq!((outcome.code, outcome.signal, outcome.bytes), (Some(7), None, 0));
}

#[test]
fn steps_that_never_came_are_said_and_accuse_nobody() {
    let wish = || Wish { after: Some(5), ..Wish::default() };
    // Without a range there is no step.
    let outcome = program("work").wish(wish()).run();
    assert_eq!(outcome.code, Some(7));
    assert_eq!(kinds(&outcome), [GpuProblemKind::NeverBegan]);
    let outcome = program("steps").with_nvtx().count(3).wish(wish()).run();
    assert_eq!(kinds(&outcome), [GpuProblemKind::NeverBegan]);
    let process = &outcome.profile.processes[0];
    let text = &process.problems[0].text;
    assert!(text.contains("step 6") && text.contains("began 3 steps"), "{text}");
    assert!(process.devices.is_empty() && process.is_valid());
    // The same without CUDA.
    let outcome = program("ranges").with_nvtx().library("none").wish(wish()).run();
    assert_eq!(kinds(&outcome), [GpuProblemKind::NeverBegan]);
}

#[test]
fn a_profiler_that_was_started_before_cuda_keeps_its_records() {
    let outcome = program("released").run();
    assert_eq!(outcome.code, Some(7), "the callbacks of the program's profiler were replaced");
    assert_eq!(kinds(&outcome), [GpuProblemKind::Released]);
    assert_eq!(outcome.profile.processes[0].cupti, None);
}

#[test]
fn a_folder_that_is_gone_leaves_the_program_alone() {
    let outcome = program("work").without_folder().run();
    assert_eq!(outcome.code, Some(7));
    assert_eq!(outcome.output, "output of the program\n");
}

#[test]
fn a_program_without_cuda_and_ranges_leaves_no_file() {
    let outcome = program("nothing").run();
    // It initialises "CUDA" alone; what is known of the process is kept.
    assert_eq!(outcome.code, Some(7));
    assert!(outcome.profile.processes.iter().all(|one| one.devices.is_empty()));
}

#[test]
fn ranges_of_real_nvtx_are_followed_over_threads_and_domains() {
    let program = program("threads").with_nvtx();
    let outcome = program.run();
    assert_eq!(outcome.code, Some(7));
    let process = &outcome.profile.processes[0];
    let tree: Vec<(&str, u32, Option<&str>, u64)> = process
        .ranges
        .iter()
        .map(|one| (one.name.as_str(), one.depth, one.domain.as_deref(), one.calls))
        .collect();
    for range in [
        ("wide outer", 0, None, 1),
        ("registered", 1, Some("library"), 1),
        ("second thread", 0, None, 1),
        ("anywhere", 0, None, 1),
    ] {
        assert!(tree.contains(&range), "{range:?} is not in {tree:?}");
    }
    let parts: Vec<(&str, u64)> =
        process.devices[0].ranges.iter().map(|part| (part.path.as_str(), part.kernels)).collect();
    for part in [("wide outer", 1), ("wide outer / registered", 2), ("second thread", 3), ("", 4)] {
        assert!(parts.contains(&part), "{part:?} is not in {parts:?}");
    }
}

#[test]
fn ranges_need_no_gpu() {
    let program = program("ranges").with_nvtx();
    let outcome = program.library("none").run();
    assert_eq!(outcome.code, Some(0));
    let process = &outcome.profile.processes[0];
    assert!(process.problems.is_empty(), "{:?}", process.problems);
    let names: Vec<(&str, u32)> =
        process.ranges.iter().map(|one| (one.name.as_str(), one.depth)).collect();
    assert_eq!(names, [("outer", 0), ("inner", 1)]);
    assert!(process.ranges[1].host >= 0.002);
}

#[test]
fn only_the_steps_that_were_asked_for_are_recorded() {
    let wish = Wish { after: Some(3), steps: Some(2), ..Wish::default() };
    let outcome = program("steps").with_nvtx().count(10).wish(wish).run();
    assert_eq!(outcome.code, Some(7));
    let process = &outcome.profile.processes[0];
    let steps = process.ranges.iter().find(|range| range.name == "step").unwrap();
    assert_eq!(steps.calls, 2);
    // Two kernels a step, one in between.
    assert_eq!(process.devices[0].launches.kernels, 6);
    let named = Wish { after: Some(9), step: Some("other".into()), ..Wish::default() };
    let outcome = program("steps").with_nvtx().count(10).wish(named).run();
    assert_eq!(outcome.profile.processes[0].devices[0].launches.kernels, 1);
}

#[test]
fn time_that_was_asked_for_ends_the_recording() {
    let wish = Wish { length: Some(Duration::from_millis(1)), ..Wish::default() };
    // The stand-in's kernels are long ago, so the time is over at once.
    let outcome = program("leave").count(1000).wish(wish).run();
    assert_eq!(outcome.code, Some(5));
    assert_eq!(outcome.profile.processes[0].devices[0].launches.kernels, 1000);
}

/// What CUPTI 13.0 wrote on an NVIDIA H200: a CUDA graph of PyTorch, captured in ranges and replayed a hundred times.
#[test]
fn a_recording_of_a_real_gpu_is_read() {
    let bytes = include_bytes!("../fixtures/h200-graph.mmgpu");
    let recording = modelmeter_gpu::Recording::read(bytes).unwrap();
    assert!(recording.is_whole());
    let profile = modelmeter_gpu::analyse(&[recording], Vec::new());
    let device = &profile.processes[0].devices[0];
    let launches = &device.launches;
    assert_eq!((launches.graph_kernels, launches.graph_named), (1800, 1800));
    assert_eq!((launches.graph_launches, launches.kernels), (100, 1856));
    let layers: Vec<(&str, u64)> = device
        .ranges
        .iter()
        .filter(|part| part.path.starts_with("layer"))
        .map(|part| (part.path.as_str(), part.kernels))
        .collect();
    // Three kernels a layer: captured once and replayed, and three times before that.
    assert_eq!(layers.len(), 6);
    assert!(layers.iter().all(|(_, kernels)| *kernels == 309), "{layers:?}");
    let sum = device.compute + device.communication + device.copies + device.idle;
    assert!((sum / device.window - 1.0).abs() < 1e-9);
}
