//! The tests of a language model as the document `modelmeter.generation/1`, and what a run that generated adds to its own.

use super::result::GenerationRefused;
use super::words::{first_token, rate, step};
use crate::document::{
    Ends, Layers, MaybeMilliseconds, MemoryProfile, WeightsKind, finite, to_json,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{
    Bytes, DecoderShape, Device, GenerationTest, Precision, Reading, Run, Sampling, StepGrowth,
    Weights, key,
};

/// The name and version of the document.
pub const GENERATION_SCHEMA: &str = "modelmeter.generation/1";

pub(super) fn generation_json(runs: &[Run], refused: &[GenerationRefused]) -> Value {
    to_json(&GenerationDocument::of(runs, refused))
}

/// The tests of one language model: how fast it reads a prompt and writes token by token. Sizes are bytes. Missing values are
/// null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GenerationDocument<'a> {
    #[schemars(extend("const" = GENERATION_SCHEMA))]
    schema: &'static str,
    /// The name people use; null if nothing was measured.
    model: Option<&'a str>,
    weights: Option<WeightsKind>,
    /// A hash over graph and weights.
    fingerprint: Option<&'a str>,
    parameters: Option<u64>,
    tests: Vec<TestDocument<'a>>,
    /// Tests that could not be measured.
    refused: Vec<RefusedDocument<'a>>,
}

impl<'a> GenerationDocument<'a> {
    fn of(runs: &'a [Run], refused: &'a [GenerationRefused]) -> GenerationDocument<'a> {
        let model = runs.first().map(|run| &run.model);
        GenerationDocument {
            schema: GENERATION_SCHEMA,
            model: model.map(|model| model.name.as_str()),
            weights: model
                .map(|model| WeightsKind::of(matches!(model.weights, Weights::Random { .. }))),
            fingerprint: model.map(|model| model.fingerprint.as_str()),
            parameters: model.map(|model| model.parameters),
            tests: runs.iter().filter_map(TestDocument::of).collect(),
            refused: refused
                .iter()
                .map(|one| RefusedDocument { engine: &one.engine, test: &one.test, why: &one.why })
                .collect(),
        }
    }
}

/// One test.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GenerationTestResult")]
struct TestDocument<'a> {
    /// The id of the run.
    run: &'a str,
    /// As llama-bench names it: `tg128 @ d4096`.
    name: String,
    engine: &'a str,
    engine_version: &'a str,
    device: Device,
    precision: Precision,
    threads: u32,
    #[schemars(range(min = 1))]
    batch_size: usize,
    valid: bool,
    tokens_per_second: RateDocument,
    /// From the prompt to the first chosen token, median; null for a decode.
    first_token: MaybeMilliseconds,
    /// From one token to the scores of the next one, median; null for a prefill.
    step: MaybeMilliseconds,
    memory_peak: Option<f64>,
    generation: RunGenerationDocument<'a>,
    /// As in `modelmeter.run/1`; present only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<Layers<'a>>,
    /// As in `modelmeter.run/1`; present only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_profile: Option<MemoryProfile<'a>>,
}

impl<'a> TestDocument<'a> {
    fn of(run: &'a Run) -> Option<TestDocument<'a>> {
        Some(TestDocument {
            run: &run.id.0,
            name: run.cell.generation?.name(),
            engine: &run.engine.id,
            engine_version: &run.engine.version,
            device: run.cell.device,
            precision: run.cell.precision,
            threads: run.cell.threads,
            batch_size: run.cell.batch_size,
            valid: run.verdict.valid,
            tokens_per_second: RateDocument::of(run),
            first_token: MaybeMilliseconds::of(first_token(run)),
            step: MaybeMilliseconds::of(step(run)),
            memory_peak: run.metric(key::MEMORY_PEAK).and_then(|metric| metric.value),
            generation: RunGenerationDocument::of(run)?,
            layers: run.layers.as_deref().map(Layers::from),
            memory_profile: run.memory.as_deref().map(MemoryProfile::from),
        })
    }
}

/// Tokens a second of the whole batch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TokenRate")]
struct RateDocument {
    value: Option<f64>,
    /// The 95 % interval.
    interval: Option<Ends>,
}

impl RateDocument {
    fn of(run: &Run) -> RateDocument {
        let rate = rate(run);
        RateDocument {
            value: rate.and_then(|(rate, _)| finite(rate)),
            interval: rate.map(|(_, interval)| Ends::from(interval)),
        }
    }
}

/// A test that could not be measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusedTest")]
struct RefusedDocument<'a> {
    engine: &'a str,
    test: &'a str,
    why: &'a str,
}

/// What was generated, and what the cache held.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RunGeneration")]
pub(crate) struct RunGenerationDocument<'a> {
    test: GenerationTest,
    /// Tokens of the prompt in a prefill, generated tokens in a decode.
    #[schemars(range(min = 1))]
    tokens: usize,
    /// Tokens in the cache before.
    depth: usize,
    sampling: Sampling,
    shape: &'a DecoderShape,
    /// The number format of the cache.
    cache_type: &'a str,
    /// Bytes of the cache a token and row, by formula.
    cache_bytes_per_token: Bytes,
    /// Tokens of each row that were in the cache when it was looked at.
    cache_tokens: usize,
    /// Bytes of the cache of the whole batch then, by formula.
    cache_bytes: Bytes,
    /// The same as the engine reports it.
    cache_bytes_reported: &'a Reading<Bytes>,
    /// Who holds the cache, and how a step appends to it.
    cache_kept: &'a str,
    /// The first generated tokens of the first row.
    generated: &'a [i64],
    /// The same as text, for prompts that are text.
    answer: Option<&'a str>,
    /// How a step grows with the depth, in seconds; null for a prefill.
    growth: Option<StepGrowth>,
}

impl<'a> RunGenerationDocument<'a> {
    pub(crate) fn of(run: &'a Run) -> Option<RunGenerationDocument<'a>> {
        let (generation, report) = (run.cell.generation?, run.generation.as_ref()?);
        Some(RunGenerationDocument {
            test: generation.test,
            tokens: generation.tokens,
            depth: generation.depth,
            sampling: generation.sampling,
            shape: &report.shape,
            cache_type: &report.cache_type,
            cache_bytes_per_token: report.cache_per_token,
            cache_tokens: report.cache_tokens,
            cache_bytes: report.cache,
            cache_bytes_reported: &report.cache_reported,
            cache_kept: &report.cache_kept,
            generated: &report.tokens,
            answer: report.answer.as_deref(),
            growth: report.growth,
        })
    }
}
