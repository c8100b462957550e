//! One line of a journal.

use crate::RunNow;
use serde::{Deserialize, Serialize};
use types::{Event, Run};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// The process begins.
    Began {
        /// When, in microseconds since the epoch.
        at: i64,
        /// Its number.
        pid: u32,
        /// What it does: `profile`, `bench`.
        command: String,
        /// The version of the program.
        version: String,
    },
    /// What the process asks or measures, where no cell tells it.
    Aimed {
        /// When, in microseconds since the epoch.
        at: i64,
        /// A model, or the address of a server without what may be secret in it.
        target: String,
    },
    /// Something happened.
    Happened {
        /// When, in microseconds since the epoch.
        at: i64,
        /// What.
        event: Box<Event>,
    },
    /// A plan began.
    Planned {
        /// When, in microseconds since the epoch.
        at: i64,
        /// Its name.
        plan: String,
        /// Processes that will measure.
        processes: usize,
        /// Of those, how many are finished already.
        finished: usize,
    },
    /// A run is there.
    Ran {
        /// When, in microseconds since the epoch.
        at: i64,
        /// What is told of it.
        run: RunNow,
    },
    /// The process ended by itself.
    Ended {
        /// When, in microseconds since the epoch.
        at: i64,
        /// Its exit code.
        exit: i32,
    },
}

impl Line {
    /// What is written of an event; a run is in the database, and here only its name and a few numbers.
    pub(crate) fn of(event: &Event) -> Line {
        let at = clock::now();
        match event {
            Event::PlanStarted { plan, processes, finished, .. } => {
                Line::Planned { at, plan: plan.clone(), processes: *processes, finished: *finished }
            }
            Event::CellFinished { run } | Event::TaskFinished { run, .. } => Line::ran(at, run),
            other => Line::Happened { at, event: Box::new(other.clone()) },
        }
    }

    fn ran(at: i64, run: &Run) -> Line {
        Line::Ran { at, run: RunNow::from(run) }
    }
}
