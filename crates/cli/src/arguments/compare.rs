//! The arguments of `compare` and `engines`.

use super::{Origin, TrainingArguments, Tuning, Workload, parse_time};
use clap::{Args, Subcommand, ValueEnum};
use modelmeter::{Device, Mode, Precision};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter compare distilbert-base-uncased --engines onnxruntime,torch,rten\n  modelmeter compare bert-base-uncased --engines onnxruntime --precisions fp32,int8\n  modelmeter compare bert-base-uncased --engines rten --batch-sizes 1,4,16\n  modelmeter compare before.onnx after.onnx --engines onnxruntime\n  modelmeter compare bert-base-uncased --engines onnxruntime,torch --by layer\n  modelmeter compare distilbert-base-uncased --modes inference,training --batch-sizes 1,4\n  modelmeter compare --model distilbert-base-uncased --batch-size 4 --num-runs 20 --output auto\n  modelmeter compare 7f3a 81c0"
)]
pub(crate) struct Compare {
    /// Models as for `profile`, or two or more stored runs [default: distilbert-base-uncased]
    #[arg(value_name = "MODEL|RUN")]
    pub(crate) subjects: Vec<String>,
    /// The same as MODEL
    #[arg(long = "model", value_name = "MODEL", hide_short_help = true)]
    pub(crate) model_flag: Vec<String>,

    /// The engines, or `all` that can run it here
    #[arg(
        long,
        short,
        alias = "engine",
        default_value = "all",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "What to run"
    )]
    pub(crate) engines: Vec<String>,
    /// The devices
    #[arg(
        long,
        short,
        alias = "device",
        default_value = "auto",
        value_delimiter = ',',
        value_name = "DEVICE,…",
        help_heading = "What to run"
    )]
    pub(crate) devices: Vec<Device>,
    /// The number formats [default: the model's own]
    #[arg(
        long,
        short,
        alias = "precision",
        value_delimiter = ',',
        value_name = "PRECISION,…",
        help_heading = "What to run"
    )]
    pub(crate) precisions: Vec<Precision>,
    /// Whom the others are compared with: an engine, precision, device or model [default: torch, else the first]
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub(crate) baseline: Option<String>,
    /// Several batch sizes; times are then those of one sample
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        conflicts_with = "batch_size",
        help_heading = "What to run"
    )]
    pub(crate) batch_sizes: Vec<usize>,
    /// Several numbers of threads
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        conflicts_with = "threads",
        help_heading = "What to run"
    )]
    pub(crate) thread_counts: Vec<u32>,
    /// Inference, training, or what a step costs beside an inference
    #[arg(
        long,
        alias = "mode",
        value_enum,
        default_value = "inference",
        value_delimiter = ',',
        value_name = "MODE,…",
        help_heading = "What to run"
    )]
    pub(crate) modes: Vec<ModeArgument>,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Fresh processes for each side, one after the other
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "How long")]
    pub(crate) processes: u32,
    /// Turns of each side in one process, forward and backward in alternation
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "How long")]
    pub(crate) turns: u32,
    /// How long a turn lasts at least
    #[arg(long, default_value = "500ms", value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) turn: Duration,
    /// Samples of each side in all, spread evenly over processes and turns
    #[arg(long, short = 'n', alias = "num-runs", value_name = "N", help_heading = "How long")]
    pub(crate) runs: Option<u64>,
    /// Warm up for exactly so many runs [default: until it settles]
    #[arg(long, short = 'w', alias = "warmup-runs", value_name = "N", help_heading = "How long")]
    pub(crate) warmup: Option<u64>,
    /// The longest a worker may stay silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "How long")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Compare layer by layer instead of end to end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Where to")]
    pub(crate) by: Option<By>,
    /// Write to this file, in the format of its ending (.json, .csv); `auto` makes a name
    #[arg(long, short, value_name = "FILE", help_heading = "Where to")]
    pub(crate) output: Option<PathBuf>,
    /// Write the comparison as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Write the comparison as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) csv: Option<PathBuf>,
    /// Label the stored runs; may be repeated
    #[arg(long, value_name = "TAG", conflicts_with = "no_store", help_heading = "Where to")]
    pub(crate) tag: Vec<String>,
    /// Do not store the runs
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}

/// What a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArgument {
    /// Forward only
    Inference,
    /// Forward, loss, backward and optimiser
    Training,
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Mode {
        match mode {
            ModeArgument::Inference => Mode::Inference,
            ModeArgument::Training => Mode::Training,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The parts of the model
    Layer,
}

#[derive(Debug, Args)]
pub(crate) struct Engines {
    #[command(subcommand)]
    pub(crate) action: EnginesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnginesAction {
    /// List every engine, or why it is not available
    #[command(visible_alias = "ls")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch an engine into our own folder
    #[command(
        after_help = "Examples:\n  modelmeter engines install onnxruntime\n  modelmeter engines install onnxruntime --version 1.30.0"
    )]
    Install {
        /// The engine: onnxruntime
        #[arg(value_name = "ENGINE")]
        engine: String,
        /// This version instead of the newest
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
    },
}
