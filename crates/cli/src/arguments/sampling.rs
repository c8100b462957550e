//! How much is measured: samples, warm-up, time, processes and turns.

use super::values::{parse_share, parse_time};
use clap::Args;
use std::time::Duration;

/// How many samples are taken.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SampleCounts {
    /// Number of samples
    #[arg(long, short = 'n', aliases = ["num-runs", "iterations", "iters"], value_name = "N")]
    pub(crate) runs: Option<u64>,
    /// Number of warm-up runs [default: until the latency is stable]
    #[arg(long, short = 'w', aliases = ["warmup-runs", "warm-up"], value_name = "N")]
    pub(crate) warmup: Option<u64>,
}

/// When sampling stops.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct Sampling {
    #[command(flatten)]
    pub(crate) counts: SampleCounts,
    /// Sampling time: 10s, 3m [default: 3s to 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "runs")]
    pub(crate) duration: Option<Duration>,
    /// Relative error of the median at which sampling stops: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) target_error: Option<f64>,
}

/// How long a worker is waited for.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct Timeout {
    /// Abort if the worker gives no answer for this long [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) timeout: Option<Duration>,
}

/// How many fresh processes measure each side; commands have defaults of their own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct Processes {
    /// Number of fresh processes per side
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u32>,
}

/// How sides take turns; commands have defaults of their own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct Turns {
    /// Number of interleaved turns per side and process
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u32>,
    #[command(flatten)]
    pub(crate) time: TurnTime,
}

/// How long a turn lasts; commands have defaults of their own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct TurnTime {
    /// Minimum time of one turn
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) turn: Option<Duration>,
}
