//! The order in which a run is told.

use super::{facts, header, latency, verdict};
use crate::clean::clean;
use crate::style::{Colour, Style};
use crate::wrap::{DOT, pad_right, shorten, text_width};
use types::Run;

/// Where the text of a labelled row begins; the longest label has eleven columns.
pub(super) const BODY: usize = 16;

/// Long lines tire the eye: prose stops here however wide the terminal is.
const WIDEST_PROSE: usize = 110;

/// The terminal summary of a run; `stored` is the id to show on the last line where the run was kept.
#[must_use]
pub fn summary(run: &Run, style: &Style, stored: Option<&str>) -> String {
    let mut lines = header::lines(run, style);
    lines.push(String::new());
    lines.extend(facts::cold(run, style));
    lines.push(String::new());
    lines.extend(latency::lines(run, style));
    lines.push(String::new());
    lines.extend(facts::warm(run, style));
    lines.extend(verdict::lines(run, style));
    if let Some(id) = stored {
        let (stored, show) = ("stored as run ", "modelmeter runs show ");
        // Both mentions must fit beside the words around them.
        let room = style.columns() - stored.len() - text_width(DOT) - show.len();
        let id = shorten(&clean(id), room / 2);
        lines.push(String::new());
        lines.push(format!("{stored}{id}{DOT}{show}{id}"));
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Columns for prose beside a label.
pub(super) fn prose_width(style: &Style) -> usize {
    style.columns().min(WIDEST_PROSE) - BODY
}

/// A label and the lines beside it.
pub(super) fn row(style: &Style, label: &str, body: &[String]) -> Vec<String> {
    let beside = |(index, text): (usize, &String)| {
        let label = if index == 0 { label } else { "" };
        let padded = pad_right(&format!("  {label}"), BODY);
        format!("{}{text}", style.paint(&padded, Colour::Label))
    };
    body.iter().enumerate().map(beside).collect()
}
