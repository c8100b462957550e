//! What a person or a program sees while a load is sent.

use crate::{
    arguments::ProgressArgument,
    output,
    terminal::{Stream, is_terminal},
};
use endpoint::{Live, Percentiles};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{seconds, significant};
use serde_json::json;

/// A line that says how a load goes.
pub(crate) struct Screen {
    bar: ProgressBar,
    is_json: bool,
}

impl Screen {
    pub(crate) fn new(how: ProgressArgument, quiet: bool) -> Screen {
        let hidden = quiet || how != ProgressArgument::Auto || !is_terminal(Stream::Error);
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(match hidden {
            true => ProgressDrawTarget::hidden(),
            // The server may share the processors: four times per second is enough to look alive.
            false => ProgressDrawTarget::stderr_with_hz(4),
        });
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Screen { bar, is_json: how == ProgressArgument::Json }
    }

    /// Shows how a load goes.
    pub(crate) fn show(&mut self, label: &str, live: &Live) {
        crate::live::say_load(label, json!(live));
        if self.is_json {
            output::complain(&format!("{}\n", json!({ "load": label, "live": live })));
            return;
        }
        self.bar.set_message(line(label, live));
        self.bar.tick();
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// `server 4/s poisson  12 s  47 sent  3.9/s  2 in flight  p50 210 ms  p99 410 ms  lag p99 0.08 ms`
fn line(label: &str, live: &Live) -> String {
    let time = |nanos: u64| seconds(nanos as f64 / 1e9);
    let named = |name: &str, percentiles: &Percentiles| match (percentiles.p50, percentiles.p99) {
        (Some(middle), Some(far)) => format!("{name} p50 {} p99 {}", time(middle), time(far)),
        _ => String::new(),
    };
    let failed = match live.failed {
        0 => String::new(),
        failed => format!("{failed} failed"),
    };
    let pieces = [
        label.to_owned(),
        format!("{:.0} s", live.at as f64 / 1e9),
        format!("{} sent", live.sent),
        format!("{}/s", significant(live.rate, 3)),
        format!("{} in flight", live.in_flight),
        failed,
        named("first token", &live.ttft),
        named("answer", &live.e2e),
        live.lag.p99.map(|lag| format!("lag p99 {}", time(lag))).unwrap_or_default(),
    ];
    pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_there_is_and_nothing_else() {
        let mut live =
            Live { at: 12_000_000_000, sent: 47, rate: 3.9, in_flight: 2, ..Live::default() };
        assert_eq!(line("server", &live), "server  12 s  47 sent  3.90/s  2 in flight");
        live.failed = 1;
        live.e2e = Percentiles { p50: Some(210_000_000), p95: None, p99: Some(410_000_000) };
        let text = line("server", &live);
        assert!(text.contains("1 failed") && text.contains("answer p50 210"), "{text}");
    }
}
