//! What a machine does to measurements of one and the same thing.

use super::words::cell;
use crate::analysis::joined;
use crate::clean::clean;
use crate::number::{duration, fixed, percent, seconds};
use crate::style::{Colour, Style};
use crate::timestamp::{minute, rfc3339};
use crate::wrap::{flow, pad_right, wrap};
use serde_json::{Value, json};
use types::{Interval, Noise};

/// The name and version of the document.
pub const NOISE_SCHEMA: &str = "modelmeter.noise/1";

const LABEL: usize = 10;

/// The terminal's view of a test; earlier ones follow, the newest first.
#[must_use]
pub fn noise(test: &Noise, earlier: &[Noise], style: &Style) -> String {
    let width = style.columns();
    let mut lines: Vec<String> = flow(&cell(&test.cell), width)
        .into_iter()
        .map(|line| style.paint(&clean(&line), Colour::Title))
        .collect();
    lines.push(format!("held against itself by turns · {}", duration(test.elapsed)));
    lines.push(String::new());
    let mut say = |label: &str, text: &str| {
        for (at, line) in wrap(text, width.saturating_sub(LABEL + 2)).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            lines.push(format!("  {}{line}", pad_right(label, LABEL)));
        }
    };
    let jitter = &test.jitter;
    say(
        "jitter",
        &format!(
            "{} of the processors' time went elsewhere · longest pause {} · {} pauses a second above 0.1 ms",
            percent(jitter.lost),
            seconds(jitter.longest.0),
            fixed(jitter.pauses, 1)
        ),
    );
    let Interval { low, high } = test.itself.interval;
    let off = |ratio: f64| fixed(100.0 * (ratio - 1.0), 1);
    say(
        "itself",
        &format!(
            "looked {} % slower than itself [{}, {}] over {} processes a side, which scatter by {}",
            off(test.itself.ratio),
            off(low),
            off(high),
            test.itself.rounds,
            percent(test.itself.scatter)
        ),
    );
    for drift in &test.drift {
        let text = format!(
            "two processes {} apart differ by up to {} (19 in 20)",
            seconds(drift.apart.0),
            percent(drift.share)
        );
        say("drift", &text);
    }
    say(
        "floor",
        &format!("no gate on this machine calls less than {}", percent(test.itself.floor)),
    );
    if !earlier.is_empty() {
        lines.push(String::new());
        lines.push("earlier".into());
        for test in earlier.iter().take(5) {
            let medians: f64 = test.medians.iter().map(|median| median.ln()).sum();
            let middle = (medians / test.medians.len().max(1) as f64).exp();
            lines.push(format!(
                "  {}  floor {}  median {}",
                minute(test.measured_at),
                percent(test.itself.floor),
                seconds(middle)
            ));
        }
    }
    joined(lines)
}

/// A test as a JSON value of `modelmeter.noise/1`; numbers in SI base units.
#[must_use]
pub fn noise_json(test: &Noise) -> Value {
    json!({
        "schema": NOISE_SCHEMA,
        "measured_at": rfc3339(test.measured_at),
        "seconds": test.elapsed.as_secs_f64(),
        "cell": test.cell,
        "jitter": test.jitter,
        "itself": test.itself,
        "medians": test.medians,
        "drift": test.drift,
    })
}
