//! Where the time of one side goes, by module.

use crate::{Error, inside};
use engine::{EngineError, EngineErrorKind};
use meter::{Job, Launch, MeterError, node_profile};
use std::time::Duration;
use types::{Event, LayerProfile, Stage};

/// Inferences under instruments; enough that one hiccup does not decide.
const RUNS: u64 = 10;

/// The time of every module.
///
/// # Errors
/// When the worker fails or the engine has no instruments.
pub(crate) fn of(
    label: &str,
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    sink: &mut dyn FnMut(Event),
) -> Result<LayerProfile, Error> {
    let engine = &job.cell.engine;
    let note = format!("layers of {engine}");
    sink(Event::Progress { stage: Stage::Sample, done: 0, total: None, note });
    let profile = node_profile(job, launch, timeout, RUNS)?;
    let profile = profile.ok_or_else(|| {
        let text = format!("engine `{engine}` cannot tell where its time goes");
        let error = EngineError::new(EngineErrorKind::Unsupported, text)
            .with_hint("leave it out of `--engines`, or leave `--by layer` away");
        MeterError::from(error)
    })?;
    Ok(LayerProfile {
        label: label.to_owned(),
        runs: profile.runs,
        total_nanos: profile.total_nanos,
        layers: profile.nodes.into_iter().map(inside::layer_time).collect(),
    })
}
