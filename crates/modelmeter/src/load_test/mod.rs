//! Load on a model: requests come by a schedule, and what users would have waited becomes a run. To a server a generator of its
//! own process sends them; a model in a worker of ours gets them there.

mod against;
mod generator;
mod in_process;
mod run;
mod search;
mod server;
mod shards;
mod source;

pub use against::ComparedLoads;
pub(crate) use generator::serve_generator;
pub use search::{FoundRate, RateQuestion};

use crate::{Error, Profiler, Session};
use ::load::{Batching, Record};
use endpoint::{Address, Bodies, Inspection, Service};
use std::{sync::atomic::AtomicBool, time::Duration};
use types::{Event, GeneratorReport, LoadLimit, Run, Scenario};

/// The one argument that makes a program a generator of load.
pub const GENERATOR_ARGUMENT: &str = "__modelmeter-load";

/// Random contents where nobody gives any: so many that none comes twice soon, and that memory holds them.
const CONTENTS: usize = 2000;
/// The most bytes of one answer.
const MOST_ANSWER: usize = 64 << 20;
/// Connections that are opened before requests of a schedule come; more are opened when they are needed.
const CONNECTIONS: usize = 4;

/// What became of a load.
struct Outcome {
    records: Vec<Record>,
    generator: GeneratorReport,
    overrun: bool,
    stopped_at: Option<u64>,
}

/// What is asked of a model, how long, and what it has to keep.
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
    /// How requests are put together, where a worker of ours answers them.
    pub batching: Batching,
    /// Where a server tells its own numbers; beside its address where nobody says.
    pub metrics_address: Option<Address>,
    /// Generators that share the requests to a server.
    pub generators: usize,
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

/// Where requests go.
#[derive(Debug, Clone)]
pub enum LoadTarget {
    /// A server that was found.
    Server {
        /// What it is.
        service: Service,
        /// Whether it runs on this machine.
        is_local: bool,
    },
    /// A model that a worker loads, as this measurement describes it.
    Model(Box<Profiler>),
}

impl LoadTarget {
    /// Finds out how a server is spoken to and which model it serves. Nothing but a few short questions is sent.
    ///
    /// # Errors
    /// Where it does not answer, or answers something else.
    pub fn find(asked: &Inspection) -> Result<LoadTarget, Error> {
        let is_local = LoadTarget::is_local(asked)?;
        Ok(LoadTarget::Server { service: endpoint::inspect(asked)?, is_local })
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
    /// Where the generator or the worker cannot be started, or the server cannot be reached at all.
    pub fn run(
        &self,
        target: &LoadTarget,
        session: &mut Session,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Run, Error> {
        self.check()?;
        let run = match target {
            LoadTarget::Server { service, is_local } => {
                self.run_on_server(service, *is_local, session, stop, sink)?
            }
            LoadTarget::Model(profiler) => self.run_in_process(profiler, session, stop, sink)?,
        };
        session.remember(&run);
        sink(Event::CellFinished { run: Box::new(run.clone()) });
        Ok(run)
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
        if self.generators > 1 && matches!(self.scenario, Scenario::MultiStream { .. }) {
            return wrong(
                "`--multi-stream` needs a single generator: a burst waits for the whole one before it",
            );
        }
        if self.max_requests == 0 {
            return wrong("a load needs at least one request");
        }
        // Users who wait for their answers are never more in flight than there are users.
        if self.max_in_flight.is_some() && !self.scenario.is_open() {
            return wrong(
                "`--max-in-flight` needs a schedule (`--rate`, `--trace` or `--offline`): in a closed loop, as many requests are in flight as there are users",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Arrivals, Rate};

    /// A load with one request at a time, for tests that send nothing.
    pub(super) fn single_stream() -> LoadTest {
        LoadTest {
            scenario: Scenario::SingleStream,
            trace: Vec::new(),
            bodies: Bodies::Bytes { body: Vec::new(), content_type: String::new() },
            streaming: false,
            duration: Duration::from_secs(30),
            warmup: Duration::from_secs(5),
            timeout: Duration::from_secs(60),
            max_requests: 100_000,
            batching: Batching::default(),
            metrics_address: None,
            generators: 1,
            max_in_flight: None,
            backlog: None,
            limits: Vec::new(),
            errors_allowed: 0.01,
            seed: 0,
            headers: Vec::new(),
            tags: Vec::new(),
        }
    }

    #[test]
    fn a_cap_on_requests_in_flight_needs_a_schedule() {
        let of = |scenario| LoadTest { scenario, max_in_flight: Some(2), ..single_stream() };
        for closed in [
            Scenario::SingleStream,
            Scenario::Concurrency { users: 8 },
            Scenario::MultiStream { streams: 8 },
        ] {
            let told = of(closed).check().unwrap_err().to_string();
            assert!(told.contains("`--max-in-flight` needs a schedule"), "{told}");
        }
        let rate = Rate(4.0);
        let open = Scenario::Server { rate, arrivals: Arrivals::Poisson, ramp_to: None };
        for open in [open, Scenario::Offline, Scenario::Replay { trace: String::new() }] {
            assert!(of(open).check().is_ok());
        }
    }
}
