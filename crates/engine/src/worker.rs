//! The worker's half of the protocol: load one model, run it, time it, answer.

use crate::{
    AllocationTracker, Detail, Encoder, Engine, EngineError, EngineErrorKind, Failure, FirstReport,
    Greeting, Host, LoadJob, LoadReport, LoadedModel, Loader, Media, MemoryRecord, NodeProfile,
    PROTOCOL, Reply, Request, Session, TextJob, Untracked, Window,
    answering::{answer_all, take_window},
    draw::inputs_of,
    generation, network,
    protocol::{read_message, write_message},
    reading,
    serving::Serving,
    tensors::write_tensors,
    training, write_allocations,
};
use std::{
    io::{self, BufRead, Write},
    path::Path,
    time::{Duration, Instant},
};
use types::{Device, HostTensor, InputRole, Phase, Samples, caught};

/// Token ids, mask and segments of a batch, row-major `[batch, length]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids.
    pub ids: Vec<i64>,
    /// 1 for real tokens.
    pub mask: Vec<i64>,
    /// Segments.
    pub types: Vec<i64>,
    /// Tokens in each row.
    pub length: usize,
}

/// Something that turns texts into token ids.
pub trait Tokeniser {
    /// Encodes a batch, padded to its longest text, cut at `max_length`.
    ///
    /// # Errors
    /// When a text cannot be encoded, in plain words.
    fn encode(&self, texts: &[String], max_length: Option<usize>) -> Result<Encoded, String>;

    /// The text of tokens.
    ///
    /// # Errors
    /// When a token is unknown, in plain words.
    fn decode(&self, tokens: &[i64]) -> Result<String, String>;
}

/// Opens a tokenizer file; the crate that knows tokenizers hands it in.
pub type OpenTokeniser<'a> = &'a dyn Fn(&Path) -> Result<Box<dyn Tokeniser>, String>;

/// Answers one parent until it says `bye` or goes away.
///
/// A panic of an engine becomes a `failed` answer; an abort or a kill ends the process, which the parent sees.
///
/// # Errors
/// When the stream to the parent breaks.
pub fn serve(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    reader: impl BufRead,
    writer: impl Write,
) -> io::Result<()> {
    serve_tracked(engines, open_tokeniser, &Untracked, reader, writer)
}

/// As [`serve`], in a program that can record its allocations.
///
/// # Errors
/// As [`serve`].
pub fn serve_tracked(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    tracker: &dyn AllocationTracker,
    mut reader: impl BufRead,
    mut writer: impl Write,
) -> io::Result<()> {
    let greeting = Greeting { protocol: PROTOCOL, pid: std::process::id() };
    write_message(&mut writer, &Reply::Hello(greeting))?;
    while let Some(request) = read_message::<Request>(&mut reader)? {
        if let Request::Load(job) = &request {
            network::leave_for(job);
        }
        match request {
            Request::Load(job) if job.training.is_some() => {
                if training::serve(engines, &job, tracker, &mut reader, &mut writer)? {
                    return Ok(());
                }
            }
            Request::Load(job) if job.generation.is_some() => {
                let Some(what) = &job.generation else { continue };
                let (reader, writer) = (&mut reader, &mut writer);
                if generation::serve(engines, open_tokeniser, &job, what, tracker, reader, writer)?
                {
                    return Ok(());
                }
            }
            Request::Load(job) => {
                let prepared = guard_file(&job.engine, || load(engines, open_tokeniser, &job));
                match prepared {
                    Ok(mut prepared) => {
                        prepared.serve(&job, tracker, &mut reader, &mut writer)?;
                        return Ok(());
                    }
                    Err(failure) => write_message(&mut writer, &Reply::Failed(failure))?,
                }
            }
            Request::Bye => return Ok(()),
            Request::Calibrate { device, .. } => {
                write_message(&mut writer, &Reply::Failed(no_calibration(device)))?;
            }
            Request::Encode { text, longest, with_tokens } => {
                let report =
                    guard(|| reading::measure_text(open_tokeniser, &text, longest, with_tokens));
                let reply = report.map(|report| Reply::Encoded { report });
                write_message(&mut writer, &reply.unwrap_or_else(Reply::Failed))?;
            }
            Request::Make { media, inputs, path } => {
                let made = guard(|| reading::make_media(&media, &inputs, &path));
                let reply = made.map(|()| Reply::Written);
                write_message(&mut writer, &reply.unwrap_or_else(Reply::Failed))?;
            }
            Request::Unpickle { .. } => {
                let failure = failed("this worker reads no pickles");
                write_message(&mut writer, &Reply::Failed(failure))?;
            }
            other => {
                let message = format!("asked for `{other:?}` before a model was loaded");
                write_message(&mut writer, &Reply::Failed(failed(message)))?;
            }
        }
    }
    Ok(())
}

