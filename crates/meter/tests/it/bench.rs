//! What the tests share: a job for the fake and a way to start it.

#[path = "../../testing/plain_job.rs"]
mod plain_job;

pub(crate) use plain_job::{bench, work};

use modelmeter_meter::{Bench, Job, Launch, MeterError, measure};
use std::{path::Path, time::Duration};
use types::{Event, Run, StoppingRule, Warmup};

/// A worker process that follows the script.
pub(crate) fn scripted(script: &str) -> Launch {
    Launch::Process {
        program: env!("CARGO_BIN_EXE_fake-worker").into(),
        arguments: vec![script.into()],
        environment: vec![],
    }
}

/// Ten runs, two of warm-up: enough to see every path and quick.
pub(crate) fn short_rule() -> StoppingRule {
    StoppingRule {
        warmup: Warmup::Runs { count: 2 },
        min_runs: 12,
        max_runs: 12,
        min_duration: Duration::ZERO,
        max_duration: Duration::from_secs(20),
        timeout: Duration::from_secs(20),
        ..StoppingRule::default()
    }
}

pub(crate) fn job(onnx: &Path) -> Job<'static> {
    plain_job::job("fake", onnx)
}

/// Measures the fake with this script and rule; also gives back every event.
pub(crate) fn measured(script: &str, rule: &StoppingRule) -> (Result<Run, MeterError>, Vec<Event>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut events = Vec::new();
    let mut sink = |event| events.push(event);
    let run = measure(&job(file.path()), &bench(), &scripted(script), rule, &mut sink);
    (run, events)
}
