//! What a process does, as far as its journal tells.

use crate::{Line, SamplesNow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use types::{
    Cell, Device, Event, Interim, LoadPercentiles, LoadProgress, Mode, Precision, Run, RunId,
    Stage, WaitReason,
};

/// So many runs and failures of a process are told.
const LAST: usize = 8;

/// Whether a process goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It measures.
    #[default]
    Running,
    /// It ended by itself.
    Ended,
    /// It is gone and did not say so: it was killed, or the machine was.
    Lost,
}

/// A process that measures, or did a moment ago.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Activity {
    /// Its name among all of them.
    pub id: String,
    /// The number of the process.
    pub pid: u32,
    /// What it does: `profile`, `bench`.
    pub command: String,
    /// Whether it goes on.
    pub state: State,
    /// Its exit code, if it ended.
    pub exit: Option<i32>,
    /// When it began, in microseconds since the epoch.
    pub began_at: i64,
    /// When it last said something, in microseconds since the epoch.
    pub said_at: i64,
    /// The plan it measures.
    pub plan: Option<PlanNow>,
    /// What a load is sent to: a model, or the address of a server.
    pub target: Option<String>,
    /// The cell it measures.
    pub cell: Option<CellNow>,
    /// What it is busy with.
    #[schemars(with = "Option<String>")]
    pub stage: Option<Stage>,
    /// When that began, in microseconds since the epoch.
    pub stage_at: i64,
    /// How far that is, from 0 to 1; null where no end is known.
    pub share: Option<f64>,
    /// What it says beside that.
    pub note: String,
    /// Which of several measurements it is.
    pub label: Option<String>,
    /// What it waits for.
    pub waiting: Option<String>,
    /// The time of one inference or step as it was before sampling.
    pub first: Option<FirstNow>,
    /// The samples of the cell so far.
    pub samples: Option<SamplesNow>,
    /// The table of a comparison.
    #[schemars(with = "Option<serde_json::Value>")]
    pub interim: Option<Interim>,
    /// How a load goes.
    pub load: Option<LoadNow>,
    /// Its last runs, the newest first.
    pub runs: Vec<RunNow>,
    /// How many runs there are.
    pub run_count: u64,
    /// What failed last, the newest first.
    pub failures: Vec<String>,
    /// What disturbed it.
    pub remarks: Vec<String>,
}

/// A first time of a model, long before the result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FirstNow {
    /// The median of one inference or step, in seconds.
    pub seconds: f64,
    /// How many it rests on.
    pub samples: u64,
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PlanNow {
    /// Its name.
    pub name: String,
    /// Processes that measure, over all cells.
    pub processes: usize,
    /// How many are finished.
    pub finished: usize,
    /// How long the rest takes, in seconds, as far as is known.
    pub left: Option<f64>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellNow {
    /// The model's name.
    pub model: String,
    /// The engine's id.
    pub engine: String,
    /// The device.
    #[schemars(with = "String")]
    pub device: Device,
    /// The number format.
    #[schemars(with = "Option<String>")]
    pub precision: Option<Precision>,
    /// Samples in one inference.
    pub batch_size: Option<usize>,
    /// Tokens in each sample.
    pub sequence_length: Option<usize>,
    /// Inference, training, generate or load.
    #[schemars(with = "String")]
    pub mode: Mode,
}

/// A run that has just ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunNow {
    /// Its name.
    #[schemars(with = "String")]
    pub id: RunId,
    /// The model's name.
    pub model: String,
    /// The engine's id.
    pub engine: String,
    /// The median of its main phase in seconds.
    pub median: Option<f64>,
    /// Whether its numbers are valid.
    pub valid: bool,
    /// What is said against it, and what is to be noted; what makes it invalid comes first.
    pub reasons: Vec<String>,
    /// So many of the reasons, from the first, make it invalid.
    #[serde(default)]
    pub invalidating: usize,
}

