//! The arguments of `fit`.

use super::{
    DeviceArgument, EnginesArgument, Inputs, ModeArguments, ModelArguments, NoStore, Origin,
    OutputFile, PrecisionsArgument, ResultOutput, Sampling, ThreadsArgument, Timeout, Tuning,
    limit::{LimitMeans, parse_mebibytes},
};
use crate::candidates;
use clap::Args;
use modelmeter::Bytes;

const AFTER: &str = "\
Exit codes: 0 found, 2 usage error, 3 nothing fits or not supported on this machine,
4 found, but the numbers are not valid

Examples:
  modelmeter fit distilbert-base-uncased --memory-constrained 2048
  modelmeter fit gpt2 --memory-constrained 1GiB --precision fp32,int8 --sequence-length 256
  modelmeter fit resnet50 --memory-constrained 512 --engines onnxruntime,openvino,rten
  modelmeter fit model.onnx --memory-constrained 300 --max-batch 16 --limit-by rlimit
  modelmeter fit model.gguf --memory-limit 2048 --modes generate --depth 1024
  modelmeter fit small-transformer --memory-constrained 200 --json | jq '.best.command'";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg.required_unless_present_any(["model_flag", "torch_module"])),
    mut_arg("engines", |arg| arg
        .help(format!("Engines to try: {} [default: the first that runs the model]", candidates::engine_names()))),
    mut_arg("precisions", |arg| arg
        .help("Precisions to try: fp32, fp16, bf16, int8 [default: all that the engine supports]")),
    mut_arg("runs", |arg| arg.help("Number of samples of the best setting"))
)]
pub(crate) struct Fit {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) mode: ModeArguments,
    /// Longest text to try, in tokens [default: 8192, or what the model allows]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) max_context: Option<usize>,
    #[command(flatten)]
    pub(crate) origin: Origin,
    /// Largest batch size to try
    #[arg(long, default_value_t = 256, value_name = "N", help_heading = "Workload")]
    pub(crate) max_batch: usize,

    /// Memory limit in MiB, on the device if it has its own memory
    #[arg(long, value_name = "MIB", alias = "memory-limit", value_parser = parse_mebibytes, help_heading = "Engine")]
    pub(crate) memory_constrained: Bytes,
    #[command(flatten)]
    pub(crate) limit: LimitMeans,
    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) device: DeviceArgument,
    #[command(flatten)]
    pub(crate) precisions: PrecisionsArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    #[command(flatten)]
    pub(crate) sampling: Sampling,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
    #[command(flatten)]
    pub(crate) store: NoStore,
}
