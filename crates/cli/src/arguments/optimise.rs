//! The arguments of `prune`, `quantize` and `optimize`.

use super::{
    DeviceArgument, EnginesArgument, ModelArguments, NoStore, Origin, Processes, ResultOutput,
    ThreadsArgument, Timeout, Tuning, TurnTime, Workload, values::parse_share,
};
use clap::{Args, ValueEnum};
use modelmeter::Precision;
use std::path::PathBuf;

const AFTER_PRUNE: &str = "\
Exit codes: 0 pruned (the result says whether it is faster), 2 usage error,
3 not supported on this machine, 4 pruned, but cannot tell whether it is faster

Examples:
  modelmeter prune bert-base-uncased --method structured --sparsity 30% -o bert-small
  modelmeter prune ./all-MiniLM-L6-v2 --method magnitude --sparsity 0.5 -o sparse --text-file sentences.txt
  modelmeter prune gpt2 --method n-m --pattern 2:4 --exclude '*c_proj*' -o gpt2-2-4 --no-proof
  modelmeter prune ./all-MiniLM-L6-v2 --sparsity 0.6 --schedule gradual --steps 4 --calibrate sentences.txt -o gradual
  modelmeter prune exported.onnx --method structured --sparsity 0.2 -o small --engines onnxruntime";

const AFTER_QUANTIZE: &str = "\
Exit codes: 0 quantised (the result says whether it is faster), 2 usage error,
3 not supported on this machine, 4 quantised, but cannot tell whether it is faster

Examples:
  modelmeter quantize bert-base-uncased --to int8 --per-channel -o bert-int8
  modelmeter quantize ./all-MiniLM-L6-v2 --to int8 --calibrate sentences.txt -o minilm-static
  modelmeter quantize gpt2 --to int8 --weights-only -o gpt2-w8 --engines onnxruntime
  modelmeter quantize bert-base-uncased --to bf16 -o bert-bf16";

const AFTER_OPTIMIZE: &str = "\
Exit codes: 0 searched (the result says whether anything helped), 2 usage error,
3 not supported on this machine, 4 cannot tell, and nothing was written

Examples:
  modelmeter optimize bert-base-uncased --target latency --max-drift 0.01 -o best
  modelmeter optimize ./all-MiniLM-L6-v2 --target size --text-file sentences.txt -o smallest
  modelmeter optimize ./all-MiniLM-L6-v2 --calibrate sentences.txt --max-drift 5% -o best
  modelmeter optimize gpt2 --target memory --engine onnxruntime --json - | jq .best.command";

/// How weights are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArgument {
    /// Set the smallest values of each weight to zero
    Magnitude,
    /// Set the smallest values of all weights together to zero
    GlobalMagnitude,
    /// Remove heads and neurons: the model computes less
    Structured,
    /// Set all but the n largest of every m values to zero
    #[value(name = "n-m")]
    NM,
    /// Set random values to zero
    Random,
}

/// What is pruned too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlsoArgument {
    /// Embedding tables
    Embeddings,
    /// Scales and shifts of normalisation layers
    Norms,
}

/// In how many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleArgument {
    /// All at once
    OneShot,
    /// In steps, with new activation statistics after each step
    Gradual,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetArgument {
    /// Latency of an inference
    Latency,
    /// Peak memory of the process
    Memory,
    /// Size on disk
    Size,
}

/// Where a changed model goes, and what is told of it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PlaceArguments {
    /// Folder for the changed model
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace the folder if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Sizes only: no times, no comparison of outputs
    #[arg(long, help_heading = "Sampling")]
    pub(crate) no_proof: bool,
}

