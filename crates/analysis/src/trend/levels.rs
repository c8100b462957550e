//! From cuts to changes: those that are sure, larger than the noise, and told with their size.

use super::{SEED, TrendQuestion, coincidence::differences, points::Points};
use stats::{Cut, SMALLEST_SERIES, SMALLEST_SIDE, Step, noise, step};
use types::{CellKey, Pooled, TrendChange, TrendSeries, TrendSuspicion};

/// The points that a slide's ends are told from.
const END: usize = 3;

/// So many times the noise a newest point must be off before anybody is told to wait for more: of two that are, hardly one is luck.
const SUSPICIOUS: f64 = 3.0;

/// The history with its changes.
pub(super) fn series(
    key: CellKey,
    points: Points,
    cuts: &[Cut],
    adjusted: &[f64],
    question: &TrendQuestion,
) -> TrendSeries {
    let logs = &points.logs;
    let sure = sure(cuts, adjusted, question.level);
    let mut places: Vec<usize> = sure.iter().map(|number| cuts[*number].at).collect();
    places.sort_unstable();
    let noise = merge_small(&mut places, logs, question.smallest);
    let p_of = |at: usize| {
        let of = cuts.iter().zip(adjusted).filter(|(cut, _)| cut.at == at);
        of.map(|(_, p)| *p).fold(1.0, f64::min)
    };
    let change = |(number, at): (usize, &usize)| {
        let [before, after] = sides(&places, number, logs);
        let found = step(before, after, SEED)?;
        let [_, last] = &points.facts[at - 1];
        let [first, _] = &points.facts[*at];
        Some(TrendChange {
            at: *at,
            before: level(before),
            after: level(after),
            ratio: Pooled { value: found.ratio, interval: Some(found.interval) },
            adjusted_p: p_of(*at),
            coincides: differences(last, first),
        })
    };
    let changes: Vec<TrendChange> = places.iter().enumerate().filter_map(change).collect();
    let newest = &logs[places.last().copied().unwrap_or(0)..];
    TrendSeries {
        drift: drift(cuts, adjusted, question, newest, logs.len()),
        needs: SMALLEST_SERIES.saturating_sub(logs.len()) as u64,
        suspicion: suspicion(newest, noise, question.smallest),
        noise,
        key,
        points: points.points,
        changes,
    }
}

/// Cuts that are no luck after the correction, nor a slide, and whose parents are as sure.
fn sure(cuts: &[Cut], adjusted: &[f64], level: f64) -> Vec<usize> {
    let mut sure: Vec<usize> = Vec::new();
    // Parents come before their children.
    for (number, cut) in cuts.iter().enumerate() {
        let has_parent = cut.parent.is_none_or(|parent| sure.contains(&parent));
        if has_parent && adjusted[number] < level && !cut.is_drift {
            sure.push(number);
        }
    }
    sure
}

/// The stretches before and after a change.
fn sides<'a>(places: &[usize], number: usize, logs: &'a [f64]) -> [&'a [f64]; 2] {
    let from = number.checked_sub(1).map_or(0, |before| places[before]);
    let to = places.get(number + 1).copied().unwrap_or(logs.len());
    [&logs[from..places[number]], &logs[places[number]..to]]
}

/// Takes changes away that are smaller than the noise or than what is asked, the smallest first, and gives the noise.
fn merge_small(places: &mut Vec<usize>, logs: &[f64], smallest: f64) -> Option<f64> {
    loop {
        let ends = places.iter().copied().chain([logs.len()]);
        let starts = [0].into_iter().chain(places.iter().copied());
        let stretches: Vec<&[f64]> = starts.zip(ends).map(|(from, to)| &logs[from..to]).collect();
        let noise = noise(&stretches);
        let least = smallest.ln_1p().max(noise.unwrap_or(0.0));
        let size = |number: usize| {
            let [before, after] = sides(places, number, logs);
            let found = step(before, after, SEED).filter(excludes_equal);
            found.map_or(0.0, |step| step.ratio.ln().abs())
        };
        let sizes: Vec<f64> = (0..places.len()).map(size).collect();
        let weakest = sizes.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match weakest {
            Some((number, size)) if *size < least => places.remove(number),
            _ => return noise,
        };
    }
}

fn excludes_equal(step: &Step) -> bool {
    step.interval.low > 1.0 || step.interval.high < 1.0
}

/// How far the newest stretch slid, where a curve explains it and noise alone does not.
fn drift(
    cuts: &[Cut],
    adjusted: &[f64],
    question: &TrendQuestion,
    newest: &[f64],
    count: usize,
) -> Option<f64> {
    let from = count - newest.len();
    let slides = |(cut, p): (&Cut, &f64)| cut.is_drift && cut.at > from && *p < question.level;
    if !cuts.iter().zip(adjusted).any(slides) || newest.len() < 2 * END {
        return None;
    }
    let ratio = level(&newest[newest.len() - END..]) / level(&newest[..END]);
    (ratio.ln().abs() >= question.smallest.ln_1p()).then_some(ratio)
}

/// The newest points that all lie far off on one side, where they are too few to be a change.
fn suspicion(newest: &[f64], noise: Option<f64>, smallest: f64) -> Option<TrendSuspicion> {
    let noise = noise?;
    let least = smallest.ln_1p().max(SUSPICIOUS * noise);
    if newest.len() < SMALLEST_SERIES {
        return None;
    }
    let middle = level(&newest[..newest.len() - END]).ln();
    let side = (newest.last()? - middle).signum();
    let is_off = |log: &&f64| (*log - middle) * side > least;
    let points = newest.iter().rev().take_while(is_off).count();
    if points == 0 || points > newest.len() / 2 {
        return None;
    }
    let ratio = level(&newest[newest.len() - points..]) / level(&newest[..newest.len() - points]);
    let needs = (SMALLEST_SIDE.saturating_sub(points)).max(1) as u64;
    Some(TrendSuspicion { points: points as u64, ratio, needs })
}

/// The median of logarithms, as a number again.
pub(super) fn level(logs: &[f64]) -> f64 {
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]).exp()
}
