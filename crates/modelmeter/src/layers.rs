//! Where the time of one side goes, by module.

use crate::{Error, inside};
use engine::{EngineError, EngineErrorKind};
use meter::{Job, Launch, MeterError, layer_pass};
use std::time::Duration;
use types::{Event, LayerProfile, StoppingRule};

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
    let rule = StoppingRule { timeout, ..StoppingRule::default() };
    let pass = layer_pass(job, launch, &rule, &hardware::machine(), sink)?;
    let found = pass.and_then(|pass| analysis::layer_profile(label, &inside::turns(pass)));
    found.ok_or_else(|| {
        let text = format!("engine `{engine}` cannot measure layers");
        let error = EngineError::new(EngineErrorKind::Unsupported, text)
            .with_hint("remove it from `--engines`, or omit `--by layer`");
        MeterError::from(error).into()
    })
}