/// How a change is proved.
#[derive(Debug, Clone, Args)]
#[command(
    mut_arg("processes", |arg| arg
        .help("Exactly so many fresh processes per side [default: until it is answered, at most 6]")),
    mut_arg("turn", |arg| arg.default_value("400ms"))
)]
pub(crate) struct ProofArguments {
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) origin: Origin,
    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) device: DeviceArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    #[command(flatten)]
    pub(crate) processes: Processes,
    #[command(flatten)]
    pub(crate) turn: TurnTime,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) store: NoStore,
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_PRUNE, mut_arg("model", |arg| arg.required_unless_present("model_flag")))]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// Method that chooses the weights
    #[arg(
        long,
        short,
        value_enum,
        default_value = "magnitude",
        value_name = "METHOD",
        help_heading = "Pruning"
    )]
    pub(crate) method: MethodArgument,
    /// Sparsity: the share that is removed: 0.5, 50% [default: 0.5; n-m: from the pattern]
    #[arg(
        long,
        short,
        value_name = "SHARE",
        value_parser = parse_share,
        allow_negative_numbers = true,
        help_heading = "Pruning"
    )]
    pub(crate) sparsity: Option<f64>,
    /// n-m: pattern, keep n of every m
    #[arg(long, value_name = "N:M", value_parser = parse_pattern, help_heading = "Pruning")]
    pub(crate) pattern: Option<(usize, usize)>,
    /// Only weights and modules that match: `encoder.layer.0`, `*query*`; may be repeated
    #[arg(long, value_name = "GLOB", num_args = 1.., help_heading = "Pruning")]
    pub(crate) layers: Vec<String>,
    /// No weights and modules that match; may be repeated
    #[arg(long, value_name = "GLOB", num_args = 1.., help_heading = "Pruning")]
    pub(crate) exclude: Vec<String>,
    /// Weights that are pruned too
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "WHAT,…",
        help_heading = "Pruning"
    )]
    pub(crate) also: Vec<AlsoArgument>,
    /// Schedule
    #[arg(
        long,
        value_enum,
        default_value = "one-shot",
        value_name = "SCHEDULE",
        help_heading = "Pruning"
    )]
    pub(crate) schedule: ScheduleArgument,
    /// Number of steps of a gradual schedule
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Pruning")]
    pub(crate) steps: u32,
    /// Texts whose activations are taken into account, one per line
    #[arg(long, value_name = "FILE", help_heading = "Pruning")]
    pub(crate) calibrate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) proof: ProofArguments,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_QUANTIZE, mut_arg("model", |arg| arg.required_unless_present("model_flag")))]
pub(crate) struct Quantize {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// New precision: int8, fp16, bf16
    #[arg(long, aliases = ["precision", "dtype"], value_name = "PRECISION", help_heading = "Quantisation")]
    pub(crate) to: Precision,
    /// int8: one scale per column of a weight instead of one per weight
    #[arg(long, help_heading = "Quantisation")]
    pub(crate) per_channel: bool,
    /// int8: weights in int8, computation in floating point
    #[arg(long, help_heading = "Quantisation")]
    pub(crate) weights_only: bool,
    /// int8: texts that fix the ranges of activations, one per line
    #[arg(long, value_name = "FILE", help_heading = "Quantisation")]
    pub(crate) calibrate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) proof: ProofArguments,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_OPTIMIZE, mut_arg("model", |arg| arg.required_unless_present("model_flag")))]
pub(crate) struct Optimize {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// Target: what is minimised
    #[arg(
        long,
        value_enum,
        default_value = "latency",
        value_name = "WHAT",
        help_heading = "Search"
    )]
    pub(crate) target: TargetArgument,
    /// Maximum drift of the outputs: one minus the smallest cosine similarity of any output
    #[arg(long, default_value = "0.01", value_name = "SHARE", value_parser = parse_share, help_heading = "Search")]
    pub(crate) max_drift: f64,
    /// Texts whose activations are taken into account, one per line; also tries static int8
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub(crate) calibrate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) proof: ProofArguments,

    /// Folder for the best model [default: it is only named]
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the folder if it exists
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

fn parse_pattern(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once(':').and_then(|(n, m)| Some((n.parse().ok()?, m.parse().ok()?)));
    numbers.ok_or_else(|| format!("`{text}` is not a pattern; write n:m, such as 2:4"))
}
