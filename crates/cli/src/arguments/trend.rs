//! The arguments of `trend`.

use super::{SurveyArguments, parse_share, parse_time};
use clap::{Args, ValueEnum};
use modelmeter::types::{TrendBy, TrendMetric};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "A history is one cell on one machine; machines are never mixed. Changes are found by a published method for performance\nhistories, with noise that resembles itself from run to run paid for: docs/TREND.md\n\nMetrics: latency.p50, latency.p90, latency.p95, latency.p99, latency.mean, throughput, memory.peak, load, first, energy\n\nExit codes: 0 fine; with `--alert` 1 the newest level is worse, 4 cannot tell; 2 asked wrongly\n\nExamples:\n  modelmeter trend\n  modelmeter trend distilbert-base-uncased --metric memory.peak --by commit\n  modelmeter trend --engine rten --since 30d --html trend.html\n  modelmeter trend --metric throughput --alert 10%\n  modelmeter trend --prometheus /var/lib/node_exporter/modelmeter.prom\n  modelmeter trend --json - | jq '.series[].changes'"
)]
pub(crate) struct Trend {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,

    /// What to look at
    #[arg(
        long,
        value_name = "METRIC",
        default_value = "latency.p50",
        help_heading = "What to look at"
    )]
    pub(crate) metric: TrendMetric,
    /// What a point stands for: the runs of one session, or all runs of one commit
    #[arg(long, value_enum, default_value_t = ByArgument::Date, value_name = "WHAT", help_heading = "What to look at")]
    pub(crate) by: ByArgument,
    /// Only so many of the newest points
    #[arg(long, value_name = "N", help_heading = "What to look at")]
    pub(crate) last: Option<usize>,
    /// Runs that began within so long of each other are one point
    #[arg(long, alias = "sitting", value_name = "TIME", default_value = "30m", value_parser = parse_time, help_heading = "What to look at")]
    pub(crate) session: Duration,
    /// The share of histories without a change that may show one
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_level, help_heading = "What to look at")]
    pub(crate) false_alarms: f64,
    /// The smallest change that is called
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = parse_small, help_heading = "What to look at")]
    pub(crate) smallest: f64,
    /// Exit with 1 where the newest level is worse than the one before by more than this: 10%, 0.1
    #[arg(long, value_name = "SHARE", value_parser = parse_small, conflicts_with = "include_invalid", help_heading = "What to look at")]
    pub(crate) alert: Option<f64>,

    /// Write the histories as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Write every point as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page that any browser opens
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) html: Option<PathBuf>,
    /// Draw the histories
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the newest numbers for Prometheus, as node_exporter's textfile collector reads them
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) prometheus: Option<PathBuf>,
}

/// What a point stands for.
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

/// A share that a change can have.
pub(crate) fn parse_small(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    let possible = share.is_finite() && (0.0..=100.0).contains(&share);
    possible.then_some(share).ok_or_else(|| format!("`{text}` is no share; write 10% or 0.1"))
}
