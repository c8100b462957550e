//! How a load goes, in one line.

use crate::{clean, seconds, significant};
use types::{LoadPercentiles, LoadProgress};

/// `server 4/s poisson  12 s  47 sent  3.90/s  2 in flight  answer p50 210 ms p99 410 ms  lag p99 80 µs`
#[must_use]
pub fn load_line(live: &LoadProgress, label: Option<&str>) -> String {
    let time = |nanos: u64| seconds(nanos as f64 / 1e9);
    let named = |name: &str, of: &LoadPercentiles| match (of.p50, of.p99) {
        (Some(middle), Some(far)) => format!("{name} p50 {} p99 {}", time(middle), time(far)),
        _ => String::new(),
    };
    let failed = match live.failed {
        0 => String::new(),
        failed => format!("{failed} failed"),
    };
    let pieces = [
        label.map(clean).unwrap_or_default(),
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
        let mut live = LoadProgress {
            at: 12_000_000_000,
            sent: 47,
            rate: 3.9,
            in_flight: 2,
            ..LoadProgress::default()
        };
        assert_eq!(load_line(&live, Some("server")), "server  12 s  47 sent  3.90/s  2 in flight");
        live.failed = 1;
        live.e2e = LoadPercentiles { p50: Some(210_000_000), p95: None, p99: Some(410_000_000) };
        let text = load_line(&live, None);
        assert!(text.contains("1 failed") && text.contains("answer p50 210"), "{text}");
    }
}
