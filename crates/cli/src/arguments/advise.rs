//! The arguments of `advise`.

use super::{Origin, Tuning, Workload, parse_time};
use clap::Args;
use modelmeter::{Device, Goal, Precision};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter advise distilbert-base-uncased\n  modelmeter advise medium-transformer --try\n  modelmeter advise 7f3a --try=batch-size,threads\n  modelmeter advise ./all-MiniLM-L6-v2 --text-file texts.txt --goal throughput\n  modelmeter advise gpt2 --json - | jq '.advice[].command'\n\nRules, and how each estimates its gain: docs/ADVICE.md"
)]
pub(crate) struct Advise {
    /// A model as for `profile`, or a stored run: the beginning of its id, or `latest`
    #[arg(value_name = "MODEL|RUN", required_unless_present_any = ["model_flag", "torch_module"])]
    pub(crate) subject: Option<String>,
    /// The same as MODEL, never a run
    #[arg(
        long = "model",
        value_name = "MODEL",
        hide_short_help = true,
        conflicts_with = "subject"
    )]
    pub(crate) model_flag: Option<String>,

    /// Prove the advice, all of it or that of these rules, and say what came true
    #[arg(long = "try", value_name = "RULE,…", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_delimiter = ',')]
    pub(crate) attempt: Vec<String>,
    /// What shall get better first: latency, throughput, memory, start
    #[arg(long, value_name = "WHAT")]
    pub(crate) goal: Option<Goal>,
    /// Time for measuring before the advice, and once more for all proofs together
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub(crate) budget: Duration,

    /// The engine, or `auto`
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "ENGINE",
        help_heading = "What to run"
    )]
    pub(crate) engine: String,
    /// The device: auto, cpu, cuda, cuda:1, rocm, mps, openvino
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "DEVICE",
        help_heading = "What to run"
    )]
    pub(crate) device: Device,
    /// The number format: fp32, fp16, bf16, int8 [default: the model's own]
    #[arg(long, short, value_name = "PRECISION", help_heading = "What to run")]
    pub(crate) precision: Option<Precision>,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Write the advice as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Do not store the runs
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}
