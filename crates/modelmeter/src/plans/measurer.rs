//! How a cell of a plan is measured on this machine.

use crate::{
    EngineChoice, Error, Profiler, Session,
    choose::{meant_by, refusal},
    largest_batch,
    plans::cell_failure,
};
use engine::{Availability, Engine, Places, Takes};
use plan::{EngineOffer, Expansion, Measurer, MeasuringError, PlanFile, PlanSpec};
use types::{CellFailure, Device, Event, Machine, Mode, Precision, Run, Task};

/// Measures cells of a plan in a session.
pub struct CellMeasurer<'a> {
    base: &'a Profiler,
    session: &'a mut Session,
}

impl<'a> CellMeasurer<'a> {
    /// Measures in this session; `base` says everything that all cells have in common.
    #[must_use]
    pub fn new(base: &'a Profiler, session: &'a mut Session) -> CellMeasurer<'a> {
        CellMeasurer { base, session }
    }
}

impl Measurer for CellMeasurer<'_> {
    type Error = Error;

    fn machine(&self) -> &Machine {
        self.session.machine()
    }

    fn check(&self) -> Result<(), Error> {
        self.base.check_rule()
    }

    fn expand(&self, spec: &PlanSpec) -> Result<Expansion, Error> {
        Ok(spec.expand(&self.base.engines_here())?)
    }

    fn measure(
        &mut self,
        plan: &str,
        task: &Task,
        hear: &mut dyn FnMut(Event),
    ) -> Result<Result<Box<Run>, CellFailure>, Error> {
        match self.base.of_plan(plan, task).profile_in(self.session, hear) {
            Ok(profile) => Ok(Ok(Box::new(profile.run))),
            Err(error) => Ok(Err(cell_failure(error)?)),
        }
    }

    fn largest_batch(
        &mut self,
        plan: &str,
        task: &Task,
        refused: usize,
        hear: &mut dyn FnMut(Event),
    ) -> Option<usize> {
        let found = largest_batch(&self.base.of_plan(plan, task), refused, hear).ok()?;
        Some(found.batch.unwrap_or(0))
    }
}

impl MeasuringError for Error {
    fn hint(&self) -> Option<String> {
        Error::hint(self)
    }
}

impl Profiler {
    /// The measurement that a cell asks for; this one says everything that all cells have in common.
    #[must_use]
    pub fn of_cell(&self, task: &Task) -> Profiler {
        Profiler {
            model: task.model.clone(),
            engine: EngineChoice::Named(task.engine.clone()),
            device: task.device,
            precision: task.precision,
            batch_size: task.batch_size,
            sequence_length: task.sequence_length,
            threads: task.threads.or(self.threads),
            seed: task.seed,
            training: match task.mode {
                Mode::Inference | Mode::Generate | Mode::Load => None,
                Mode::Training => Some(self.training.clone().unwrap_or_default()),
            },
            generation: task.generation,
            ..self.clone()
        }
    }

    /// The same, labelled with the plan.
    pub(super) fn of_plan(&self, plan: &str, task: &Task) -> Profiler {
        let profiler = self.of_cell(task);
        if profiler.tags.iter().any(|tag| tag == plan) { profiler } else { profiler.tag(plan) }
    }

    /// Samples as a plan's file says, where it does.
    #[must_use]
    pub fn as_in(mut self, file: &PlanFile) -> Profiler {
        if let Some(runs) = file.runs {
            self = self.runs(runs);
        }
        if let Some(duration) = file.duration {
            self = self.duration(duration);
        }
        if let Some(warmup) = file.warmup {
            self = self.warmup(warmup);
        }
        if let Some(share) = file.target_error {
            self = self.target_error(share);
        }
        if let Some(timeout) = file.timeout {
            self = self.timeout(timeout);
        }
        file.tags.iter().fold(self, |base, tag| base.tag(tag))
    }

    /// What every engine offers to this measurement.
    #[must_use]
    pub fn engines_here(&self) -> Vec<EngineHere<'_>> {
        self.engines.iter().map(|engine| EngineHere { engine, places: &self.places }).collect()
    }
}

/// An engine, and where it is looked for.
pub struct EngineHere<'a> {
    engine: &'static dyn Engine,
    places: &'a Places,
}

impl EngineOffer for EngineHere<'_> {
    fn id(&self) -> &str {
        self.engine.id()
    }

    fn absence(&self) -> Option<String> {
        match self.engine.availability(self.places) {
            Availability::Unavailable { why, .. } => Some(why),
            _ => None,
        }
    }

    fn devices(&self) -> Vec<Device> {
        self.engine.devices(self.places)
    }

    fn device_meant_by(&self, wish: Device) -> Device {
        meant_by(wish, self.engine, self.places)
    }

    fn refusal(&self, device: Device, precision: Precision) -> Option<String> {
        refusal(self.engine, device, precision, self.places)
    }

    fn usual_precision(&self) -> Precision {
        match self.engine.takes() {
            Takes::Gguf => Precision::Stored,
            _ => Precision::Fp32,
        }
    }

    fn trains(&self) -> bool {
        self.engine.training().is_some()
    }

    fn generates(&self) -> bool {
        self.engine.generates()
    }
}
