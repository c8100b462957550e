//! Tests, rates and caches in the fewest words.

use number::{bytes, seconds};
use types::{GenerationTest, Interval, Run, Seconds, key};

/// `tg128 @ d4096`, with the batch where there are several texts: `tg128 × 8`.
pub(crate) fn name(run: &Run) -> String {
    let name = run.cell.generation.map(|generation| generation.name()).unwrap_or_default();
    match run.cell.batch_size {
        0 | 1 => name,
        batch => format!("{name} × {batch}"),
    }
}

/// Tokens a second of the whole batch with their interval: the mean, as llama-bench's is one.
pub(crate) fn rate(run: &Run) -> Option<(f64, Interval)> {
    let generation = run.cell.generation?;
    let summary = run.headline().filter(|summary| summary.mean > 0.0)?;
    let tokens = (run.cell.batch_size * generation.tokens_per_sample()) as f64;
    let Interval { low, high } = summary.ci95_mean;
    let interval = Interval { low: tokens / high, high: tokens / low };
    Some((tokens / summary.mean, interval))
}

/// The time to the first token, of a prefill.
pub(crate) fn first_token(run: &Run) -> Option<f64> {
    run.metric(key::FIRST_TOKEN)?.value
}

/// The median of a step, of a decode.
pub(crate) fn step(run: &Run) -> Option<f64> {
    let is_decode = run.cell.generation?.test == GenerationTest::Decode;
    run.headline().filter(|_| is_decode).map(|summary| summary.median)
}

/// The cache: `23.0 kB a token (f16) · 94.4 MB at 4,096 tokens, reported 94.4 MB · by the engine, appended in place`.
pub(crate) fn cache(run: &Run) -> Vec<String> {
    let Some(report) = &run.generation else { return Vec::new() };
    let per_token = number::fixed(report.cache_per_token.0 as f64, 0);
    let mut words = vec![format!("{per_token} B a token ({})", report.cache_type)];
    if report.cache_tokens > 0 {
        let tokens = number::fixed(report.cache_tokens as f64, 0);
        let reported = match report.cache_reported.value {
            Some(reported) => format!("the engine reports {}", bytes(reported.0)),
            None => "the engine does not report it".into(),
        };
        words.push(format!("{} at {tokens} tokens by formula, {reported}", bytes(report.cache.0)));
    }
    words.push(format!("kept {}", report.cache_kept));
    words
}

/// How a step grows from the shallowest to the deepest of these tests, where they differ in nothing but the depth.
pub(crate) fn growth_between(runs: &[&Run]) -> Option<String> {
    let family = |run: &Run| {
        let generation = run.cell.generation?;
        let is_one = generation.test == GenerationTest::Decode && run.cell.batch_size == 1;
        is_one.then_some((run.cell.precision, generation.tokens, generation.sampling))
    };
    let first = runs.iter().find_map(|run| family(run))?;
    let alike = || runs.iter().filter(|run| family(run) == Some(first));
    let depth = |run: &Run| run.cell.generation.map_or(0, |generation| generation.depth);
    let shallow = alike().min_by_key(|run| depth(run))?;
    let deep = alike().max_by_key(|run| depth(run))?;
    let thousands = (depth(deep) - depth(shallow)) as f64 / 1000.0;
    if thousands <= 0.0 {
        return None;
    }
    let (near, far) = (shallow.headline()?, deep.headline()?);
    let Interval { low: near_low, high: near_high } = near.ci95_mean;
    let Interval { low: far_low, high: far_high } = far.ci95_mean;
    let low = (far_low - near_high) / thousands;
    let high = (far_high - near_low) / thousands;
    let (from, to) = (name(shallow), name(deep));
    if low <= 0.0 && high >= 0.0 {
        let most = seconds(high.max(-low));
        return Some(format!(
            "from {from} to {to} no growth of a step could be seen; at most {most} for 1,000 tokens"
        ));
    }
    let time = |value: f64| {
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{}", number::significant(value.abs() * 1e3, 3))
    };
    Some(format!(
        "from {from} to {to} a step takes {} ms [{}, {}] more for every 1,000 tokens in the cache",
        time((far.mean - near.mean) / thousands),
        time(low),
        time(high)
    ))
}

/// How a step grows: `+ 1.2 ms for every 1,000 tokens in the cache [1.1, 1.3]`.
#[must_use]
pub fn growth(run: &Run) -> Option<String> {
    let growth = run.generation.as_ref()?.growth?;
    let Seconds(slope) = growth.per_thousand;
    let Interval { low, high } = growth.interval;
    if low <= 0.0 && high >= 0.0 {
        let most = seconds(high.max(-low));
        return Some(format!("no growth of a step could be seen; at most {most} for 1,000 tokens"));
    }
    let sign = if slope < 0.0 { "−" } else { "+" };
    let time = |value: f64| number::significant(value.abs() * 1e3, 3);
    let (near, far) = if slope < 0.0 { (high, low) } else { (low, high) };
    Some(format!(
        "a step takes {sign} {} ms [{}, {}] for every 1,000 tokens in the cache",
        time(slope),
        time(near),
        time(far)
    ))
}
