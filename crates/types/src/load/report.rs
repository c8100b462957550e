//! The results of a load.

use super::{LoadLimit, LoadMetric};
use crate::{Reading, Seconds, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOutcome {
    /// Answered, whole.
    Completed,
    /// No connection.
    Connect,
    /// The connection could not be encrypted.
    Tls,
    /// The connection ended before the answer did.
    Closed,
    /// The answer took longer than allowed.
    Timeout,
    /// A status that is not 2xx.
    Status,
    /// A redirect, which is never followed.
    Redirect,
    /// The answer does not follow the protocol.
    Protocol,
    /// The answer is larger than allowed.
    TooLarge,
    /// The server reported an error inside its answer.
    Server,
    /// Sent, and not answered when the load ended.
    Unanswered,
    /// Never sent: the load ended before.
    NotSent,
}

impl RequestOutcome {
    /// Every outcome.
    pub const ALL: [RequestOutcome; 12] = [
        RequestOutcome::Completed,
        RequestOutcome::Connect,
        RequestOutcome::Tls,
        RequestOutcome::Closed,
        RequestOutcome::Timeout,
        RequestOutcome::Status,
        RequestOutcome::Redirect,
        RequestOutcome::Protocol,
        RequestOutcome::TooLarge,
        RequestOutcome::Server,
        RequestOutcome::Unanswered,
        RequestOutcome::NotSent,
    ];

    /// The name used in tables and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RequestOutcome::Completed => "completed",
            RequestOutcome::Connect => "connect",
            RequestOutcome::Tls => "tls",
            RequestOutcome::Closed => "closed",
            RequestOutcome::Timeout => "timeout",
            RequestOutcome::Status => "status",
            RequestOutcome::Redirect => "redirect",
            RequestOutcome::Protocol => "protocol",
            RequestOutcome::TooLarge => "too-large",
            RequestOutcome::Server => "server",
            RequestOutcome::Unanswered => "unanswered",
            RequestOutcome::NotSent => "not-sent",
        }
    }

    /// Whether it is an error of the server or of the way there.
    #[must_use]
    pub fn is_error(self) -> bool {
        !matches!(
            self,
            RequestOutcome::Completed | RequestOutcome::Unanswered | RequestOutcome::NotSent
        )
    }
}

/// The part of a load that counts, from the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadWindow {
    /// The end of the warm-up.
    pub from: Seconds,
    /// The last arrival of the schedule; the end of the load where there is no schedule.
    pub to: Seconds,
}

impl LoadWindow {
    /// How long it is, in seconds.
    #[must_use]
    pub fn length(&self) -> f64 {
        (self.to.0 - self.from.0).max(0.0)
    }
}

/// How many requests; those of the warm-up are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadCounts {
    /// Scheduled in the warm-up.
    pub warmup: u64,
    /// Scheduled in the window.
    pub scheduled: u64,
    /// Of those, sent.
    pub sent: u64,
    /// Of those, answered whole.
    pub completed: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of those, sent and never answered.
    pub unanswered: u64,
    /// Of those, never sent.
    pub not_sent: u64,
    /// Of those, answered after the last arrival of the schedule.
    pub drained: u64,
    /// Of those, met every limit; `None` without limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<u64>,
}

/// Requests a second, over the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRates {
    /// Scheduled.
    pub offered: Reading<f64>,
    /// Sent in the window.
    pub sent: Reading<f64>,
    /// Answered in the window.
    pub completed: Reading<f64>,
    /// Those that met every limit.
    pub good: Reading<f64>,
    /// Generated tokens, of answers that ended in the window.
    pub tokens: Reading<f64>,
}

/// Requests that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadErrors {
    /// In which way.
    pub outcome: RequestOutcome,
    /// How many.
    pub count: u64,
    /// What the first of them was.
    pub example: String,
}

/// One time of all requests of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRow {
    /// Which.
    pub metric: LoadMetric,
    /// Its summary, or why there is none.
    pub summary: Reading<Summary>,
}

/// Tokens of the answered requests of the window, by the server's own count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTokens {
    /// Of the prompts.
    pub prompt: Reading<u64>,
    /// Of the prompts, taken from the server's cache.
    pub cached: Reading<u64>,
    /// Generated.
    pub completion: Reading<u64>,
    /// Events with content: often, but not always, one a token.
    pub events: u64,
    /// Requests whose first event held a number of tokens that had to be estimated by its share of the text.
    pub estimated: u64,
}

