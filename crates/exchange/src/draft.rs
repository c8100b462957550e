//! What was read of one result, before it becomes a run: every fact is an option, and what stays empty is said.

use crate::{Given, key};
use std::{collections::BTreeMap, time::Duration};
use types::{
    Bytes, Category, Cell, CgroupLimits, Cold, Correction, Cpu, Device, Direction, EngineInfo,
    EngineOptions, Environment, Flops, Generation, Gpu, Import, LayerProfile, Machine, Metric,
    Mode, ModelInfo, ModelSource, PERCENTILE_FLOORS, Phase, Precision, Ratio, Reason, ReasonCode,
    Run, RunId, Samples, Stated, StopReason, Throttle, Training, Unit, Verdict, WarmupReport,
    Weights, Work,
};

/// The tool's name in tables of our own.
pub(crate) const OURS: &str = "modelmeter";

/// What stands where a text is not known.
pub const UNKNOWN: &str = "not told";

/// Said where samples per second would need the batch.
pub(crate) const BATCH_UNTOLD: &str = "the file does not state the batch size; 1 is assumed, and only calls per \
                                       second are known";

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// What is known of the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineFacts {
    pub(crate) hostname: Option<String>,
    pub(crate) os: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) cpu: Option<String>,
    pub(crate) threads: Option<u32>,
    pub(crate) memory: Option<u64>,
    pub(crate) gpus: Vec<String>,
    pub(crate) gpu_memory: Option<u64>,
}

/// One result of another tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub(crate) tool: String,
    pub(crate) version: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) category: Option<Category>,
    pub(crate) parameters: Option<u64>,
    pub(crate) size: Option<u64>,
    pub(crate) weights: Option<Weights>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) engine: String,
    pub(crate) engine_version: Option<String>,
    pub(crate) placement: Option<String>,
    pub(crate) device: Option<Device>,
    pub(crate) precision: Option<Precision>,
    pub(crate) batch_size: Option<u64>,
    pub(crate) sequence_length: Option<u64>,
    pub(crate) training: Option<Training>,
    pub(crate) generation: Option<Generation>,
    pub(crate) mode: Mode,
    pub(crate) threads: Option<u32>,
    pub(crate) seed: Option<u64>,
    pub(crate) options: EngineOptions,
    pub(crate) machine: MachineFacts,
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) started_at: Option<i64>,
    pub(crate) elapsed: Option<f64>,
    pub(crate) process_start: Option<f64>,
    pub(crate) load: Option<f64>,
    pub(crate) first_inference: Option<f64>,
    pub(crate) warmup_runs: Option<u64>,
    pub(crate) samples: Vec<Samples>,
    pub(crate) stated: BTreeMap<Phase, Stated>,
    pub(crate) flops: Option<f64>,
    pub(crate) coverage: Option<f64>,
    pub(crate) activation: Option<u64>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) corrections: Vec<Correction>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) profile: Option<LayerProfile>,
    pub(crate) tags: Vec<String>,
}

impl Draft {
    /// Times in seconds become the samples of a phase.
    pub(crate) fn sample(&mut self, phase: Phase, seconds: &[f64]) {
        if !seconds.is_empty() {
            let nanos = seconds.iter().map(|second| (second * NANOS).round() as u64).collect();
            self.samples.push(Samples { phase, nanos });
        }
    }

    /// A number of the file.
    pub(crate) fn metric(&mut self, key: &str, unit: Unit, direction: Direction, value: f64) {
        self.metrics.push(Metric::imported(key, unit, direction, value));
    }

    /// A rate of the file, or one that follows from it.
    pub(crate) fn rate(&mut self, key: &str, value: f64) {
        self.metric(key, Unit::PerSecond, Direction::Higher, value);
    }

    /// A time of the file, in seconds.
    pub(crate) fn time(&mut self, key: &str, seconds: f64) {
        self.metric(key, Unit::Seconds, Direction::Lower, seconds);
    }

    /// A number that is known to be wrong in the file.
    pub(crate) fn correct(&mut self, what: &str, stated: f64, stored: Option<f64>, why: &str) {
        let (what, why) = (what.to_owned(), why.to_owned());
        self.corrections.push(Correction { what, stated: Some(stated), stored, why });
    }

    /// Something that speaks against the numbers.
    pub(crate) fn remark(&mut self, code: ReasonCode, text: impl Into<String>) {
        self.reasons.push(Reason {
            code,
            invalidates: false,
            text: text.into(),
            hint: None,
            about: None,
        });
    }

    /// Something that makes the numbers worthless.
    pub(crate) fn invalid(&mut self, code: ReasonCode, text: impl Into<String>) {
        self.reasons.push(Reason {
            code,
            invalidates: true,
            text: text.into(),
            hint: None,
            about: None,
        });
    }

