//! Whether inferences leave memory behind, from what is allocated after each.
//!
//! The rule: the inferences are cut into four stretches in their order, and each stretch has a floor, the least that was
//! allocated after any of its inferences. Caches that fill and buffers that grow lift the first floors; a leak lifts every
//! one of them. Noise that has no direction lifts all three in one case of twenty-four.

use types::{LeakCheck, LeakVerdict};

const STRETCHES: usize = 4;

/// The fewest inferences that are judged: two in each stretch.
const FEWEST: usize = 2 * STRETCHES;

/// Judges the bytes above the base after each inference; `dropped` events make every verdict void.
#[must_use]
pub fn check_leak(levels: Vec<i64>, dropped: u64) -> LeakCheck {
    let unknown = |levels: Vec<i64>, why: String| LeakCheck {
        verdict: LeakVerdict::CannotTell,
        levels,
        growth: None,
        why,
    };
    if dropped > 0 {
        return unknown(levels, format!("{dropped} events were lost"));
    }
    if levels.len() < FEWEST {
        let why = format!("{FEWEST} inferences are needed, {} were watched", levels.len());
        return unknown(levels, why);
    }
    let bounds: Vec<usize> = (0..=STRETCHES).map(|at| at * levels.len() / STRETCHES).collect();
    let floors: Vec<i64> = bounds
        .windows(2)
        .map(|ends| levels[ends[0]..ends[1]].iter().copied().min().unwrap_or(0))
        .collect();
    // From the middle of one stretch to the middle of another, without the first, in which caches fill.
    let middle = |at: usize| (bounds[at] + bounds[at + 1]) as f64 / 2.0;
    let (from, to) = (1, STRETCHES - 1);
    let growth = (floors[to] - floors[from]) as f64 / (middle(to) - middle(from));
    let rises = floors.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let count = levels.len();
    let (verdict, why) = if rises == STRETCHES - 1 {
        (LeakVerdict::Leak, format!("the floor rose in every quarter of {count} inferences"))
    } else if floors[to] <= floors[from] {
        (LeakVerdict::None, format!("the floor did not rise over {count} inferences"))
    } else {
        let why =
            format!("the floor rose in {rises} of 3 steps between quarters of {count} inferences");
        (LeakVerdict::CannotTell, why)
    };
    LeakCheck { verdict, levels, growth: Some(growth), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rise_is_a_leak_and_its_size_is_told() {
        let check = check_leak((0..12).map(|run| run * 1000).collect(), 0);
        assert_eq!((check.verdict, check.growth), (LeakVerdict::Leak, Some(1000.0)));
        let every_third = check_leak((0..12).map(|run| run / 3 * 600).collect(), 0);
        assert_eq!((every_third.verdict, every_third.growth), (LeakVerdict::Leak, Some(200.0)));
    }

    #[test]
    fn what_holds_still_and_what_settles_is_none() {
        assert_eq!(check_leak(vec![0; 12], 0).verdict, LeakVerdict::None);
        let cache = vec![10, 500, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900];
        assert_eq!(check_leak(cache, 0).verdict, LeakVerdict::None);
        let saw = (0..12).map(|run| run % 3 * 100).collect();
        assert_eq!(check_leak(saw, 0).verdict, LeakVerdict::None);
    }

    #[test]
    fn too_little_or_lost_events_say_nothing() {
        assert_eq!(check_leak(vec![0; 7], 0).verdict, LeakVerdict::CannotTell);
        assert_eq!(check_leak((0..12).collect(), 1).verdict, LeakVerdict::CannotTell);
        let late = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 5, 5];
        assert_eq!(check_leak(late, 0).verdict, LeakVerdict::CannotTell);
    }
}
