//! A run as a case: what its time depends on, in numbers and names.

use super::machines::Peaks;
use predict::Case;
use types::{Device, Precision, Run, Variant};

/// The mode as cases tell it: a test of generating is work of its own.
fn mode_of(run: &Run) -> String {
    match run.cell.generation {
        Some(test) => format!("generate {test}"),
        None => run.cell.mode.name().to_owned(),
    }
}

pub(super) fn is_gpu(device: Device) -> bool {
    !matches!(
        device,
        Device::Cpu | Device::Xnnpack | Device::Openvino | Device::Auto | Device::Wasm
    )
}

pub(super) fn case_of(run: &Run, peaks: &Peaks) -> Case {
    let cell = &run.cell;
    let told = |path: &str, amount: f64| (run.tells(path) && amount > 0.0).then_some(amount);
    let is_gpu = is_gpu(cell.device);
    let machine = &run.environment.machine;
    let mut variant = Variant::of(run);
    // What was drawn or imported is no other work.
    variant.generation = None;
    variant.untold.clear();
    let gpu = machine.gpus.first().map(|gpu| gpu.name.clone());
    Case {
        model: run.model.name.clone(),
        family: family(&run.model.architecture, &run.model.name),
        engine: run.engine.id.clone(),
        precision: cell.precision.name().to_owned(),
        mode: mode_of(run),
        variant: variant.canonical(),
        machine: machine.key.clone(),
        hardware: match (is_gpu, gpu) {
            (true, Some(name)) => name,
            _ if machine.hostname.is_empty() => machine.cpu.model.clone(),
            _ => machine.hostname.clone(),
        },
        is_gpu,
        batch: cell.batch_size as f64,
        length: cell.sequence_length.map(|length| length as f64),
        threads: if is_gpu { 0.0 } else { f64::from(cell.threads) },
        flops: told("work.flops", run.work.flops.0 as f64),
        bytes: told("work.bytes_read", (run.work.bytes_read.0 + run.work.bytes_written.0) as f64),
        weights: run.model.parameters as f64 * width(cell.precision),
        peak: peaks.of(cell.precision),
        bandwidth: peaks.bandwidth,
        cache: peaks.cache,
    }
}

/// Bytes of a parameter.
pub(super) fn width(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 => 4.0,
        Precision::Fp16 | Precision::Bf16 => 2.0,
        Precision::Int8 => 1.0,
        Precision::Stored => 0.6,
    }
}

/// An architecture names its family; a file of ONNX does not.
pub(super) fn family(architecture: &str, name: &str) -> String {
    match architecture {
        "" | "onnx" | "gguf" | "reference" => name.to_owned(),
        known => known.to_owned(),
    }
}