    /// The run; what the file does not tell is listed, and what the caller knows is filled in.
    pub(crate) fn finish(mut self, file: &str, given: &Given) -> Run {
        let mut untold = Untold(Vec::new());
        let summaries: BTreeMap<Phase, types::Summary> = self
            .samples
            .iter()
            .filter_map(|samples| Some((samples.phase, stats::summarise(&samples.nanos, 0)?)))
            .collect();
        let cell = self.cell(&mut untold);
        let verdict = self.judge(&summaries);
        let model = self.model_info(&cell, &mut untold);
        let environment = self.environment(&cell, &mut untold);
        let seconds = |value: Option<f64>| {
            Duration::try_from_secs_f64(value.unwrap_or(0.0)).unwrap_or_default()
        };
        let cold = Cold {
            process_start: seconds(untold.note("cold.process_start", self.process_start)),
            load: seconds(untold.note("cold.load", self.load)),
            first_inference: seconds(untold.note("cold.first_inference", self.first_inference)),
        };
        let warmup = untold.note("warmup", self.warmup_runs);
        let flops = untold.note("work.flops", self.flops);
        let mut run = Run {
            id: RunId(String::new()),
            started_at: untold.note("started_at", self.started_at).unwrap_or(0),
            elapsed: seconds(untold.note("elapsed", self.elapsed)),
            work: Work {
                flops: Flops(flops.unwrap_or(0.0) as u64),
                coverage: Ratio(untold.note("work.coverage", self.coverage).unwrap_or(0.0)),
                bytes_read: Bytes(untold.note("work.bytes", None).unwrap_or(0)),
                bytes_written: Bytes(0),
                activation_peak: self.activation.map(Bytes),
            },
            engine: EngineInfo {
                id: cell.engine.clone(),
                version: untold
                    .note("engine.version", self.engine_version)
                    .unwrap_or_else(|| UNKNOWN.into()),
                placement: self.placement.unwrap_or_else(|| UNKNOWN.into()),
            },
            cell,
            model,
            environment,
            cold,
            warmup: WarmupReport { runs: warmup.unwrap_or(0), settled: true, nanos: Vec::new() },
            stop: StopReason::RunsDone,
            samples: self.samples,
            summaries,
            metrics: self.metrics,
            probes: Vec::new(),
            verdict,
            layers: None,
            memory: None,
            critical_path: None,
            gpu: None,
            training: None,
            generation: None,
            load: None,
            unknown: Default::default(),
            imported: Some(Box::new(Import {
                tool: self.tool,
                version: self.version,
                file: file.to_owned(),
                stated: self.stated,
                corrections: self.corrections,
                untold: untold.0,
                profile: self.profile,
            })),
            inputs: Vec::new(),
            tags: self.tags,
        };
        // Before anything that depends on the file's name or on the caller.
        run.id = RunId(key::imported_id(&run));
        name_machine(&mut run.environment.machine, file);
        given.apply(&mut run);
        run
    }

    fn cell(&mut self, untold: &mut Untold) -> Cell {
        if untold.note("cell.batch_size", self.batch_size).is_none()
            && self.rate_of("throughput.samples").is_none()
        {
            self.reasons.push(Reason {
                code: ReasonCode::Assumption,
                invalidates: false,
                text: BATCH_UNTOLD.into(),
                hint: None,
                about: None,
            });
        }
        Cell {
            model: untold.note("cell.model", self.model.take()).unwrap_or_else(|| UNKNOWN.into()),
            engine: std::mem::take(&mut self.engine),
            device: untold.note("cell.device", self.device).unwrap_or(Device::Auto),
            precision: untold.note("cell.precision", self.precision).unwrap_or(Precision::Fp32),
            batch_size: self.batch_size.unwrap_or(1) as usize,
            sequence_length: self.sequence_length.map(|length| length as usize),
            mode: self.mode,
            training: self.training,
            generation: self.generation,
            load: None,
            threads: untold.note("cell.threads", self.threads).unwrap_or(0),
            seed: untold.note("cell.seed", self.seed).unwrap_or(0),
            inputs: Vec::new(),
            text: None,
            options: std::mem::take(&mut self.options),
            feed: Default::default(),
        }
    }

