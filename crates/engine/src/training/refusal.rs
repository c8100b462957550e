//! What graphs of a training step cannot do, and which engine could.

use crate::{
    Engine, EngineError, EngineErrorKind, LoadJob, LoadRequest, Takes, TrainingJob, TrainingTraits,
};
use types::Precision;

/// Refuses what only a framework's own module can do; `engines` are those that may be named instead.
pub(super) fn check(
    engines: &[&dyn Engine],
    job: &LoadJob,
    training: &TrainingJob,
) -> Result<(), EngineError> {
    let unsupported = |why: &str, hint: String| {
        let why = format!("engine `{}` trains in {why}", job.engine);
        Err(EngineError::new(EngineErrorKind::Unsupported, why).with_hint(hint))
    };
    let precision = job.request.precision;
    if precision != Precision::Fp32 {
        let trains_so = |own: &TrainingTraits| own.precisions.contains(&precision);
        let hint = match module_trainer(engines, &job.request, trains_so) {
            Some(id) => format!("`--engine {id}` trains in {precision}"),
            None => "use `--precision fp32`".to_owned(),
        };
        return unsupported("fp32 only", hint);
    }
    if training.training.world_size > 1 {
        let hint = match module_trainer(engines, &job.request, |own| own.in_several_processes) {
            Some(id) => format!("`--engine {id}` trains in several processes"),
            None => "use `--world-size 1`".to_owned(),
        };
        return unsupported("one process", hint);
    }
    Ok(())
}

/// The first engine that trains modules so, if the model exists as a module.
fn module_trainer(
    engines: &[&dyn Engine],
    request: &LoadRequest,
    is_able: impl Fn(&TrainingTraits) -> bool,
) -> Option<&'static str> {
    request.module.as_ref()?;
    let mut modules = engines.iter().filter(|engine| engine.takes() == Takes::Module);
    modules.find(|engine| engine.training().is_some_and(|own| is_able(&own))).map(|able| able.id())
}
