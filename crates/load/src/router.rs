//! Who gets a request.

use crate::draw::unit;
use serde::{Deserialize, Serialize};
use stats::Generator;
use std::{fmt, str::FromStr};

/// Who gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// The first replica that is free; requests wait in one queue.
    OneQueue,
    /// One replica after the other.
    RoundRobin,
    /// Any replica.
    Random,
    /// The replica with the fewest requests.
    LeastLoaded,
}

impl Routing {
    /// Every policy.
    pub const ALL: [Routing; 4] =
        [Routing::OneQueue, Routing::RoundRobin, Routing::Random, Routing::LeastLoaded];

    /// The name used in arguments and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Routing::OneQueue => "one-queue",
            Routing::RoundRobin => "round-robin",
            Routing::Random => "random",
            Routing::LeastLoaded => "least-loaded",
        }
    }
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a routing policy; known policies: one-queue, round-robin, random, least-loaded"
)]
pub struct ParseRoutingError(String);

impl FromStr for Routing {
    type Err = ParseRoutingError;

    fn from_str(text: &str) -> Result<Routing, ParseRoutingError> {
        let found = Routing::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| ParseRoutingError(text.into()))
    }
}

/// A router: chooses among queues.
#[derive(Debug, Clone)]
pub struct Router {
    routing: Routing,
    next: usize,
    generator: Generator,
}

impl Router {
    /// A router that chooses at random by this seed, where it does.
    #[must_use]
    pub fn new(routing: Routing, seed: u64) -> Router {
        Router { routing, next: 0, generator: Generator::new(stats::mix(seed)) }
    }

    /// Queues that so many replicas have: one for all, or one each.
    #[must_use]
    pub fn queues(&self, replicas: usize) -> usize {
        if self.routing == Routing::OneQueue { 1 } else { replicas.max(1) }
    }

    /// One of so many queues; `load` says how many requests one has, those in service too.
    pub fn choose(&mut self, queues: usize, load: impl Fn(usize) -> usize) -> usize {
        match self.routing {
            Routing::OneQueue => 0,
            Routing::RoundRobin => {
                self.next = (self.next + 1) % queues;
                self.next
            }
            Routing::Random => {
                ((unit(&mut self.generator) * queues as f64) as usize).min(queues - 1)
            }
            Routing::LeastLoaded => {
                // From another place every time: otherwise the first of the idle ones would get everything.
                let from = self.generator.below(queues);
                let places = (0..queues).map(|step| (from + step) % queues);
                places.min_by_key(|place| load(*place)).unwrap_or(0)
            }
        }
    }
}