    fn rate_of(&self, key: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.key == key)?.value
    }

    fn model_info(&mut self, cell: &Cell, untold: &mut Untold) -> ModelInfo {
        let fingerprint = self.fingerprint.take().unwrap_or_else(|| {
            let facts =
                format!("{}\n{}\n{:?}\n{:?}", self.tool, cell.model, self.parameters, self.size);
            Machine::imported_key(&key::short_hash(&facts, 16))
        });
        ModelInfo {
            name: cell.model.clone(),
            category: untold.note("model.category", self.category).unwrap_or(Category::Other),
            architecture: self.architecture.take().unwrap_or_else(|| UNKNOWN.into()),
            source: ModelSource::Elsewhere,
            weights: untold.note("model.weights", self.weights).unwrap_or(Weights::Real),
            parameters: untold.note("model.parameters", self.parameters).unwrap_or(0),
            size: Bytes(untold.note("model.size", self.size).unwrap_or(0)),
            fingerprint,
            made_from: None,
        }
    }

    fn environment(&mut self, cell: &Cell, untold: &mut Untold) -> Environment {
        let facts = std::mem::take(&mut self.machine);
        let unknown = || UNKNOWN.to_owned();
        let share = facts.gpu_memory.map_or(0, |all| all / facts.gpus.len().max(1) as u64);
        let gpu = |(index, name): (usize, String)| Gpu {
            index: index as u32,
            name,
            uuid: String::new(),
            memory: Bytes(share),
        };
        let cpu = untold.note("environment.machine.cpu", facts.cpu);
        Environment {
            machine: Machine {
                key: String::new(),
                hostname: facts.hostname.unwrap_or_else(unknown),
                os: facts.os.clone().unwrap_or_else(unknown),
                cpu: Cpu {
                    model: cpu.unwrap_or_else(unknown),
                    architecture: facts.architecture.unwrap_or_else(unknown),
                    cores: 0,
                    threads: facts.threads.unwrap_or(0),
                    sockets: 0,
                    numa_nodes: 0,
                    features: Vec::new(),
                    cache: None,
                },
                memory: Bytes(facts.memory.unwrap_or(0)),
                gpus: facts.gpus.into_iter().enumerate().map(gpu).collect(),
                hypervisor: None,
            },
            os: facts.os.unwrap_or_else(unknown),
            kernel: unknown(),
            governor: None,
            frequency: None,
            smt: None,
            load_average: None,
            steal: None,
            memory_available: None,
            cgroup: CgroupLimits::default(),
            memory_limit: None,
            throttle: Throttle { events: None, why: Some("another tool measured".into()) },
            gpus: Vec::new(),
            versions: std::mem::take(&mut self.versions),
            threads: cell.threads,
            model_commit: None,
            revision: None,
        }
    }

    /// Our rules, as far as the file lets us apply them.
    fn judge(&mut self, summaries: &BTreeMap<Phase, types::Summary>) -> Verdict {
        let mut reasons = std::mem::take(&mut self.reasons);
        let mut add = |code, invalidates, text| {
            reasons.push(Reason { code, invalidates, text, hint: None, about: None })
        };
        let tool = match &self.version {
            Some(version) => format!("{} {version}", self.tool),
            None => self.tool.clone(),
        };
        let text = if self.tool == OURS {
            "measured elsewhere and read from a table, which holds less than the run did".to_owned()
        } else {
            format!("measured by {tool}, not by Modelmeter")
        };
        add(ReasonCode::Imported, false, text);
        for correction in &self.corrections {
            add(ReasonCode::Imported, false, format!("`{}`: {}", correction.what, correction.why));
        }
        let main = summaries.get(&Phase::Inference).or_else(|| summaries.get(&Phase::Total));
        let stated = self.stated.get(&Phase::Inference).or_else(|| self.stated.get(&Phase::Total));
        if main.is_none() && !self.stated.is_empty() {
            let text = "the file has only statistics, no samples: they cannot be checked and have no intervals";
            add(ReasonCode::Imported, false, text.into());
        }
        let count = main.map(|summary| summary.count).or_else(|| stated?.count);
        let floor = PERCENTILE_FLOORS[0].samples;
        if let Some(count) = count.filter(|count| *count < floor) {
            let text = format!("{count} samples are too few: the median needs {floor}");
            add(ReasonCode::TooFewSamples, true, text);
        } else if let Some(summary) = main.filter(|summary| !summary.unsupported.is_empty()) {
            let names: Vec<&str> =
                summary.unsupported.iter().map(|entry| entry.percentile.as_str()).collect();
            let text = format!("{} samples are too few for {}", summary.count, names.join(", "));
            add(ReasonCode::UnsupportedPercentile, false, text);
        }
        Verdict::from_reasons(reasons)
    }
}

/// The paths that nobody told.
struct Untold(Vec<String>);

impl Untold {
    fn note<T>(&mut self, path: &str, fact: Option<T>) -> Option<T> {
        if fact.is_none() {
            self.0.push(path.to_owned());
        }
        fact
    }
}

/// A machine of another tool never has the key of one of ours; without facts it is known by its file alone.
fn name_machine(machine: &mut Machine, file: &str) {
    let facts = format!(
        "{}\n{}\n{}\n{}\n{:?}",
        machine.cpu.model, machine.cpu.threads, machine.memory.0, machine.os, machine.gpus
    );
    let is_known = machine.cpu.model != UNKNOWN || !machine.gpus.is_empty();
    let named = if is_known { facts } else { format!("{facts}\n{file}") };
    machine.key = Machine::imported_key(&key::short_hash(&named, 12));
}