/// A model with everything a sample needs.
struct Prepared {
    model: Box<dyn LoadedModel>,
    tokeniser: Option<(Box<dyn Tokeniser>, TextJob)>,
    load: Duration,
    version: String,
}

/// The engine that a job names, if it is here and runs in this worker: its loader and its version.
pub(crate) fn find<'e>(
    engines: &[&'e dyn Engine],
    job: &LoadJob,
) -> Result<(&'e dyn Loader, String), EngineError> {
    let engine = engines.iter().find(|engine| engine.id() == job.engine).ok_or_else(|| {
        EngineError::new(
            EngineErrorKind::Unavailable,
            format!("this worker has no engine `{}`", job.engine),
        )
    })?;
    let Host::Worker(loader) = engine.host() else {
        let message = format!("engine `{}` runs in a program of its own", job.engine);
        return Err(EngineError::new(EngineErrorKind::Unavailable, message));
    };
    let version = match engine.availability(&job.request.places) {
        crate::Availability::Available { version } => version,
        crate::Availability::Unavailable { why, hint } => {
            return Err(EngineError::new(EngineErrorKind::Unavailable, why).with_hint(hint));
        }
    };
    Ok((loader, version))
}

fn load(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    job: &LoadJob,
) -> Result<Prepared, EngineError> {
    let (loader, version) = find(engines, job)?;
    let tokeniser = match &job.text {
        Some(text) => Some((reading::open(open_tokeniser, &text.tokenizer)?, text.clone())),
        None => None,
    };
    let started = Instant::now();
    let model = loader.load(&job.request)?;
    Ok(Prepared { model, tokeniser, load: started.elapsed(), version })
}

impl Prepared {
    /// Answers everything that follows a successful load.
    fn serve(
        &mut self,
        job: &LoadJob,
        tracker: &dyn AllocationTracker,
        reader: &mut impl BufRead,
        writer: &mut impl Write,
    ) -> io::Result<()> {
        let started = Instant::now();
        let session = guard(|| self.model.session());
        let load = self.load + started.elapsed();
        let drawn = match guard(|| inputs_of(job)) {
            Ok(drawn) => drawn,
            Err(failure) => return write_message(writer, &Reply::Failed(failure)),
        };
        let encoder = Encoder {
            tokeniser: self.tokeniser.as_ref().map(|(tokeniser, text)| (&**tokeniser, text)),
            postprocess: job.postprocess,
        };
        let bound = session.and_then(|session| {
            guard(|| Bench::new(session, encoder, drawn, job)).map(|bench| (bench, load))
        });
        let (mut bench, load) = match bound {
            Ok(bound) => bound,
            Err(failure) => return write_message(writer, &Reply::Failed(failure)),
        };
        let report = LoadReport {
            load,
            version: self.version.clone(),
            placement: self.model.placement(),
            signature: self.model.signature(),
            real_tokens: bench.real_tokens,
            remarks: self.model.remarks(),
            versions: self.model.versions(),
            steps: self.model.steps(),
            machine: self.model.machine(),
        };
        write_message(writer, &Reply::Loaded(Box::new(report)))?;
        let mut serving: Option<Serving> = None;
        answer_all(reader, writer, |request| match request {
            Request::First => guard(|| bench.first()).map(|first| Reply::First(Box::new(first))),
            Request::Run { count, budget } => guard(|| bench.run(count, budget)).map(Reply::Window),
            Request::Observe { values } => {
                guard(|| bench.observe(&values)).map(|shapes| Reply::Observed { shapes })
            }
            Request::Outputs { path, .. } => {
                guard(|| bench.write_outputs(&path)).map(|()| Reply::Written)
            }
            Request::Profile { count, detail } => {
                guard(|| bench.profile(count, detail)).map(|profile| Reply::Profiled { profile })
            }
            Request::Memory { count, events } => guard(|| bench.remember(count, tracker, &events))
                .map(|record| Reply::Remembered { record }),
            Request::Serve(job) => {
                let begun = guard(|| {
                    Serving::begin(&mut *bench.session, &bench.inputs, &bench.roles, *job)
                });
                begun.map(|begun| Reply::Served(Box::new(serving.insert(begun).report())))
            }
            Request::ServeOn { budget } => match &mut serving {
                Some(serving) => guard(|| serving.go_on(&mut *bench.session, budget))
                    .map(|report| Reply::Served(Box::new(report))),
                None => Err(failed("no requests were announced")),
            },
            Request::Count => Err(failed("a graph is counted by the parent")),
            Request::Load(_) => Err(failed("a worker loads one model")),
            Request::Trained | Request::Gradients { .. } => {
                Err(failed("this model was not loaded to be trained"))
            }
            Request::Generated => Err(failed("this model was not loaded to generate")),
            Request::Calibrate { device, .. } => Err(no_calibration(device)),
            Request::Encode { .. }
            | Request::Make { .. }
            | Request::Unpickle { .. }
            | Request::Bye => Err(failed("a worker with a model reads nothing else")),
        })
    }
}

