//! A load as a run, so that it is stored, listed and reported like every other.

use super::{LoadTest, Outcome};
use ::load::{Account, Accounting, Judged, Record, account, columns, judge, window};
use std::collections::BTreeMap;
use types::{
    Bytes, Cell, Cold, Direction, EngineInfo, Environment, FedInput, Flops, Load, LoadBatches,
    LoadReport, LoadWindow, Metric, ModelInfo, ProbeReport, Protocol, Ratio, Reading, Reason,
    ReasonCode, Run, Scenario, ServerMetric, StopReason, Summary, Unit, Verdict, WarmupReport,
    Work, key,
};

/// What a load was sent to.
pub(super) struct Subject {
    pub(super) cell: Cell,
    pub(super) model: ModelInfo,
    pub(super) engine: EngineInfo,
    /// The address, or the engine and its device.
    pub(super) target: String,
    /// Fields without a meaning, and why.
    pub(super) unknown: BTreeMap<String, String>,
    pub(super) environment: Environment,
    pub(super) cold: Cold,
    pub(super) generates: bool,
    pub(super) streaming: bool,
    /// Whether it is a server that runs on this machine.
    pub(super) is_local_server: bool,
    /// Whether requests wait for a worker of ours, so that none is sent before it can be answered.
    pub(super) is_in_process: bool,
    /// Words of a prompt on average, if they are random.
    pub(super) random_words: Option<f64>,
    /// What a server reports of itself.
    pub(super) server: Vec<ServerMetric>,
    pub(super) batches: Option<LoadBatches>,
    pub(super) inputs: Vec<FedInput>,
    pub(super) probes: Vec<ProbeReport>,
    pub(super) metrics: Vec<Metric>,
    /// What is to be said beside what the load itself shows.
    pub(super) reasons: Vec<Reason>,
}

impl LoadTest {
    /// Everything that the load says, as a run.
    pub(super) fn as_run(&self, subject: Subject, outcome: &Outcome, started_at: i64) -> Run {
        let records = counted(outcome);
        let part = self.window(&records);
        let is_open = self.scenario.is_open();
        let found = account(&Accounting {
            records: &records,
            window: part,
            limits: &self.limits,
            is_open,
            generates: subject.generates,
            streaming: subject.streaming,
        });
        let verdict = judge(&Judged {
            account: &found,
            window: part,
            generator: outcome.generator,
            is_open,
            is_offline: self.scenario == Scenario::Offline,
            is_capped: self.max_in_flight.is_some()
                || self.scenario == Scenario::Offline
                || subject.is_in_process,
            is_overrun: outcome.overrun,
            is_stopped: outcome.stopped_at.is_some(),
            errors_allowed: self.errors_allowed,
            random_words: subject.random_words,
            is_local: subject.is_local_server,
        });
        let mut reasons = verdict.reasons;
        reasons.extend(subject.reasons);
        reasons.extend(self.cut_trace());
        let mut metrics = metrics(&found, outcome);
        metrics.extend(subject.metrics);
        let summaries: BTreeMap<_, Summary> = found
            .samples
            .iter()
            .filter_map(|one| Some((one.phase, stats::summarise(&one.nanos, 0)?)))
            .collect();
        Run {
            id: store::new_run_id(started_at, random()),
            started_at,
            elapsed: outcome.generator.elapsed.duration(),
            cell: subject.cell,
            model: subject.model,
            work: unknown_work(),
            unknown: subject.unknown,
            engine: subject.engine,
            environment: subject.environment,
            cold: subject.cold,
            warmup: WarmupReport { runs: found.counts.warmup, settled: true, nanos: Vec::new() },
            stop: StopReason::RunsDone,
            summaries,
            metrics,
            probes: subject.probes,
            verdict: Verdict::from_reasons(reasons),
            layers: None,
            memory: None,
            critical_path: None,
            gpu: None,
            training: None,
            generation: None,
            load: Some(Box::new(LoadReport {
                target: subject.target,
                window: part,
                counts: found.counts,
                rates: found.rates,
                latencies: found.latencies,
                tokens: found.tokens,
                errors: found.errors,
                limits: found.limits,
                generator: outcome.generator,
                server: subject.server,
                batches: subject.batches,
                requests: columns(&records),
            })),
            samples: found.samples,
            imported: None,
            inputs: subject.inputs,
            tags: self.tags.clone(),
        }
    }

    /// What is asked of a server, or of a model.
    pub(super) fn asked(&self, protocol: Protocol, streaming: bool, content: String) -> Load {
        Load {
            scenario: self.scenario.clone(),
            protocol,
            streaming,
            max_in_flight: self.max_in_flight,
            batching: None,
            texts: None,
            content,
        }
    }

    /// A trace that is longer than the load.
    fn cut_trace(&self) -> Option<Reason> {
        let left_out = self.moments_left_out();
        (left_out > 0).then(|| Reason {
            code: ReasonCode::Assumption,
            invalidates: false,
            text: format!(
                "{} of {} moments of the trace were not sent: they come after `--duration` or `--max-requests`",
                number::count(left_out as u64),
                number::count(self.trace.len() as u64)
            ),
            hint: None,
            about: None,
        })
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
}

/// What was scheduled after a load was stopped does not count as missing: nobody wanted it any more.
fn counted(outcome: &Outcome) -> Vec<Record> {
    let mut records = outcome.records.clone();
    if let Some(stopped) = outcome.stopped_at {
        records.retain(|record| record.scheduled <= stopped);
    }
    records
}

/// Every batch of a load may be another one.
fn unknown_work() -> Work {
    Work {
        flops: Flops(0),
        coverage: Ratio(0.0),
        bytes_read: Bytes(0),
        bytes_written: Bytes(0),
        activation_peak: None,
    }
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
    ]);
    if found.tokens.is_some() {
        all.push(rate(key::THROUGHPUT_TOKENS, Direction::Higher, &rates.tokens));
    }
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
