//! How often a duel is right, on drawn duels whose truth is known.

use crate::coverage::Normal;
use modelmeter_stats::{RatioEstimate, log_ratio, paired_ratio, unpaired_ratio};

/// Turns of each side in a round, samples in a turn.
const TURNS: usize = 8;
const SAMPLES: usize = 15;

/// By how much one process differs from the next of the same program, as a standard deviation.
const BETWEEN: f64 = 0.02;

/// One window around 1 ms: noise of 5 %, and every tenth sample is held up for up to several times its length.
fn window(level: f64, normal: &mut Normal) -> Vec<u64> {
    let sample = |normal: &mut Normal| {
        let held_up = if normal.uniform() < 0.1 { normal.uniform().powf(-0.5) } else { 1.0 };
        (1e6 * (level + 0.05 * normal.next()).exp() * held_up) as u64
    };
    (0..SAMPLES).map(|_| sample(normal)).collect()
}

/// Turns A B B A …, while the machine drifts by 20 % up or down over the round, the same for both sides.
fn duel(rounds: usize, speed_up: f64, normal: &mut Normal) -> RatioEstimate {
    let mut round = |_| -> Vec<f64> {
        let luck = [BETWEEN * normal.next(), speed_up.ln() + BETWEEN * normal.next()];
        let slope = 0.2 * (2.0 * normal.uniform() - 1.0);
        let mut sweep = |at: usize| {
            let mut turn = |side: usize| {
                let place = if at.is_multiple_of(2) { side } else { 1 - side };
                let drift = slope * (2 * at + place) as f64 / (2 * TURNS) as f64;
                window(luck[side] + drift, normal)
            };
            let (side, baseline) = (turn(0), turn(1));
            log_ratio(&baseline, &side).expect("every window has samples")
        };
        (0..TURNS).map(&mut sweep).collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds).map(&mut round).collect();
    paired_ratio(&rounds, 7).expect("there are rounds")
}

/// The share of a thousand duels for which something holds.
fn share(mut holds: impl FnMut(&mut Normal) -> bool) -> f64 {
    let mut normal = Normal(2026);
    (0..1000).map(|_| u32::from(holds(&mut normal))).sum::<u32>() as f64 / 1000.0
}

fn contains(estimate: &RatioEstimate, truth: f64) -> bool {
    estimate.interval.is_some_and(|interval| interval.low <= truth && truth <= interval.high)
}

#[test]
fn two_identical_sides_are_found_equal() {
    for rounds in [3, 5] {
        let equal = share(|normal| {
            let estimate = duel(rounds, 1.0, normal);
            contains(&estimate, 1.0)
        });
        assert!(equal >= 0.94, "{rounds} rounds: {equal}");
        // An interval that always holds would hold nothing back but the truth.
        assert!(equal <= 0.99, "{rounds} rounds: {equal}");
    }
}

#[test]
fn the_interval_holds_a_true_difference_as_often() {
    let held = share(|normal| contains(&duel(5, 1.1, normal), 1.1));
    assert!((0.94..=0.99).contains(&held), "{held}");
}

#[test]
fn a_true_tenth_is_found_nearly_always() {
    let found = share(|normal| {
        let estimate = duel(5, 1.1, normal);
        estimate.p_value.is_some_and(|p| p < 0.05) && !contains(&estimate, 1.0)
    });
    assert!(found >= 0.95, "{found}");
}

#[test]
fn the_p_value_is_small_as_seldom_as_it_says() {
    let small = share(|normal| duel(3, 1.0, normal).p_value.is_some_and(|p| p < 0.05));
    assert!((0.03..=0.07).contains(&small), "{small}");
}

#[test]
fn a_detectable_difference_is_detected_four_times_in_five() {
    // What five rounds say they could have seen, on average, is what they see in eight duels of ten.
    let mut normal = Normal(5);
    let said: f64 =
        (0..200).filter_map(|_| duel(5, 1.0, &mut normal).detectable).sum::<f64>() / 200.0;
    let found = share(|normal| !contains(&duel(5, 1.0 + said, normal), 1.0));
    assert!((0.7..=0.92).contains(&found), "a difference of {said}: {found}");
}

#[test]
fn processes_timed_apart_are_found_equal_as_well() {
    let equal = share(|normal| {
        let mut side = |_| -> Vec<u64> {
            let luck = BETWEEN * normal.next();
            window(luck, normal)
        };
        let processes: Vec<Vec<u64>> = (0..6).map(&mut side).collect();
        let lists: Vec<&[u64]> = processes.iter().map(Vec::as_slice).collect();
        contains(&unpaired_ratio(&lists[..3], &lists[3..], 7).expect("there are samples"), 1.0)
    });
    assert!((0.94..=0.99).contains(&equal), "{equal}");
}

#[test]
fn single_processes_know_their_own_medians_only() {
    let ratio = |between: f64| {
        share(|normal| {
            let mut side = || {
                let luck = between * normal.next();
                (0..10).flat_map(|_| window(luck, normal)).collect::<Vec<u64>>()
            };
            let (baseline, side) = (side(), side());
            let estimate = unpaired_ratio(&[&baseline], &[&side], 7).expect("there are samples");
            contains(&estimate, 1.0)
        })
    };
    // Without luck between processes the interval is honest; with it, it cannot be: that is why no verdict rests on it.
    let (same, apart) = (ratio(0.0), ratio(BETWEEN));
    assert!((0.92..=0.98).contains(&same), "{same}");
    assert!(apart < 0.6, "{apart}");
}