impl From<&Run> for RunNow {
    fn from(run: &Run) -> RunNow {
        let (against, other): (Vec<_>, Vec<_>) =
            run.verdict.reasons.iter().partition(|reason| reason.invalidates);
        RunNow {
            id: run.id.clone(),
            model: run.model.name.clone(),
            engine: run.engine.id.clone(),
            median: run.summaries.get(&run.main_phase()).map(|summary| summary.median),
            valid: run.verdict.valid,
            invalidating: against.len(),
            reasons: against.into_iter().chain(other).map(|reason| reason.text.clone()).collect(),
        }
    }
}

/// How a load goes; rates and percentiles are those of the last five seconds, times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct LoadNow {
    /// Nanoseconds since the start.
    pub at: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that wait for an answer.
    pub in_flight: u64,
    /// Answers a second.
    pub rate: f64,
    /// The whole answer.
    pub e2e: PercentilesNow,
    /// The first content.
    pub ttft: PercentilesNow,
    /// How late the generator was.
    pub lag: PercentilesNow,
    /// Its last rates with their 99th percentile of whole answers, the oldest first.
    pub history: Vec<(f64, Option<u64>)>,
}

/// Percentiles in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct PercentilesNow {
    /// The median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
}

/// So many moments of a load are kept.
const MOMENTS: usize = 240;

impl Activity {
    /// Takes in the next line of its journal.
    pub(crate) fn hear(&mut self, line: Line) {
        match line {
            Line::Began { at, pid, command, .. } => {
                (self.began_at, self.said_at, self.stage_at) = (at, at, at);
                (self.pid, self.command) = (pid, command);
            }
            Line::Aimed { at, target } => {
                self.said_at = at;
                self.target = Some(target);
            }
            Line::Happened { at, event } => {
                self.said_at = at;
                self.happen(at, *event);
            }
            Line::Planned { at, plan, processes, finished } => {
                self.said_at = at;
                self.plan = Some(PlanNow { name: plan, processes, finished, left: None });
            }
            Line::Ran { at, run } => {
                self.said_at = at;
                self.ran(run);
            }
            Line::Ended { at, exit } => {
                self.said_at = at;
                (self.state, self.exit) = (State::Ended, Some(exit));
                self.waiting = None;
            }
        }
    }

