//! What a program did on a GPU.

use crate::advice;
use modelmeter_report::{
    GpuView, ProgramAdvice, ResultDocument, gpu_document, program_advice_document,
};
use types::{GpuDevice, GpuGap, GpuGapCause, GpuKernel, GpuProcess, GpuProfile};

/// One process, one device, one kernel, idle for most of the time.
fn profile() -> GpuProfile {
    let kernel = GpuKernel {
        name: "gemm".into(),
        symbol: "gemm".into(),
        count: 100,
        time: 0.25,
        median: 0.0025,
        shortest: 0.002,
        longest: 0.003,
        is_communication: false,
    };
    let gap = GpuGap {
        cause: GpuGapCause::HostLate,
        count: 30,
        time: 0.75,
        longest: 0.1,
        places: vec![("data loader".into(), 0.5)],
    };
    let device = GpuDevice {
        name: Some("NVIDIA H200".into()),
        streams: 1,
        window: 1.0,
        compute: 0.25,
        idle: 0.75,
        kernel_sum: 0.25,
        gaps: vec![gap],
        kernels: vec![kernel],
        ..GpuDevice::default()
    };
    let process = GpuProcess { process: 7, devices: vec![device], ..GpuProcess::default() };
    GpuProfile { processes: vec![process], unread: Vec::new() }
}

fn command() -> [String; 2] {
    ["python", "train.py"].map(str::to_owned)
}

pub(crate) fn document() -> ResultDocument {
    gpu_document(&GpuView {
        command: &command(),
        exit_code: Some(0),
        signal: None,
        refused: None,
        profile: &profile(),
        top: 10,
        ceilings: None,
    })
}

pub(crate) fn advice_about_the_program() -> ResultDocument {
    let report = advice::report();
    program_advice_document(&ProgramAdvice {
        command: &command(),
        profile: &profile(),
        advice: &report.advice,
        fine: &report.fine,
    })
}
