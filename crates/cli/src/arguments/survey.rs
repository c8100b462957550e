//! The arguments of `analyze` and `recommend`.

use super::{
    ModeArgument,
    since::{Since, parse_since},
    trend::parse_small,
};
use clap::Args;
use modelmeter::{
    Device, Precision, analysis,
    types::{Bytes, Objective, Slo},
};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    visible_alias = "analyse",
    after_help = "Runs of one model, machine, device, engine, precision and batch are pooled: the newest valid ones, at most 8. Nothing is\nmeasured. What the columns mean and how they are computed: docs/ANALYSIS.md\n\nExit codes: 0 fine, 2 asked wrongly, 4 no valid run answers the question; with `--regression-alert` 1 a cell is slower,\n4 it cannot be told\n\nExamples:\n  modelmeter analyze\n  modelmeter analyze distilbert-base-uncased --device cuda\n  modelmeter analyze --engine onnxruntime,rten --precision fp32 --since 7d\n  modelmeter analyze --output analysis.csv\n  modelmeter analyze --compare-to analysis.csv --regression-alert 10%\n  modelmeter analyze bert --json | jq '.cells[].speed_up_over_cpu'"
)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,
    /// Hold the cells against those of a CSV that `analyze --output` or `db export` wrote
    #[arg(
        long,
        value_name = "FILE.csv",
        conflicts_with = "include_invalid",
        help_heading = "Against a file"
    )]
    pub(crate) compare_to: Option<PathBuf>,
    /// Exit with 1 where a cell is slower than in the file by more than this, for sure: 0.1, 10%
    #[arg(long, value_name = "SHARE", requires = "compare_to", value_parser = parse_small, help_heading = "Against a file")]
    pub(crate) regression_alert: Option<f64>,
    /// How far this machine drifts between sessions [default: what the cell's history shows, else 30%]
    #[arg(long, value_name = "SHARE", requires = "compare_to", value_parser = parse_small, help_heading = "Against a file")]
    pub(crate) allowance: Option<f64>,

    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Chosen among valid runs that were measured here; runs of other tools count with `--imported`. How ties and limits\nare decided: docs/ANALYSIS.md\n\nPrices are a TOML file with what an hour costs:\n  currency = \"EUR\"\n  [devices]\n  cpu = 0.10\n  cuda = 2.50\n  [machines]\n  bench = 1.20        # the whole machine\n  gpu1.cuda = 3.10    # this device of this machine\n\nExit codes: 0 fine, 2 asked wrongly, 4 nothing that was measured will do\n\nExamples:\n  modelmeter recommend distilbert-base-uncased\n  modelmeter recommend --all --objective latency --device cpu\n  modelmeter recommend bert-base-uncased --slo p95:50ms --memory-limit 2GB\n  modelmeter recommend --all --objective cost --prices prices.toml --output advice.md\n  modelmeter recommend resnet50 --json | jq '.recommendations[].best.cell'"
)]
pub(crate) struct Recommend {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,
    /// Every model that has runs, which is also what no model means
    #[arg(long, conflicts_with_all = ["models", "model_flag"], help_heading = "Which runs")]
    pub(crate) all: bool,

