//! Loads as the document `modelmeter.load/1`, and what a run of a load adds to its own.

use crate::document::to_json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{
    GeneratorReport, LatencyRow, LimitOutcome, Load, LoadBatches, LoadComparison, LoadCounts,
    LoadErrors, LoadRates, LoadReport, LoadRequests, LoadTokens, LoadWindow, RateSearch, Run,
    ServerMetric, Verdict,
};

/// The name and version of the document.
pub const LOAD_SCHEMA: &str = "modelmeter.load/1";

pub(super) fn load_json(
    runs: &[Run],
    search: Option<&RateSearch>,
    comparison: Option<&LoadComparison>,
) -> Value {
    to_json(&LoadDocument {
        schema: LOAD_SCHEMA,
        loads: runs.iter().filter_map(LoadResult::of).collect(),
        search,
        comparison,
    })
}

/// Loads on a served model. Times are seconds, moments of requests nanoseconds. A missing value is null and has a reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LoadDocument<'a> {
    #[schemars(extend("const" = LOAD_SCHEMA))]
    schema: &'static str,
    /// One entry a load; the last one of a search is the confirmation.
    loads: Vec<LoadResult<'a>>,
    /// The search for the highest rate; null if there was none.
    search: Option<&'a RateSearch>,
    /// Two targets by turns; null if there was one.
    comparison: Option<&'a LoadComparison>,
}

/// One load.
#[derive(Debug, Serialize, JsonSchema)]
struct LoadResult<'a> {
    /// The id of the run.
    run: &'a str,
    /// The model that is served.
    model: &'a str,
    /// What the server says it is, or the version of the engine.
    server: &'a str,
    verdict: &'a Verdict,
    load: RunLoadDocument<'a>,
    /// Every request in the order of the schedule, one list a column.
    requests: &'a LoadRequests,
}

impl<'a> LoadResult<'a> {
    fn of(run: &'a Run) -> Option<LoadResult<'a>> {
        Some(LoadResult {
            run: &run.id.0,
            model: &run.model.name,
            server: &run.engine.version,
            verdict: &run.verdict,
            load: RunLoadDocument::of(run)?,
            requests: &run.load.as_deref()?.requests,
        })
    }
}

/// What was asked of a server, and what came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RunLoad")]
pub(crate) struct RunLoadDocument<'a> {
    /// The address, without anything secret; the engine where no server was asked.
    target: &'a str,
    /// Who asked when, and what.
    asked: &'a Load,
    window: LoadWindow,
    counts: LoadCounts,
    rates: &'a LoadRates,
    latencies: &'a [LatencyRow],
    /// Null if the server does not generate text.
    tokens: Option<&'a LoadTokens>,
    errors: &'a [LoadErrors],
    limits: &'a [LimitOutcome],
    generator: GeneratorReport,
    /// What the server reports of itself.
    server_metrics: &'a [ServerMetric],
    /// How many requests were answered at once; null for a server.
    batches: Option<&'a LoadBatches>,
}

impl<'a> RunLoadDocument<'a> {
    pub(crate) fn of(run: &'a Run) -> Option<RunLoadDocument<'a>> {
        let (asked, report): (&Load, &LoadReport) = (run.cell.load.as_ref()?, run.load.as_deref()?);
        Some(RunLoadDocument {
            target: &report.target,
            asked,
            window: report.window,
            counts: report.counts,
            rates: &report.rates,
            latencies: &report.latencies,
            tokens: report.tokens.as_ref(),
            errors: &report.errors,
            limits: &report.limits,
            generator: report.generator,
            server_metrics: &report.server,
            batches: report.batches.as_ref(),
        })
    }
}
