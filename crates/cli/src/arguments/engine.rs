//! What runs a model: engine, device, precision, threads and what engines are told.

use super::values::{parse_engine, parse_setting};
use crate::candidates;
use clap::Args;
use clap_complete::ArgValueCandidates;
use modelmeter::{Device, EngineOptions, Precision};
use types::{GraphOptimisation, PerformanceHint};

/// One engine on one device.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArguments {
    #[arg(
        long,
        short,
        alias = "backend",
        value_name = "ENGINE",
        value_parser = parse_engine,
        help = format!("Engine: {} [default: the first that runs the model]", candidates::engine_names()),
        add = ArgValueCandidates::new(candidates::engines)
    )]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) device: DeviceArgument,
    #[command(flatten)]
    pub(crate) precision: PrecisionArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

/// The engines of a command that takes several.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EnginesArgument {
    #[arg(
        long,
        short,
        aliases = ["engine", "backend", "backends"],
        help = format!("Engines: {}, all [default: all that are available]", candidates::engine_names()),
        value_delimiter = ',',
        value_name = "ENGINE,…",
        value_parser = parse_engine,
        add = ArgValueCandidates::new(candidates::engines)
    )]
    pub(crate) engines: Vec<String>,
}

/// The device of a command that takes one.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct DeviceArgument {
    /// Device: auto, cpu, cuda, cuda:1, rocm, mps, openvino, wasm, webgpu, webnn
    #[arg(long, short, default_value = "auto", value_name = "DEVICE", add = ArgValueCandidates::new(candidates::devices))]
    pub(crate) device: Device,
}

/// The devices of a command that takes several.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct DevicesArgument {
    /// Devices: auto, cpu, cuda, cuda:1, rocm, mps, openvino, wasm, webgpu, webnn
    #[arg(
        long,
        short,
        aliases = ["device", "hardware"],
        value_delimiter = ',',
        value_name = "DEVICE,…",
        add = ArgValueCandidates::new(candidates::devices)
    )]
    pub(crate) devices: Vec<Device>,
}

/// The precision of a command that takes one.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct PrecisionArgument {
    /// Precision: fp32, fp16, bf16, int8, stored (that of a .gguf file) [default: the model's own]
    #[arg(long, short, alias = "dtype", value_name = "PRECISION", add = ArgValueCandidates::new(candidates::precisions))]
    pub(crate) precision: Option<Precision>,
}

/// The precisions of a command that takes several.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct PrecisionsArgument {
    /// Precisions: fp32, fp16, bf16, int8, stored (that of a .gguf file) [default: the model's own]
    #[arg(
        long,
        short,
        aliases = ["precision", "dtype", "dtypes"],
        value_delimiter = ',',
        value_name = "PRECISION,…",
        add = ArgValueCandidates::new(candidates::precisions)
    )]
    pub(crate) precisions: Vec<Precision>,
}

/// The number of threads of a command that takes one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct ThreadsArgument {
    /// Number of threads [default: the physical cores]
    #[arg(long, short, alias = "num-threads", value_name = "N")]
    pub(crate) threads: Option<u32>,
}

/// The numbers of threads of a command that takes several.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct ThreadCounts {
    /// Numbers of threads [default: the physical cores]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) thread_counts: Vec<u32>,
}

/// What engines may be told beyond device, precision and threads.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct Tuning {
    /// torch: compile the module first, in this mode
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub(crate) compile: Option<String>,
    /// onnxruntime: graph optimisation level: none, basic, extended, all
    #[arg(long, value_name = "LEVEL", alias = "graph-optimisation")]
    pub(crate) graph_optimization: Option<GraphOptimisation>,
    /// onnxruntime, torch: number of threads between operators
    #[arg(long, value_name = "N")]
    pub(crate) inter_op_threads: Option<u32>,
    /// openvino: performance hint: latency, throughput
    #[arg(long, value_name = "WHAT")]
    pub(crate) hint: Option<PerformanceHint>,
    /// Setting of the execution provider or plugin, by its own name; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// torch: allow pickle files, which can run code; only for files you trust
    #[arg(long)]
    pub(crate) allow_pickle: bool,
}

impl Tuning {
    pub(crate) fn options(&self) -> EngineOptions {
        EngineOptions {
            graph_optimisation: self.graph_optimization,
            inter_threads: self.inter_op_threads,
            hint: self.hint,
            compile: self.compile.clone(),
            settings: self.settings.iter().cloned().collect(),
            allow_pickle: self.allow_pickle,
        }
    }
}