    /// What shall be best: latency, throughput, memory, energy, cost [default: throughput, or cost with --prices]
    #[arg(long, value_name = "WHAT", help_heading = "What is wished for")]
    pub(crate) objective: Option<Objective>,
    /// A percentile of the latency that must hold: p95:50ms, median:1s; may be repeated
    #[arg(long, value_name = "PERCENTILE:TIME", value_parser = parse_slo, help_heading = "What is wished for")]
    pub(crate) slo: Vec<Slo>,
    /// The most memory that may be used: 2GB, 1.5GiB, 2048 (MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, help_heading = "What is wished for")]
    pub(crate) memory_limit: Option<Bytes>,
    /// What an hour of machines and devices costs
    #[arg(long, value_name = "FILE.toml", help_heading = "What is wished for")]
    pub(crate) prices: Option<PathBuf>,
    /// Results of other tools may be recommended too
    #[arg(long, help_heading = "What is wished for")]
    pub(crate) imported: bool,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Which runs are looked at together; none given means all. Several values are separated by commas.
#[derive(Debug, Clone, Args)]
pub(crate) struct SurveyArguments {
    /// Models: a name, a part of one, or a pattern with * and ?
    #[arg(value_name = "MODEL", help_heading = "Which runs")]
    pub(crate) models: Vec<String>,
    /// The same as MODEL
    #[arg(
        long = "model",
        value_delimiter = ',',
        value_name = "MODEL,…",
        hide_short_help = true,
        help_heading = "Which runs"
    )]
    pub(crate) model_flag: Vec<String>,
    /// Only these devices
    #[arg(
        long,
        short,
        alias = "devices",
        value_delimiter = ',',
        value_name = "DEVICE,…",
        help_heading = "Which runs"
    )]
    pub(crate) device: Vec<Device>,
    /// Only these engines
    #[arg(
        long,
        short,
        alias = "engines",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "Which runs"
    )]
    pub(crate) engine: Vec<String>,
    /// Only these number formats
    #[arg(
        long,
        short,
        alias = "precisions",
        value_delimiter = ',',
        value_name = "PRECISION,…",
        help_heading = "Which runs"
    )]
    pub(crate) precision: Vec<Precision>,
    /// Only these batch sizes
    #[arg(
        long,
        short,
        alias = "batch-sizes",
        value_delimiter = ',',
        value_name = "N,…",
        help_heading = "Which runs"
    )]
    pub(crate) batch_size: Vec<u64>,
    /// Only these lengths
    #[arg(
        long,
        short = 'l',
        aliases = ["sequence-lengths", "seq-length"],
        value_delimiter = ',',
        value_name = "N,…",
        help_heading = "Which runs"
    )]
    pub(crate) sequence_length: Vec<u64>,
    /// Only inference, or only training
    #[arg(
        long,
        alias = "modes",
        value_enum,
        value_delimiter = ',',
        value_name = "MODE,…",
        help_heading = "Which runs"
    )]
    pub(crate) mode: Vec<ModeArgument>,
    /// Only these machines: host names, or beginnings of their keys
    #[arg(
        long,
        alias = "machines",
        value_delimiter = ',',
        value_name = "MACHINE,…",
        help_heading = "Which runs"
    )]
    pub(crate) machine: Vec<String>,
    /// Only runs with this label
    #[arg(long, value_name = "TAG", help_heading = "Which runs")]
    pub(crate) tag: Option<String>,
    /// Only runs of the last TIME (2h, 7d), or since a day: 2026-11-01
    #[arg(long, value_name = "TIME|DATE", value_parser = parse_since, help_heading = "Which runs")]
    pub(crate) since: Option<Since>,
    /// Show cells without a valid run too, from runs that are not valid, and mark them
    #[arg(long, help_heading = "Which runs")]
    pub(crate) include_invalid: bool,
}

/// What is written, and where to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Form {
    /// As JSON
    #[arg(long, conflicts_with_all = ["csv", "markdown"], help_heading = "Where to")]
    pub(crate) json: bool,
    /// As CSV
    #[arg(long, conflicts_with = "markdown", help_heading = "Where to")]
    pub(crate) csv: bool,
    /// As Markdown
    #[arg(long, visible_alias = "md", help_heading = "Where to")]
    pub(crate) markdown: bool,
    /// Write to this file, in the format of its ending: .json, .csv, .md; `-` is standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Where to")]
    pub(crate) output: Option<PathBuf>,
}

fn parse_slo(text: &str) -> Result<Slo, String> {
    analysis::parse_slo(text).map_err(spell)
}

fn parse_memory(text: &str) -> Result<Bytes, String> {
    analysis::parse_memory(text).map_err(spell)
}

fn spell(error: analysis::LimitError) -> String {
    format!("{error}; {}", error.hint())
}
