//! Asks for one measurement, the way the library's users write it.

use crate::{
    Engines, Error, Folders, GivenValues, Inside, Profile, Session, TrainingRequest, agreement,
    alternatives, inside, memory,
    plans::measurement_failure,
    prepare::{self, Prepared},
    trial, worker,
};
use engine::Places;
use meter::Launch;
use std::{path::PathBuf, time::Duration};
use types::{
    Bytes, Device, EngineOptions, Event, Generation, InputShape, LimitedBy, Precision, Reason,
    RemarkCode, StoppingRule, Text, Warmup,
};

/// The most threads a processor is asked to share: enough to study it, too few to take the machine down.
const THREADS_EACH: usize = 16;

/// Which engine shall run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The first that can do what is asked.
    #[default]
    Auto,
    /// This one or none.
    Named(String),
}

/// Where the measurement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// In a fresh process: a crash costs one measurement.
    #[default]
    Process,
    /// In this process, for debugging.
    None,
}

/// One measurement to be made.
///
/// ```standalone_crate
/// use modelmeter::{Device, Precision, Profiler};
///
/// fn main() -> Result<(), modelmeter::Error> {
///     // Makes this program its own worker; without it an installed `modelmeter` is used.
///     modelmeter::serve_if_worker();
///     let profile = Profiler::new("small-transformer")
///         .device(Device::Auto)
///         .precision(Precision::Fp32)
///         .batch_size(4)
///         .sequence_length(64)
///         .runs(20)
///         .offline(true)
///         .profile()?;
///     assert_eq!(profile.latency().count, 20);
///     println!("{}", profile.to_json());
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Profiler {
    pub(crate) model: String,
    pub(crate) engines: Engines,
    pub(crate) engine: EngineChoice,
    pub(crate) device: Device,
    pub(crate) precision: Option<Precision>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) sequence_length: Option<usize>,
    pub(crate) inputs: Vec<InputShape>,
    pub(crate) values: Vec<(String, GivenValues)>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) text: Option<Text>,
    pub(crate) threads: Option<u32>,
    pub(crate) seed: u64,
    pub(crate) rule: StoppingRule,
    pub(crate) isolation: Isolation,
    pub(crate) program: Option<PathBuf>,
    pub(crate) offline: bool,
    pub(crate) revision: Option<String>,
    pub(crate) folders: Option<Folders>,
    pub(crate) hub_endpoint: Option<String>,
    pub(crate) hub_token: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) places: Places,
    pub(crate) options: EngineOptions,
    pub(crate) torch_module: Option<(PathBuf, String)>,
    pub(crate) inside: Inside,
    pub(crate) training: Option<TrainingRequest>,
    pub(crate) generation: Option<Generation>,
    pub(crate) memory_limit: Option<Bytes>,
    pub(crate) limit_by: Option<LimitedBy>,
    /// Another graph in the place of the model's own: the same inputs, a changed computation.
    pub(crate) changed: Option<PathBuf>,
}

