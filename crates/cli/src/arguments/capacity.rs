//! The arguments of `capacity`.

use super::{OutputFile, ResultOutput, Seed, load::parse_rate};
use clap::Args;
use load::Routing;
use std::time::Duration;
use types::{Arrivals, LoadLimit, parse_duration};

const AFTER: &str = "\
The replicas are simulated from the times of stored runs: `modelmeter profile MODEL --batch-size 1` for each
batch size, or `modelmeter load ADDRESS` (one request at a time) for a served model. How: docs/LOAD.md

Exit codes: 0 answered, 1 nothing that was measured keeps the limit, 2 usage error, 4 no usable run is stored

Examples:
  modelmeter capacity distilbert-base-uncased --rate 40/s --slo p99:200ms
  modelmeter capacity distilbert-base-uncased --rate 200/s --slo p99:200ms --routing random
  modelmeter capacity distilbert-base-uncased --rate 200/s --slo p95:500ms --batch-max 8 --batch-wait 10ms
  modelmeter capacity 7f3a --rate 4/s --slo p99:2s --json";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct CapacityArguments {
    /// Model, or id of a stored run
    #[arg(value_name = "MODEL|RUN", help_heading = "Workload")]
    pub(crate) target: String,
    /// Requests per second: 40/s
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = "Workload")]
    pub(crate) rate: f64,
    /// Gaps between requests: poisson, constant, gamma:SHAPE
    #[arg(long, value_name = "HOW", default_value = "poisson", help_heading = "Workload")]
    pub(crate) arrivals: Arrivals,
    /// Limit on the whole answer: p99:200ms
    #[arg(long, value_name = "LIMIT", help_heading = "Objective")]
    pub(crate) slo: LoadLimit,
    /// Who gets a request: one-queue, round-robin, random, least-loaded
    #[arg(long, value_name = "POLICY", default_value = "one-queue", help_heading = "Workload")]
    pub(crate) routing: Routing,
    /// Most requests in one batch; batch sizes up to it should be measured
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    pub(crate) batch_max: usize,
    /// Longest time that a free replica waits for more requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0ms", help_heading = "Workload")]
    pub(crate) batch_wait: Duration,
    #[command(flatten)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
}
