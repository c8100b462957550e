//! What follows from the samples of a model that generates: the growth of a step, the cache, the memory that a step reads.

use crate::{Job, Link, MeterError, derive::Basis};
use engine::{Reply, Request};
use types::{
    Bytes, Direction, Generation, GenerationReport, GenerationTest, Metric, Phase, Samples,
    Seconds, StepGrowth, Unit, WarmupReport, key,
};

/// How the growth of a step is told: what so many tokens more in the cache add.
const THOUSAND: f64 = 1000.0;

/// Over fewer tokens a drift of the machine passes for growth.
const LEAST_SPAN: usize = 256;

/// What was generated, where the cell generates.
pub(crate) fn report(
    link: &mut Link,
    job: &Job<'_>,
    warmup: &WarmupReport,
    samples: &[Samples],
) -> Result<Option<GenerationReport>, MeterError> {
    let growth = |generation: Generation| self::growth(generation, warmup.runs, samples);
    let growth = job.cell.generation.and_then(growth);
    // The first inference and warm-up came before.
    let first_step = Some(1 + warmup.runs);
    Ok(state(link, job)?.map(|report| GenerationReport { growth, first_step, ..report }))
}

/// The same without the growth of a step: where turns are taken, the depth of a sample is not known.
pub(crate) fn state(
    link: &mut Link,
    job: &Job<'_>,
) -> Result<Option<GenerationReport>, MeterError> {
    if job.generation.is_none() {
        return Ok(None);
    }
    let doing = "report what was generated";
    match link.ask(&Request::Generated, doing)? {
        Reply::Generated { report } => Ok(Some(*report)),
        other => Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    }
}

/// How a step grows with the depth of the cache.
fn growth(generation: Generation, warmup: u64, samples: &[Samples]) -> Option<StepGrowth> {
    if generation.test != GenerationTest::Decode || generation.tokens < LEAST_SPAN {
        return None;
    }
    let steps = samples.iter().find(|samples| samples.phase == Phase::Inference)?;
    // The first inference and warm-up came before.
    let before = 1 + warmup;
    let points: Vec<(f64, f64)> = (before..)
        .zip(&steps.nanos)
        .map(|(sample, nanos)| (generation.depth_of(sample) as f64, *nanos as f64 / 1e9))
        .collect();
    let line = stats::line(&points)?;
    Some(StepGrowth {
        at_zero: Seconds(line.at_zero),
        per_thousand: Seconds(line.slope * THOUSAND),
        interval: types::Interval {
            low: line.interval.low * THOUSAND,
            high: line.interval.high * THOUSAND,
        },
    })
}

/// The metrics that only generating has.
pub(crate) fn metrics(basis: &Basis<'_>) -> Vec<Metric> {
    let (Some(generation), Some(report)) = (basis.cell.generation, basis.generation) else {
        return Vec::new();
    };
    let bytes = |key: &str, Bytes(bytes): Bytes| {
        Metric::measured(key, Unit::Bytes, Direction::Lower, bytes as f64)
    };
    let mut metrics = vec![
        bytes(key::CACHE, report.cache_reported.value.unwrap_or(report.cache)),
        bytes(key::CACHE_PER_TOKEN, report.cache_per_token),
    ];
    match generation.test {
        GenerationTest::Prefill => {
            let first = basis.summaries.get(&Phase::Total).map(|total| total.median);
            metrics.extend(first.map(|seconds| {
                Metric::measured(key::FIRST_TOKEN, Unit::Seconds, Direction::Lower, seconds)
            }));
        }
        GenerationTest::Decode => metrics.extend(bandwidth(basis, generation, report)),
    }
    metrics
}

/// What a step reads of memory in a second: every weight once, and the cache of the whole batch.
fn bandwidth(basis: &Basis<'_>, generation: Generation, report: &GenerationReport) -> Vec<Metric> {
    let (rate, share) = (key::STEP_BANDWIDTH, key::STEP_BANDWIDTH_SHARE);
    let up = Direction::Higher;
    let Some(weights) = basis.weights_read.filter(|_| basis.inference.median > 0.0) else {
        let why = "how many bytes of weights a step reads is not known";
        return vec![Metric::missing(rate, Unit::BytesPerSecond, up, why)];
    };
    let depth = generation.depth + generation.tokens / 2;
    let cache = cache_read(report, depth, basis.reads_windows) * basis.cell.batch_size as f64;
    let value = (weights.0 as f64 + cache) / basis.inference.median;
    let ceiling = basis.ceilings.and_then(|ceilings| ceilings.bandwidth);
    vec![
        Metric::measured(rate, Unit::BytesPerSecond, up, value),
        match ceiling {
            Some(ceiling) => Metric::measured(share, Unit::Ratio, up, value / ceiling.value),
            None => {
                let why = "the bandwidth of this device was not measured; `modelmeter calibrate` measures it";
                Metric::missing(share, Unit::Ratio, up, why)
            }
        },
    ]
}

/// Bytes of the cache of one text that a step reads behind so many tokens.
fn cache_read(report: &GenerationReport, depth: usize, reads_windows: bool) -> f64 {
    let all = report.cache_per_token.0 as f64 * depth as f64;
    let whole = report.shape.cache_per_token(1).0 as f64 * depth as f64;
    if !reads_windows || whole <= 0.0 {
        return all;
    }
    all * report.shape.cache(depth, 1).0 as f64 / whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{DecoderShape, Reading, Sampling};

    #[test]
    fn an_engine_that_reads_windows_reads_less_of_the_cache() {
        let shape = DecoderShape {
            layers: 6,
            key_heads: 2,
            head_dim: 8,
            vocabulary: 100,
            context: None,
            window: Some(512),
            sliding_layers: 5,
        };
        let report = GenerationReport {
            cache_type: "f16".into(),
            cache_per_token: shape.cache_per_token(2),
            cache_tokens: 4096,
            cache: shape.cache(4096, 2),
            cache_reported: Reading::of(shape.cache(4096, 2)),
            cache_kept: String::new(),
            tokens: Vec::new(),
            answer: None,
            first_step: None,
            growth: None,
            shape,
        };
        // A key and a value of 2 × 8 numbers of 2 bytes in each of 6 layers.
        assert_eq!(cache_read(&report, 4096, false), 4096.0 * 6.0 * 64.0);
        assert_eq!(cache_read(&report, 4096, true), (4096.0 + 5.0 * 512.0) * 64.0);
        assert_eq!(cache_read(&report, 100, true), 100.0 * 6.0 * 64.0);
        assert_eq!(cache_read(&report, 0, true), 0.0);
    }

    #[test]
    fn the_growth_of_a_step_is_found_across_rounds_and_warm_up() {
        let test = GenerationTest::Decode;
        let generation = Generation { test, tokens: 300, depth: 1000, sampling: Sampling::Greedy };
        // Three steps of warm-up and the first inference came before: the samples begin at depth 1004.
        let nanos = (4..904).map(|step| 1_000_000 + 100 * (1000 + step % 300)).collect();
        let samples = [Samples { phase: Phase::Inference, nanos }];
        let growth = growth(generation, 3, &samples).unwrap();
        assert!((growth.per_thousand.0 - 100e-6).abs() < 1e-9, "{growth:?}");
        assert!((growth.at_zero.0 - 1e-3).abs() < 1e-9, "{growth:?}");
        let short = Generation { tokens: 100, ..generation };
        assert_eq!(super::growth(short, 3, &samples), None, "a drift would pass for growth");
        let prefill = Generation { test: GenerationTest::Prefill, ..generation };
        assert_eq!(super::growth(prefill, 3, &samples), None);
    }
}
