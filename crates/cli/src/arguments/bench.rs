//! The arguments of `bench`.

use super::{LimitArguments, TrainingArguments, Tuning, parse_share, parse_time};
use clap::Args;
use modelmeter::{Device, Precision, Shard};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "Every combination is a cell; each is measured by several fresh processes, in random order. A cell that crashes,\nhangs or runs out of memory is kept with its reason, and the rest goes on. Ctrl-C ends after the running cell, a\nsecond one at once; the same command goes on where it stopped. docs/PLANS.md has the plan's settings, docs/FLEET.md\nhow machines share a plan.\n\nExit codes: 0 measured, 2 a model is unknown or the plan is wrong, 3 a cell failed, 130 stopped\n\nExamples:\n  modelmeter bench --model distilbert-base-uncased --batch-sizes 1,8,16\n  modelmeter bench --category vision --precision fp32,int8 --engines onnxruntime,openvino\n  modelmeter bench nightly.toml --compare\n  modelmeter bench nightly.toml --resume\n  modelmeter bench nightly.toml --shard 2/8 --db shard2.db\n  modelmeter bench nightly.toml --dry-run"
)]
pub(crate) struct Bench {
    /// A plan: what to measure, in TOML; options given here replace its settings
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: Option<PathBuf>,

    /// The models, as for `profile`; may be repeated
    #[arg(long, value_delimiter = ',', value_name = "MODEL,…", help_heading = "What to run")]
    pub(crate) model: Vec<String>,
    /// All models of a category: text, generation, vision, audio, multimodal, reference
    #[arg(long, value_delimiter = ',', value_name = "CATEGORY,…", help_heading = "What to run")]
    pub(crate) category: Vec<String>,
    /// All models that are known by name
    #[arg(long, help_heading = "What to run")]
    pub(crate) all: bool,
    /// The engines [default: all that are here]
    #[arg(
        long,
        short,
        alias = "engine",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "What to run"
    )]
    pub(crate) engines: Vec<String>,
    /// The devices; `auto` for each engine's best [default: all that an engine can use]
    #[arg(
        long,
        short,
        visible_alias = "hardware",
        value_delimiter = ',',
        value_name = "DEVICE,…",
        help_heading = "What to run"
    )]
    pub(crate) device: Vec<Device>,
    /// The number formats [default: the model's own]
    #[arg(
        long,
        short,
        alias = "precisions",
        value_delimiter = ',',
        value_name = "PRECISION,…",
        help_heading = "What to run"
    )]
    pub(crate) precision: Vec<Precision>,
    /// Samples in one inference [default: 4, or what the file fixes]
    #[arg(
        long,
        short,
        alias = "batch-size",
        value_delimiter = ',',
        value_name = "N,…",
        help_heading = "What to run"
    )]
    pub(crate) batch_sizes: Vec<usize>,
    /// Tokens in each sample [default: 128]
    #[arg(
        long,
        short = 'l',
        alias = "sequence-length",
        value_delimiter = ',',
        value_name = "N,…",
        help_heading = "What to run"
    )]
    pub(crate) sequence_lengths: Vec<usize>,
    /// Threads the engines may use [default: the physical cores]
    #[arg(long, short, value_delimiter = ',', value_name = "N,…", help_heading = "What to run")]
    pub(crate) threads: Vec<u32>,
    /// Train as well as infer
    #[arg(long, alias = "training", help_heading = "What to run")]
    pub(crate) training_mode: bool,
    /// Only so many cells: the first of the plan
    #[arg(long, value_name = "N", help_heading = "What to run")]
    pub(crate) limit: Option<usize>,
    /// Seed of weights, inputs and the order
    #[arg(long, value_name = "N", help_heading = "What to run")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) memory: LimitArguments,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Never ask the hub
    #[arg(long, help_heading = "Where from")]
    pub(crate) offline: bool,

    /// Fresh processes that measure each cell [default: 3]
    #[arg(long, value_name = "N", help_heading = "How long")]
    pub(crate) processes: Option<u32>,
    /// Take exactly so many samples in each process
    #[arg(
        long,
        short = 'n',
        alias = "num-runs",
        value_name = "N",
        conflicts_with = "duration",
        help_heading = "How long"
    )]
    pub(crate) runs: Option<u64>,
    /// Warm up for exactly so many runs [default: until it settles]
    #[arg(long, short = 'w', alias = "warmup-runs", value_name = "N", help_heading = "How long")]
    pub(crate) warmup: Option<u64>,
    /// Sample for so long in each process [default: 3s to 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) duration: Option<Duration>,
    /// Stop when the median is known to this share: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "How long")]
    pub(crate) target_error: Option<f64>,
    /// The longest a worker may stay silent: then the cell hangs and is given up [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) timeout: Option<Duration>,

    /// How often a process that was disturbed by other work, stolen time, throttling or a shared device is repeated at the end [default: 2]
    #[arg(long, value_name = "N", help_heading = "How long")]
    pub(crate) repeats: Option<u32>,

    /// Go on with this plan, and measure cells without a valid run once more
    #[arg(long, conflicts_with = "again", help_heading = "Which part")]
    pub(crate) resume: bool,
    /// Measure every cell once more
    #[arg(long, help_heading = "Which part")]
    pub(crate) again: bool,
    /// Try cells once more that failed
    #[arg(long, help_heading = "Which part")]
    pub(crate) retry_failed: bool,
    /// Only the second of eight parts: 2/8 [default: what a Slurm array or an indexed job of Kubernetes says]
    #[arg(long, value_name = "I/N", help_heading = "Which part")]
    pub(crate) shard: Option<Shard>,
    /// Measure on another machine by ssh, and store here
    #[arg(long, value_name = "USER@HOST", help_heading = "Which part")]
    pub(crate) host: Option<String>,
    /// Where `modelmeter` is on that machine
    #[arg(
        long,
        value_name = "PATH",
        default_value = "modelmeter",
        requires = "host",
        help_heading = "Which part"
    )]
    pub(crate) host_program: String,
    /// How long a cell stays with a process that gives no sign of life
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time, help_heading = "Which part")]
    pub(crate) lease: Duration,
    /// Say what would be measured, and measure nothing
    #[arg(long, help_heading = "Which part")]
    pub(crate) dry_run: bool,

    /// Put the cells side by side when it ends, as `analyze` does
    #[arg(long, help_heading = "Where to")]
    pub(crate) compare: bool,
    /// Write where the plan stands as JSON; `-` is standard output
    #[arg(long, visible_alias = "output-ci", value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Write the newest numbers for Prometheus, as node_exporter's textfile collector reads them
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) prometheus: Option<PathBuf>,
    /// Label the stored runs; may be repeated
    #[arg(long, value_name = "TAG", help_heading = "Where to")]
    pub(crate) tag: Vec<String>,
}
