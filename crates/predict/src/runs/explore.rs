//! Which cells of a grid to measure, so that the rest is known best.

use super::{Case, Learned};

use stats::SplitMix;

/// Random orders that the chosen one is compared with.
const DRAWS: u32 = 20;

/// An order in which to measure, and how unsure the rest is after each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exploration {
    /// Places of the cells in the grid.
    pub order: Vec<usize>,
    /// Mean deviation of all cells of the grid before the first, after the first, …, as a logarithm.
    pub deviation: Vec<f64>,
    /// The same if cells are drawn at random: the mean of several draws.
    pub by_chance: Vec<f64>,
}

/// The order that leaves least uncertainty after every step, beside chance.
#[must_use]
pub fn explore(learned: &Learned, grid: &[Case], steps: usize) -> Exploration {
    let cases: Vec<&Case> = grid.iter().collect();
    let steps = steps.min(grid.len());
    let before = learned.process().left_among(&cases);
    let mut found = Exploration { deviation: vec![mean(&before)], ..Exploration::default() };
    let mut now = before.clone();
    for _ in 0..steps {
        let best = (0..grid.len())
            .filter(|at| !found.order.contains(at))
            .min_by(|one, other| after(&now, *one).total_cmp(&after(&now, *other)));
        let Some(best) = best else { break };
        measured(&mut now, best);
        found.order.push(best);
        found.deviation.push(mean(&now));
    }
    let mut random = SplitMix::new(5);
    let mut sums = vec![0.0; steps + 1];
    for _ in 0..DRAWS {
        let mut now = before.clone();
        let mut left: Vec<usize> = (0..grid.len()).collect();
        sums[0] += mean(&now);
        for sum in sums.iter_mut().skip(1) {
            let at = left.swap_remove(random.below(left.len() as u64) as usize);
            measured(&mut now, at);
            *sum += mean(&now);
        }
    }
    found.by_chance = sums.into_iter().map(|sum| sum / f64::from(DRAWS)).collect();
    found
}

fn mean(covariance: &[Vec<f64>]) -> f64 {
    let all: f64 = covariance.iter().enumerate().map(|(at, row)| row[at].max(0.0).sqrt()).sum();
    all / covariance.len().max(1) as f64
}

/// The sum of deviations after this cell is measured.
fn after(covariance: &[Vec<f64>], at: usize) -> f64 {
    let own = covariance[at][at].max(1e-12);
    covariance
        .iter()
        .enumerate()
        .map(|(row, of)| (of[row] - of[at] * of[at] / own).max(0.0).sqrt())
        .sum()
}

fn measured(covariance: &mut [Vec<f64>], at: usize) {
    let own = covariance[at][at].max(1e-12);
    let column: Vec<f64> = covariance.iter().map(|row| row[at]).collect();
    for (row, of) in covariance.iter_mut().zip(&column) {
        for (cell, other) in row.iter_mut().zip(&column) {
            *cell -= of * other / own;
        }
    }
}
