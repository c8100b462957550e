//! A load as a run, so that it is stored, listed and reported like every other.

use super::{LoadTarget, LoadTest, generator::Outcome, verdict};
use crate::Session;
use ::load::{Account, Accounting, Judged, Record, account, columns, window};
use endpoint::{Bodies, Prompts};
use std::{collections::BTreeMap, time::Duration};
use types::{
    Bytes, Category, Cell, Cold, Device, Direction, EngineInfo, EngineOptions, Feed, Flops, Load,
    LoadReport, LoadWindow, Metric, Mode, ModelInfo, ModelSource, Precision, Ratio, Reading, Run,
    Scenario, ServerMetric, StopReason, Summary, Unit, WarmupReport, Weights, Work, key,
};

/// Why nothing is known of the inside of a server.
const NOT_TOLD: &str = "the server does not tell it";
/// Why a start was not measured.
const RUNNING: &str = "the server was running before";

impl LoadTest {
    /// Everything that the load says, as a run.
    pub(super) fn as_run(
        &self,
        target: &LoadTarget,
        session: &mut Session,
        outcome: &Outcome,
        server: Vec<ServerMetric>,
        started_at: i64,
    ) -> Run {
        let service = &target.service;
        let records = counted(outcome);
        let part = self.window(&records);
        let streaming = self.streaming && service.protocol.generates();
        let is_open = self.scenario.is_open();
        let found = account(&Accounting {
            records: &records,
            window: part,
            limits: &self.limits,
            is_open,
            generates: service.protocol.generates(),
            streaming,
        });
        let verdict = verdict(&Judged {
            account: &found,
            window: part,
            generator: outcome.generator,
            is_open,
            is_capped: self.max_in_flight.is_some() || self.scenario == Scenario::Offline,
            is_overrun: outcome.overrun,
            is_stopped: outcome.stopped_at.is_some(),
            errors_allowed: self.errors_allowed,
            random_words: match &self.bodies {
                Bodies::Prompts { prompts: Prompts::Random(length), .. } => Some(length.mean),
                _ => None,
            },
            is_local: target.is_local,
        });
        let metrics = metrics(&found, outcome);
        let summaries: BTreeMap<_, Summary> = found
            .samples
            .iter()
            .filter_map(|one| Some((one.phase, stats::summarise(&one.nanos, 0)?)))
            .collect();
        Run {
            id: store::new_run_id(started_at, random()),
            started_at,
            elapsed: outcome.generator.elapsed.duration(),
            cell: self.cell(target, streaming),
            model: model_info(target),
            work: unknown_work(),
            unknown: unknown(),
            engine: EngineInfo {
                id: service.protocol.name().into(),
                version: service.server.clone().unwrap_or_else(|| "unknown".into()),
                placement: "unknown".into(),
            },
            environment: session.environment(0),
            cold: Cold {
                process_start: Duration::ZERO,
                load: Duration::ZERO,
                first_inference: Duration::ZERO,
            },
            warmup: WarmupReport { runs: found.counts.warmup, settled: true, nanos: Vec::new() },
            stop: StopReason::RunsDone,
            summaries,
            metrics,
            probes: Vec::new(),
            verdict,
            layers: None,
            memory: None,
            critical_path: None,
            gpu: None,
            training: None,
            generation: None,
            load: Some(Box::new(LoadReport {
                target: service.address.to_string(),
                window: part,
                counts: found.counts,
                rates: found.rates,
                latencies: found.latencies,
                tokens: found.tokens,
                errors: found.errors,
                limits: found.limits,
                generator: outcome.generator,
                server,
                requests: columns(&records),
            })),
            samples: found.samples,
            imported: None,
            inputs: Vec::new(),
            tags: self.tags.clone(),
        }
    }

    fn window(&self, records: &[Record]) -> LoadWindow {
        let is_schedule = self.scenario.is_open() && self.scenario != Scenario::Offline;
        let warmup = match self.scenario {
            Scenario::Offline => 0.0,
            _ => self.warmup.as_secs_f64(),
        };
        let until = match self.scenario {
            Scenario::Offline => u64::MAX,
            _ => ::load::nanoseconds(self.duration.as_secs_f64()),
        };
        window(records, warmup, is_schedule, until)
    }

    fn cell(&self, target: &LoadTarget, streaming: bool) -> Cell {
        let service = &target.service;
        Cell {
            model: model_name(target),
            engine: service.protocol.name().into(),
            device: Device::Auto,
            precision: Precision::Fp32,
            batch_size: 1,
            sequence_length: None,
            mode: Mode::Load,
            training: None,
            generation: None,
            load: Some(Load {
                scenario: self.scenario.clone(),
                protocol: service.protocol,
                streaming,
                max_in_flight: self.max_in_flight,
                content: self.bodies.words(),
            }),
            threads: 0,
            seed: self.seed,
            inputs: Vec::new(),
            text: None,
            options: EngineOptions::default(),
            feed: Feed::default(),
        }
    }
}

