//! Whether two computations that draw random numbers draw from the same distribution.
//!
//! Each runs several times. If they are the same, who ran which run does not matter: runs of one are no closer to each
//! other than to those of the other. That is a test on the energy distance with all ways to deal the runs out.

use crate::parity::number;
use types::HostTensor;

/// Below this chance two computations are said to draw from different distributions: a false alarm in 1,000.
pub const DIFFERENT_BELOW: f64 = 1e-3;

/// What repeated runs say of one output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeated {
    /// The chance of runs so unlike if both draw from the same distribution.
    Chance(f64),
    /// One of the two gives the same numbers in every run: its seed is fixed, which engines read differently.
    Fixed,
    /// Shapes differ, or no element is finite in all runs.
    Unlike,
}

/// Compares an output of several runs of two computations; both have as many runs.
#[must_use]
pub fn compare_draws(reference: &[HostTensor], other: &[HostTensor]) -> Repeated {
    let count = reference.len();
    let all: Vec<&HostTensor> = reference.iter().chain(other).collect();
    let agree = all.iter().all(|tensor| tensor.dims == all[0].dims);
    if count == 0 || other.len() != count || !agree {
        return Repeated::Unlike;
    }
    let places: Vec<usize> = (0..all[0].elements.len())
        .filter(|&at| all.iter().all(|tensor| number(&tensor.elements, at).is_finite()))
        .collect();
    if places.is_empty() {
        return Repeated::Unlike;
    }
    let distance = |a: &HostTensor, b: &HostTensor| -> f64 {
        let squares = places.iter().map(|&at| {
            let apart = number(&a.elements, at) - number(&b.elements, at);
            apart * apart
        });
        squares.sum::<f64>().sqrt()
    };
    let apart: Vec<Vec<f64>> =
        all.iter().map(|a| all.iter().map(|b| distance(a, b)).collect()).collect();
    let is_fixed = |runs: std::ops::Range<usize>| {
        runs.clone().all(|a| runs.clone().all(|b| apart[a][b] == 0.0))
    };
    if is_fixed(0..count) || is_fixed(count..2 * count) {
        return Repeated::Fixed;
    }
    Repeated::Chance(chance(&apart, count))
}

/// The share of all ways to deal the runs out to two groups of `count` whose groups are at least as close in themselves.
///
/// For groups of equal size the energy distance falls exactly as the sum of distances inside the groups grows.
fn chance(apart: &[Vec<f64>], count: usize) -> f64 {
    let runs = 2 * count;
    let pairs: Vec<(usize, usize, f64)> = (0..runs)
        .flat_map(|a| (a + 1..runs).map(move |b| (a, b)))
        .map(|(a, b)| (a, b, apart[a][b]))
        .collect();
    let inside = |group: u32| -> f64 {
        let same = pairs.iter().filter(|(a, b, _)| (group >> a) & 1 == (group >> b) & 1);
        same.map(|(_, _, distance)| distance).sum()
    };
    let dealt = inside((1 << count) - 1);
    let near = dealt * (1.0 + 1e-12);
    let (mut as_close, mut ways) = (0u64, 0u64);
    for group in 0..1u32 << runs {
        if group.count_ones() as usize == count {
            ways += 1;
            as_close += u64::from(inside(group) <= near);
        }
    }
    as_close as f64 / ways as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Elements;

    /// Runs of four elements with scatter around a middle.
    fn runs(seed: u64, middle: f64, spread: f64) -> Vec<HostTensor> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let run = |_| {
            let values: Vec<f32> = (0..4).map(|_| (middle + spread * next()) as f32).collect();
            HostTensor { name: "y".into(), dims: vec![4], elements: Elements::F32(values) }
        };
        (0..8).map(run).collect()
    }

    fn chance_of(a: &[HostTensor], b: &[HostTensor]) -> f64 {
        match compare_draws(a, b) {
            Repeated::Chance(chance) => chance,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_distribution_is_not_told_apart_and_another_is() {
        let a = runs(1, 0.0, 1.0);
        assert!(chance_of(&a, &runs(2, 0.0, 1.0)) > 0.01);
        assert!(chance_of(&a, &runs(3, 2.0, 1.0)) < DIFFERENT_BELOW, "another middle");
        assert!(chance_of(&a, &runs(4, 0.0, 20.0)) < DIFFERENT_BELOW, "another spread");
        assert_eq!(chance_of(&a, &a), 1.0, "the same numbers drawn twice");
    }

    #[test]
    fn a_false_alarm_is_rare() {
        let alarms = (0..60).filter(|&at| {
            let (a, b) = (runs(100 + at, 1.0, 1.0), runs(900 + at, 1.0, 1.0));
            chance_of(&a, &b) < DIFFERENT_BELOW
        });
        assert_eq!(alarms.count(), 0);
    }

    #[test]
    fn a_fixed_seed_and_unlike_shapes_are_told() {
        let fixed = vec![runs(1, 0.0, 1.0)[0].clone(); 8];
        assert_eq!(compare_draws(&runs(1, 0.0, 1.0), &fixed), Repeated::Fixed);
        let mut other = runs(2, 0.0, 1.0);
        other[3].dims = vec![2, 2];
        assert_eq!(compare_draws(&runs(1, 0.0, 1.0), &other), Repeated::Unlike);
    }
}
