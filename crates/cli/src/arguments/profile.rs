//! The arguments of `profile`.

use super::{
    EngineArguments, LimitArguments, ModelArguments, Origin, ResultOutput, Sampling,
    StoreArguments, Timeout, TrainingArguments, Workload, result_output::output_help,
};
use clap::{Args, ValueEnum};
use modelmeter::RUN_FORMATS;
use std::path::PathBuf;
use types::Threshold;

const AFTER: &str = "\
Exit codes: 0 measured, 2 usage error, 3 not supported on this machine;
with `--threshold` 1 failed, 4 cannot tell

Examples:
  modelmeter profile distilbert-base-uncased
  modelmeter profile bert-base-uncased --batch-size 8 --sequence-length 256 --threads 1
  modelmeter profile ./all-MiniLM-L6-v2 --text \"how fast is this?\"
  modelmeter profile detector.onnx --input images=1x3x640x640 --duration 1m
  modelmeter profile gpt2 --runs 50 --json - | jq .latency.median
  modelmeter profile bert-base-uncased --layers
  modelmeter profile gpt2 --memory
  modelmeter profile distilbert-base-uncased --train --optimizer adamw
  modelmeter profile --model-path models/latest --threshold latency:100ms --output-dir results";

/// A part of the memory breakdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryArgument {
    /// Allocations by layer
    Allocations,
    /// Allocated memory over time, and what was live at the peak
    Snapshots,
}

/// Where a measurement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArgument {
    /// In a fresh process
    Process,
    /// In this process, for debugging
    None,
}

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg.help(
        "Name (see `modelmeter models`), hub name, .onnx or .gguf file, Hugging Face folder or .toml description \
         [default: distilbert-base-uncased]"
    ))
)]
pub(crate) struct Profile {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) origin: Origin,
    /// Measure training: each sample is one step of forward, loss, backward and optimiser
    #[arg(long, visible_aliases = ["training", "training-mode"], conflicts_with_all = ["text", "text_file"], help_heading = "Workload")]
    pub(crate) train: bool,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,

    #[command(flatten)]
    pub(crate) engine: EngineArguments,
    #[command(flatten)]
    pub(crate) limit: LimitArguments,

    #[command(flatten)]
    pub(crate) sampling: Sampling,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    /// Where the measurement runs
    #[arg(long, value_enum, default_value_t = IsolationArgument::Process, value_name = "WHERE", help_heading = "Sampling")]
    pub(crate) isolation: IsolationArgument,

    /// Threshold: latency:100ms, throughput:1000samples/s; decided by fresh processes, as in `check`; may be repeated
    #[arg(long, value_name = "METRIC:LIMIT", num_args = 1.., help_heading = "Gate")]
    pub(crate) threshold: Vec<Threshold>,

    /// Time by layer; or only by these kinds or paths: attention,mlp
    #[arg(
        long,
        value_name = "NAME,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_delimiter = ',',
        help_heading = "Breakdown"
    )]
    pub(crate) layers: Option<Vec<String>>,
    /// What the GPU did: kernels, copies, idle time and its causes; on `cuda` unless `--device` names another NVIDIA GPU
    #[arg(long, help_heading = "Breakdown")]
    pub(crate) gpu: bool,
    /// Memory by graph, allocator and system; or only these parts
    #[arg(
        long,
        value_enum,
        value_name = "PART,…",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        help_heading = "Breakdown"
    )]
    pub(crate) memory: Option<Vec<MemoryArgument>>,
    /// Timeline: FILE.json and FILE.pftrace open in Perfetto, FILE.pt.trace.json in TensorBoard; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Breakdown")]
    pub(crate) trace: Vec<PathBuf>,
    /// Flame graph
    #[arg(long, value_name = "FILE.svg", help_heading = "Breakdown")]
    pub(crate) flamegraph: Option<PathBuf>,
    /// Profile for speedscope
    #[arg(long, value_name = "FILE.json", help_heading = "Breakdown")]
    pub(crate) speedscope: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Include the raw samples in the JSON
    #[arg(long, requires = "json", help_heading = "Output")]
    pub(crate) samples: bool,
    #[arg(
        long,
        short,
        value_name = "FILE",
        help = output_help(RUN_FORMATS) + "; `auto` chooses a name",
        help_heading = "Output"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Output folder, for every format
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
