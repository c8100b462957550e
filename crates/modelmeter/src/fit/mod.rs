//! The best throughput under a limit of memory: precisions and batches are tried, all of them held to the limit.

mod confirm;
mod context;
mod estimate;
mod need;
mod way;

use crate::{
    EngineChoice, Error, Profiler, Session,
    choose::refusal,
    prepare,
    prepare::Prepared,
    worker::{owner_of_memory, present_memory},
};
use confirm::Candidate;
use meter::{Limit, MeterError};
use models::ModelError;
use number::mebibytes;
use std::time::Instant;
use types::{
    Bytes, Confirmation, Device, Event, FitContext, FitLeftOut, FitOutcome, FitReport, FitWay,
    LimitedBy, Precision, Refusal, Remark, RemarkCode, Run, SmallestNeed,
};
use way::Bounds;

/// No batch beyond this is looked at unless somebody asks: throughput has long stopped growing by then.
const MOST_BATCH: usize = 256;
/// The label of the runs that confirm.
const TAG: &str = "fit";

/// Searches batch and precision for the best throughput under a limit of memory.
///
/// The static estimate says where to begin, everything else is measured in workers that are held to the limit: what
/// fits, how fast it is, and, whole and stored, the winner.
///
/// ```standalone_crate
/// use modelmeter::{Bytes, Fitter, Profiler, Session};
///
/// fn main() -> Result<(), modelmeter::Error> {
///     modelmeter::serve_if_worker();
///     let profiler = Profiler::new("feed-forward-baseline").engine("rten").offline(true);
///     let report = Fitter::new(profiler.runs(20), Bytes(512 << 20))
///         .most_batch(4)
///         .fit(&mut Session::without_store(), &mut |_| {})?;
///     let best = report.best().expect("so small a model fits");
///     assert!(best.peak.is_some_and(|peak| peak <= report.limit));
///     println!("{}", best.command);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Fitter {
    profiler: Profiler,
    limit: Bytes,
    engines: Vec<String>,
    precisions: Vec<Precision>,
    most: usize,
    most_context: Option<usize>,
}

/// What became of a measurement under a limit.
enum Standing {
    /// It stayed within.
    Fits(Box<Run>),
    /// It did not.
    Refused(Refusal),
}

/// An engine in a precision that was tried.
struct Explored {
    way: FitWay,
    profiler: Profiler,
    device: Device,
    /// The smallest batch that is possible.
    least: usize,
}

/// What all ways share.
struct Stage {
    device: Device,
    limit: Bytes,
    limited_by: LimitedBy,
    /// The engines to try.
    engines: Vec<String>,
    /// The model as it is, on the first of them.
    base: Prepared,
}

impl Fitter {
    /// Looks for the best of what this measures; its own batch and precision are not looked at.
    #[must_use]
    pub fn new(profiler: Profiler, limit: Bytes) -> Fitter {
        let (engines, precisions) = (Vec::new(), Vec::new());
        Fitter { profiler, limit, engines, precisions, most: MOST_BATCH, most_context: None }
    }

