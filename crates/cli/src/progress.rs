//! Progress on standard error: one line that says what is going on, gone when it is done.

use crate::terminal::{Stream, is_terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use modelmeter::{Event, Stage};
use std::time::Duration;

/// A sink of events that draws a bar; draws nothing when nobody looks.
pub(crate) struct Progress {
    bar: ProgressBar,
    stage: Option<Stage>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = ProgressBar::new_spinner();
        let target = if quiet || !is_terminal(Stream::Error) {
            ProgressDrawTarget::hidden()
        } else {
            // The worker shares the processors: four times per second is enough to look alive.
            ProgressDrawTarget::stderr_with_hz(4)
        };
        bar.set_draw_target(target);
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar, stage: None }
    }

    /// Hears an event.
    pub(crate) fn hear(&mut self, event: &Event) {
        match event {
            Event::StageStarted { stage, label } => {
                self.enter(*stage);
                self.bar.set_message(label.clone().unwrap_or_default());
            }
            Event::Progress { stage, done, total, note, label } => {
                if self.stage != Some(*stage) {
                    self.enter(*stage);
                }
                self.show(*stage, *done, *total);
                self.bar.set_message(match label {
                    Some(label) => format!("{label}: {note}"),
                    None => note.clone(),
                });
            }
            // Whoever started the command says when it is over; there may be more to measure.
            _ => {}
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = Some(stage);
        self.bar.set_style(spinner());
        self.bar.set_prefix(stage.words());
    }

    fn show(&self, stage: Stage, done: u64, total: Option<u64>) {
        let Some(total) = total else { return };
        if self.bar.length() != Some(total) {
            self.bar.set_length(total);
            self.bar.set_style(if stage == Stage::Prepare { bytes() } else { plain() });
        }
        self.bar.set_position(done);
    }
}

fn style(template: &str, fallback: fn() -> ProgressStyle) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| fallback())
}

fn spinner() -> ProgressStyle {
    style("{spinner} {elapsed:>4} {prefix} {msg}", ProgressStyle::default_spinner)
}

fn plain() -> ProgressStyle {
    style("{spinner} {elapsed:>4} {prefix} {bar:30} {msg}", ProgressStyle::default_bar)
}

fn bytes() -> ProgressStyle {
    style(
        "{spinner} {elapsed:>4} {prefix} {bar:30} {decimal_bytes}/{decimal_total_bytes} {msg}",
        ProgressStyle::default_bar,
    )
}
