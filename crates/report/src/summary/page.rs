//! The order in which a run is told.

use super::{facts, header, latency, verdict};
use crate::clean::clean;
use crate::critical_path::critical_path;
use crate::inside::{LayerView, inside};
use crate::lookup::told;
use crate::memory::{MemoryView, memory};
use crate::style::{Colour, Style};
use crate::timestamp::minute;
use crate::wrap::{DOT, flow, pad_right, shorten, text_width};
use types::Run;

/// Where the text of a labelled row begins; the longest label has eleven columns.
pub(super) const BODY: usize = 16;

/// Long lines tire the eye: prose stops here however wide the terminal is.
const WIDEST_PROSE: usize = 110;

/// What the last line of a summary says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footer<'a> {
    /// Nothing: the run is not kept.
    None,
    /// The run was kept just now under this id.
    Stored(&'a str),
    /// The run was kept before under this id: when it was measured, and its tags.
    Shown(&'a str),
}

/// The terminal summary of a run.
#[must_use]
pub fn summary(run: &Run, style: &Style, footer: Footer<'_>) -> String {
    let mut lines = header::lines(run, style);
    lines.push(String::new());
    lines.extend(facts::cold(run, style));
    lines.push(String::new());
    lines.extend(latency::lines(run, style));
    lines.push(String::new());
    lines.extend(facts::warm(run, style));
    lines.extend(verdict::lines(run, style));
    lines.extend(last_lines(run, style, footer));
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What is told of the inside of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Of its layers.
    pub layers: LayerView,
    /// Of its memory.
    pub memory: MemoryView,
}

/// The summary of a run and what was found inside the model.
#[must_use]
pub fn page(run: &Run, view: &View, style: &Style, footer: Footer<'_>) -> String {
    let mut text = summary(run, style, Footer::None);
    if let Some(layers) = &run.layers {
        text.push_str(&format!("\n{}", inside(layers, &view.layers, style)));
    }
    if let Some(report) = &run.memory {
        text.push_str(&format!("\n{}", memory(report, &view.memory, style)));
    }
    if let Some(path) = &run.critical_path {
        text.push_str(&format!("\n{}", critical_path(path, style)));
    }
    for line in last_lines(run, style, footer) {
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

fn last_lines(run: &Run, style: &Style, footer: Footer<'_>) -> Vec<String> {
    let facts = match footer {
        Footer::None => return Vec::new(),
        Footer::Stored(id) => {
            let (stored, show) = ("stored as run ", "modelmeter runs show ");
            // Both mentions must fit beside the words around them.
            let room = style.columns() - stored.len() - text_width(DOT) - show.len();
            let id = shorten(&clean(id), room / 2);
            vec![format!("{stored}{id}"), format!("{show}{id}")]
        }
        Footer::Shown(id) => {
            let mut facts = vec![format!("run {}", clean(id))];
            facts.extend(told(run, "started_at", format!("{} UTC", minute(run.started_at))));
            if !run.tags.is_empty() {
                facts.push(format!("tags {}", clean(&run.tags.join(" "))));
            }
            facts
        }
    };
    std::iter::once(String::new()).chain(flow(&facts, style.columns())).collect()
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
