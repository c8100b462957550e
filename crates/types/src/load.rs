//! Load on a served model: who asks when, what became of every request, and what that says.
//!
//! Every time is counted on one monotonic clock from the start of the load. A latency has two beginnings: the moment at which
//! the schedule wanted the request, and the moment at which it was sent. Only the first is what a user waits.

mod capacity;
mod limit;
mod progress;
mod report;
mod scenario;
mod search;

pub use capacity::{CapacityLeftOut, CapacityOption, CapacityProof, CapacityReport};
pub use limit::{LoadLimit, LoadMetric, LoadStatistic, ParseLoadLimitError};
pub use progress::{LoadPercentiles, LoadProgress};
pub use report::{
    GeneratorReport, LatencyRow, LimitOutcome, LoadBatches, LoadCounts, LoadErrors, LoadPadding,
    LoadRates, LoadReport, LoadRequests, LoadTokens, LoadWindow, RequestOutcome, ServerMetric,
};
pub use scenario::{
    Arrivals, Load, LoadBatching, LoadTexts, ParseScenarioError, Protocol, Scenario,
};
pub use search::{LoadComparison, LoadRatio, ProbeOutcome, RateProbe, RateSearch};
