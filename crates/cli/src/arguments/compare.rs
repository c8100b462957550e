//! The arguments of `compare`.

use super::{
    BatchSizes, DevicesArgument, EnginesArgument, GenerationArguments, Given, Origin,
    PrecisionsArgument, Processes, ResultOutput, SampleCounts, ServerArguments, StoreArguments,
    ThreadCounts, ThreadsArgument, Timeout, TrainingArguments, Tuning, Turns, Workload,
    result_output::output_help, values::parse_engine,
};
use crate::{Exit, Failure, candidates};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use modelmeter::Mode;
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes: 0 compared, 1 outputs differ, 2 usage error, 3 not supported on this machine,
4 outputs cannot be judged

Examples:
  modelmeter compare distilbert-base-uncased --engines onnxruntime,torch,rten
  modelmeter compare bert-base-uncased --engines onnxruntime --precisions fp32,int8
  modelmeter compare bert-base-uncased --engines rten --batch-sizes 1,4,16
  modelmeter compare before.onnx after.onnx --engines onnxruntime
  modelmeter compare bert-base-uncased --engines onnxruntime,torch --by layer
  modelmeter compare distilbert-base-uncased --modes inference,training --batch-sizes 1,4
  modelmeter compare --model distilbert-base-uncased --batch-size 4 --num-runs 20 --output auto
  modelmeter compare http://127.0.0.1:8080 http://127.0.0.1:8081
  modelmeter compare 7f3a 81c0";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("engines", |arg| arg
        .default_value("all")
        .help(format!("Engines: {}, or `all` that run the model here", candidates::engine_names()))),
    mut_arg("devices", |arg| arg.default_value("auto")),
    mut_arg("batch_sizes", |arg| arg
        .conflicts_with("batch_size")
        .help("Batch sizes to compare; times are then per sample")),
    mut_arg("thread_counts", |arg| arg.conflicts_with("threads").help("Numbers of threads to compare")),
    mut_arg("processes", |arg| arg
        .help("Exactly so many fresh processes per side [default: until it is answered, at most 8]")),
    mut_arg("turns", |arg| arg
        .help("Number of interleaved turns per side and process [default: 2; 4 with --processes or --runs]")),
    mut_arg("turn", |arg| arg.default_value("500ms")),
    mut_arg("runs", |arg| arg.help("Number of samples per side, spread over processes and turns"))
)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Models as for `profile`, two or more stored runs, or two addresses of servers [default: distilbert-base-uncased]
    #[arg(display_order = 0, value_name = "MODEL|RUN", help_heading = "Workload", add = ArgValueCompleter::new(candidates::models_and_runs))]
    pub(crate) subjects: Vec<String>,
    /// Same as MODEL
    #[arg(long = "model", value_name = "MODEL", hide_short_help = true, help_heading = "Workload", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) model_flag: Vec<String>,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) batch: BatchSizes,
    #[command(flatten)]
    pub(crate) origin: Origin,
    /// Modes: inference, generate, training; two to compare a training step with an inference
    #[arg(
        long,
        alias = "mode",
        value_enum,
        default_value = "inference",
        value_delimiter = ',',
        value_name = "MODE,…",
        help_heading = "Workload"
    )]
    pub(crate) modes: Vec<ModeArgument>,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,
    #[command(flatten)]
    pub(crate) generation: GenerationArguments,

    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) devices: DevicesArgument,
    #[command(flatten)]
    pub(crate) precisions: PrecisionsArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) thread_counts: ThreadCounts,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Baseline of the comparison: an engine, precision, device or model [default: torch, else the first]
    #[arg(long, value_name = "NAME", value_parser = parse_engine, help_heading = "Comparison")]
    pub(crate) baseline: Option<String>,
    /// Compare layer by layer instead of end to end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Comparison")]
    pub(crate) by: Option<By>,
    #[command(flatten)]
    pub(crate) server: ServerArguments,

    #[command(flatten)]
    pub(crate) processes: Processes,
    #[command(flatten)]
    pub(crate) turns: Turns,
    #[command(flatten)]
    pub(crate) counts: SampleCounts,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    #[arg(
        long,
        short,
        value_name = "FILE",
        help = output_help(&[]) + "; `auto` chooses a name",
        help_heading = "Output"
    )]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) result: ResultOutput,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// What a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArgument {
    /// Forward only
    Inference,
    /// Forward, loss, backward and optimiser
    Training,
    /// A language model reads a prompt and writes token by token
    Generate,
    /// Named here so that who asks for it is told which command has it
    #[value(hide = true)]
    Load,
}

/// What a sample of a stored run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeFilter {
    /// Forward only
    Inference,
    /// Forward, loss, backward and optimiser
    Training,
    /// A language model reads a prompt and writes token by token
    Generate,
    /// Requests to a server, or to a model in a worker
    Load,
}

impl From<ModeFilter> for Mode {
    fn from(mode: ModeFilter) -> Mode {
        match mode {
            ModeFilter::Inference => Mode::Inference,
            ModeFilter::Training => Mode::Training,
            ModeFilter::Generate => Mode::Generate,
            ModeFilter::Load => Mode::Load,
        }
    }
}

/// The usage error where a command that measures is asked for a load.
pub(crate) fn load_is_apart() -> Failure {
    Failure::new(Exit::Wrong, "`--modes load`: this command does not send requests")
        .hint("`modelmeter load MODEL` or `modelmeter load ADDRESS` does")
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The parts of the model
    Layer,
}
