//! How long texts may become under the limit, and what every token in the cache takes: by formula, as the engine reports
//! it, and as the slope of measured memory.

use super::{Explored, is_stopped};
use crate::{
    Error, Profiler,
    largest::{self, Bracket, Tried},
    prepare,
};
use types::{
    Bytes, CacheCost, ContextTry, Estimate, Event, FitContext, Generation, GenerationTest,
    MissingCode, Reading, Sampling,
};

/// Tokens that are written at the end of a try.
const WRITTEN: usize = 4;
/// How exactly the longest context is found, as a share of it.
const CLOSE: f64 = 1.0 / 8.0;
/// No context beyond this is looked at where the model names no limit.
const MOST: usize = 8192;
/// Contexts that the slope of the memory rests on, at least.
const FEWEST: usize = 4;
/// Below this a context is nothing but the process itself.
const LEAST: usize = 64;

/// Finds the longest context for one text at a time, then looks at shorter ones until the slope is told.
pub(super) fn explore(
    one: &Explored,
    most: Option<usize>,
    sink: &mut dyn FnMut(Event),
) -> Result<FitContext, Error> {
    let profiler = one.profiler.clone().batch_size(1);
    let label = format!("{} {}, context", one.way.engine, one.way.precision);
    let mut hear = |event: Event| sink(event.labelled(&label));
    let shortest = prepare::prepare(&of(&profiler, LEAST), &mut hear)?;
    let model_limit = shortest.resolved().max_length;
    let end = most.unwrap_or(MOST).min(model_limit.unwrap_or(usize::MAX)).max(LEAST);
    // Contexts are tried in steps of the shortest one.
    let steps = (end / LEAST).max(1);
    let context = |step: usize| if step >= steps { end } else { step * LEAST };
    let limit = profiler.memory_limit.map(|limit| limit.0);
    let bracket = Bracket::below(steps + 1, limit).starting_at(steps).within(CLOSE);
    let at = |step: usize| of(&profiler, context(step));
    let found = largest::search_with(&at, bracket, &is_stopped, &mut hear)?;
    let mut tries: Vec<ContextTry> =
        found.tries.iter().map(|tried| told(tried, context(tried.batch))).collect();
    if let Some(largest) = found.largest {
        for part in (1..FEWEST).rev() {
            let step = (largest * part / FEWEST).max(1);
            if tries.iter().any(|known| known.tokens == context(step)) {
                continue;
            }
            let tried = largest::rehearse_as(&at(step), step, &is_stopped, &mut hear)?;
            tries.push(told(&tried, context(step)));
        }
    }
    Ok(FitContext {
        engine: one.way.engine.clone(),
        precision: one.way.precision,
        longest: found.largest.map(context),
        refused: (found.refused <= steps).then(|| context(found.refused)),
        model_limit,
        cache: cost(&tries),
        tries,
    })
}

/// A few steps on top of so many tokens.
fn of(profiler: &Profiler, context: usize) -> Profiler {
    profiler.clone().generation(Generation {
        test: GenerationTest::Decode,
        tokens: WRITTEN,
        depth: context.saturating_sub(WRITTEN),
        sampling: Sampling::Greedy,
    })
}

fn told(tried: &Tried, tokens: usize) -> ContextTry {
    let cache = tried.generation.as_ref();
    ContextTry {
        tokens,
        peak: tried.peak,
        resident: tried.resident,
        reported: cache.and_then(|report| report.cache_reported.value),
        held: cache.map_or(0, |report| report.cache_tokens),
        per_token: cache.map(|report| report.cache_per_token),
        refused: tried.refused.clone(),
    }
}

/// What a token in the cache takes, seen from three sides.
fn cost(tries: &[ContextTry]) -> CacheCost {
    let ran: Vec<&ContextTry> = tries.iter().filter(|tried| tried.refused.is_none()).collect();
    let points = |of: fn(&ContextTry) -> Option<Bytes>| -> Vec<(f64, f64)> {
        ran.iter().filter_map(|tried| Some((tried.held as f64, of(tried)?.0 as f64))).collect()
    };
    let slope = |points: &[(f64, f64)], what: &str| {
        let line = stats::few_points_line(points);
        let why = format!("{} contexts with {what}, and {FEWEST} are needed", points.len());
        let told = line.map(|line| Estimate { value: line.slope, interval: line.interval });
        Reading::or_missing(told.filter(|_| points.len() >= FEWEST), MissingCode::TooFewValues, why)
    };
    CacheCost {
        formula: Reading::or_missing(
            ran.iter().find_map(|tried| tried.per_token),
            MissingCode::Underivable,
            "nothing ran, so the number format of the cache is not known",
        ),
        reported: slope(&points(|tried| tried.reported), "a report of the engine"),
        measured: slope(&points(|tried| tried.resident), "measured memory"),
        contexts: ran.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(held: usize, resident: u64, refused: bool) -> ContextTry {
        ContextTry {
            tokens: held,
            peak: None,
            resident: Some(Bytes(resident)),
            reported: None,
            held,
            per_token: (!refused).then_some(Bytes(50)),
            refused: refused.then(|| types::Refusal {
                kind: types::RefusalKind::OutOfMemory,
                why: "no memory".into(),
            }),
        }
    }

    #[test]
    fn the_slope_needs_four_contexts_that_ran() {
        let mut tries: Vec<ContextTry> =
            [100, 200, 300].map(|held| tried(held, 1_000_000 + 50 * held as u64, false)).into();
        tries.push(tried(400, 0, true));
        let found = cost(&tries);
        assert!(found.measured.why.unwrap().contains("3 contexts"));
        tries.push(tried(50, 1_002_500, false));
        let found = cost(&tries);
        assert_eq!(found.formula.value, Some(Bytes(50)));
        assert!((found.measured.value.unwrap().value - 50.0).abs() < 1e-6);
        assert_eq!(found.reported.value, None, "an engine that reports nothing has no slope");
    }
}
