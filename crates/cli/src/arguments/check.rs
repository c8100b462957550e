//! The arguments of `check` and `noise`.

use super::{Origin, Tuning, Workload, parse_share, parse_time};
use clap::Args;
use modelmeter::{
    Device, Precision,
    types::{Gauge, Threshold},
};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "Limits hold for the processes that are measured now; a baseline is held against them. Best is `--against`, which lets\nboth take turns in one session: stored runs drift with the machine, and less than that is no alarm. It looks after a\nquarter, a half and all of the processes and stops when everything is settled. How: docs/CI.md\n\nExit codes: 0 held, 1 failed, 2 asked wrongly, 3 this machine cannot, 4 cannot tell (1 with `--strict`)\n\nExamples:\n  modelmeter check distilbert-base-uncased --threshold latency.p95:100ms --threshold memory.peak:2GB\n  modelmeter check model.onnx --threshold latency:100ms throughput:1000samples/s\n  modelmeter check new.onnx --against old.onnx --regression-alert 0.05\n  modelmeter check nightly.toml --against ./modelmeter-of-main --output-ci check.json --junit check.xml\n  modelmeter check model.onnx --baseline main --regression-alert 0.1\n  modelmeter check model.onnx --threshold latency:1s --save-baseline baseline.jsonl\n  modelmeter check --model-path models/latest --output-dir results --threshold latency:100ms throughput:1000samples/s"
)]
pub(crate) struct Check {
    /// A model as for `profile`, or a plan as for `bench`
    #[arg(value_name = "MODEL|PLAN.toml", required_unless_present = "model_flag")]
    pub(crate) subject: Option<String>,
    /// The same as MODEL
    #[arg(
        long = "model",
        value_name = "MODEL",
        visible_alias = "model-path",
        hide_short_help = true,
        conflicts_with = "subject"
    )]
    pub(crate) model_flag: Option<String>,

    /// A limit: latency.p95:100ms, throughput:1000samples/s, memory.peak:2GB; may be repeated
    #[arg(long, value_name = "METRIC:LIMIT", num_args = 1.., help_heading = "What must hold")]
    pub(crate) threshold: Vec<Threshold>,
    /// Hold it against this by turns: another model, or another build of modelmeter
    #[arg(
        long,
        value_name = "MODEL|PROGRAM",
        conflicts_with = "baseline",
        help_heading = "What must hold"
    )]
    pub(crate) against: Option<String>,
    /// Hold it against stored runs: a file of `--save-baseline` or `db export`, a run, a tag or a branch
    #[arg(long, value_name = "FILE|RUN|TAG|BRANCH", help_heading = "What must hold")]
    pub(crate) baseline: Option<String>,
    /// Worse by less than this is no alarm: 0.05, 5% [default: 0.03, with --long 0.01]
    #[arg(long, visible_alias = "alert", value_name = "SHARE", value_parser = parse_share, help_heading = "What must hold")]
    pub(crate) regression_alert: Option<f64>,
    /// What is held against the baseline [default: latency.p50,memory.peak]
    #[arg(
        long,
        visible_alias = "metrics",
        value_delimiter = ',',
        value_name = "METRIC,…",
        help_heading = "What must hold"
    )]
    pub(crate) metric: Vec<Gauge>,
    /// Fail where it cannot be told, too
    #[arg(long, help_heading = "What must hold")]
    pub(crate) strict: bool,

    /// The engine [default: the first that runs the model]
    #[arg(long, short, value_name = "ENGINE", help_heading = "What to run")]
    pub(crate) engine: Option<String>,
    /// The device: auto, cpu, cuda, cuda:1, rocm, mps, openvino
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "DEVICE",
        help_heading = "What to run"
    )]
    pub(crate) device: Device,
    /// The number format [default: the model's own]
    #[arg(long, short, value_name = "PRECISION", help_heading = "What to run")]
    pub(crate) precision: Option<Precision>,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// At most so many fresh processes a side; it looks after a quarter, a half and all of them [default: 24]
    #[arg(long, value_name = "N", help_heading = "How long")]
    pub(crate) processes: Option<u32>,
    /// See small changes: at most 80 processes a side, and an alert at 1 %
    #[arg(long, conflicts_with = "processes", help_heading = "How long")]
    pub(crate) long: bool,
    /// With --against: turns of each side in a process
    #[arg(long, default_value_t = 20, value_name = "N", help_heading = "How long")]
    pub(crate) turns: u32,
    /// With --against: how long a turn lasts at least
    #[arg(long, default_value = "20ms", value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) turn: Duration,
    /// Otherwise: how long each process is sampled at least
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) sampling: Duration,
    /// The longest a worker may stay silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "How long")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Write what was asked and ruled as JSON; `-` is standard output
    #[arg(long, visible_alias = "json", value_name = "FILE", help_heading = "Where to")]
    pub(crate) output_ci: Option<PathBuf>,
    /// Write it as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) junit: Option<PathBuf>,
    /// Write it as Markdown, for a pull request
    #[arg(long, visible_alias = "md", value_name = "FILE", help_heading = "Where to")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print annotations, and add the Markdown to the job's summary ($GITHUB_STEP_SUMMARY)
    #[arg(long, help_heading = "Where to")]
    pub(crate) github: bool,
    /// Write JSON, Markdown, JUnit XML and the runs into this folder
    #[arg(long, value_name = "DIR", help_heading = "Where to")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Write the runs to a file that `--baseline` reads
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Where to")]
    pub(crate) save_baseline: Option<PathBuf>,
    /// Label the stored runs; may be repeated
    #[arg(long, value_name = "TAG", conflicts_with = "no_store", help_heading = "Where to")]
    pub(crate) tag: Vec<String>,
    /// Do not store the runs
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A gate on this machine never calls less than the floor found here. Every test is kept; from five on, their medians\nsay how far stored runs may lie apart by drift alone (until then 30 %).\n\nExamples:\n  modelmeter noise\n  modelmeter noise distilbert-base-uncased --engine onnxruntime --processes 20\n  modelmeter noise --json -"
)]
pub(crate) struct Noise {
    /// The model that is held against itself
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The engine [default: rten]
    #[arg(long, short, value_name = "ENGINE", help_heading = "What to run")]
    pub(crate) engine: Option<String>,
    /// The device
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "DEVICE",
        help_heading = "What to run"
    )]
    pub(crate) device: Device,
    #[command(flatten)]
    pub(crate) workload: Workload,
    /// Fresh processes a side
    #[arg(long, default_value_t = 12, value_name = "N", help_heading = "How long")]
    pub(crate) processes: u32,
    /// Write it as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Do not keep it
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}