impl Profiler {
    /// A measurement of this model: a preset, a hub name, an `.onnx` file, a folder or a TOML description.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Profiler {
        Profiler {
            model: model.into(),
            engines: Engines::default(),
            engine: EngineChoice::Auto,
            device: Device::Auto,
            precision: None,
            batch_size: None,
            sequence_length: None,
            inputs: Vec::new(),
            values: Vec::new(),
            data: None,
            text: None,
            threads: None,
            seed: 0,
            rule: StoppingRule::default(),
            isolation: Isolation::Process,
            program: None,
            offline: false,
            revision: None,
            folders: None,
            hub_endpoint: None,
            hub_token: None,
            tags: Vec::new(),
            places: Places::default(),
            options: EngineOptions::default(),
            torch_module: None,
            inside: Inside::default(),
            training: None,
            generation: None,
            memory_limit: None,
            limit_by: None,
            changed: None,
        }
    }

    /// The model as it was named.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The batch size that was asked for.
    #[must_use]
    pub fn batch(&self) -> Option<usize> {
        self.batch_size
    }

    /// Chooses among these engines instead of all that this build has; everything that measures with this profiler does.
    #[must_use]
    pub fn engines(mut self, engines: Engines) -> Profiler {
        self.engines = engines;
        self
    }

    /// Runs on this engine and no other.
    #[must_use]
    pub fn engine(mut self, id: impl Into<String>) -> Profiler {
        self.engine = EngineChoice::Named(id.into());
        self
    }

    /// Runs on this device and no other; `Auto` takes the best one.
    #[must_use]
    pub fn device(mut self, device: Device) -> Profiler {
        self.device = device;
        self
    }

    /// Computes in this number format; the file's own unless said.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Profiler {
        self.precision = Some(precision);
        self
    }

    /// Samples in one inference; 4 unless said, or what the file allows.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Profiler {
        self.batch_size = Some(batch_size);
        self
    }

    /// Tokens in each sample; 128 unless said, or what the model allows.
    #[must_use]
    pub fn sequence_length(mut self, sequence_length: usize) -> Profiler {
        self.sequence_length = Some(sequence_length);
        self
    }

    /// Fixes the shape of one input.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, dims: impl Into<Vec<usize>>) -> Profiler {
        self.inputs.push(InputShape { name: name.into(), dims: dims.into() });
        self
    }

    /// Gives the values of one input: a range to draw from, or a file to read.
    #[must_use]
    pub fn values(mut self, name: impl Into<String>, values: GivenValues) -> Profiler {
        self.values.push((name.into(), values));
        self
    }

    /// Feeds what lies here: arrays (`.npy`, `.npz`, `.safetensors`), pictures (a file or a folder), a recording (`.wav`).
    ///
    /// Pictures and recordings are made ready in every sample, which is timed as a phase of its own.
    #[must_use]
    pub fn data(mut self, path: impl Into<PathBuf>) -> Profiler {
        self.data = Some(path.into());
        self
    }

    /// Feeds these texts instead of drawn token ids and times the tokenizer as well.
    #[must_use]
    pub fn text<S: Into<String>>(mut self, lines: impl IntoIterator<Item = S>) -> Profiler {
        self.text = Some(Text { lines: lines.into_iter().map(Into::into).collect() });
        self
    }

    /// Threads the engine may use; the physical cores unless said.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Profiler {
        self.threads = Some(threads);
        self
    }

    /// Seed of random weights and inputs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Profiler {
        self.seed = seed;
        self
    }

    /// Takes exactly so many samples.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Profiler {
        self.rule.min_runs = runs;
        self.rule.max_runs = runs;
        self.rule.min_duration = Duration::ZERO;
        self.rule.max_duration = Duration::MAX;
        self
    }

    /// Warms up for exactly so many runs instead of until it settles.
    #[must_use]
    pub fn warmup(mut self, runs: u64) -> Profiler {
        self.rule.warmup = Warmup::Runs { count: runs };
        self
    }

    /// Samples for exactly so long.
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Profiler {
        self.rule.min_duration = duration;
        self.rule.max_duration = duration;
        self
    }

    /// Stops when the median is known to this share of itself, 0.01 unless said.
    #[must_use]
    pub fn target_error(mut self, share: f64) -> Profiler {
        self.rule.target_error = share;
        self
    }

    /// The longest the worker may stay silent.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Profiler {
        self.rule.timeout = timeout;
        self
    }

    /// Where the measurement happens.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Profiler {
        self.isolation = isolation;
        self
    }

    /// Measures in workers of this program, another build of Modelmeter, instead of our own.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Profiler {
        self.program = Some(program.into());
        self
    }

    /// Never asks the hub.
    #[must_use]
    pub fn offline(mut self, offline: bool) -> Profiler {
        self.offline = offline;
        self
    }

    /// Branch, tag or commit on the hub.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Profiler {
        self.revision = Some(revision.into());
        self
    }

    /// Keeps prepared models and looks for downloaded ones here instead of in the user's own folders.
    #[must_use]
    pub fn folders(mut self, folders: Folders) -> Profiler {
        self.folders = Some(folders);
        self
    }

    /// Another hub than the public one, and a token for it.
    #[must_use]
    pub fn hub(mut self, endpoint: Option<String>, token: Option<String>) -> Profiler {
        self.hub_endpoint = endpoint;
        self.hub_token = token;
        self
    }

    /// Labels the run.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Profiler {
        self.tags.push(tag.into());
        self
    }

    /// Looks for engines here.
    #[must_use]
    pub fn places(mut self, places: Places) -> Profiler {
        self.places = places;
        self
    }

    /// Tells the engine more than device, precision and threads.
    #[must_use]
    pub fn options(mut self, options: EngineOptions) -> Profiler {
        self.options = options;
        self
    }

    /// Runs what a Python function returns instead of a model by name or path.
    #[must_use]
    pub fn torch_module(
        mut self,
        file: impl Into<PathBuf>,
        function: impl Into<String>,
    ) -> Profiler {
        self.torch_module = Some((file.into(), function.into()));
        self
    }

    /// Trains the model instead of running it: every sample is a step.
    #[must_use]
    pub fn training(mut self, training: TrainingRequest) -> Profiler {
        self.training = Some(training);
        self
    }

    /// Generates with the model instead of running it once: every sample is a prompt or a step.
    #[must_use]
    pub fn generation(mut self, generation: Generation) -> Profiler {
        self.generation = Some(generation);
        self
    }

    /// Holds the worker to so much memory, the device's where it has its own; more ends it as out of memory.
    ///
    /// The run says how that was enforced (`environment.memory_limit`).
    #[must_use]
    pub fn memory_limit(mut self, limit: Bytes) -> Profiler {
        self.memory_limit = Some(limit);
        self
    }

    /// Holds the worker by this means and no other; a control group where one can be made, otherwise `RLIMIT_DATA`, unless
    /// said.
    #[must_use]
    pub fn limit_by(mut self, means: LimitedBy) -> Profiler {
        self.limit_by = Some(means);
        self
    }

    /// Looks inside the model as well, after it was timed.
    #[must_use]
    pub fn inside(mut self, inside: Inside) -> Profiler {
        self.inside = inside;
        self
    }

    /// Measures, and remembers nothing.
    ///
    /// # Errors
    /// When the model, the engine or the worker fails; see [`Error`].
    pub fn profile(&self) -> Result<Profile, Error> {
        self.profile_in(&mut Session::without_store(), &mut |_| {})
    }

    /// Measures in a session of your own, which may remember; `sink` hears what goes on.
    ///
    /// # Errors
    /// When the model, the engine or the worker fails, or the database cannot be read; see [`Error`]. A run that the database
    /// does not take is no error: see [`Session::take_notices`].
    pub fn profile_in(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Profile, Error> {
        let profile = self.measure_in(session, sink)?;
        session.remember_with(&profile.run, profile.allocations.as_ref());
        sink(Event::CellFinished { run: Box::new(profile.run.clone()) });
        Ok(profile)
    }

    /// Measures in a session that knows the machine, and remembers nothing.
    pub(crate) fn measure_in(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Profile, Error> {
        self.check_rule()?;
        let prepared = prepare::prepare(self, sink)?;
        match self.measure_prepared(&prepared, session, sink) {
            // A file may not take what seemed plain: a batch, the usual number of tokens.
            Err(Error::Meter(failed))
                if trial::is_of_sizes(&failed) && !prepared.is_trained() && prepared.is_file() =>
            {
                let other = trial::search(self, &prepared, failed, sink)?;
                self.measure_prepared(&other, session, sink)
            }
            measured => measured,
        }
    }

    fn measure_prepared(
        &self,
        prepared: &Prepared,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Profile, Error> {
        inside::check_step(&self.inside, prepared)?;
        inside::check_names(&self.inside, prepared)?;
        let launch = self.launch(prepared)?;
        let bench = session.bench(&prepared.cell, sink)?;
        let refine = |seen: &[(String, Vec<usize>)]| prepared.count_again(seen);
        let job = prepared.job(&refine);
        let cell = Box::new(job.cell.clone());
        sink(Event::CellStarted { cell });
        let agreed = agreement::check(self, prepared, sink)?;
        let measured = meter::measure(&job, &bench, &launch, &self.rule, sink);
        let mut run = measured.map_err(|error| {
            let cell = Box::new(job.cell.clone());
            let failure = measurement_failure(&error);
            sink(Event::CellFailed { cell, failure });
            alternatives::add_hint(error, self, prepared, &job)
        })?;
        run.verdict.reasons.extend(agreed.map(Reason::from));
        session.recheck_ceiling(&mut run, sink);
        if let Some(report) = &mut run.training {
            report.untrained = prepared.untrained();
        }
        if self.inside.layers || self.inside.gpu {
            let looked = inside::look(&job, prepared, &bench, &launch, &self.rule, sink);
            match looked.layers {
                Ok(report) if self.inside.layers => run.layers = Some(Box::new(report)),
                Err(remark) if self.inside.layers => run.verdict.reasons.push(remark),
                _ => {}
            }
            match looked.gpu {
                Ok(profile) if self.inside.gpu => run.gpu = Some(Box::new(profile)),
                Err(remark) if self.inside.gpu => run.verdict.reasons.push(remark),
                _ => {}
            }
        }
        let mut timeline = None;
        if self.inside.timeline {
            match inside::timeline(&job, &launch, &self.rule, &bench.machine, sink) {
                Ok((mut found, disturbance)) => {
                    run.verdict.reasons.extend(disturbance);
                    if let Some((path, stretches)) = analysis::critical_path(&found) {
                        run.critical_path = Some(Box::new(path));
                        found.critical_path = stretches;
                    }
                    timeline = Some(found);
                }
                Err(remark) => run.verdict.reasons.push(remark),
            }
        }
        let mut allocations = None;
        if self.inside.memory {
            match memory::of(prepared, &job, &launch, self.rule.timeout, sink) {
                Ok(found) => {
                    run.memory = Some(Box::new(found.report));
                    allocations = found.allocations;
                }
                // The run is measured and good: it must not be lost because looking inside failed.
                Err(error) => {
                    run.verdict.reasons.push(inside::unseen(RemarkCode::NoMemoryReport, &error))
                }
            }
        }
        run.tags.clone_from(&self.tags);
        Ok(Profile { run, timeline, allocations })
    }

    /// How the worker of this measurement is started.
    pub(crate) fn launch(&self, prepared: &Prepared) -> Result<Launch, Error> {
        let launch = worker::launch_for(self, prepared.engine)?;
        worker::limited(launch, self, prepared.engine, prepared.cell.device)
    }

    pub(crate) fn folders_or_default(&self) -> Result<Folders, Error> {
        match &self.folders {
            Some(folders) => Ok(folders.clone()),
            None => Folders::of_this_user(),
        }
    }

    pub(crate) fn check_rule(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        if self.rule.max_runs == 0 {
            return wrong("the number of runs must be at least 1");
        }
        if self.rule.max_duration.is_zero() {
            return wrong("the duration must be longer than 0");
        }
        for tag in &self.tags {
            store::check_tag(tag)?;
        }
        if self.threads == Some(0) {
            return wrong("the number of threads must be at least 1");
        }
        let most = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_EACH;
        if self.threads.is_some_and(|threads| threads as usize > most) {
            return Err(Error::Rule(format!(
                "{} threads are too many for this machine: at most {most}, {THREADS_EACH} for each \
                 processor",
                self.threads.unwrap_or_default()
            )));
        }
        if !(self.rule.target_error > 0.0 && self.rule.target_error < 1.0) {
            return wrong("the target error is a share between 0 and 1, such as 0.01");
        }
        if self.rule.timeout.is_zero() {
            return wrong("the timeout must be longer than 0");
        }
        Ok(())
    }
}