/// Whether a limit was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitOutcome {
    /// The limit.
    pub limit: LoadLimit,
    /// The value of the statistic over the answered requests, in seconds.
    pub value: Reading<f64>,
    /// Requests of the window that kept it; those without an answer did not.
    pub kept: u64,
    /// Of so many.
    pub of: u64,
    /// Whether it holds, at 99 % confidence; `None` if the requests are too few to tell.
    pub holds: Option<bool>,
}

/// What the generator of the load did itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Processor time it used during the load, in seconds; of several that of the busiest.
    pub processor: Seconds,
    /// How long the load took, in seconds.
    pub elapsed: Seconds,
    /// Connections it opened.
    pub connections: u64,
    /// How many generators sent the load together, each on a processor of its own.
    #[serde(default = "alone")]
    pub generators: u64,
}

fn alone() -> u64 {
    1
}

impl GeneratorReport {
    /// The share of one processor that it used.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.elapsed.0 > 0.0 { self.processor.0 / self.elapsed.0 } else { 0.0 }
    }
}

/// A number that the server itself reports, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMetric {
    /// Its name, with its labels.
    pub name: String,
    /// Before the load.
    pub before: Option<f64>,
    /// After it.
    pub after: f64,
}

/// How many requests were answered at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadBatches {
    /// Requests in a batch, on average.
    pub mean: f64,
    /// Sizes that occurred, and how many batches had them; the smallest first.
    pub sizes: Vec<(u64, u64)>,
    /// What was padded, where requests were texts of several lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<LoadPadding>,
}

/// Tokens that an engine computed of texts that were put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadPadding {
    /// Those of the texts.
    pub tokens: u64,
    /// Those that only made texts as long as the longest of their batch.
    pub padding: u64,
}

impl LoadPadding {
    /// The part of all that was computed for nothing.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.padding as f64 / (self.tokens + self.padding).max(1) as f64
    }
}

/// Every request in the order of the schedule, one list a column. Times are nanoseconds from the start of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadRequests {
    /// When the schedule wanted it.
    pub scheduled: Vec<u64>,
    /// When its first byte was handed to the system.
    pub sent: Vec<Option<u64>>,
    /// Its first event with content.
    pub first: Vec<Option<u64>>,
    /// Its last event with content.
    pub last: Vec<Option<u64>>,
    /// Generated tokens, as the server counts them.
    pub tokens: Vec<Option<u64>>,
    /// What became of it.
    pub outcome: Vec<RequestOutcome>,
}

/// The results of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// The address, without anything secret.
    pub target: String,
    /// The part that counts.
    pub window: LoadWindow,
    /// How many requests.
    pub counts: LoadCounts,
    /// How many a second.
    pub rates: LoadRates,
    /// Every time that was measured.
    pub latencies: Vec<LatencyRow>,
    /// Tokens; `None` if the server does not generate text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<LoadTokens>,
    /// Failures by kind, the most frequent first.
    pub errors: Vec<LoadErrors>,
    /// Limits, each with whether it was kept.
    pub limits: Vec<LimitOutcome>,
    /// The generator.
    pub generator: GeneratorReport,
    /// What the server reports of itself, where it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerMetric>,
    /// How many requests were answered at once, where the model ran in a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<LoadBatches>,
    /// Every request.
    pub requests: LoadRequests,
}

impl LoadReport {
    /// The summary of one time, if there is one.
    #[must_use]
    pub fn latency(&self, metric: LoadMetric) -> Option<&Summary> {
        self.latencies.iter().find(|row| row.metric == metric)?.summary.value.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_the_name_it_has_in_documents() {
        for outcome in RequestOutcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }

    #[test]
    fn a_generator_that_did_not_run_used_nothing() {
        assert_eq!(GeneratorReport::default().share(), 0.0);
        let half = GeneratorReport {
            processor: Seconds(1.0),
            elapsed: Seconds(2.0),
            connections: 1,
            generators: 1,
        };
        assert_eq!(half.share(), 0.5);
    }
}
