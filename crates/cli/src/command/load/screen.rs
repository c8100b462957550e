//! What a person or a program sees while a load is sent.

use crate::{arguments::ProgressArgument, output, progress::Progress};
use modelmeter::Event;
use serde_json::json;

/// A sink of events: a line that says how a load goes, or lines of JSON.
pub(crate) struct Screen {
    progress: Progress,
    is_json: bool,
}

impl Screen {
    pub(crate) fn new(how: ProgressArgument, quiet: bool) -> Screen {
        let progress = Progress::new(quiet || how != ProgressArgument::Auto);
        Screen { progress, is_json: how == ProgressArgument::Json }
    }

    /// Hears an event.
    pub(crate) fn hear(&mut self, event: &Event) {
        self.progress.hear(event);
        // Runs are in the result, whole; here they would hide the rest.
        if self.is_json && !matches!(event, Event::CellFinished { .. }) {
            output::complain(&format!("{}\n", json!(event)));
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.progress.clear();
    }
}
