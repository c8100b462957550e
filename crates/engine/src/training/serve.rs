//! The worker's half of the protocol for a model that is trained: every sample is a step.

use super::{
    keeper::Keeper,
    refusal,
    trainer::{Times, Trainer},
};
use crate::{
    AllocationTracker, Engine, EngineError, EngineErrorKind, Failure, FirstReport, LoadJob,
    LoadReport, Media, MemoryRecord, Reply, Request, Signature,
    answering::{answer_all, take_window},
    draw::inputs_of,
    protocol::write_message,
    worker::{Recorder, failed, find, guard, guard_file},
    write_allocations,
};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    path::Path,
    time::{Duration, Instant},
};
use types::{Phase, TrainingReport};

/// A model in training.
enum Trained<'e> {
    /// The weights are here, the engine runs graphs.
    Here(Box<Trainer<'e>>),
    /// The engine keeps the weights.
    There(Box<Keeper>),
}

impl<'e> Trained<'e> {
    fn step(&mut self) -> Result<Times, EngineError> {
        match self {
            Trained::Here(trainer) => trainer.step(),
            Trained::There(keeper) => keeper.step(),
        }
    }

    fn report(&self) -> TrainingReport {
        match self {
            Trained::Here(trainer) => trainer.report(),
            Trained::There(keeper) => keeper.report(),
        }
    }

    fn output(&self) -> (String, Vec<usize>) {
        match self {
            Trained::Here(trainer) => trainer.output(),
            Trained::There(keeper) => keeper.output(),
        }
    }

    fn write_gradients(&mut self, path: &Path) -> Result<(), EngineError> {
        match self {
            Trained::Here(trainer) => trainer.write_gradients(path),
            Trained::There(keeper) => keeper.write_gradients(path),
        }
    }

    fn write_outputs(&mut self, path: &Path) -> Result<(), EngineError> {
        match self {
            Trained::Here(trainer) => trainer.write_outputs(path),
            Trained::There(keeper) => keeper.write_outputs(path),
        }
    }

    /// A training whose steps can be looked into.
    fn here(&mut self) -> Result<&mut Trainer<'e>, EngineError> {
        match self {
            Trained::Here(trainer) => Ok(trainer),
            Trained::There(_) => {
                let why = "an engine that keeps the weights shows nothing of its steps";
                Err(EngineError::new(EngineErrorKind::Unsupported, why))
            }
        }
    }
}

/// Loads a model to train and answers everything that follows; `false` where it could not be loaded, which is told.
pub(crate) fn serve(
    engines: &[&dyn Engine],
    job: &LoadJob,
    tracker: &dyn AllocationTracker,
    reader: &mut impl BufRead,
    writer: &mut impl Write,
) -> io::Result<bool> {
    let (mut trainer, report) = match guard_file(&job.engine, || load(engines, job)) {
        Ok(loaded) => loaded,
        Err(failure) => {
            write_message(writer, &Reply::Failed(failure))?;
            return Ok(false);
        }
    };
    write_message(writer, &Reply::Loaded(Box::new(report)))?;
    answer_all(reader, writer, |request| match request {
        Request::First => {
            guard(|| first(&mut trainer)).map(|report| Reply::First(Box::new(report)))
        }
        Request::Run { count, budget } => {
            guard(|| take_window(count, budget, |recorder| sample(&mut trainer, recorder)))
                .map(Reply::Window)
        }
        Request::Trained => Ok(Reply::Trained { report: Box::new(trainer.report()) }),
        Request::Gradients { path } => {
            guard(|| trainer.write_gradients(&path)).map(|()| Reply::Written)
        }
        Request::Observe { .. } => Ok(Reply::Observed { shapes: Vec::new() }),
        Request::Profile { count, detail } => guard(|| trainer.here()?.profile(count, detail))
            .map(|profile| Reply::Profiled { profile: Some(profile) }),
        Request::Memory { count, events } => {
            guard(|| remember(&mut trainer, count, tracker, &events))
                .map(|record| Reply::Remembered { record: Some(record) })
        }
        Request::Load(_) => Err(failed("a worker loads one model")),
        Request::Outputs { path, .. } => {
            guard(|| trainer.write_outputs(&path)).map(|()| Reply::Written)
        }
        Request::Calibrate { .. }
        | Request::Count
        | Request::Generated
        | Request::Serve(_)
        | Request::ServeOn { .. }
        | Request::Encode { .. }
        | Request::Make { .. }
        | Request::Unpickle { .. }
        | Request::Bye => Err(not_in_training()),
    })?;
    Ok(true)
}

fn not_in_training() -> Failure {
    let message = "a worker that trains a model answers nothing else";
    Failure { kind: EngineErrorKind::Unsupported, ..failed(message) }
}

fn load<'e>(
    engines: &[&'e dyn Engine],
    job: &LoadJob,
) -> Result<(Trained<'e>, LoadReport), EngineError> {
    let (loader, version) = find(engines, job)?;
    let Some(training) = &job.training else {
        return Err(EngineError::new(EngineErrorKind::BadInput, "nothing is to be trained"));
    };
    refusal::check(engines, job, training)?;
    let inputs = inputs_of(job)?;
    let media = job.media.as_ref().map(|media| Media::open(media, &job.inputs)).transpose()?;
    let started = Instant::now();
    if let Some(loader) = loader.trainer_loader() {
        let keeper = Keeper::new(loader, job, training, inputs, media)?;
        let report = keeper.load_report(started.elapsed(), version);
        return Ok((Trained::There(Box::new(keeper)), report));
    }
    let Some(loader) = loader.runner_loader() else {
        let why = format!("engine `{}` cannot train", job.engine);
        return Err(EngineError::new(EngineErrorKind::Unsupported, why));
    };
    let trainer = Trainer::new(loader, job, training, inputs, media)?;
    let report = LoadReport {
        load: started.elapsed(),
        version,
        placement: trainer.placement(),
        signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
        real_tokens: None,
        remarks: Vec::new(),
        versions: BTreeMap::new(),
        steps: Vec::new(),
        machine: None,
    };
    Ok((Trained::Here(Box::new(trainer)), report))
}

fn first(trainer: &mut Trained<'_>) -> Result<FirstReport, EngineError> {
    let times = trainer.step()?;
    let whole = times.iter().find(|(phase, _)| *phase == Phase::Total);
    Ok(FirstReport {
        inference: whole.map_or(Duration::ZERO, |(_, time)| *time),
        outputs: vec![trainer.output()],
        non_finite: Vec::new(),
    })
}

fn remember(
    trainer: &mut Trained<'_>,
    count: u64,
    tracker: &dyn AllocationTracker,
    events: &Path,
) -> Result<Box<MemoryRecord>, EngineError> {
    let mut record = trainer.here()?.remember(count.max(1), tracker)?;
    if let Some(allocations) = &mut record.allocations.value {
        write_allocations(events, allocations)?;
        allocations.clear_columns();
    }
    Ok(Box::new(record))
}

fn sample(trainer: &mut Trained<'_>, recorder: &mut Recorder) -> Result<(), EngineError> {
    for (phase, time) in trainer.step()? {
        recorder.push(phase, time);
    }
    Ok(())
}
