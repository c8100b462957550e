//! What is not held, as annotations of continuous integration.

use super::words::sentence;
use crate::clean::clean;
use types::{GateReport, Ruling};

/// The lines that GitHub turns into annotations: an error for what failed, a warning for what cannot be told.
#[must_use]
pub fn gate_annotations(report: &GateReport) -> String {
    let mut text = String::new();
    let mut annotate = |level: &str, title: &str, message: &str| {
        text.push_str(&format!(
            "::{level} title={}::{}\n",
            property(&clean(title)),
            data(&clean(message))
        ));
    };
    for check in &report.checks {
        let level = match check.ruling {
            Ruling::Held => continue,
            Ruling::Failed => "error",
            Ruling::CannotTell => "warning",
        };
        let settle = check.settle.as_ref().map_or_else(String::new, |how| format!("; {how}"));
        let message = format!("{}: {}{settle}", check.cell.words(), sentence(check));
        annotate(level, "Modelmeter", &message);
    }
    for missing in &report.missing {
        let level = if missing.fails { "error" } else { "warning" };
        annotate(level, "Modelmeter", &format!("{}: {}", missing.what, missing.why));
    }
    text
}

/// A message of a workflow command: its own marks are written otherwise.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
