//! The arguments of `advise`.

use super::{
    EngineArguments, ModeArguments, ModelArguments, NoStore, Origin, ResultOutput, Workload,
    values::parse_time,
};
use crate::candidates;
use clap::Args;
use clap_complete::ArgValueCompleter;
use modelmeter::Goal;
use std::time::Duration;

const AFTER: &str = "\
Rules, and how each estimates its gain: docs/ADVICE.md

Exit codes: 0 fine, 2 usage error, 3 not supported on this machine, 4 cannot tell

Examples:
  modelmeter advise distilbert-base-uncased
  modelmeter advise medium-transformer --try
  modelmeter advise 7f3a --try=batch-size,threads
  modelmeter advise ./all-MiniLM-L6-v2 --text-file texts.txt --goal throughput
  modelmeter advise model.gguf --modes generate --depth 1024
  modelmeter advise --try -- python train.py      # any program that uses an NVIDIA GPU
  modelmeter advise gpt2 --json - | jq '.advice[].command'";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg
        // What is changed here would otherwise stand behind the program.
        .index(1)
        .value_name("MODEL|RUN")
        .help("Model as for `profile`, or a stored run: the beginning of its id, or `latest`")
        .required_unless_present_any(["model_flag", "torch_module", "program"])
        .add(ArgValueCompleter::new(candidates::models_and_runs))),
    mut_arg("model_flag", |arg| arg.help("Same as MODEL, never a run"))
)]
pub(crate) struct Advise {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) mode: ModeArguments,
    #[command(flatten)]
    pub(crate) origin: Origin,

    #[command(flatten)]
    pub(crate) engine: EngineArguments,

    /// Goal: latency, throughput, memory, start
    #[arg(long, value_name = "WHAT", help_heading = "Advice")]
    pub(crate) goal: Option<Goal>,
    /// Verify the advice by measuring it: all of it, or only that of these rules
    #[arg(long = "try", value_name = "RULE,…", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_delimiter = ',', help_heading = "Advice")]
    pub(crate) attempt: Vec<String>,

    /// Time limit of the measurement, and of all verifications together
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time, help_heading = "Sampling")]
    pub(crate) budget: Duration,

    /// Program that uses a GPU, instead of a model: it is run, judged, and with --try run again with each change
    #[arg(last = true, index = 2, value_name = "PROGRAM", conflicts_with_all = ["model", "model_flag", "torch_module"], help_heading = "Workload")]
    pub(crate) program: Vec<std::ffi::OsString>,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) store: NoStore,
}