/// What was scheduled after a load was stopped does not count as missing: nobody wanted it any more.
fn counted(outcome: &Outcome) -> Vec<Record> {
    let mut records = outcome.records.clone();
    if let Some(stopped) = outcome.stopped_at {
        records.retain(|record| record.scheduled <= stopped);
    }
    records
}

/// The model that is served; where nobody knows it, the address stands for it.
fn model_name(target: &LoadTarget) -> String {
    let service = &target.service;
    service.model.clone().unwrap_or_else(|| service.address.authority())
}

fn model_info(target: &LoadTarget) -> ModelInfo {
    let name = model_name(target);
    let place = target.service.address.authority();
    ModelInfo {
        category: match target.service.protocol.generates() {
            true => Category::Generation,
            false => Category::Other,
        },
        architecture: "unknown".into(),
        source: ModelSource::Elsewhere,
        weights: Weights::Real,
        parameters: 0,
        size: Bytes(0),
        // Two servers can serve different models under one name.
        fingerprint: format!(
            "served-{:016x}",
            types::stable_hash(format!("{place}\n{name}").bytes())
        ),
        made_from: None,
        name,
    }
}

fn unknown_work() -> Work {
    Work {
        flops: Flops(0),
        coverage: Ratio(0.0),
        bytes_read: Bytes(0),
        bytes_written: Bytes(0),
        activation_peak: None,
    }
}

/// What nobody can know of a server: its fields have no meaning.
fn unknown() -> BTreeMap<String, String> {
    let inside = [
        "cell.device",
        "cell.precision",
        "cell.batch_size",
        "cell.threads",
        "model.weights",
        "model.parameters",
        "model.size",
        "work.flops",
        "work.bytes",
        "work.coverage",
    ];
    let start = ["cold.process_start", "cold.load", "cold.first_inference"];
    let inside = inside.into_iter().map(|path| (path.to_owned(), NOT_TOLD.to_owned()));
    inside.chain(start.into_iter().map(|path| (path.to_owned(), RUNNING.to_owned()))).collect()
}

/// Every number of a load under its key, so that lists, histories and gates find it.
fn metrics(found: &Account, outcome: &Outcome) -> Vec<Metric> {
    let mut all = Vec::new();
    for row in &found.latencies {
        let name = row.metric.name();
        match (&row.summary.value, &row.summary.why) {
            (Some(summary), _) => {
                let values = [
                    ("mean", summary.mean),
                    ("p50", summary.median),
                    ("p90", summary.p90),
                    ("p95", summary.p95),
                    ("p99", summary.p99),
                    ("p99.9", summary.p999),
                    ("max", summary.max),
                ];
                all.extend(values.map(|(statistic, value)| {
                    let key = format!("{name}.{statistic}");
                    Metric::measured(key, Unit::Seconds, Direction::Lower, value)
                }));
            }
            (None, why) => {
                let why = why.clone().unwrap_or_default();
                let key = format!("{name}.p50");
                all.push(Metric::missing(key, Unit::Seconds, Direction::Lower, why));
            }
        }
    }
    let rates = &found.rates;
    let neutral = Direction::Neutral;
    all.extend([
        rate("rate.offered", neutral, &rates.offered),
        rate("rate.sent", neutral, &rates.sent),
        rate("rate.completed", Direction::Higher, &rates.completed),
        rate("goodput", Direction::Higher, &rates.good),
        rate(key::THROUGHPUT_SAMPLES, Direction::Higher, &rates.completed),
        rate(key::THROUGHPUT_TOKENS, Direction::Higher, &rates.tokens),
    ]);
    let count = |key: &str, value: u64| Metric::measured(key, Unit::Count, neutral, value as f64);
    all.extend([
        count("requests.scheduled", found.counts.scheduled),
        count("requests.completed", found.counts.completed),
        count("requests.failed", found.counts.failed),
        Metric::measured("generator.processor", Unit::Ratio, neutral, outcome.generator.share()),
    ]);
    all
}

fn rate(key: &str, direction: Direction, reading: &Reading<f64>) -> Metric {
    match (reading.value, &reading.why) {
        (Some(value), _) => Metric::measured(key, Unit::PerSecond, direction, value),
        (None, why) => {
            Metric::missing(key, Unit::PerSecond, direction, why.clone().unwrap_or_default())
        }
    }
}

/// A number that no other run has.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
