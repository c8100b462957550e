//! The arguments of `check` and `noise`.

use super::{
    EngineArguments, Given, ModeArguments, ModelArguments, NoStore, Origin, Processes,
    ResultOutput, ServerArguments, StoreArguments, Timeout, Turns, Workload,
    load::parse_rate,
    values::{parse_share, parse_time},
};
use crate::candidates;
use clap::Args;
use std::{path::PathBuf, str::FromStr, time::Duration};
use types::{Gauge, LoadLimit, Threshold, parse_duration};

const AFTER_CHECK: &str = "\
Exit codes: 0 passed, 1 failed, 2 usage error, 3 not supported on this machine,
4 cannot tell (1 with `--strict`)

Examples:
  modelmeter check distilbert-base-uncased --threshold latency.p95:100ms --threshold memory.peak:2GB
  modelmeter check model.onnx --threshold latency:100ms throughput:1000samples/s
  modelmeter check new.onnx --against old.onnx --regression-alert 0.05
  modelmeter check nightly.toml --against ./modelmeter-of-main --json check.json --junit check.xml
  modelmeter check model.onnx --baseline main --regression-alert 0.1
  modelmeter check model.gguf --modes generate --prompt-tokens 0 --threshold tokens:20tokens/s
  modelmeter check http://127.0.0.1:8080 --threshold ttft.p99:200ms --rate 4/s
  modelmeter check model.onnx --threshold latency:1s --save-baseline baseline.jsonl
  modelmeter check --model-path models/latest --threshold latency:100ms --output-dir results";

const AFTER_NOISE: &str = "\
Examples:
  modelmeter noise
  modelmeter noise distilbert-base-uncased --engine onnxruntime --processes 20
  modelmeter noise --json -";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER_CHECK,
    mut_arg("model", |arg| arg
        .value_name("MODEL|PLAN.toml")
        .help("Model as for `profile`, or a plan as for `bench`")
        .required_unless_present("model_flag")),
    mut_arg("processes", |arg| arg
        .help("Maximum number of fresh processes per side; evaluated after a quarter, a half and all of them [default: 24]")),
    mut_arg("turns", |arg| arg.default_value("20").help("With --against: number of interleaved turns per side and process")),
    mut_arg("turn", |arg| arg.default_value("20ms").help("With --against: minimum time of one turn"))
)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) mode: ModeArguments,
    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Threshold: latency.p95:100ms, throughput:1000samples/s, memory.peak:2GB; may be repeated
    #[arg(long, value_name = "METRIC:LIMIT", num_args = 1.., help_heading = "Gate")]
    pub(crate) threshold: Vec<CheckThreshold>,
    /// Under this load: requests per second, for thresholds such as ttft.p99:200ms [default: one at a time]
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = "Gate")]
    pub(crate) rate: Option<f64>,
    /// How long the load lasts, a sixth of it as warm-up [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Gate")]
    pub(crate) load_duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// Compare with this model or other build of modelmeter, interleaved
    #[arg(long, value_name = "MODEL|PROGRAM", conflicts_with = "baseline", help_heading = "Gate")]
    pub(crate) against: Option<String>,
    /// Compare with stored runs: a file of `--save-baseline` or `db export`, a run, a tag or a branch
    #[arg(long, value_name = "FILE|RUN|TAG|BRANCH", help_heading = "Gate")]
    pub(crate) baseline: Option<String>,
    /// Smallest regression that fails: 0.05, 5% [default: 0.03, with --long 0.01]
    #[arg(long, visible_alias = "alert", value_name = "SHARE", value_parser = parse_share, help_heading = "Gate")]
    pub(crate) regression_alert: Option<f64>,
    /// Metrics that are compared with the baseline [default: latency.p50,memory.peak]
    #[arg(
        long,
        visible_alias = "metrics",
        value_delimiter = ',',
        value_name = "METRIC,…",
        help_heading = "Gate"
    )]
    pub(crate) metric: Vec<Gauge>,
    /// Treat "cannot tell" as a failure
    #[arg(long, help_heading = "Gate")]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) engine: EngineArguments,

    #[command(flatten)]
    pub(crate) processes: Processes,
    /// Detect small changes: up to 80 processes per side, alert at 1%
    #[arg(long, conflicts_with = "processes", help_heading = "Sampling")]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) turns: Turns,
    /// Without --against: minimum sampling time of each process
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_time, help_heading = "Sampling")]
    pub(crate) sampling: Duration,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Result as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// GitHub annotations, and Markdown in the job's summary ($GITHUB_STEP_SUMMARY)
    #[arg(long, help_heading = "Output")]
    pub(crate) github: bool,
    /// Output folder for JSON, Markdown, JUnit XML and the runs
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Runs in a file that `--baseline` reads
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Output")]
    pub(crate) save_baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = AFTER_NOISE,
    mut_arg("model", |arg| arg.help(candidates::noise_model())),
    mut_arg("processes", |arg| arg.default_value("12"))
)]
pub(crate) struct Noise {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
    #[command(flatten)]
    pub(crate) processes: Processes,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) store: NoStore,
}

/// A threshold of a model, or of the answers under a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CheckThreshold {
    /// `latency.p95:100ms`, `memory.peak:2GB`.
    Model(Threshold, String),
    /// `ttft.p99:200ms`.
    Load(LoadLimit),
}

impl FromStr for CheckThreshold {
    type Err = String;

    fn from_str(text: &str) -> Result<CheckThreshold, String> {
        match (text.parse::<Threshold>(), text.parse::<LoadLimit>()) {
            (Ok(threshold), _) => Ok(CheckThreshold::Model(threshold, text.into())),
            (Err(_), Ok(limit)) => Ok(CheckThreshold::Load(limit)),
            (Err(error), Err(_)) => Err(error.to_string()),
        }
    }
}

impl CheckThreshold {
    /// The limit of a load that it is; the latency of a load is that of the whole answer.
    pub(crate) fn of_load(&self) -> Result<LoadLimit, &str> {
        match self {
            CheckThreshold::Load(limit) => Ok(*limit),
            CheckThreshold::Model(_, text) if text.parse::<LoadLimit>().is_ok() => {
                text.parse().map_err(|_| text.as_str())
            }
            CheckThreshold::Model(_, text) => match text.strip_prefix("latency") {
                Some(rest) if rest.starts_with(':') => {
                    format!("p50{rest}").parse().map_err(|_| text.as_str())
                }
                Some(rest) => format!("e2e{rest}").parse().map_err(|_| text.as_str()),
                None => Err(text),
            },
        }
    }

    /// The threshold of a model that it is.
    pub(crate) fn of_model(&self) -> Option<Threshold> {
        match self {
            CheckThreshold::Model(threshold, _) => Some(*threshold),
            CheckThreshold::Load(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_of_models_and_of_loads_are_told_apart() {
        let of = |text: &str| text.parse::<CheckThreshold>();
        assert_eq!(of("ttft.p99:200ms").unwrap().of_load().unwrap().key(), "ttft.p99");
        assert!(of("ttft.p99:200ms").unwrap().of_model().is_none());
        assert_eq!(of("latency.p95:100ms").unwrap().of_load().unwrap().key(), "e2e.p95");
        assert_eq!(of("p99:2s").unwrap().of_load().unwrap().key(), "e2e.p99");
        assert_eq!(of("latency:100ms").unwrap().of_load().unwrap().key(), "e2e.p50");
        assert_eq!(of("memory.peak:2GB").unwrap().of_load(), Err("memory.peak:2GB"));
        assert!(of("speed:3").unwrap_err().contains("latency.p95"));
    }
}
