//! The arguments of `trend`.

use super::{
    ResultOutput, SurveyArguments,
    values::{parse_share, parse_small, parse_time},
};
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Duration};
use types::{TrendBy, TrendMetric};

const AFTER: &str = "\
Metrics: latency.p50, latency.p90, latency.p95, latency.p99, latency.mean, throughput, memory.peak, load, first, energy;
of loads also ttft.p50, ttft.p99, itl.p50, itl.p99, goodput (latency is that of the whole answer)

Exit codes: 0 fine; with `--alert` 1 the newest level is worse, 4 cannot tell; 2 usage error

Examples:
  modelmeter trend
  modelmeter trend distilbert-base-uncased --metric memory.peak --by commit
  modelmeter trend --engine rten --since 30d --html trend.html
  modelmeter trend --metric throughput --alert 10%
  modelmeter trend --prometheus /var/lib/node_exporter/modelmeter.prom
  modelmeter trend --json - | jq '.series[].changes'";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Trend {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,

    /// Metric
    #[arg(long, value_name = "METRIC", default_value = "latency.p50", help_heading = "Trend")]
    pub(crate) metric: TrendMetric,
    /// What one point is: the runs of one session, or all runs of one commit
    #[arg(long, value_enum, default_value_t = ByArgument::Date, value_name = "WHAT", help_heading = "Trend")]
    pub(crate) by: ByArgument,
    /// Maximum number of points, the newest
    #[arg(long, value_name = "N", help_heading = "Trend")]
    pub(crate) last: Option<usize>,
    /// Longest gap between runs of one session
    #[arg(long, alias = "sitting", value_name = "TIME", default_value = "30m", value_parser = parse_time, help_heading = "Trend")]
    pub(crate) session: Duration,
    /// False alarm rate: the share of histories without a change that may show one
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_level, help_heading = "Trend")]
    pub(crate) false_alarms: f64,
    /// Smallest change that is reported
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = parse_small, help_heading = "Trend")]
    pub(crate) smallest: f64,

    /// Exit with 1 if the newest level is worse than the one before by more than this: 10%, 0.1
    #[arg(long, value_name = "SHARE", value_parser = parse_small, conflicts_with = "include_invalid", help_heading = "Gate")]
    pub(crate) alert: Option<f64>,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Histories as a chart
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Newest numbers for Prometheus, in the format of node_exporter's textfile collector
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) prometheus: Option<PathBuf>,
}

/// What a point represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArgument {
    /// All runs of one commit
    Commit,
    /// The runs of one session
    Date,
}

impl From<ByArgument> for TrendBy {
    fn from(by: ByArgument) -> TrendBy {
        match by {
            ByArgument::Commit => TrendBy::Commit,
            ByArgument::Date => TrendBy::Date,
        }
    }
}

/// A share of false alarms that could be kept: the chances behind it are told to one in four thousand.
fn parse_level(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    let possible = (0.001..=0.5).contains(&share);
    possible.then_some(share).ok_or_else(|| "it lies between 0.1% and 50%".to_owned())
}
