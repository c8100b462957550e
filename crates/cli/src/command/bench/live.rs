//! What a person sees while a plan is measured: a line for every process that ended, and one that says what goes on.

use crate::terminal::{Stream, is_terminal};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use modelmeter::{Control, Event, PlanLeftOut, Run, Stage, Task, WaitReason};
use report::{Column, Style, Table, clean, fixed, rough, shorten};
use std::{collections::BTreeSet, fmt::Write as _, time::Duration};
use types::key;

/// What the numbers of a line take.
const NUMBERS: usize = 42;

/// The narrowest a column of names becomes.
const NARROWEST: usize = 8;

/// A sink of a plan's events.
pub(crate) struct Live {
    bars: MultiProgress,
    /// How far the plan is.
    plan: ProgressBar,
    /// What the running cell does.
    cell: ProgressBar,
    is_quiet: bool,
    width: usize,
    /// The columns that tell cells apart, and how wide they are.
    columns: Columns,
    /// The cell and its process.
    running: String,
    /// Whether somebody wants it to stop.
    control: Control,
    /// What was said last of a wait, so that it is said once.
    waiting: Option<String>,
    /// Whether it was said that no lock keeps others away.
    unguarded: bool,
}

impl Live {
    pub(crate) fn new(quiet: bool, style: &Style, control: &Control) -> Live {
        let bars = MultiProgress::new();
        let hidden = quiet || !is_terminal(Stream::Error);
        bars.set_draw_target(match hidden {
            true => ProgressDrawTarget::hidden(),
            // The worker shares the processors: four times per second is enough to look alive.
            false => ProgressDrawTarget::stderr_with_hz(4),
        });
        let line = |template: &str| {
            let style = ProgressStyle::with_template(template);
            ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        };
        let plan = bars.add(line("{pos}/{len} {bar:24} {msg}"));
        let cell = bars.add(line("{spinner} {wide_msg}"));
        cell.enable_steady_tick(Duration::from_millis(250));
        Live {
            bars,
            plan,
            cell,
            is_quiet: quiet,
            width: style.width,
            columns: Columns::default(),
            running: String::new(),
            control: control.clone(),
            waiting: None,
            unguarded: false,
        }
    }

