//! The arguments of `watch`.

use super::values::{parse_small, parse_time};
use clap::Args;
use std::{path::PathBuf, time::Duration};
use types::TrendMetric;

const AFTER: &str = "\
Exit codes: 0 all cycles done, 1 an alert with `--exit-on-alert`, 2 usage error,
3 a cell of the last cycle failed, 4 nothing of the last cycle could be judged, 130 interrupted

Examples:
  modelmeter watch nightly.toml --every 24h --webhook https://hooks.slack.com/services/…
  modelmeter watch nightly.toml --every 1h --alert-ratio 5% --exec 'mail -s slower team@example.org'
  modelmeter watch nightly.toml --once --exit-on-alert
  modelmeter watch nightly.toml --every 1h --prometheus /var/lib/node_exporter/modelmeter.prom";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Watch {
    /// Plan: what to measure, in TOML, as for `bench`
    #[arg(display_order = 0, value_name = "PLAN.toml", help_heading = "Workload")]
    pub(crate) plan: PathBuf,

    /// Time from the start of one cycle to the start of the next: 30m, 1h, 1d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_every, help_heading = "Sampling")]
    pub(crate) every: Duration,
    /// Number of cycles [default: until interrupted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Sampling")]
    pub(crate) times: Option<u64>,
    /// One cycle, for use with a scheduler such as cron
    #[arg(long, conflicts_with = "times", help_heading = "Sampling")]
    pub(crate) once: bool,

    /// Metric, as for `trend`
    #[arg(long, value_name = "METRIC", default_value = "latency.p50", help_heading = "Gate")]
    pub(crate) metric: TrendMetric,
    /// Smallest regression that raises an alert: 10%, 0.1
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_small, help_heading = "Gate")]
    pub(crate) alert_ratio: f64,
    /// Exit with code 1 at the first alert
    #[arg(long, help_heading = "Gate")]
    pub(crate) exit_on_alert: bool,

    /// URL that alerts are posted to, as JSON with a `text` that Slack shows
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub(crate) webhook: Option<String>,
    /// Shell command that is run for each alert, with JSON on its standard input
    #[arg(long, value_name = "COMMAND", help_heading = "Output")]
    pub(crate) exec: Option<String>,
    /// Newest numbers for Prometheus, after every cycle
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) prometheus: Option<PathBuf>,
}

impl Watch {
    /// Whether the webhook is an address. Looked at here and not by the parser, which would repeat it: it holds a secret.
    pub(crate) fn has_good_webhook(&self) -> bool {
        self.webhook.as_deref().is_none_or(|text| {
            let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        })
    }

    /// How many cycles there are; `None` until it is stopped.
    pub(crate) fn turns(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.times }
    }
}

fn parse_every(text: &str) -> Result<Duration, String> {
    let every = parse_time(text)?;
    let possible = every >= Duration::from_secs(1);
    possible.then_some(every).ok_or_else(|| "it is at least 1s".to_owned())
}