/// A session with its inputs on the bench.
struct Bench<'a> {
    session: Box<dyn Session + 'a>,
    encoder: Encoder<'a>,
    /// Every input; token roles are replaced in each sample when there is text.
    inputs: Vec<HostTensor>,
    roles: Vec<InputRole>,
    real_tokens: Option<u64>,
    mask: Option<Vec<i64>>,
    media: Option<Media>,
}

impl<'a> Bench<'a> {
    fn new(
        session: Box<dyn Session + 'a>,
        encoder: Encoder<'a>,
        inputs: Vec<HostTensor>,
        job: &LoadJob,
    ) -> Result<Bench<'a>, EngineError> {
        let roles = job.inputs.iter().map(|spec| spec.role).collect();
        let media = job.media.as_ref().map(|media| Media::open(media, &job.inputs)).transpose()?;
        let mut bench =
            Bench { session, encoder, inputs, roles, real_tokens: None, mask: None, media };
        bench.prepare_media()?;
        if let Some(encoded) = bench.encoder.encode()? {
            bench.real_tokens = Some(encoded.mask.iter().filter(|&&real| real != 0).count() as u64);
            bench.feed(encoded);
        }
        bench.session.bind(&bench.inputs)?;
        Ok(bench)
    }

    /// Makes pictures or recordings ready and puts them in; whether there are any.
    fn prepare_media(&mut self) -> Result<bool, EngineError> {
        let Some(media) = &self.media else { return Ok(false) };
        media.put_into(&mut self.inputs)?;
        Ok(true)
    }

    /// Puts encoded text into the inputs that take it.
    fn feed(&mut self, encoded: Encoded) {
        crate::encoder::feed(&mut self.inputs, &self.roles, &encoded);
        self.mask = Some(encoded.mask);
    }

    fn first(&mut self) -> Result<FirstReport, EngineError> {
        let started = Instant::now();
        self.session.infer()?;
        let inference = started.elapsed();
        let inference = self.session.own_time().unwrap_or(inference);
        let outputs = self.session.outputs()?;
        Ok(FirstReport {
            inference,
            outputs: outputs.iter().map(|o| (o.name.to_owned(), o.dims.clone())).collect(),
            non_finite: outputs
                .iter()
                .filter(|output| output.elements.has_non_finite())
                .map(|output| output.name.to_owned())
                .collect(),
        })
    }

    fn run(&mut self, count: u64, budget: Duration) -> Result<Window, EngineError> {
        take_window(count, budget, |recorder| self.sample(recorder))
    }

    /// One end-to-end sample. Binding what is new lies between the phases and inside the total.
    fn sample(&mut self, recorder: &mut Recorder) -> Result<(), EngineError> {
        let begin = Instant::now();
        let mut is_new = self.prepare_media()?;
        if is_new {
            recorder.push(Phase::Preprocess, begin.elapsed());
        }
        let begin_text = Instant::now();
        if let Some(encoded) = self.encoder.encode()? {
            recorder.push(Phase::Tokenise, begin_text.elapsed());
            self.feed(encoded);
            is_new = true;
        }
        let bound = Instant::now();
        if is_new {
            self.session.bind(&self.inputs)?;
        }
        let before = Instant::now();
        self.session.infer()?;
        let after = Instant::now();
        // The way to a device with a clock of its own, and back, is not part of anything that is measured.
        let (inference, mut way) = match self.session.own_time() {
            Some(own) => (own, (after - bound).saturating_sub(own)),
            None => (after - before, Duration::ZERO),
        };
        recorder.push(Phase::Inference, inference);
        if self.encoder.has_postprocess() {
            let is_elsewhere = self.session.own_time().is_some();
            let outputs = self.session.outputs()?;
            let back = if is_elsewhere { after.elapsed() } else { Duration::ZERO };
            way += back;
            let answer = self.encoder.postprocess(&outputs, self.mask.as_deref());
            std::hint::black_box(answer);
            recorder.push(Phase::Postprocess, after.elapsed().saturating_sub(back));
            recorder.push(Phase::Total, begin.elapsed().saturating_sub(way));
        } else if is_new {
            recorder.push(Phase::Total, begin.elapsed().saturating_sub(way));
        }
        Ok(())
    }

    fn observe(&mut self, values: &[String]) -> Result<Vec<(String, Vec<usize>)>, EngineError> {
        match self.session.shape_observer() {
            Some(observer) => observer.observe(values),
            None => Ok(Vec::new()),
        }
    }

    fn write_outputs(&mut self, path: &Path) -> Result<(), EngineError> {
        self.session.infer()?;
        write_tensors(path, &self.session.outputs()?)
    }

    fn profile(&mut self, count: u64, detail: Detail) -> Result<Option<NodeProfile>, EngineError> {
        let profiler = self.session.node_profiler();
        profiler.map(|profiler| profiler.profile(count.max(1), detail)).transpose()
    }

    fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
        events: &Path,
    ) -> Result<Option<Box<MemoryRecord>>, EngineError> {
        let Some(reporter) = self.session.memory_reporter() else { return Ok(None) };
        let mut record = reporter.remember(count.max(1), tracker)?;
        if let Some(allocations) = &mut record.allocations.value {
            write_allocations(events, allocations)?;
            allocations.clear_columns();
        }
        Ok(Some(Box::new(record)))
    }
}

