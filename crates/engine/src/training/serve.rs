//! The worker's half of the protocol for a model that is trained: every sample is a step.

use super::{refusal, trainer::Trainer};
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
use types::Phase;

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
        Request::Profile { count, detail } => guard(|| trainer.profile(count, detail))
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
) -> Result<(Trainer<'e>, LoadReport), EngineError> {
    let (loader, version) = find(engines, job)?;
    let Some(training) = &job.training else {
        return Err(EngineError::new(EngineErrorKind::BadInput, "nothing is to be trained"));
    };
    let Some(loader) = loader.runner_loader() else {
        let why = format!("engine `{}` cannot train", job.engine);
        return Err(EngineError::new(EngineErrorKind::Unsupported, why));
    };
    refusal::check(engines, job, training)?;
    let inputs = inputs_of(job)?;
    let media = job.media.as_ref().map(|media| Media::open(media, &job.inputs)).transpose()?;
    let started = Instant::now();
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
    Ok((trainer, report))
}

fn first(trainer: &mut Trainer<'_>) -> Result<FirstReport, EngineError> {
    let times = trainer.step()?;
    let whole = times.iter().find(|(phase, _)| *phase == Phase::Total);
    Ok(FirstReport {
        inference: whole.map_or(Duration::ZERO, |(_, time)| *time),
        outputs: vec![trainer.output()],
        non_finite: Vec::new(),
    })
}

fn remember(
    trainer: &mut Trainer<'_>,
    count: u64,
    tracker: &dyn AllocationTracker,
    events: &Path,
) -> Result<Box<MemoryRecord>, EngineError> {
    let mut record = trainer.remember(count.max(1), tracker)?;
    if let Some(allocations) = &mut record.allocations.value {
        write_allocations(events, allocations)?;
        allocations.clear_columns();
    }
    Ok(Box::new(record))
}

fn sample(trainer: &mut Trainer<'_>, recorder: &mut Recorder) -> Result<(), EngineError> {
    for (phase, time) in trainer.step()? {
        recorder.push(phase, time);
    }
    Ok(())
}
