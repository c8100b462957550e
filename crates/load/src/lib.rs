//! Load on a service: who asks when, what became of every request, and what that says.
//!
//! Nothing here opens a socket, loads a model or reads a clock. Times come in as nanoseconds of one monotonic clock, so that
//! the whole accounting runs on a simulated clock too: tests and [`simulate`] do that. Definitions: docs/LOAD.md.

mod account;
mod batcher;
mod capacity;
mod continuous;
mod decision;
mod dispatcher;
mod draw;
mod judge;
mod length;
mod live;
mod record;
mod router;
mod schedule;
mod search;
mod service;
mod simulate;
mod steps;

pub use account::{Account, Accounting, account, columns, window};
pub use batcher::{Batcher, Serve, ServedRequests, ServingPlan};
pub use capacity::{
    Capacity, CapacityError, CapacityQuestion, MeasuredSteps, MeasuredTimes, Replicas, Served,
    capacity, utilisation,
};
pub use continuous::{Generated, Lengths, simulate_generation};
pub use decision::{CONFIDENCE, decide, requests_needed};
pub use dispatcher::{Dispatcher, Next, Source};
pub use draw::draw_order;
pub use judge::{Judged, judge};
pub use length::{Length, ParseLengthError};
pub use live::LastRequests;
pub use record::{ContentEvent, Record, TokenCounts};
pub use router::{ParseRoutingError, Router, Routing};
pub use schedule::{Pattern, Schedule, Seeds};
pub use search::{Search, SearchPlan};
pub use service::ServiceTimes;
pub use simulate::{Batching, Simulated, simulate};
pub use steps::{DecodeStep, StepTimes};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// Seconds as nanoseconds; what does not fit is held at the end.
#[must_use]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * NANOS).round().max(0.0) as u64
}