/// Collects samples by phase.
#[derive(Default)]
pub(crate) struct Recorder {
    phases: Vec<Samples>,
}

impl Recorder {
    pub(crate) fn push(&mut self, phase: Phase, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match self.phases.iter_mut().find(|samples| samples.phase == phase) {
            Some(samples) => samples.nanos.push(nanos),
            None => self.phases.push(Samples { phase, nanos: vec![nanos] }),
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Samples> {
        self.phases.sort_by_key(|samples| samples.phase);
        self.phases
    }
}

/// Runs an engine's code; errors and panics become a failure to send.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, Failure> {
    match caught(work) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Failure::from(&error)),
        Err(said) => Err(failed(format!("the engine panicked: {said}"))),
    }
}

/// As [`guard`], while a file is read: a library that panics then has met a file that is not as it must be.
pub(crate) fn guard_file<T>(
    library: &str,
    work: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, Failure> {
    let read = || match caught(work) {
        Ok(done) => done,
        Err(said) => Err(fails(EngineErrorKind::BadModel, library, &said)),
    };
    guard(read)
}

/// What is said of a file over which a library panics.
pub(crate) fn fails(kind: EngineErrorKind, library: &str, said: &str) -> EngineError {
    EngineError::new(kind, format!("the file makes `{library}` fail: {said}"))
}

/// The processors are measured where no engine is in the way, other devices by an engine that computes on them.
fn no_calibration(device: Device) -> Failure {
    let message = format!("this worker does not measure the ceilings of `{device}`");
    Failure { kind: EngineErrorKind::Unsupported, ..failed(message) }
}

pub(crate) fn failed(message: impl Into<String>) -> Failure {
    Failure {
        kind: EngineErrorKind::Failed,
        message: message.into(),
        causes: Vec::new(),
        hint: None,
    }
}
