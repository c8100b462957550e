//! A load on a served model: a generator of its own process sends the requests.

use super::{
    CONNECTIONS, CONTENTS, LoadTest, MOST_ANSWER, generator, run::Subject, shards::shards,
};
use crate::{Error, Session};
use endpoint::{Bodies, Job, Prompts, Service, Target};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use types::{
    Bytes, Category, Cell, Cold, Device, EngineInfo, EngineOptions, Event, Feed, Mode, ModelInfo,
    ModelSource, Precision, Run, Scenario, ServerMetric, Weights,
};

/// Why nothing is known of the inside of a server.
const NOT_TOLD: &str = "the server does not tell it";
/// How much longer than for one answer is waited at the end.
const DRAIN_AFTER_TIMEOUT: Duration = Duration::from_secs(1);
/// Why a start was not measured.
const RUNNING: &str = "the server was running before";

impl LoadTest {
    pub(super) fn run_on_server(
        &self,
        service: &Service,
        is_local: bool,
        session: &mut Session,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Run, Error> {
        let started_at = clock::now();
        let job = self.job(service)?;
        let before = self.server_metrics(service);
        let outcome = generator::generate(&shards(&job, self.generators), stop, sink)?;
        // A server that was stopped by hand is not asked again: the person waits.
        let after = match stop.load(Ordering::Relaxed) {
            true => None,
            false => self.server_metrics(service),
        };
        let subject = self.server(service, is_local, session, changes(before, after));
        Ok(self.as_run(subject, &outcome, started_at))
    }

    fn server_metrics(&self, service: &Service) -> Option<BTreeMap<String, f64>> {
        match &self.metrics_address {
            Some(address) => endpoint::server_metrics(address, &[]),
            None => endpoint::server_metrics(&service.address, &self.headers),
        }
    }

    fn job(&self, service: &Service) -> Result<Job, Error> {
        let seeds = ::load::Seeds::of(self.seed);
        let streaming = self.streaming && service.protocol.generates();
        let source = self.source(seeds.gaps);
        let expected = self.expected_requests(&source);
        let contents = service.contents(
            &self.bodies,
            streaming,
            expected.clamp(1, CONTENTS),
            seeds.content,
        )?;
        Ok(Job {
            target: Target {
                address: service.address.clone(),
                protocol: service.protocol,
                streaming,
                headers: self.headers.clone(),
            },
            order: ::load::draw_order(expected.max(1), contents.len(), seeds.order),
            contents,
            max_requests: self.max_requests,
            until: self.until(),
            // Longer than a request may take, so that the last one ends as a timeout and not without an end.
            drain: nanos(self.timeout + DRAIN_AFTER_TIMEOUT),
            timeout: nanos(self.timeout),
            max_in_flight: self.max_in_flight.map(|most| most as usize),
            backlog: self.backlog,
            connections: self.connections(),
            together: false,
            max_answer: MOST_ANSWER,
            source,
        })
    }

    fn connections(&self) -> usize {
        let asked = match self.scenario {
            Scenario::SingleStream => 1,
            Scenario::MultiStream { streams } => streams as usize,
            Scenario::Concurrency { users } => users as usize,
            _ => CONNECTIONS,
        };
        asked.min(self.max_in_flight.map_or(usize::MAX, |most| most as usize)).max(1)
    }

    /// What is known of the server.
    fn server(
        &self,
        service: &Service,
        is_local: bool,
        session: &Session,
        server: Vec<ServerMetric>,
    ) -> Subject {
        let generates = service.protocol.generates();
        let streaming = self.streaming && generates;
        Subject {
            cell: self.cell(service, streaming),
            model: model_info(service),
            engine: EngineInfo {
                id: service.protocol.name().into(),
                version: service.server.clone().unwrap_or_else(|| "unknown".into()),
                placement: "unknown".into(),
            },
            target: service.address.to_string(),
            unknown: unknown(),
            environment: session.environment(0),
            cold: Cold {
                process_start: Duration::ZERO,
                load: Duration::ZERO,
                first_inference: Duration::ZERO,
            },
            generates,
            streaming,
            is_local_server: is_local,
            is_in_process: false,
            random_words: match &self.bodies {
                Bodies::Prompts { prompts: Prompts::Random(length), .. } => Some(length.mean),
                _ => None,
            },
            server,
            batches: None,
            inputs: Vec::new(),
            probes: Vec::new(),
            metrics: Vec::new(),
            reasons: Vec::new(),
        }
    }

    fn cell(&self, service: &Service, streaming: bool) -> Cell {
        Cell {
            model: model_name(service),
            engine: service.protocol.name().into(),
            device: Device::Auto,
            precision: Precision::Fp32,
            batch_size: 1,
            sequence_length: None,
            mode: Mode::Load,
            training: None,
            generation: None,
            load: Some(self.asked(service.protocol, streaming, self.bodies.words())),
            threads: 0,
            seed: self.seed,
            inputs: Vec::new(),
            text: None,
            options: EngineOptions::default(),
            feed: Feed::default(),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Every number that the server has afterwards, with what it was before.
fn changes(
    before: Option<BTreeMap<String, f64>>,
    after: Option<BTreeMap<String, f64>>,
) -> Vec<ServerMetric> {
    let before = before.unwrap_or_default();
    let after = after.unwrap_or_default().into_iter();
    after
        .map(|(name, after)| ServerMetric { before: before.get(&name).copied(), name, after })
        .collect()
}

/// The model that is served; where nobody knows it, the address stands for it.
fn model_name(service: &Service) -> String {
    service.model.clone().unwrap_or_else(|| service.address.authority())
}

fn model_info(service: &Service) -> ModelInfo {
    let name = model_name(service);
    let place = service.address.authority();
    ModelInfo {
        category: match service.protocol.generates() {
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

#[cfg(test)]
mod tests {
    use crate::load_test::tests::single_stream;
    use endpoint::Inspection;
    use types::Protocol;

    #[test]
    fn the_last_request_ends_as_a_timeout_before_the_end_of_the_load() {
        let service = endpoint::inspect(&Inspection {
            address: "http://127.0.0.1:9/predict".parse().unwrap(),
            protocol: Some(Protocol::Http),
            model: Some("svc".into()),
            headers: Vec::new(),
        })
        .unwrap();
        let job = single_stream().job(&service).unwrap();
        assert_eq!(job.drain, job.timeout + 1_000_000_000);
    }
}
