//! The arguments of `analyze` and `recommend`.

use super::{
    ModeFilter, OutputFile, ResultOutput,
    since::{Since, parse_since},
    values::{parse_engine, parse_small},
};
use crate::candidates;
use clap::Args;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use modelmeter::{Device, Precision};
use std::path::PathBuf;
use types::{Bytes, Objective, Slo};

const AFTER_ANALYZE: &str = "\
Exit codes: 0 fine, 2 usage error, 4 no valid run;
with `--regression-alert` 1 a cell is slower, 4 cannot tell

Examples:
  modelmeter analyze
  modelmeter analyze distilbert-base-uncased --device cuda
  modelmeter analyze --engine onnxruntime,rten --precision fp32 --since 7d
  modelmeter analyze --output analysis.csv
  modelmeter analyze --compare-to analysis.csv --regression-alert 10%
  modelmeter analyze bert --json | jq '.cells[].speed_up_over_cpu'";

const AFTER_RECOMMEND: &str = "\
Prices are a TOML file with the cost of an hour:
  currency = \"EUR\"
  [devices]
  cpu = 0.10
  cuda = 2.50
  [machines]
  bench = 1.20        # the whole machine
  gpu1.cuda = 3.10    # this device of this machine

Exit codes: 0 fine, 2 usage error, 4 no stored run meets the limits

Examples:
  modelmeter recommend distilbert-base-uncased
  modelmeter recommend --all --objective latency --device cpu
  modelmeter recommend bert-base-uncased --slo p95:50ms --memory-limit 2GB
  modelmeter recommend --all --objective cost --prices prices.toml --output advice.md
  modelmeter recommend resnet50 --json | jq '.recommendations[].best.cell'";

#[derive(Debug, Args)]
#[command(visible_alias = "analyse", after_help = AFTER_ANALYZE)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,
    /// Earlier cells to compare with: a CSV file of `analyze --output` or `db export`
    #[arg(
        long,
        value_name = "FILE.csv",
        conflicts_with = "include_invalid",
        help_heading = "Gate"
    )]
    pub(crate) compare_to: Option<PathBuf>,
    /// Exit with 1 if a cell is slower than in the file by more than this: 0.1, 10%
    #[arg(long, value_name = "SHARE", requires = "compare_to", value_parser = parse_small, help_heading = "Gate")]
    pub(crate) regression_alert: Option<f64>,
    /// Drift of this machine between sessions [default: from the cell's history, else 30%]
    #[arg(long, value_name = "SHARE", requires = "compare_to", value_parser = parse_small, help_heading = "Gate")]
    pub(crate) allowance: Option<f64>,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_RECOMMEND)]
pub(crate) struct Recommend {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,
    /// All models with stored runs, the default without MODEL
    #[arg(long, conflicts_with_all = ["models", "model_flag"], help_heading = "Filter")]
    pub(crate) all: bool,
    /// Include results that were imported from other tools
    #[arg(long, help_heading = "Filter")]
    pub(crate) imported: bool,
    /// Also show what is predicted of configurations that were not measured
    #[arg(long, help_heading = "Objective")]
    pub(crate) with_predictions: bool,

    /// Objective: latency, throughput, memory, energy, cost [default: throughput, or cost with --prices]
    #[arg(long, value_name = "WHAT", help_heading = "Objective")]
    pub(crate) objective: Option<Objective>,
    /// Latency limit at a percentile: p95:50ms, median:1s; may be repeated
    #[arg(long, value_name = "PERCENTILE:TIME", value_parser = parse_slo, help_heading = "Objective")]
    pub(crate) slo: Vec<Slo>,
    /// Requests per second, with --slo: also how many replicas that takes
    #[arg(long, value_name = "N/s", value_parser = super::load::parse_rate, requires = "slo", help_heading = "Objective")]
    pub(crate) rate: Option<f64>,
    /// Memory limit: 2GB, 1.5GiB, 2048 (MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, help_heading = "Objective")]
    pub(crate) memory_limit: Option<Bytes>,
    /// Cost of an hour by machine and device
    #[arg(long, value_name = "FILE.toml", help_heading = "Objective")]
    pub(crate) prices: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
}

/// Which runs are looked at together; none given means all. Several values are separated by commas.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct SurveyArguments {
    /// Models: a name, a part of one, or a pattern with * and ?
    #[arg(display_order = 0, value_name = "MODEL", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) models: Vec<String>,
    /// Same as MODEL
    #[arg(
        long = "model",
        value_delimiter = ',',
        value_name = "MODEL,…",
        hide_short_help = true,
        add = ArgValueCompleter::new(candidates::models)
    )]
    pub(crate) model_flag: Vec<String>,
    /// Devices
    #[arg(
        long,
        short,
        alias = "devices",
        value_delimiter = ',',
        value_name = "DEVICE,…",
        add = ArgValueCandidates::new(candidates::devices)
    )]
    pub(crate) device: Vec<Device>,
    /// Engines
    #[arg(
        long,
        short,
        aliases = ["engines", "backend", "backends"],
        value_delimiter = ',',
        value_name = "ENGINE,…",
        value_parser = parse_engine,
        add = ArgValueCandidates::new(candidates::engines)
    )]
    pub(crate) engine: Vec<String>,
    /// Precisions
    #[arg(
        long,
        short,
        aliases = ["precisions", "dtype", "dtypes"],
        value_delimiter = ',',
        value_name = "PRECISION,…",
        add = ArgValueCandidates::new(candidates::precisions)
    )]
    pub(crate) precision: Vec<Precision>,
    /// Batch sizes
    #[arg(
        long,
        short,
        aliases = ["batch-sizes", "batch"],
        value_delimiter = ',',
        value_name = "N,…"
    )]
    pub(crate) batch_size: Vec<u64>,
    /// Sequence lengths
    #[arg(
        long,
        short = 'l',
        aliases = ["sequence-lengths", "seq-length", "seq-len"],
        value_delimiter = ',',
        value_name = "N,…"
    )]
    pub(crate) sequence_length: Vec<u64>,
    /// Modes: inference, training, generate or load
    #[arg(long, alias = "modes", value_enum, value_delimiter = ',', value_name = "MODE,…")]
    pub(crate) mode: Vec<ModeFilter>,
    /// Machines: host names, or beginnings of their keys
    #[arg(long, alias = "machines", value_delimiter = ',', value_name = "MACHINE,…")]
    pub(crate) machine: Vec<String>,
    /// Label
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Age (2h, 7d) or date (2026-11-01) of the oldest run
    #[arg(long, value_name = "TIME|DATE", value_parser = parse_since)]
    pub(crate) since: Option<Since>,
    /// Include cells that have only invalid runs, and mark them
    #[arg(long)]
    pub(crate) include_invalid: bool,
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
