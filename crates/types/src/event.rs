//! What long commands say while they work. There is one vocabulary, whatever the command; whoever listens is a sink.

use crate::{
    Cell, CellFailure, Device, Interim, LoadProgress, PlanLeftOut, ReasonCode, Run, Seconds, Task,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a measurement is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Resolving the name, building the graph, writing weights.
    Prepare,
    /// Starting the worker.
    Start,
    /// Loading the model into the engine.
    Load,
    /// The first inference.
    First,
    /// Warming up.
    Warmup,
    /// Sampling.
    Sample,
    /// Looking inside, with instruments.
    Layers,
    /// Measuring the machine's ceilings, once a machine.
    Calibrate,
}

impl Stage {
    /// What people read while it lasts.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Stage::Prepare => "preparing",
            Stage::Start => "starting",
            Stage::Load => "loading",
            Stage::First => "first inference",
            Stage::Warmup => "warming up",
            Stage::Sample => "measuring",
            Stage::Layers => "profiling",
            Stage::Calibrate => "calibrating",
        }
    }
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "wait")]
pub enum WaitReason {
    /// The database is away.
    Database {
        /// What it said.
        why: String,
    },
    /// The machine is too hot.
    Heat {
        /// The sensor: `coretemp`, `cuda:0`.
        sensor: String,
        /// How hot it is, in degrees Celsius.
        celsius: f64,
        /// From where on the hardware is throttled.
        limit: f64,
    },
    /// Another process measures on the device.
    Device {
        /// The device.
        device: Device,
        /// Who, where they said so.
        who: String,
    },
    /// Other processes measure the last cells of the plan; they might die.
    LastCells {
        /// How many cells.
        cells: usize,
    },
}

