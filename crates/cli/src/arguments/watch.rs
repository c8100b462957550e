//! The arguments of `watch`.

use super::{parse_time, trend::parse_small};
use clap::Args;
use modelmeter::types::TrendMetric;
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "Every turn measures every cell of the plan anew, stores the runs, and holds the newest against the history by change\npoints, not by a bare threshold (docs/TREND.md). A change for the worse is told once: its first run then bears the\nlabel `alerted:METRIC`. A turn without a valid run is an alert of its own\n(`kind` is `cannot-tell`). A webhook gets JSON with `text`, as Slack takes it; a command gets the same on standard input\nand variables MODELMETER_… beside it. Ctrl-C ends after the running cell.\n\nExit codes: 0 all turns done, 1 an alert with `--exit-on-alert`, 2 asked wrongly, 3 a cell of the last turn failed, 4 nothing of the\nlast turn could be judged: no valid run, or a history too short; 130 stopped\n\nExamples:\n  modelmeter watch nightly.toml --every 24h --webhook https://hooks.slack.com/services/…\n  modelmeter watch nightly.toml --every 1h --alert-ratio 5% --exec 'mail -s slower team@example.org'\n  modelmeter watch nightly.toml --once --exit-on-alert\n  modelmeter watch nightly.toml --every 1h --prometheus /var/lib/node_exporter/modelmeter.prom"
)]
pub(crate) struct Watch {
    /// A plan: what to measure, in TOML, as `bench` takes it
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,

    /// How long from the beginning of a turn to that of the next: 30m, 1h, 1d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_every, help_heading = "When")]
    pub(crate) every: Duration,
    /// Only so many turns [default: until it is stopped]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "When")]
    pub(crate) times: Option<u64>,
    /// One turn; for a scheduler that comes again by itself
    #[arg(long, conflicts_with = "times", help_heading = "When")]
    pub(crate) once: bool,

    /// What to look at, as `trend` does
    #[arg(
        long,
        value_name = "METRIC",
        default_value = "latency.p50",
        help_heading = "What is an alert"
    )]
    pub(crate) metric: TrendMetric,
    /// Worse by more than this is an alert: 10%, 0.1
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_small, help_heading = "What is an alert")]
    pub(crate) alert_ratio: f64,

    /// Post alerts here
    #[arg(long, value_name = "URL", help_heading = "Who hears of it")]
    pub(crate) webhook: Option<String>,
    /// Run this command by the shell, with the alert as JSON on its standard input
    #[arg(long, value_name = "COMMAND", help_heading = "Who hears of it")]
    pub(crate) exec: Option<String>,
    /// End with exit code 1 at the first alert
    #[arg(long, help_heading = "Who hears of it")]
    pub(crate) exit_on_alert: bool,
    /// Write the newest numbers for Prometheus after every turn
    #[arg(long, value_name = "FILE", help_heading = "Who hears of it")]
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

    /// How many turns there are; `None` until it is stopped.
    pub(crate) fn turns(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.times }
    }
}

fn parse_every(text: &str) -> Result<Duration, String> {
    let every = parse_time(text)?;
    let possible = every >= Duration::from_secs(1);
    possible.then_some(every).ok_or_else(|| "it is at least 1s".to_owned())
}
