//! Results of other tools, one file a tool. Facts of their formats were read from their public sources.

mod generation;
mod llama;
mod mlperf;
mod onnxruntime;
mod optimum;
mod sql;
mod timm;
mod trtexec;

pub(crate) use llama::{llama_bench, llama_bench_sql};
pub(crate) use mlperf::mlperf;
pub(crate) use onnxruntime::onnxruntime;
pub(crate) use optimum::optimum_benchmark;
pub(crate) use timm::timm;
pub(crate) use trtexec::{trtexec_profile, trtexec_times};

/// How far two numbers that say the same may lie apart before one of them must be in another unit.
const APART: f64 = 2.0;

/// Whether two positive numbers agree as far as rounding and noise let them.
fn agree(left: f64, right: f64) -> bool {
    left <= right * APART && right <= left * APART
}

/// Whether two numbers are the same but for rounding.
fn same(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-3 * left.abs().max(right.abs())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 { 0.0 } else { (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0 }
}

/// The stem of a file's name: `resnet50` of `runs/resnet50.json`.
fn stem(name: &str) -> &str {
    let file = crate::import::file_name(name);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}