    fn happen(&mut self, at: i64, event: Event) {
        if !matches!(event, Event::Waiting { .. }) {
            self.waiting = None;
        }
        match event {
            Event::CellStarted { cell } => self.cell = Some(CellNow::from(&*cell)),
            Event::TaskStarted { task, finished, of, eta, .. } => {
                self.cell = Some(CellNow {
                    model: task.model.clone(),
                    engine: task.engine.clone(),
                    device: task.device,
                    precision: task.precision,
                    batch_size: task.batch_size,
                    sequence_length: task.sequence_length,
                    mode: task.mode,
                });
                (self.first, self.samples) = (None, None);
                if let Some(plan) = &mut self.plan {
                    (plan.finished, plan.processes) = (finished, of);
                    plan.left = eta.map(|left| left.as_secs_f64());
                }
            }
            Event::StageStarted { stage, label } => self.enter(at, stage, label),
            Event::Progress { stage, done, total, note, label } => {
                if self.stage != Some(stage) {
                    self.enter(at, stage, label.clone());
                }
                self.share = total
                    .filter(|total| *total > 0)
                    .map(|total| (done as f64 / total as f64).clamp(0.0, 1.0));
                (self.note, self.label) = (note, label);
            }
            Event::Sampled { taken, newest, target } => {
                let samples = self.samples.get_or_insert_default();
                if taken < samples.taken {
                    *samples = SamplesNow::default();
                }
                samples.add(taken, &newest, target);
            }
            Event::FirstTime { time, samples, .. } => {
                self.first = Some(FirstNow { seconds: time.0, samples });
            }
            Event::Interim { table, .. } => self.interim = Some(*table),
            Event::LoadProgress { live, label } => self.loads(label, &live),
            Event::Waiting { reason } => self.waiting = Some(spell(&reason)),
            Event::CellFailed { failure, .. } | Event::TaskFailed { failure, .. } => {
                self.failures.insert(0, failure.why);
                self.failures.truncate(LAST);
            }
            Event::Unguarded { device, why } => {
                self.remark(format!(
                    "{device} could not be locked against other measurements: {why}"
                ));
            }
            Event::TaskRepeated { task, .. } => {
                self.remark(format!("{} was disturbed and is measured again", task.name()));
            }
            _ => {}
        }
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.insert(0, text);
            self.remarks.truncate(LAST);
        }
    }

    fn enter(&mut self, at: i64, stage: Stage, label: Option<String>) {
        if self.stage != Some(stage) {
            self.stage_at = at;
            self.share = None;
            self.note.clear();
        }
        // The next measurement of several begins.
        if matches!(stage, Stage::Prepare | Stage::Start) {
            (self.first, self.samples) = (None, None);
        }
        (self.stage, self.label) = (Some(stage), label);
    }

    fn ran(&mut self, run: RunNow) {
        // A plan tells of a run twice: as that of its cell, and as that of its task.
        if self.runs.first().is_none_or(|last| last.id != run.id) {
            self.run_count += 1;
            if let Some(plan) = &mut self.plan {
                plan.finished = (plan.finished + 1).min(plan.processes);
            }
            self.runs.insert(0, run);
            self.runs.truncate(LAST);
        }
    }

    fn loads(&mut self, label: Option<String>, live: &LoadProgress) {
        let mut now = LoadNow::from(live);
        let before = self.load.take().unwrap_or_default();
        // The next of several loads begins.
        let is_new = now.at < before.at;
        now.history = if is_new { Vec::new() } else { before.history };
        now.history.push((now.rate, now.e2e.p99));
        let surplus = now.history.len().saturating_sub(MOMENTS);
        now.history.drain(..surplus);
        (self.load, self.label) = (Some(now), label);
        // Whatever was prepared for it is over.
        (self.stage, self.share) = (None, None);
    }
}

impl From<&LoadProgress> for LoadNow {
    fn from(live: &LoadProgress) -> LoadNow {
        LoadNow {
            at: live.at,
            sent: live.sent,
            completed: live.completed,
            failed: live.failed,
            in_flight: live.in_flight,
            rate: live.rate,
            e2e: live.e2e.into(),
            ttft: live.ttft.into(),
            lag: live.lag.into(),
            history: Vec::new(),
        }
    }
}

impl From<LoadPercentiles> for PercentilesNow {
    fn from(of: LoadPercentiles) -> PercentilesNow {
        PercentilesNow { p50: of.p50, p95: of.p95, p99: of.p99 }
    }
}

impl From<&Cell> for CellNow {
    fn from(cell: &Cell) -> CellNow {
        CellNow {
            model: cell.model.clone(),
            engine: cell.engine.clone(),
            device: cell.device,
            precision: Some(cell.precision),
            batch_size: Some(cell.batch_size),
            sequence_length: cell.sequence_length,
            mode: cell.mode,
        }
    }
}

fn spell(reason: &WaitReason) -> String {
    match reason {
        WaitReason::Database { why } => format!("the database is unavailable: {why}"),
        WaitReason::Heat { sensor, celsius, limit } => {
            format!("{sensor} is at {celsius:.0} °C of {limit:.0}: cooling down")
        }
        WaitReason::Device { device, who } if who.trim().is_empty() => {
            format!("another process measures on {device}")
        }
        WaitReason::Device { device, who } => format!("{who} measures on {device}"),
        WaitReason::LastCells { cells } => {
            format!("other processes measure the last {cells} cells")
        }
    }
}