    /// Tries these engines instead of the one that the profiler names or that is found first.
    #[must_use]
    pub fn engines<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Fitter {
        self.engines = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Tries these number formats instead of all that the engine can compute in.
    #[must_use]
    pub fn precisions(mut self, precisions: impl IntoIterator<Item = Precision>) -> Fitter {
        self.precisions = precisions.into_iter().collect();
        self
    }

    /// Looks at no larger batch than this, 256 unless said.
    #[must_use]
    pub fn most_batch(mut self, most: usize) -> Fitter {
        self.most = most;
        self
    }

    /// Looks at no longer texts than this; 8,192 tokens, or what the model was made for, unless said. Only where it generates.
    #[must_use]
    pub fn most_context(mut self, most: usize) -> Fitter {
        self.most_context = Some(most);
        self
    }

    /// Searches and confirms; runs that confirm are kept in the session's database with the label `fit`.
    ///
    /// # Errors
    /// When the model cannot be had, nothing here can run it, nobody can enforce the limit, or the database fails. That
    /// nothing fits is no error: the report says so.
    pub fn fit(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<FitReport, Error> {
        self.check()?;
        let begin = Instant::now();
        let started_at = clock::now();
        let mut remarks = Vec::new();
        let stage = self.stage(&mut remarks, sink)?;
        let (explored, left_out) = self.explore(&stage, session, sink)?;
        let contexts = self.contexts(&explored, sink)?;
        let candidates = candidates(&explored, &stage);
        let confirmations = confirm::confirm(&candidates, session, sink)?;
        let winner = confirm::winner(&confirmations);
        let smallest_need: Option<SmallestNeed> = match winner {
            Some(_) => None,
            None => need::smallest(&explored, &mut remarks, sink)?,
        };
        remarks.extend(self.remarks(&stage, &explored, winner.map(|index| &confirmations[index])));
        Ok(FitReport {
            started_at,
            elapsed: begin.elapsed(),
            model: stage.base.model_info().clone(),
            // Of a test of generating the length follows from the test.
            sequence_length: match stage.base.cell.generation {
                Some(_) => None,
                None => stage.base.cell.sequence_length,
            },
            device: stage.device,
            threads: stage.base.cell.threads,
            machine: session.machine().clone(),
            limit: stage.limit,
            limited_by: Some(stage.limited_by),
            most: self.most,
            generation: stage.base.cell.generation,
            contexts,
            ways: explored.into_iter().map(|one| one.way).collect(),
            left_out,
            confirmations,
            winner,
            smallest_need,
            remarks,
        })
    }

    /// How long texts may become, where the model generates.
    fn contexts(
        &self,
        explored: &[Explored],
        sink: &mut dyn FnMut(Event),
    ) -> Result<Vec<FitContext>, Error> {
        if self.profiler.generation.is_none() {
            return Ok(Vec::new());
        }
        explored.iter().map(|one| context::explore(one, self.most_context, sink)).collect()
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        if self.limit.0 == 0 {
            return wrong("the memory limit must be more than 0");
        }
        if self.most_context == Some(0) {
            return wrong("the longest text must have at least 1 token");
        }
        if self.most == 0 {
            return wrong("the largest batch must be at least 1");
        }
        if self.profiler.training.is_some() {
            return wrong("only inference can be fitted so far, not training");
        }
        self.profiler.check_rule()
    }

    /// Settles device, engines and limit, and who enforces it, before anything is measured.
    fn stage(
        &self,
        remarks: &mut Vec<Remark>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Stage, Error> {
        let mut profiler = self.profiler.clone();
        (profiler.batch_size, profiler.memory_limit) = (None, None);
        let (base, engines) = self.base(&profiler, sink)?;
        let device = base.cell.device;
        let present = present_memory(device).filter(|present| *present < self.limit);
        if let Some(present) = present {
            remarks.push(Remark::new(
                RemarkCode::LessMemory,
                format!(
                    "{} has only {}, which is used as the limit",
                    owner_of_memory(device),
                    mebibytes(present.0)
                ),
            ));
        }
        let limit = present.unwrap_or(self.limit);
        let limited_by = match device.bounded_by() {
            Some(Device::Cpu) => Limit { bytes: limit, by: profiler.limit_by }.holder()?,
            _ if engines.iter().any(|id| self.limits_on(id, device)) => LimitedBy::DeviceAllocator,
            _ => return Err(self.unlimited(&base.cell.engine, device)),
        };
        Ok(Stage { device, limit, limited_by, engines, base })
    }

    /// The model on the first engine that takes it, and the engines to try.
    fn base(
        &self,
        profiler: &Profiler,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(Prepared, Vec<String>), Error> {
        let mut engines: Vec<String> = Vec::new();
        for name in &self.engines {
            let id = profiler.engines.require(name)?.id();
            if !engines.iter().any(|known| known == id) {
                engines.push(id.to_owned());
            }
        }
        let named = |id: &String| EngineChoice::Named(id.clone());
        let choices = match engines.as_slice() {
            [] => vec![profiler.engine.clone()],
            asked => asked.iter().map(named).collect(),
        };
        // What is asked for chooses the engine; the model's own format otherwise.
        let formats = match self.precisions.as_slice() {
            [] => vec![None],
            asked => asked.iter().copied().map(Some).collect(),
        };
        let mut first_failure = None;
        for precision in formats {
            for engine in &choices {
                let one = Profiler { precision, engine: engine.clone(), ..profiler.clone() };
                match prepare::prepare(&one, sink) {
                    Ok(base) => {
                        let own = vec![base.cell.engine.clone()];
                        return Ok((base, if engines.is_empty() { own } else { engines }));
                    }
                    Err(error) if is_about_the_way(&error) => {
                        first_failure = first_failure.or(Some(error));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(first_failure.unwrap_or_else(|| Error::Rule("no engine was named".into())))
    }

    /// Every engine in every precision; what cannot be is told with the reason.
    fn explore(
        &self,
        stage: &Stage,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(Vec<Explored>, Vec<FitLeftOut>), Error> {
        let mut explored = Vec::new();
        let mut left_out = Vec::new();
        let mut first_failure = None;
        let precisions = formats(&self.precisions, stage.base.resolved().gguf.is_some());
        for engine in &stage.engines {
            for &precision in &precisions {
                match self.explore_one(stage, engine, precision, session, sink) {
                    Ok(one) => explored.push(one),
                    Err(error) if is_about_the_way(&error) => {
                        let why = why(&error);
                        left_out.push(FitLeftOut { engine: engine.clone(), precision, why });
                        first_failure = first_failure.or(Some(error));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        match first_failure {
            Some(error) if explored.is_empty() => Err(error),
            _ => Ok((explored, left_out)),
        }
    }

    fn explore_one(
        &self,
        stage: &Stage,
        engine: &str,
        precision: Precision,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Explored, Error> {
        let Stage { device, limit, .. } = *stage;
        if let Some(known) = self.profiler.engines.find(engine)
            && let Some(why) = refusal(known, device, precision, &self.profiler.places)
        {
            let why = vec![(engine.to_owned(), why)];
            return Err(Error::NoEngine { device, precision, why, instead: None });
        }
        if device.bounded_by() != Some(Device::Cpu) && !self.limits_on(engine, device) {
            return Err(self.unlimited(engine, device));
        }
        let fixed = stage.base.fixed_batch();
        let least = fixed.unwrap_or(1);
        let profiler = self.profiler.clone().engine(engine).device(device).precision(precision);
        let profiler = profiler.memory_limit(limit).batch_size(least);
        let prepared = prepare::prepare(&profiler, sink)?;
        let bounds = Bounds { limit, most: self.most, fixed };
        let way = way::explore(&profiler, &prepared, &bounds, session, sink)?;
        Ok(Explored { way, profiler: profiler.tag(TAG), device, least })
    }

    fn limits_on(&self, engine: &str, device: Device) -> bool {
        self.profiler.engines.find(engine).is_some_and(|engine| engine.limits_memory_on(device))
    }

    /// That an engine keeps no limit on a device, and which engines do on which devices.
    fn unlimited(&self, engine: &str, device: Device) -> Error {
        let gpus = [Device::Cuda(0), Device::Rocm(0), Device::Xpu(0), Device::Mps];
        let able = self.profiler.engines.iter().filter_map(|engine| {
            let on = gpus.into_iter().filter(|gpu| engine.limits_memory_on(*gpu));
            let family = |gpu: Device| gpu.to_string().split(':').next().map(str::to_owned);
            let on: Vec<String> = on.filter_map(family).collect();
            (!on.is_empty()).then(|| (engine.id().to_owned(), on.join(" and ")))
        });
        Error::Unlimited { engine: engine.to_owned(), device, able: able.collect() }
    }

    /// What a reader must know of the result.
    fn remarks(
        &self,
        stage: &Stage,
        explored: &[Explored],
        best: Option<&Confirmation>,
    ) -> Vec<Remark> {
        let mut remarks = stage.base.remarks();
        let Some(best) = best else { return remarks };
        let cell = &best.cell;
        // Precisions are in the order of their width.
        let widest = explored.iter().map(|one| one.way.precision).min();
        if let Some(widest) = widest.filter(|widest| *widest != cell.precision) {
            remarks.push(Remark::new(RemarkCode::PrecisionChangesOutputs, format!(
                "{} changes the outputs: `modelmeter compare {} --engines {} --precisions {widest},{}` shows by how \
                 much",
                cell.precision, cell.model, cell.engine, cell.precision
            )));
        }
        if cell.batch_size == self.most {
            let twice = self.most.saturating_mul(2);
            remarks.push(Remark::new(
                RemarkCode::LargestBatch,
                format!("no larger batch was tried: `--max-batch {twice}` goes further"),
            ));
        }
        remarks
    }
}

/// The number formats to try, widest first: those that were asked for; otherwise all, and of a file of llama.cpp its own too.
fn formats(asked: &[Precision], is_gguf: bool) -> Vec<Precision> {
    let mut formats = match asked {
        [] => Precision::ALL.into_iter().chain(is_gguf.then_some(Precision::Stored)).collect(),
        asked => asked.to_vec(),
    };
    formats.sort_unstable();
    formats.dedup();
    formats
}

/// Everything that was timed within the limit.
fn candidates(explored: &[Explored], stage: &Stage) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for one in explored {
        let fitting = one.way.cells.iter().filter(|cell| cell.outcome == FitOutcome::Fits);
        candidates.extend(fitting.filter_map(|cell| {
            let mut what = stage.base.cell.clone();
            what.engine.clone_from(&one.way.engine);
            (what.precision, what.batch_size) = (one.way.precision, cell.batch);
            let profiler = one.profiler.clone().batch_size(cell.batch);
            Some(Candidate { profiler, cell: what, throughput: cell.throughput? })
        }));
    }
    candidates
}

/// Whether a worker ended or fell silent without saying that memory ran out; under a limit that means the same.
fn is_stopped(error: &MeterError) -> bool {
    matches!(error, MeterError::Died { .. } | MeterError::Timeout { .. })
}

/// Whether an error says that this engine cannot do this precision, and nothing of the others.
fn is_about_the_way(error: &Error) -> bool {
    match error {
        Error::NoEngine { .. }
        | Error::NotForEngine { .. }
        | Error::Unlimited { .. }
        | Error::Meter(MeterError::Engine(_)) => true,
        Error::Model(error) => matches!(
            error,
            ModelError::Precision { .. } | ModelError::Convert { .. } | ModelError::NoGraph { .. }
        ),
        _ => false,
    }
}

/// Why a way was left out, in one line.
fn why(error: &Error) -> String {
    match error {
        Error::NoEngine { why, .. } => {
            why.first().map_or_else(|| error.to_string(), |(_, why)| why.clone())
        }
        Error::Meter(error) => crate::error::spell(error),
        Error::Model(error) => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_file_is_tried_where_it_is_asked_for_and_where_nothing_is() {
        assert_eq!(formats(&[], false), Precision::ALL);
        let all = formats(&[], true);
        assert_eq!(all[..4], Precision::ALL);
        assert_eq!(all[4..], [Precision::Stored]);
        assert_eq!(formats(&[Precision::Stored], true), [Precision::Stored]);
        let twice = [Precision::Stored, Precision::Fp32, Precision::Fp32];
        assert_eq!(formats(&twice, true), [Precision::Fp32, Precision::Stored]);
    }
}
