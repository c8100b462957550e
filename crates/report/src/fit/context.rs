//! How long texts may become under the limit, and what a token in the cache takes.

use super::words::{of_limit, refused, several_engines, size, way_name};
use crate::result::Fact;
use crate::sheet::Grid;
use crate::table::Column;
use number::{count, fixed};
use types::{CacheCost, Estimate, FitContext, FitReport, Reading};

/// Every context that was tried, the shortest first.
pub(super) fn contexts(report: &FitReport) -> Grid {
    let several = several_engines(report);
    let engine = several.then(|| Column::left("engine").shrinks());
    let mut grid = Grid::of(engine.into_iter().chain([
        Column::left("format"),
        Column::right("context"),
        Column::right("cache"),
        Column::right("peak"),
        Column::right("limit"),
        Column::left("").shrinks(),
    ]));
    for context in &report.contexts {
        let mut tries: Vec<_> = context.tries.iter().collect();
        tries.sort_by_key(|tried| tried.tokens);
        for tried in tries {
            let engine = several.then(|| context.engine.clone());
            grid.row(engine.into_iter().chain([
                context.precision.to_string(),
                count(tried.tokens as u64),
                size(tried.reported),
                size(tried.peak),
                of_limit(tried.peak, report.limit),
                tried.refused.as_ref().map_or("fits", |one| refused(one.kind)).into(),
            ]));
        }
    }
    grid
}

/// The longest context of every way, and what a token takes.
pub(super) fn facts(report: &FitReport) -> Vec<Fact> {
    let several = several_engines(report) || report.contexts.len() > 1;
    let fact = |context: &FitContext| {
        let name = way_name(&context.engine, context.precision, several_engines(report));
        let label = |what: &str| if several { format!("{what}, {name}") } else { what.to_owned() };
        [
            Fact::new(&label("context"), longest(context)),
            Fact { pieces: cost(&context.cache), ..Fact::new(&label("cache"), String::new()) },
        ]
    };
    report.contexts.iter().flat_map(fact).collect()
}

/// `2,048 tokens fit, 2,304 do not (7 tries)`.
pub(super) fn longest(context: &FitContext) -> String {
    let tokens = |tokens: usize| count(tokens as u64);
    let fits = match (context.longest, context.refused) {
        (None, _) => "not even the shortest context fits".to_owned(),
        (Some(longest), Some(refused)) => {
            format!("{} tokens fit, {} do not", tokens(longest), tokens(refused))
        }
        (Some(longest), None) if Some(longest) == context.model_limit => {
            format!("{} tokens fit, the most that the model was made for", tokens(longest))
        }
        (Some(longest), None) => {
            format!("{} tokens fit, the most that were tried", tokens(longest))
        }
    };
    match context.tries.len() {
        1 => format!("{fits} (1 try)"),
        tries => format!("{fits} ({tries} tries, one text)"),
    }
}

/// `46,080 B a token by formula`, `46,080 B as the engine reports it`, `46,102 B [45,900, 46,300] measured`.
pub(super) fn cost(cache: &CacheCost) -> Vec<String> {
    let whole = |bytes: f64| fixed(bytes, 0);
    let slope = |reading: &Reading<Estimate>, what: &str| match &reading.value {
        Some(Estimate { value, interval }) if interval.high - interval.low < 1.0 => {
            format!("{} B {what}", whole(*value))
        }
        Some(Estimate { value, interval }) => {
            let (low, high) = (whole(interval.low), whole(interval.high));
            format!("{} B [{low}, {high}] {what}", whole(*value))
        }
        None => format!("not {what}: {}", reading.why.as_deref().unwrap_or("no reason given")),
    };
    let formula = match cache.formula.value {
        Some(bytes) => format!("{} B a token by formula", whole(bytes.0 as f64)),
        None => "no formula".into(),
    };
    vec![
        formula,
        slope(&cache.reported, "as the engine reports it"),
        slope(&cache.measured, &format!("measured over {} contexts", cache.contexts)),
    ]
}
