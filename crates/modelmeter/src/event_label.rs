//! Events of one measurement among many, told with the name of what is measured.

use types::Event;

/// Says which of several measurements an event is about.
pub(crate) fn labelled(event: Event, name: &str) -> Event {
    match event {
        Event::Progress { stage, done, total, note } => {
            Event::Progress { stage, done, total, note: format!("{name} {note}") }
        }
        Event::StageStarted { stage } => {
            Event::Progress { stage, done: 0, total: None, note: name.to_owned() }
        }
        other => other,
    }
}
