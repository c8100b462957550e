//! The tests as llama-bench writes them with `-o json`, for scripts that read those.

use super::words::rate;
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{Device, Generation, GenerationTest, Run};

/// The rows of the tests with one text at a time; llama-bench has no others. What has no meaning outside llama.cpp has its
/// default there: scripts match rows by all of it.
#[must_use]
pub fn llama_bench_rows(runs: &[Run]) -> Value {
    runs.iter().filter(|run| run.cell.batch_size == 1).filter_map(row).collect()
}

fn row(run: &Run) -> Option<Value> {
    let generation = run.cell.generation?;
    let (prompt, generated) = match generation.test {
        GenerationTest::Prefill => (generation.tokens, 0),
        GenerationTest::Decode => (0, generation.tokens),
    };
    let nanos = repetitions(run, generation);
    let rates: Vec<f64> =
        nanos.iter().map(|nanos| generation.tokens as f64 / nanos * 1e9).collect();
    let (mean_rate, _) = rate(run)?;
    let machine = &run.environment.machine;
    let gpus: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let cache = run.generation.as_ref().map_or("f32", |report| report.cache_type.as_str());
    let (backend, layers, index) = backend(run.cell.device);
    let mut row = json!({
        // llama.cpp's scripts hold rows of different builds against each other: here that is the engine.
        "build_commit": build(&run.engine.id, &run.engine.version),
        "build_number": 0,
        "cpu_info": machine.cpu.model,
        "gpu_info": gpus.join(", "),
        "backends": backend,
        "model_filename": run.model.name,
        "model_type": format!("{} {}", run.model.architecture, run.cell.precision),
        "model_size": run.model.size.0,
        "model_n_params": run.model.parameters,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_threads": run.cell.threads,
        "type_k": cache,
        "type_v": cache,
        "n_prompt": prompt,
        "n_gen": generated,
        "n_depth": generation.depth,
        "test_time": rfc3339(run.started_at),
        "avg_ns": mean(&nanos),
        "stddev_ns": deviation(&nanos),
        "avg_ts": mean_rate,
        "stddev_ts": deviation(&rates),
        "samples_ns": nanos,
        "samples_ts": rates,
    });
    // Settings of llama.cpp with their defaults.
    let more = json!({
        "cpu_mask": "0x0",
        "cpu_strict": false,
        "poll": 0,
        "n_gpu_layers": layers,
        "n_cpu_moe": 0,
        "split_mode": "layer",
        "main_gpu": index,
        "no_kv_offload": false,
        "flash_attn": 0,
        "devices": "auto",
        "tensor_split": "0.00",
        "tensor_buft_overrides": "none",
        "load_mode": "auto",
        "embeddings": false,
        "no_op_offload": 0,
        "no_host": false,
        "fit_target": 0,
        "fit_min_ctx": 0,
        // Beyond what llama-bench has, for reading the rows back.
        "engine": run.engine.id,
        "engine_version": run.engine.version,
        "precision": run.cell.precision.name(),
    });
    if let (Some(row), Some(more)) = (row.as_object_mut(), more.as_object()) {
        row.extend(more.clone());
    }
    Some(row)
}

/// Letters of a build: llama.cpp's scripts cut all of them to the shortest and then look for the whole name.
const BUILD: usize = 20;

/// The name of an engine as that of a build: `rten-0.27.0---------`.
fn build(engine: &str, version: &str) -> String {
    let name: String = format!("{engine}-{version}").chars().take(BUILD).collect();
    format!("{name:-<BUILD$}")
}

/// What llama.cpp calls the backend of a device, how many layers it gives to a GPU, and which one.
fn backend(device: Device) -> (&'static str, i64, u32) {
    // As llama-bench has it where nobody says how many: all.
    const ALL: i64 = 99;
    match device {
        Device::Cuda(index) => ("CUDA", ALL, index),
        Device::Rocm(index) => ("ROCm", ALL, index),
        Device::Xpu(index) => ("SYCL", ALL, index),
        Device::Mps => ("MTL", ALL, 0),
        _ => ("CPU", 0, 0),
    }
}

/// Nanoseconds of every repetition: of a prompt, or of all steps of a round together.
fn repetitions(run: &Run, generation: Generation) -> Vec<f64> {
    let samples = run.samples_of(types::Phase::Inference).unwrap_or_default();
    let each = match generation.test {
        GenerationTest::Prefill => 1,
        GenerationTest::Decode => generation.tokens.max(1),
    };
    let whole: Vec<f64> =
        samples.chunks_exact(each).map(|steps| steps.iter().sum::<u64>() as f64).collect();
    if whole.is_empty() && !samples.is_empty() {
        // Not one whole round was measured: what it would take at the mean of the steps.
        return vec![samples.iter().sum::<u64>() as f64 / samples.len() as f64 * each as f64];
    }
    whole
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation (n − 1); 0 of a single value.
fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}