    /// Hears what goes on.
    pub(crate) fn hear(&mut self, event: &Event) {
        crate::live::say(event);
        match event {
            Event::PlanStarted { plan, tasks, processes: units, finished, left_out: left } => {
                let mut text = format!(
                    "plan `{}`: {}, {}",
                    clean(plan),
                    cells(tasks.len()),
                    processes(*units)
                );
                if *finished > 0 {
                    let _ = write!(text, ", {finished} finished before");
                }
                self.line(&text);
                let told = left_out(left, &Style::plain(self.width));
                for line in told.lines() {
                    self.line(line);
                }
                self.columns = Columns::of(tasks, self.width.saturating_sub(NUMBERS));
                if let Some(common) = self.columns.common(tasks) {
                    self.line(&format!("all: {common}"));
                }
                if finished < units {
                    let names = self.columns.header();
                    let (latency, rate) = ("median", "samples");
                    self.line(&format!("{names} {latency:>9} {rate:>9} {:>8}  verdict", "peak"));
                }
                self.plan.set_length(*units as u64);
                self.plan.set_position(*finished as u64);
            }
            Event::Waiting { reason: WaitReason::Database { why } } => {
                let text = format!("the database is unavailable, waiting: {}", clean(why));
                // It may take ten minutes, and whoever asked for quiet wants to know why nothing happens.
                if self.is_quiet && self.waiting.as_ref() != Some(&text) {
                    crate::output::complain(&format!("warning: {text}\n"));
                }
                self.wait(text);
            }
            Event::Waiting { reason: WaitReason::Heat { sensor, celsius, limit } } => {
                let text = format!(
                    "{} is at {} °C of {}: cooling down",
                    clean(sensor),
                    fixed(*celsius, 0),
                    fixed(*limit, 0)
                );
                self.cell.set_message(text);
            }
            Event::Waiting { reason: WaitReason::Device { device, who } } => {
                let who = match who.trim() {
                    "" => "another process".to_owned(),
                    who => clean(who),
                };
                self.wait(format!("waiting for `{device}`: {who} is measuring there"));
            }
            Event::Unguarded { device, why } => {
                if !std::mem::replace(&mut self.unguarded, true) {
                    let why = clean(why);
                    self.line(&format!(
                        "warning: `{device}` could not be locked against other measurements: {why}"
                    ));
                }
            }
            Event::Waiting { reason: WaitReason::LastCells { cells: count } } => {
                self.wait(format!("waiting for other processes, which measure the last {count}"));
            }
            Event::TaskStarted { task, process, finished, of, eta } => {
                self.waiting = None;
                self.running = format!("{} #{process}", clean(&task.name()));
                self.plan.set_length(*of as u64);
                self.plan.set_position(*finished as u64);
                let left = eta.map(|left| format!("about {} left", rough(left)));
                self.plan.set_message(left.unwrap_or_default());
                self.cell.set_message(self.running.clone());
            }
            Event::StageStarted { stage, .. } | Event::Progress { stage, .. } => {
                self.measuring(*stage);
            }
            // A plan's cells are told as tasks.
            Event::Interim { .. } | Event::FirstTime { .. } | Event::Sampled { .. } => {}
            // A plan sends no loads.
            Event::LoadProgress { .. } => {}
            Event::Forecast { .. } => self.line(&report::forecast(event)),
            // A plan's cells end as tasks.
            Event::CellStarted { .. } | Event::CellFinished { .. } | Event::CellFailed { .. } => {}
            Event::TaskFinished { task, process, run } => {
                let name = self.columns.row(task, &process.to_string());
                self.line(&measured(&name, run));
                self.plan.inc(1);
            }
            Event::TaskFailed { task, failure } => {
                let name = self.columns.row(task, "");
                self.line(&format!("{name} {}", failure.kind.name()));
                self.plan.inc(1);
            }
            Event::BatchFound { task, batch } => {
                let text = match batch {
                    Some(batch) => format!("the largest batch that fits is {batch}"),
                    None => "not even one sample fits".to_owned(),
                };
                self.line(&format!("{} {text}", self.columns.row(task, "")));
            }
            Event::TaskRepeated { task, process, reason, repetition, most } => {
                let name = self.columns.row(task, &process.to_string());
                self.plan.set_position(self.plan.position().saturating_sub(1));
                self.line(&format!(
                    "{name} disturbed by {}: measured once more, {repetition} of at most {most}",
                    reason.words()
                ));
            }
            Event::TaskTaken { task } => {
                let name = clean(&task.name());
                self.line(&format!("{name}: another process has leased it since; the run is kept"));
            }
        }
    }

    /// Removes what goes on.
    pub(crate) fn clear(&self) {
        self.plan.finish_and_clear();
        self.cell.finish_and_clear();
    }

    fn measuring(&self, stage: Stage) {
        let doing = stage.words();
        // The bars draw over what the signal's own thread says.
        let ending = if self.control.is_stopping() { "; the plan stops after this" } else { "" };
        self.cell.set_message(format!("{}  {doing}{ending}", self.running));
    }

    /// Says once that something is waited for.
    fn wait(&mut self, text: String) {
        self.cell.set_message(text.clone());
        if self.waiting.as_ref() != Some(&text) && !is_terminal(Stream::Error) {
            self.line(&text);
        }
        self.waiting = Some(text);
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        if self.is_quiet {
            return;
        }
        if self.bars.is_hidden() {
            crate::output::complain(&format!("{text}\n"));
        } else {
            // Where the terminal is gone there is nobody to tell.
            let _ = self.bars.println(text);
        }
    }
}

/// A process that ended with a run, in one line.
fn measured(name: &str, run: &Run) -> String {
    let latency = modelmeter::latency_of(run);
    let median = latency.map_or_else(|| report::MISSING.into(), |l| report::seconds(l.median));
    let metric = |key: &str| run.metric(key).and_then(|metric| metric.value);
    let rate = metric(key::THROUGHPUT_SAMPLES);
    let rate = rate.map_or_else(String::new, |rate| format!("{}/s", report::rate(rate)));
    let memory =
        metric(key::MEMORY_PEAK).map_or_else(String::new, |peak| report::bytes(peak as u64));
    let verdict = match run.verdict.main_reason() {
        None => "valid".to_owned(),
        Some(reason) => format!("NOT VALID: {}", reason.words()),
    };
    format!("{name} {median:>9} {rate:>9} {memory:>8}  {verdict}")
}

/// What a cell is made of, in the order of columns.
const PARTS: [&str; 8] =
    ["model", "engine", "device", "format", "batch", "length", "threads", "mode"];

