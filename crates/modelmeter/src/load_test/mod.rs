//! Load on a served model: a generator of its own process sends requests by a schedule, and what users would have waited
//! becomes a run.

mod generator;
mod run;
mod search;
mod source;

pub(crate) use generator::serve_generator;
pub use search::{FoundRate, RateQuestion};

use crate::{Error, Session};
use ::load::{Judged, judge};
use endpoint::{Bodies, Inspection, Job, Live, Service, Target};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use types::{LoadLimit, Run, Scenario, ServerMetric, Verdict};

/// The one argument that makes a program a generator of load.
pub const GENERATOR_ARGUMENT: &str = "__modelmeter-load";

/// Random contents where nobody gives any: so many that none comes twice soon, and that memory holds them.
const CONTENTS: usize = 2000;
/// The most bytes of one answer.
const MOST_ANSWER: usize = 64 << 20;
/// Connections that are opened before requests of a schedule come; more are opened when they are needed.
const CONNECTIONS: usize = 4;

/// What is asked of a server, how long, and what it has to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadTest {
    /// Who asks when.
    pub scenario: Scenario,
    /// The moments of a replay, in seconds.
    pub trace: Vec<f64>,
    /// What is sent.
    pub bodies: Bodies,
    /// Whether answers come in pieces, where the server can.
    pub streaming: bool,
    /// How long requests are sent, the warm-up included.
    pub duration: Duration,
    /// The part of it at the start that does not count.
    pub warmup: Duration,
    /// The longest that one answer may take; as long is waited for the last ones.
    pub timeout: Duration,
    /// The most requests.
    pub max_requests: usize,
    /// The most requests in flight.
    pub max_in_flight: Option<u32>,
    /// More requests than this due and unanswered end the load early.
    pub backlog: Option<usize>,
    /// Limits that the server has to keep.
    pub limits: Vec<LoadLimit>,
    /// The share of failed requests that is allowed.
    pub errors_allowed: f64,
    /// The seed of the schedule and of what is sent.
    pub seed: u64,
    /// More lines of the head of every request; keys stand here.
    pub headers: Vec<(String, String)>,
    /// Labels of the stored run.
    pub tags: Vec<String>,
}

/// A server that was found, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadTarget {
    /// What it is.
    pub service: Service,
    /// Whether it runs on this machine.
    pub is_local: bool,
}

impl LoadTarget {
    /// Finds out how a server is spoken to and which model it serves. Nothing but a few short questions is sent.
    ///
    /// # Errors
    /// Where it does not answer, or answers something else.
    pub fn find(asked: &Inspection) -> Result<LoadTarget, Error> {
        let is_local = LoadTarget::is_local(asked)?;
        Ok(LoadTarget { service: endpoint::inspect(asked)?, is_local })
    }

    /// Whether an address is this machine.
    ///
    /// # Errors
    /// Where the name of the host is not known.
    pub fn is_local(asked: &Inspection) -> Result<bool, Error> {
        let address = &asked.address;
        let numbers = address.resolve().map_err(|source| {
            endpoint::InspectError::from(endpoint::FetchError::Name {
                host: address.host.clone(),
                source,
            })
        })?;
        Ok(endpoint::is_local(&numbers))
    }
}

impl LoadTest {
    /// Sends the load and keeps the run, also one that was stopped.
    ///
    /// # Errors
    /// Where the generator cannot be started, or the server cannot be reached at all.
    pub fn run(
        &self,
        target: &LoadTarget,
        session: &mut Session,
        stop: &AtomicBool,
        hear: &mut dyn FnMut(&Live),
    ) -> Result<Run, Error> {
        self.check()?;
        let started_at = clock::now();
        let job = self.job(&target.service)?;
        let before = self.server_metrics(&target.service);
        let outcome = generator::generate(&job, stop, hear)?;
        // A server that was stopped by hand is not asked again: the person waits.
        let after = match stop.load(Ordering::Relaxed) {
            true => None,
            false => self.server_metrics(&target.service),
        };
        let server = changes(before, after);
        let run = self.as_run(target, session, &outcome, server, started_at);
        session.remember(&run);
        Ok(run)
    }

    fn server_metrics(&self, service: &Service) -> Option<BTreeMap<String, f64>> {
        endpoint::server_metrics(&service.address, &self.headers)
    }

    /// What cannot be meant is told before anything is sent.
    fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        if self.duration.is_zero() {
            return wrong("a load needs a duration");
        }
        if self.warmup >= self.duration && self.scenario != Scenario::Offline {
            return wrong("the warm-up is as long as the whole load: nothing would count");
        }
        if self.max_requests == 0 {
            return wrong("a load needs at least one request");
        }
        Ok(())
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
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
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
            drain: nanos(self.timeout),
            timeout: nanos(self.timeout),
            max_in_flight: self.max_in_flight.map(|most| most as usize),
            backlog: self.backlog,
            connections: self.connections(),
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

/// The verdict on a load.
fn verdict(judged: &Judged<'_>) -> Verdict {
    judge(judged)
}
