//! The arguments of `bench`.

use super::{
    BatchSizes, DevicesArgument, EnginesArgument, LimitArguments, Offline, PrecisionsArgument,
    Processes, ResultOutput, Sampling, Seed, Tags, ThreadCounts, Timeout, TrainingArguments,
    Tuning, values::parse_time,
};
use crate::candidates;
use clap::Args;
use clap_complete::ArgValueCompleter;
use modelmeter::Shard;
use std::{path::PathBuf, time::Duration};

const AFTER: &str = "\
Exit codes: 0 measured, 2 usage error, 3 a cell failed, 130 interrupted

Examples:
  modelmeter bench distilbert-base-uncased --batch-sizes 1,8,16
  modelmeter bench --category vision --precisions fp32,int8 --engines onnxruntime,openvino
  modelmeter bench nightly.toml --compare
  modelmeter bench nightly.toml --resume
  modelmeter bench nightly.toml --shard 2/8 --db shard2.db
  modelmeter bench nightly.toml --explore 20m
  modelmeter bench nightly.toml --dry-run";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("engines", |arg| arg.help(format!("Engines: {} [default: all that are available]", candidates::engine_names()))),
    mut_arg("devices", |arg| arg.help("Devices; `auto` is each engine's best [default: all that an engine can use]")),
    mut_arg("batch_sizes", |arg| arg.short('b').aliases(["batch-size", "batch"])),
    mut_arg("thread_counts", |arg| arg.long("threads").short('t').alias("thread-counts")),
    mut_arg("seed", |arg| arg.help("Seed of random weights, inputs and the order of cells [default: 0]")),
    mut_arg("processes", |arg| arg.help("Number of fresh processes per cell [default: 3]")),
    mut_arg("runs", |arg| arg.help("Number of samples per process")),
    mut_arg("duration", |arg| arg.help("Sampling time per process: 10s, 3m [default: 3s to 30s]"))
)]
pub(crate) struct Bench {
    /// Plan (a .toml file, see docs/PLANS.md; options replace its settings), or models
    #[arg(display_order = 0, value_name = "PLAN.toml|MODEL", help_heading = "Workload", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) subjects: Vec<String>,
    /// Models, as for `profile`; may be repeated
    #[arg(long, value_delimiter = ',', value_name = "MODEL,…", help_heading = "Workload", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) model: Vec<String>,
    /// All models of a category: text, generation, vision, audio, multimodal, reference
    #[arg(long, value_delimiter = ',', value_name = "CATEGORY,…", help_heading = "Workload")]
    pub(crate) category: Vec<String>,
    /// All models that are known by name
    #[arg(long, help_heading = "Workload")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) batch: BatchSizes,
    /// Sequence lengths [default: 128]
    #[arg(
        long,
        short = 'l',
        aliases = ["sequence-length", "seq-length", "seq-len"],
        value_delimiter = ',',
        value_name = "N,…",
        help_heading = "Workload"
    )]
    pub(crate) sequence_lengths: Vec<usize>,
    #[command(flatten)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) hub: Offline,
    /// Measure training as well as inference
    #[arg(long, aliases = ["training", "train"], help_heading = "Workload")]
    pub(crate) training_mode: bool,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,

    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) devices: DevicesArgument,
    #[command(flatten)]
    pub(crate) precisions: PrecisionsArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadCounts,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    #[command(flatten)]
    pub(crate) memory: LimitArguments,

    #[command(flatten)]
    pub(crate) processes: Processes,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    /// How often a disturbed process is repeated at the end [default: 2]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) repeats: Option<u32>,

    /// Maximum number of cells: the first of the plan
    #[arg(long, value_name = "N", help_heading = "Plan")]
    pub(crate) limit: Option<usize>,
    /// Continue this plan, and measure cells without a valid run again
    #[arg(long, conflicts_with = "again", help_heading = "Plan")]
    pub(crate) resume: bool,
    /// Measure every cell again
    #[arg(long, help_heading = "Plan")]
    pub(crate) again: bool,
    /// Measure failed cells again
    #[arg(long, help_heading = "Plan")]
    pub(crate) retry_failed: bool,
    /// Part of the plan: 2/8 is the second of eight [default: from a Slurm array or an indexed Kubernetes job]
    #[arg(long, value_name = "I/N", help_heading = "Plan")]
    pub(crate) shard: Option<Shard>,
    /// Another machine to measure on, by ssh; runs are stored here
    #[arg(long, value_name = "USER@HOST", help_heading = "Plan")]
    pub(crate) host: Option<String>,
    /// Path of `modelmeter` on that machine
    #[arg(
        long,
        value_name = "PATH",
        default_value = "modelmeter",
        requires = "host",
        help_heading = "Plan"
    )]
    pub(crate) host_program: String,
    /// Time after which a cell of an unresponsive process is given to another one
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time, help_heading = "Plan")]
    pub(crate) lease: Duration,
    /// Measure for so long the cells that say most of the others, and predict the rest: 10m
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["host", "shard", "resume", "again", "dry_run", "compare"], help_heading = "Plan")]
    pub(crate) explore: Option<Duration>,
    /// List the cells; measure nothing
    #[arg(long, help_heading = "Plan")]
    pub(crate) dry_run: bool,

    /// Compare the cells at the end, as `analyze` does
    #[arg(long, help_heading = "Output")]
    pub(crate) compare: bool,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Newest numbers for Prometheus, in the format of node_exporter's textfile collector
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) prometheus: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) tags: Tags,
}
