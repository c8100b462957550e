//! The arguments of `capacity`.

use super::{
    OutputFile, ResultOutput, Seed,
    load::{ProgressArgument, parse_rate},
};
use clap::Args;
use load::{Length, Routing};
use modelmeter::ReplicaCost;
use std::time::Duration;
use types::{Arrivals, LoadLimit, parse_duration};

const AFTER: &str = "\
The replicas are simulated from the times of stored runs: `modelmeter profile MODEL --batch-size 1` for each
batch size, `modelmeter generate MODEL -b 1,4,8` for a language model, or `modelmeter load ADDRESS` (one request
at a time) for a served one. How: docs/LOAD.md

Exit codes: 0 answered, 1 nothing that was measured keeps the limit or the proof failed, 2 usage error,
4 no usable run is stored, or the proof cannot tell

Examples:
  modelmeter capacity distilbert-base-uncased --rate 40/s --slo p99:200ms
  modelmeter capacity distilbert-base-uncased --rate 200/s --slo p99:200ms --routing random
  modelmeter capacity distilbert-base-uncased --rate 200/s --slo p95:500ms --batch-max 8 --batch-wait 10ms
  modelmeter capacity smollm2-135m --rate 2/s --slo ttft.p99:500ms --prompt 512±128 --new-tokens 128
  modelmeter capacity distilbert-base-uncased --rate 40/s --slo p99:200ms --replicas-cost cpu=0.2,cuda=1.8
  modelmeter capacity distilbert-base-uncased --rate 40/s --slo p99:200ms --prove
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
    /// Limit: p99:200ms; of a language model also ttft.p99:200ms, itl.p95:50ms
    #[arg(long, value_name = "LIMIT", help_heading = "Objective")]
    pub(crate) slo: LoadLimit,
    /// Who gets a request: one-queue, round-robin, random, least-loaded
    #[arg(long, value_name = "POLICY", default_value = "one-queue", help_heading = "Workload")]
    pub(crate) routing: Routing,
    /// Maximum number of requests in one batch [default: the best of the batch sizes that were measured]
    #[arg(long, value_name = "N", value_parser = super::load::parse_batch, help_heading = "Workload")]
    pub(crate) batch_max: Option<usize>,
    /// Longest time that a free replica waits for more requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0ms", help_heading = "Workload")]
    pub(crate) batch_wait: Duration,
    /// Length of a request, of the lengths that were measured [default: that of the newest run]
    #[arg(long, short = 'l', value_name = "N", help_heading = "Workload")]
    pub(crate) sequence_length: Option<usize>,
    /// Tokens (not words) of a prompt to a language model: 512, or 512±128 for a mean and its deviation
    #[arg(long, value_name = "LENGTH", default_value = "512", help_heading = "Workload")]
    pub(crate) prompt: Length,
    /// Tokens of an answer of a language model, also with a deviation
    #[arg(long, aliases = ["max-tokens", "max-new-tokens"], value_name = "LENGTH", default_value = "128", help_heading = "Workload")]
    pub(crate) new_tokens: Length,
    /// Cost of a replica per hour, for all or by engine or device: 0.4, or cpu=0.2,cuda=1.8
    #[arg(long, value_name = "COST,…", value_delimiter = ',', value_parser = parse_cost, help_heading = "Objective")]
    pub(crate) replicas_cost: Vec<ReplicaCost>,
    /// Start so many scripted replicas here, send them the rate, and compare
    #[arg(long, help_heading = "Gate")]
    pub(crate) prove: bool,
    /// How long requests are sent to them; a sixth of it is warm-up
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "prove", default_value = "30s", help_heading = "Gate")]
    pub(crate) duration: Duration,
    /// How progress is shown on standard error
    #[arg(long, value_enum, default_value_t = ProgressArgument::Auto, value_name = "HOW", help_heading = "Output")]
    pub(crate) progress: ProgressArgument,
    #[command(flatten)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
}

/// `0.4`, `cuda=1.8`.
fn parse_cost(text: &str) -> Result<ReplicaCost, String> {
    let (of, number) = match text.split_once('=') {
        Some((of, number)) => (Some(of.trim().to_owned()), number),
        None => (None, text),
    };
    let usable = |cost: &f64| cost.is_finite() && *cost >= 0.0;
    let per_hour = number.trim().parse().ok().filter(usable);
    match (per_hour, of.as_deref()) {
        (Some(per_hour), of_what) if of_what != Some("") => Ok(ReplicaCost { of, per_hour }),
        _ => {
            Err(format!("`{text}` is not a cost; write 0.4, or cuda=1.8 for one device or engine"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_for_all_or_for_one() {
        assert_eq!(parse_cost("0.4"), Ok(ReplicaCost { of: None, per_hour: 0.4 }));
        assert_eq!(
            parse_cost("cuda=2"),
            Ok(ReplicaCost { of: Some("cuda".into()), per_hour: 2.0 })
        );
        for wrong in ["x", "=2", "cuda=", "-1", "NaN", "cpu=inf"] {
            assert!(parse_cost(wrong).is_err(), "{wrong}");
        }
    }
}
