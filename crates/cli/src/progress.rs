//! Progress on standard error: what goes on, in a line and in a table that fills, gone when it is done. Where standard error
//! is no terminal, what stays is told in plain lines.

use crate::{
    output::complain,
    terminal::{Stream, is_terminal, talk_width},
};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use modelmeter::{Event, Stage};
use report::{Style, clean, forecast, interim_lines, interim_table, load_line};
use std::time::Duration;
use types::{Interim, Seconds};

/// A sink of events that draws; draws nothing when nobody looks.
pub(crate) struct Progress {
    bars: MultiProgress,
    /// The table of a comparison.
    table: ProgressBar,
    bar: ProgressBar,
    stage: Option<Stage>,
    is_quiet: bool,
    /// Whether a first time is told as a line of its own where nothing can be drawn.
    tells_first: bool,
    /// What is known of the time so far.
    first: String,
    /// The lines that were told last, so that nothing is told twice.
    told: Vec<String>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Progress {
        let bars = MultiProgress::new();
        bars.set_draw_target(if quiet || !is_terminal(Stream::Error) {
            ProgressDrawTarget::hidden()
        } else {
            // The worker shares the processors: four times per second is enough to look alive.
            ProgressDrawTarget::stderr_with_hz(4)
        });
        let table = bars.add(ProgressBar::new_spinner());
        table.set_style(style("{msg}", ProgressStyle::default_spinner));
        let bar = bars.add(ProgressBar::new_spinner());
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress {
            bars,
            table,
            bar,
            stage: None,
            is_quiet: quiet,
            tells_first: false,
            first: String::new(),
            told: Vec::new(),
        }
    }

    /// The same for one measurement, whose first time is worth a line.
    pub(crate) fn telling_first(mut self) -> Progress {
        self.tells_first = true;
        self
    }

    /// Hears an event.
    pub(crate) fn hear(&mut self, event: &Event) {
        crate::live::say(event);
        match event {
            Event::StageStarted { stage, label } => {
                self.enter(*stage);
                self.bar.set_message(label.clone().unwrap_or_else(|| self.first.clone()));
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
            Event::Interim { table, label } => self.interim(table, label.as_deref()),
            Event::FirstTime { stage, time, samples } => self.first(*stage, *time, *samples),
            Event::Forecast { .. } => self.line(&forecast(event)),
            Event::LoadProgress { live, label } => self.load(load_line(live, label.as_deref())),
            // Whoever started the command says when it is over; there may be more to measure.
            _ => {}
        }
    }

    /// Removes what was drawn.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
        self.table.finish_and_clear();
    }

    /// Shows a comparison as it stands; where nothing can be drawn, once after each process.
    fn interim(&mut self, table: &Interim, label: Option<&str>) {
        let label = label.map(clean);
        if !self.bars.is_hidden() {
            let text = interim_table(table, &Style::plain(talk_width()));
            self.table.set_message(match label {
                Some(label) => format!("{label}\n{text}"),
                None => text,
            });
            self.table.tick();
        } else if table.is_round {
            let lines: Vec<String> = label.into_iter().chain(interim_lines(table)).collect();
            if lines != self.told {
                lines.iter().for_each(|line| self.line(line));
            }
            self.told = lines;
        }
    }

    fn first(&mut self, stage: Stage, time: Seconds, samples: u64) {
        let time = report::seconds(time.0);
        self.first = match stage {
            Stage::First => format!("first inference {time}"),
            _ => format!("about {time} when warm ({})", runs(samples)),
        };
        if self.tells_first && self.bars.is_hidden() {
            self.line(&self.first);
        }
        self.bar.set_message(self.first.clone());
    }

    /// How a load goes, in the place of a stage.
    fn load(&mut self, text: String) {
        if self.stage.take().is_some() || self.bar.message().is_empty() {
            let template = style("{spinner} {wide_msg}", ProgressStyle::default_spinner);
            self.bar.set_style(template);
        }
        self.bar.set_message(text);
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        if self.is_quiet || text.is_empty() {
            return;
        }
        if self.bars.is_hidden() {
            complain(&format!("{text}\n"));
        } else {
            // Where the terminal is gone there is nobody to tell.
            let _ = self.bars.println(text);
        }
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

/// `1 run`, `3 runs`.
fn runs(count: u64) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} run{s}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_is_no_runs() {
        assert_eq!([runs(1), runs(3)], ["1 run", "3 runs"]);
    }
}