/// What long commands say while they work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A plan is in the database and begins.
    PlanStarted {
        /// Its name.
        plan: String,
        /// Its cells here.
        tasks: Vec<Task>,
        /// Processes that will measure, over all cells.
        processes: usize,
        /// Of those, how many are finished already.
        finished: usize,
        /// What is not measured, and why.
        left_out: Vec<PlanLeftOut>,
    },
    /// Something is waited for.
    Waiting {
        /// What for.
        reason: WaitReason,
    },
    /// No lock keeps others off the device; it is measured all the same.
    Unguarded {
        /// The device.
        device: Device,
        /// Why not.
        why: String,
    },
    /// A process of a plan's cell begins.
    TaskStarted {
        /// The cell as it is asked for.
        task: Box<Task>,
        /// Which process, from 1.
        process: u32,
        /// How many processes of the plan are finished.
        finished: usize,
        /// How many there are.
        of: usize,
        /// How long all that is left will take, as far as is known.
        eta: Option<Duration>,
    },
    /// It ended with a run.
    TaskFinished {
        /// The cell.
        task: Box<Task>,
        /// Which process, from 1.
        process: u32,
        /// The run.
        run: Box<Run>,
    },
    /// It ended without one.
    TaskFailed {
        /// The cell.
        task: Box<Task>,
        /// Why.
        failure: CellFailure,
    },
    /// The largest batch that fits was looked for, because memory ran out.
    BatchFound {
        /// The cell that ran out of memory.
        task: Box<Task>,
        /// The largest that ran; `None` if not even one sample fits.
        batch: Option<usize>,
    },
    /// A process that was disturbed is measured once more, at the end of the plan.
    TaskRepeated {
        /// The cell.
        task: Box<Task>,
        /// Which process, from 1.
        process: u32,
        /// What disturbed it.
        reason: ReasonCode,
        /// Which repetition, from 1.
        repetition: u32,
        /// How many there are at most.
        most: u32,
    },
    /// Another process took the cell meanwhile; the run counts all the same.
    TaskTaken {
        /// The cell.
        task: Box<Task>,
    },
    /// A measurement begins.
    CellStarted {
        /// What will be measured.
        cell: Box<Cell>,
    },
    /// A stage of it begins.
    StageStarted {
        /// Which one.
        stage: Stage,
        /// Which of several measurements it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A stage goes on; `done` of `total` where an end is known.
    Progress {
        /// Which one.
        stage: Stage,
        /// Units done: bytes, runs or nanoseconds, as `total`.
        done: u64,
        /// Units in all, as far as is known now.
        total: Option<u64>,
        /// What to show beside the bar.
        note: String,
        /// Which of several measurements it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Samples that were just taken, between two of them.
    Sampled {
        /// How many there are in all.
        taken: u64,
        /// The newest in nanoseconds; of very many some, evenly chosen.
        newest: Vec<u64>,
        /// The relative half-width of the median's interval at which sampling may stop.
        target: f64,
    },
    /// Requests are sent; told four times a second.
    LoadProgress {
        /// How it goes.
        live: Box<LoadProgress>,
        /// Which of several loads it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// What is known of a comparison while it is measured.
    Interim {
        /// The table as it stands.
        table: Box<Interim>,
        /// Which of several comparisons it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A first time of the model, long before the result.
    FirstTime {
        /// The first inference, or the warm-up after it.
        stage: Stage,
        /// The time of one inference or step: the median where there are several.
        time: Seconds,
        /// How many it rests on.
        samples: u64,
    },
    /// How long a command will take, said before it starts.
    Forecast {
        /// What is measured, in a few words: `8 changes, 2 processes each`.
        what: String,
        /// At least so long.
        least: Duration,
        /// At most so long, as far as can be told beforehand; `None` if nothing limits it.
        most: Option<Duration>,
    },
    /// A measurement ended with a run, which is stored already where there is a store.
    CellFinished {
        /// The run, whole.
        run: Box<Run>,
    },
    /// A measurement ended without one.
    CellFailed {
        /// The request.
        cell: Box<Cell>,
        /// Why.
        failure: CellFailure,
    },
}

impl Event {
    /// A stage begins.
    #[must_use]
    pub fn stage(stage: Stage) -> Event {
        Event::StageStarted { stage, label: None }
    }

    /// A stage goes on.
    #[must_use]
    pub fn progress(stage: Stage, done: u64, total: Option<u64>, note: impl Into<String>) -> Event {
        Event::Progress { stage, done, total, note: note.into(), label: None }
    }

    /// Requests are sent.
    #[must_use]
    pub fn load(live: LoadProgress) -> Event {
        Event::LoadProgress { live: Box::new(live), label: None }
    }

    /// The same, told of one among several measurements; a label that it has already is part of that one.
    #[must_use]
    pub fn labelled(mut self, of: &str) -> Event {
        if let Event::StageStarted { label, .. }
        | Event::Progress { label, .. }
        | Event::LoadProgress { label, .. }
        | Event::Interim { label, .. } = &mut self
        {
            *label = Some(match label.take() {
                Some(inner) => format!("{of}: {inner}"),
                None => of.to_owned(),
            });
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_field_and_labels_nest() {
        let event = Event::progress(Stage::Sample, 1, Some(2), "3 runs");
        let Event::Progress { label, note, .. } = event.labelled("batch 4").labelled("fit") else {
            panic!("another event")
        };
        assert_eq!((label.as_deref(), note.as_str()), (Some("fit: batch 4"), "3 runs"));
        let waiting = Event::Waiting { reason: WaitReason::LastCells { cells: 1 } };
        assert_eq!(waiting.clone().labelled("x"), waiting);
    }

    #[test]
    fn events_survive_their_json() {
        let task = Task {
            model: "gpt2".into(),
            engine: "any".into(),
            device: Device::Cpu,
            precision: None,
            batch_size: Some(4),
            sequence_length: None,
            threads: None,
            mode: crate::Mode::Inference,
            generation: None,
            seed: 0,
        };
        let eta = Some(Duration::from_secs(90));
        let device = Device::Cpu;
        for event in [
            Event::stage(Stage::Load).labelled("batch 4"),
            Event::progress(Stage::Prepare, 1, None, "reading weights"),
            Event::load(LoadProgress { sent: 3, ..LoadProgress::default() }).labelled("round 1"),
            Event::TaskStarted { task: Box::new(task), process: 1, finished: 0, of: 2, eta },
            Event::Waiting { reason: WaitReason::Device { device, who: "plan `b`".into() } },
        ] {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        }
    }
}
