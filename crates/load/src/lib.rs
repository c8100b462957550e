//! Load on a service: who asks when, what became of every request, and what that says.
//!
//! Nothing here opens a socket, loads a model or reads a clock. Times come in as nanoseconds of one monotonic clock, so that
//! the whole accounting runs on a simulated clock too: tests and [`simulate`] do that. Definitions: docs/LOAD.md.

mod account;
mod capacity;
mod decision;
mod dispatcher;
mod draw;
mod judge;
mod length;
mod record;
mod schedule;
mod search;
mod service;
mod simulate;

pub use account::{Account, Accounting, account, columns, window};
pub use capacity::{Capacity, CapacityError, CapacityQuestion, Replicas, capacity, utilisation};
pub use decision::{CONFIDENCE, decide};
pub use dispatcher::{Dispatcher, Next, Source};
pub use draw::draw_order;
pub use judge::{Judged, judge};
pub use length::{Length, ParseLengthError};
pub use record::{ContentEvent, Record, TokenCounts};
pub use schedule::{Pattern, Schedule, Seeds};
pub use search::{Search, SearchPlan};
pub use service::ServiceTimes;
pub use simulate::{Batching, ParseRoutingError, Routing, Simulated, simulate};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// Seconds as nanoseconds; what does not fit is held at the end.
#[must_use]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * NANOS).round().max(0.0) as u64
}
