//! Physics with two learned constants: how much of the peak and of the bandwidth the work of a test reaches.

use crate::Observation;
use std::collections::BTreeMap;

/// Fewer times than this have no constants of their own.
const LEAST: usize = 30;
/// Steps of the fit; it settles after about ten.
const STEPS: usize = 25;

/// Seconds are a sum: `a` × calculation + `b` × reading and writing.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    all: [f64; 2],
    tests: BTreeMap<String, [f64; 2]>,
}

impl Mix {
    pub(crate) fn fit(observations: &[&Observation], weights: &[f64]) -> Mix {
        let everything: Vec<usize> = (0..observations.len()).collect();
        let all = constants(observations, weights, &everything);
        let mut by_test: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, one) in observations.iter().enumerate() {
            by_test.entry(&one.test).or_default().push(at);
        }
        let tests = by_test
            .into_iter()
            .filter(|(_, rows)| rows.len() >= LEAST)
            .map(|(test, rows)| (test.to_owned(), constants(observations, weights, &rows)))
            .collect();
        Mix { all, tests }
    }

    /// The logarithm of the seconds.
    pub(crate) fn log_seconds(&self, one: &Observation) -> f64 {
        let [a, b] = self.tests.get(&one.test).unwrap_or(&self.all);
        (a * one.bounds[0] + b * one.bounds[1]).ln()
    }
}

/// The constants with the smallest squared error of the logarithm, by steps of Gauss and Newton on their logarithms.
fn constants(observations: &[&Observation], weights: &[f64], rows: &[usize]) -> [f64; 2] {
    // Weakly pulled to the same share of both peaks: one of the two may not matter at all.
    const PULL: f64 = 1e-3;
    let mut log = [1.0f64, 1.0f64];
    let mass: f64 = rows.iter().map(|at| weights[*at]).sum();
    for _ in 0..STEPS {
        let (mut matrix, mut slope) = ([[PULL * mass, -PULL * mass], [-PULL * mass, PULL * mass]], [0.0; 2]);
        slope[0] -= PULL * mass * (log[0] - log[1]);
        slope[1] += PULL * mass * (log[0] - log[1]);
        for at in rows {
            let one = observations[*at];
            let parts = [log[0].exp() * one.bounds[0], log[1].exp() * one.bounds[1]];
            let sum = parts[0] + parts[1];
            let share = [parts[0] / sum, parts[1] / sum];
            let error = (one.log_seconds() - sum.ln()).clamp(-1.0, 1.0);
            for i in 0..2 {
                slope[i] += weights[*at] * share[i] * error;
                for j in 0..2 {
                    matrix[i][j] += weights[*at] * share[i] * share[j];
                }
            }
        }
        let ridge = 1e-9 * mass + 1e-300;
        let [[p, q], [r, s]] = matrix;
        let (p, s) = (p + ridge, s + ridge);
        let determinant = p * s - q * r;
        if determinant.abs() < 1e-300 || !determinant.is_finite() {
            break;
        }
        let step = [
            (s * slope[0] - q * slope[1]) / determinant,
            (p * slope[1] - r * slope[0]) / determinant,
        ];
        for i in 0..2 {
            log[i] = (log[i] + step[i].clamp(-1.0, 1.0)).clamp(-5.0, 12.0);
        }
    }
    [log[0].exp(), log[1].exp()]
}