fn parts(task: &Task) -> [String; 8] {
    let number = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
    [
        clean(&task.model),
        clean(&task.engine),
        task.device.to_string(),
        task.precision.map_or_else(String::new, |precision| precision.name().to_owned()),
        number(task.batch_size),
        number(task.sequence_length),
        task.threads.map_or_else(String::new, |threads| threads.to_string()),
        task.mode.name().to_owned(),
    ]
}

/// The parts that differ between the cells of a plan, with their widths; what all have in common is said once.
#[derive(Debug, Default)]
struct Columns {
    shown: Vec<(usize, usize)>,
}

impl Columns {
    fn of(tasks: &[Task], room: usize) -> Columns {
        let differs = |part: &usize| {
            let seen: BTreeSet<String> =
                tasks.iter().map(|task| parts(task)[*part].clone()).collect();
            seen.len() > 1
        };
        let mut shown: Vec<(usize, usize)> = (0..PARTS.len())
            .filter(|part| *part == 0 || differs(part))
            .map(|part| {
                let widths = tasks.iter().map(|task| report::text_width(&parts(task)[part]));
                (part, widths.max().unwrap_or(0).max(PARTS[part].len()))
            })
            .collect();
        // A space after each, and the process.
        let taken: usize = shown.iter().skip(1).map(|(_, width)| width + 1).sum::<usize>() + 3;
        if let Some((_, width)) = shown.first_mut() {
            *width = (*width).min(room.saturating_sub(taken).max(NARROWEST));
        }
        Columns { shown }
    }

    /// What all cells have in common.
    fn common(&self, tasks: &[Task]) -> Option<String> {
        let first = parts(tasks.first()?);
        let is_shown = |part: &usize| self.shown.iter().any(|(shown, _)| shown == part);
        let words: Vec<String> = (0..PARTS.len())
            .filter(|part| !is_shown(part) && !first[*part].is_empty())
            .map(|part| match PARTS[part] {
                "batch" | "length" | "threads" => format!("{} {}", PARTS[part], first[part]),
                _ => first[part].clone(),
            })
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    fn header(&self) -> String {
        self.line(|part| PARTS[part].to_owned(), "#")
    }

    fn row(&self, task: &Task, process: &str) -> String {
        let parts = parts(task);
        self.line(|part| parts[part].clone(), process)
    }

    fn line(&self, text: impl Fn(usize) -> String, process: &str) -> String {
        let mut line = String::new();
        for &(part, width) in &self.shown {
            let text = shorten(&text(part), width);
            let pad = " ".repeat(width.saturating_sub(report::text_width(&text)));
            let is_number = matches!(PARTS[part], "batch" | "length" | "threads");
            let _ = match is_number {
                true => write!(line, "{pad}{text} "),
                false => write!(line, "{text}{pad} "),
            };
        }
        line + &format!("{process:>2}")
    }
}

/// `1 cell`, `12 cells`.
pub(crate) fn cells(count: usize) -> String {
    if count == 1 { "1 cell".into() } else { format!("{count} cells") }
}

/// `3 processes`.
pub(crate) fn processes(count: usize) -> String {
    if count == 1 { "1 process".into() } else { format!("{count} processes") }
}

/// What is not measured, and why.
pub(crate) fn left_out(left: &[PlanLeftOut], style: &Style) -> String {
    if left.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        Column::left("not measured").shrinks(),
        Column::right("cells").leaves(1),
        Column::left("why").wraps(),
    ])
    .painted(style);
    for left in left {
        let count =
            if left.cells == 0 { report::MISSING.to_owned() } else { left.cells.to_string() };
        table.push([clean(&left.what), count, clean(&left.why)]);
    }
    table.render(Some(style.width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(model: &str, batch: usize) -> Task {
        Task {
            model: model.into(),
            engine: "rten".into(),
            device: modelmeter::Device::Cpu,
            precision: None,
            batch_size: Some(batch),
            sequence_length: None,
            threads: None,
            mode: modelmeter::Mode::Inference,
            generation: None,
            seed: 0,
        }
    }

    #[test]
    fn only_what_differs_has_a_column_and_long_names_give_way() {
        let tasks = [task("a", 1), task("a-very-long-name-of-a-model-indeed", 16)];
        let columns = Columns::of(&tasks, 38);
        assert_eq!(columns.common(&tasks).unwrap(), "rten, cpu, inference");
        assert_eq!(columns.header().trim_end(), format!("{:29} batch  #", "model"));
        let row = columns.row(&tasks[1], "2");
        assert_eq!(report::text_width(&row), 38);
        assert!(row.ends_with("   16  2"), "{row}");
    }
}
