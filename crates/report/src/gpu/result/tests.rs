use super::*;
use crate::Style;
use types::{GpuCopies, GpuGap, GpuKernel, GpuLaunches, GpuPart, GpuProblem};

fn profile() -> GpuProfile {
    let kernel = |name: &str, count, time| GpuKernel {
        name: name.into(),
        symbol: name.into(),
        count,
        time,
        median: time / count as f64,
        shortest: 1e-6,
        longest: 1e-4,
        is_communication: false,
    };
    let part = |path: &str, time| GpuPart {
        path: path.into(),
        kernels: 10,
        time,
        total: time,
        calls: 10,
        host: Some(0.2),
    };
    let device = GpuDevice {
        device: 0,
        name: Some("NVIDIA H200".into()),
        streams: 1,
        window: 1.0,
        compute: 0.25,
        copies: 0.15,
        idle: 0.6,
        copies_all: 0.2,
        kernel_sum: 0.25,
        gaps: vec![GpuGap {
            cause: GpuGapCause::HostLate,
            count: 30,
            time: 0.6,
            longest: 0.1,
            places: vec![("data \u{1b}[31mloader".into(), 0.5)],
        }],
        kernels: vec![kernel("gemm", 100, 0.2), kernel("gelu", 100, 0.05)],
        modules: vec![part("layer.0.ffn", 0.1), part("layer.1.ffn", 0.1), part("", 0.05)],
        ranges: vec![part("step", 0.25)],
        copy_kinds: vec![GpuCopies {
            direction: CopyDirection::HostToDevice,
            from: CopyMemory::Pageable,
            to: CopyMemory::Device,
            count: 3,
            bytes: 201_326_592,
            time: 0.2,
            rate: 1e9,
        }],
        launches: GpuLaunches {
            kernels: 200,
            short: 100,
            short_time: 0.01,
            ..GpuLaunches::default()
        },
        ..GpuDevice::default()
    };
    let process = GpuProcess { process: 7, devices: vec![device], ..GpuProcess::default() };
    GpuProfile { processes: vec![process], unread: Vec::new() }
}

fn text(profile: &GpuProfile) -> String {
    let command = ["python".to_owned(), "train.py".to_owned()];
    let view = GpuView {
        command: &command,
        exit_code: Some(0),
        signal: None,
        refused: None,
        profile,
        top: 10,
        ceilings: None,
    };
    gpu_document(&view).terminal(&Style::plain(110), None)
}

#[test]
fn a_person_sees_where_the_time_went_and_why() {
    let text = text(&profile());
    for part in [
        "python train.py",
        "NVIDIA H200",
        "idle",
        "host late",
        "layer.*.ffn ×2",
        "outside every module",
        "host to device",
        "pin_memory",
        "torch.compile",
        "valid:",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "names from outside reach no terminal as they are");
}

#[test]
fn missing_records_make_it_not_valid_and_nothing_recorded_is_said() {
    let mut spoilt = profile();
    spoilt.processes[0]
        .problems
        .push(GpuProblem { kind: GpuProblemKind::Dropped, text: "CUPTI dropped 5 records".into() });
    let text_of_spoilt = text(&spoilt);
    assert!(text_of_spoilt.contains("not valid") && text_of_spoilt.contains("dropped 5"));
    assert!(text(&GpuProfile::default()).contains("no process loaded the recorder"));
    let unread = vec![("1-2.mmgpu".into(), "it is not a recording of this version".into())];
    assert!(
        text(&GpuProfile { unread, ..GpuProfile::default() }).contains("nothing could be read")
    );
}

#[test]
fn that_cuda_was_not_used_is_never_claimed_without_knowing() {
    let with = |process: GpuProcess| GpuProfile { processes: vec![process], unread: Vec::new() };
    let problem = |kind| vec![GpuProblem { kind, text: "why".into() }];
    for (process, words) in [
        (GpuProcess::default(), "took the recorder's place"),
        (GpuProcess { cupti: Some(130_001), ..GpuProcess::default() }, "gave no GPU work"),
        (
            GpuProcess { problems: problem(GpuProblemKind::Killed), ..GpuProcess::default() },
            "no work of a GPU was recorded, see above",
        ),
        (
            GpuProcess { problems: problem(GpuProblemKind::NeverBegan), ..GpuProcess::default() },
            "recording never began",
        ),
    ] {
        let text = text(&with(process)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "`{words}` is not in\n{text}");
        assert!(!text.contains("did not use CUDA") && !text.contains("ranges are above"), "{text}");
    }
}

#[test]
fn rows_add_up_to_the_window() {
    let profile = profile();
    let view = GpuView {
        command: &[],
        exit_code: None,
        signal: None,
        refused: None,
        profile: &profile,
        top: 1,
        ceilings: None,
    };
    let csv = gpu_document(&view).csv();
    let times: f64 = csv
        .lines()
        .filter(|line| line.contains(",time,"))
        .filter_map(|line| line.split(',').nth(6)?.parse::<f64>().ok())
        .sum();
    assert!((times - 1.0).abs() < 1e-12, "{csv}");
}
