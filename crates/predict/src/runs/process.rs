//! A Gaussian process over cells: what two cells share decides how much one says of the other.
//!
//! A database has hundreds of cells, not hundred thousands, so the covariance of all is written down. It answers what trees
//! cannot: how sure an answer is, and how sure it would be after one more measurement.

use super::Case;
use std::collections::HashMap;

/// Numbers of a cell that are alike if they are near.
const AXES: usize = 6;
/// How far apart numbers are that say little of each other; as logarithms.
const SCALES: [f64; AXES] = [2.0, 2.0, 2.0, 1.5, 1.5, 0.7];
/// What two cells can share.
const PARTS: usize = 13;
/// Which of them a model has for itself with one engine on one machine, at all sizes and at sizes that are near.
const OWN: usize = 8;
const OWN_SIZE: usize = 9;
/// Variances where the search begins, the last for chance.
const BEGIN: [f64; PARTS + 1] =
    [1.0, 0.3, 0.1, 0.1, 0.3, 0.2, 0.05, 0.05, 0.02, 0.05, 0.05, 0.1, 0.02, 0.001];
/// No two measurements agree better.
const LEAST_NOISE: f64 = 2e-4;
/// Variances are searched on so many cells.
const SEARCHED: usize = 220;

/// A cell as the process sees it.
#[derive(Debug, Clone)]
struct Point {
    machine: u32,
    way: u32,
    engine: u32,
    model: u32,
    family: u32,
    axes: [f64; AXES],
}

/// Names as numbers.
#[derive(Debug, Clone, Default)]
struct Names(HashMap<String, u32>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn known(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(u32::MAX)
    }
}

/// The process of one number: the time, or the memory.
#[derive(Debug, Clone)]
pub(super) struct Process {
    names: Names,
    points: Vec<Point>,
    targets: Vec<f64>,
    variances: [f64; PARTS + 1],
    lower: Vec<f64>,
    weights: Vec<f64>,
}

/// Mean and variance of one answer, relative to its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Process {
    /// Learns how much every part matters, then from all cells.
    pub(super) fn fit(cases: &[&Case], targets: Vec<f64>) -> Process {
        let step = cases.len().div_ceil(SEARCHED).max(1);
        let some: Vec<usize> = (0..cases.len()).step_by(step).collect();
        let few: Vec<&Case> = some.iter().map(|at| cases[*at]).collect();
        let few_targets: Vec<f64> = some.iter().map(|at| targets[*at]).collect();
        let mut names = Names::default();
        let points = points(&few, &mut names);
        let variances = search(&points, &few_targets);
        Process::with(cases, targets, variances)
    }

    pub(super) fn with(cases: &[&Case], targets: Vec<f64>, variances: [f64; PARTS + 1]) -> Process {
        let mut names = Names::default();
        let points = points(cases, &mut names);
        let covariance = covariance(&points, &variances);
        let lower = triangle(&covariance, points.len());
        let weights = solved(&lower, &targets);
        Process { names, points, targets, variances, lower, weights }
    }

    /// What a fit is made of, so that it need not be made again: the triangle row by row, then the weights.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> {
        let size = self.points.len();
        let rows = (0..size).flat_map(move |row| &self.lower[row * size..=row * size + row]);
        rows.chain(&self.weights).copied()
    }

    /// How many numbers a fit of so many cells is made of.
    pub(super) fn numbers_of(cells: usize) -> usize {
        cells * (cells + 1) / 2 + cells
    }

    /// The process that these numbers were; `None` if they are of other cells.
    pub(super) fn of_numbers(
        cases: &[&Case],
        targets: Vec<f64>,
        variances: [f64; PARTS + 1],
        numbers: &[f64],
    ) -> Option<Process> {
        let size = cases.len();
        if numbers.len() != Process::numbers_of(size) || numbers.iter().any(|one| !one.is_finite())
        {
            return None;
        }
        let mut names = Names::default();
        let points = points(cases, &mut names);
        let mut lower = vec![0.0; size * size];
        let mut rest = numbers;
        for row in 0..size {
            let (own, others) = rest.split_at(row + 1);
            lower[row * size..=row * size + row].copy_from_slice(own);
            rest = others;
        }
        Some(Process { names, points, targets, variances, lower, weights: rest.to_vec() })
    }

    pub(super) fn variances(&self) -> &[f64] {
        &self.variances
    }

    fn point(&self, case: &Case) -> Point {
        point(case, &mut |name: &str| self.names.known(name))
    }

    fn shared(&self, one: &Point) -> Vec<f64> {
        self.points.iter().map(|other| covariance_of(one, other, &self.variances)).collect()
    }

    pub(super) fn say(&self, case: &Case) -> Said {
        let one = self.point(case);
        let shared = self.shared(&one);
        let mean = shared.iter().zip(&self.weights).map(|(own, weight)| own * weight).sum();
        let whole = covariance_of(&one, &one, &self.variances) + self.variances[PARTS];
        let known: f64 = forward(&self.lower, &shared).iter().map(|part| part * part).sum();
        Said { mean, variance: (whole - known).max(self.variances[PARTS]) }
    }

    /// The same after this cell was measured as well.
    pub(super) fn and(&self, case: &Case, target: f64) -> Process {
        let mut more = self.clone();
        let point = point(case, &mut |name: &str| more.names.number(name));
        let row = forward(&self.lower, &self.shared(&point));
        let known: f64 = row.iter().map(|part| part * part).sum();
        let own = covariance_of(&point, &point, &self.variances) + self.variances[PARTS] - known;
        more.lower = widened(&self.lower, self.points.len());
        let size = self.points.len() + 1;
        more.lower[(size - 1) * size..(size - 1) * size + row.len()].copy_from_slice(&row);
        more.lower[size * size - 1] = own.max(1e-12).sqrt();
        more.points.push(point);
        more.targets.push(target);
        more.weights = solved(&more.lower, &more.targets);
        more
    }

    /// Which of these cells leaves least of the variance of one after it was measured, and what it leaves as a share.
    ///
    /// The gain of a cell is at most what it would be if nothing but chance were unknown of it. That is quickly said, so most
    /// cells are known to be worse than the best without being looked at.
    pub(super) fn best_next(&self, one: &Case, candidates: &[&Case]) -> Option<(usize, f64)> {
        let one = self.point(one);
        let of_one = self.half(&one);
        let own = self.unknown(&one, &of_one);
        let toward = backward(&self.lower, of_one);
        let mut all: Vec<(usize, Point, Vec<f64>, f64, f64)> = candidates
            .iter()
            .enumerate()
            .map(|(at, case)| {
                let other = self.point(case);
                let shared = self.shared(&other);
                let both = covariance_of(&one, &other, &self.variances) - dot(&shared, &toward);
                let most = both * both / (own * self.least_unknown(&other));
                (at, other, shared, both, most)
            })
            .collect();
        all.sort_by(|(.., one), (.., other)| other.total_cmp(one));
        let mut best: Option<(usize, f64)> = None;
        for (at, other, shared, both, most) in all {
            if best.is_some_and(|(_, left)| 1.0 - most >= left) {
                break;
            }
            let its = self.unknown(&other, &forward(&self.lower, &shared));
            let left = (1.0 - both * both / (own * its)).clamp(0.0, 1.0);
            if best.is_none_or(|(_, least)| left < least) {
                best = Some((at, left));
            }
        }
        best
    }

    /// The variance of a cell after what is known.
    fn unknown(&self, point: &Point, half: &[f64]) -> f64 {
        let prior = covariance_of(point, point, &self.variances) + self.variances[PARTS];
        (prior - dot(half, half)).max(1e-12)
    }

    /// A variance that no cell is below: chance, and what a model on a machine has for itself where that was never measured.
    fn least_unknown(&self, point: &Point) -> f64 {
        let is_it = |other: &Point| {
            other.machine == point.machine && other.way == point.way && other.model == point.model
        };
        let own = match self.points.iter().any(is_it) {
            true => 0.0,
            false => self.variances[OWN] + self.variances[OWN_SIZE],
        };
        self.variances[PARTS] + own
    }

    fn half(&self, point: &Point) -> Vec<f64> {
        forward(&self.lower, &self.shared(point))
    }

    /// The covariance of these cells after what is known: whom to measure next follows from it.
    pub(super) fn left_among(&self, cases: &[&Case]) -> Vec<Vec<f64>> {
        let points: Vec<Point> = cases.iter().map(|case| self.point(case)).collect();
        let halves: Vec<Vec<f64>> = points.iter().map(|point| self.half(point)).collect();
        (0..points.len())
            .map(|i| {
                (0..points.len())
                    .map(|j| {
                        let prior = covariance_of(&points[i], &points[j], &self.variances);
                        let noise = if i == j { self.variances[PARTS] } else { 0.0 };
                        prior + noise - dot(&halves[i], &halves[j])
                    })
                    .collect()
            })
            .collect()
    }

    /// What would have been said of these cells, had none of them been measured: error and variance of each.
    pub(super) fn without(&self, inverse: &[f64], block: &[usize]) -> Vec<Said> {
        let size = self.points.len();
        let count = block.len();
        let mut part = vec![0.0; count * count];
        for (i, row) in block.iter().enumerate() {
            for (j, column) in block.iter().enumerate() {
                part[i * count + j] = inverse[row * size + column];
            }
        }
        let Some(lower) = cholesky(part, count) else { return Vec::new() };
        let weights: Vec<f64> = block.iter().map(|at| self.weights[*at]).collect();
        let errors = solved(&lower, &weights);
        (0..count)
            .map(|at| {
                let mut unit = vec![0.0; count];
                unit[at] = 1.0;
                let variance = solved(&lower, &unit)[at];
                // The error is measured − said.
                Said { mean: self.targets[block[at]] - errors[at], variance }
            })
            .collect()
    }

    /// The inverse of the covariance.
    pub(super) fn inverse(&self) -> Vec<f64> {
        inverse(&self.lower, self.points.len())
    }
}

fn points(cases: &[&Case], names: &mut Names) -> Vec<Point> {
    cases.iter().map(|case| point(case, &mut |name: &str| names.number(name))).collect()
}

fn point(case: &Case, number: &mut impl FnMut(&str) -> u32) -> Point {
    let [calculation, reading] = case.bounds();
    let log = |amount: Option<f64>| amount.map_or(f64::NAN, f64::ln);
    Point {
        machine: number(&format!("machine {}", case.machine)),
        way: number(&format!("way {}", case.way().join(" "))),
        engine: number(&format!("engine {}", case.engine)),
        model: number(&format!("model {}", case.model)),
        family: number(&format!("family {}", case.family)),
        axes: [
            log(calculation.or(case.flops.map(|flops| flops / 1e11))),
            log(reading.or(case.bytes.map(|bytes| bytes / 2e10))),
            case.weights.max(1e3).ln(),
            case.batch.ln(),
            log(case.length.or(Some(1.0))),
            (case.threads + 1.0).ln(),
        ],
    }
}

fn covariance_of(one: &Point, other: &Point, variances: &[f64; PARTS + 1]) -> f64 {
    let shared = shared(one, other);
    shared.iter().zip(variances).map(|(part, variance)| part * variance).sum()
}

/// What both share, part by part: from 0 to 1.
fn shared(one: &Point, other: &Point) -> [f64; PARTS] {
    // A name that was never seen is shared with itself alone.
    let same = |a: u32, b: u32| f64::from(u8::from(a == b));
    let machine = same(one.machine, other.machine);
    let way = same(one.way, other.way);
    let engine = same(one.engine, other.engine);
    let model = same(one.model, other.model);
    let family = same(one.family, other.family);
    let far = |axis: usize| {
        let apart = (one.axes[axis] - other.axes[axis]) / SCALES[axis];
        // One of both is not known.
        if apart.is_nan() {
            f64::from(u8::from(one.axes[axis].is_nan() != other.axes[axis].is_nan()))
        } else {
            apart * apart
        }
    };
    let near = (-0.5 * (0..AXES).map(far).sum::<f64>()).exp();
    let size = (-0.5 * (far(3) + far(4))).exp();
    [
        1.0,
        way,
        machine,
        machine * way,
        near,
        way * near,
        model,
        model * engine,
        model * way * machine,
        model * way * machine * size,
        family * engine,
        machine * near,
        model * size,
    ]
}

fn covariance(points: &[Point], variances: &[f64; PARTS + 1]) -> Vec<f64> {
    let size = points.len();
    let mut all = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let one = covariance_of(&points[i], &points[j], variances);
            all[i * size + j] = one;
            all[j * size + i] = one;
        }
        all[i * size + i] += variances[PARTS];
    }
    all
}

/// The variances under which what was measured is likeliest: one after the other is made larger and smaller.
fn search(points: &[Point], targets: &[f64]) -> [f64; PARTS + 1] {
    let size = points.len();
    let parts: Vec<[f64; PARTS]> = (0..size)
        .flat_map(|i| (0..=i).map(move |j| (i, j)))
        .map(|(i, j)| shared(&points[i], &points[j]))
        .collect();
    let cost = |variances: &[f64; PARTS + 1]| {
        let mut all = vec![0.0; size * size];
        let mut pairs = parts.iter();
        for i in 0..size {
            for j in 0..=i {
                let Some(pair) = pairs.next() else { break };
                all[i * size + j] = pair.iter().zip(variances).map(|(part, own)| part * own).sum();
            }
            all[i * size + i] += variances[PARTS];
        }
        let Some(lower) = cholesky(all, size) else { return f64::INFINITY };
        let half = forward(&lower, targets);
        let fit: f64 = half.iter().map(|part| part * part).sum();
        let volume: f64 = (0..size).map(|at| lower[at * size + at].ln()).sum();
        // Weakly drawn to where the search began: few cells do not tell all parts apart.
        let pull: f64 =
            variances.iter().zip(BEGIN).map(|(own, begin)| (own / begin).ln().powi(2)).sum();
        0.5 * fit + volume + 0.02 * pull
    };
    let mut best = BEGIN;
    let mut least = cost(&best);
    for factor in [6.0, 3.0, 1.7] {
        for at in 0..=PARTS {
            for way in [factor, 1.0 / factor] {
                let mut tried = best;
                tried[at] = (tried[at] * way).clamp(LEAST_NOISE * 0.1, 30.0);
                if at == PARTS {
                    tried[at] = tried[at].max(LEAST_NOISE);
                }
                let found = cost(&tried);
                if found < least {
                    (best, least) = (tried, found);
                    break;
                }
            }
        }
    }
    best
}

/// The lower triangle whose square is the matrix, or is a little more than it on the diagonal where it has none: cells that are
/// the same to the last digit leave it without one.
fn triangle(covariance: &[f64], size: usize) -> Vec<f64> {
    let mean = (0..size).map(|at| covariance[at * size + at]).sum::<f64>() / size.max(1) as f64;
    [0.0, 1e-9, 1e-6, 1e-3, 1.0]
        .into_iter()
        .find_map(|more| {
            let mut wider = covariance.to_vec();
            (0..size).for_each(|at| wider[at * size + at] += more * mean);
            cholesky(wider, size)
        })
        .unwrap_or_else(|| {
            // Numbers that are none say nothing of each other.
            let mut alone = vec![0.0; size * size];
            (0..size).for_each(|at| alone[at * size + at] = 1.0);
            alone
        })
}

/// The lower triangle whose square is the matrix, row by row; `None` if it has none.
fn cholesky(mut matrix: Vec<f64>, size: usize) -> Option<Vec<f64>> {
    for i in 0..size {
        let (before, rest) = matrix.split_at_mut(i * size);
        let row = &mut rest[..size];
        for j in 0..i {
            let other = &before[j * size..j * size + j + 1];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let left = row[i] - dot(&row[..i], &row[..i]);
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        row[i] = left.sqrt();
        row[i + 1..].fill(0.0);
    }
    Some(matrix)
}

/// The sum of products, in eight sums that a processor adds at once.
fn dot(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (ones, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest = ones.remainder().iter().zip(others.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in ones.zip(others) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.into_iter().sum::<f64>() + rest
}

fn side(lower: &[f64]) -> usize {
    (lower.len() as f64).sqrt().round() as usize
}

/// The vector that the triangle turns into this one.
fn forward(lower: &[f64], right: &[f64]) -> Vec<f64> {
    let size = side(lower);
    let mut found = Vec::with_capacity(size);
    for (i, value) in right.iter().enumerate().take(size) {
        let row = &lower[i * size..i * size + i + 1];
        found.push((value - dot(&row[..i], &found)) / row[i]);
    }
    found
}

/// The vector that the whole matrix turns into this one.
fn solved(lower: &[f64], right: &[f64]) -> Vec<f64> {
    backward(lower, forward(lower, right))
}

/// The vector that the triangle, mirrored, turns into this one.
fn backward(lower: &[f64], mut found: Vec<f64>) -> Vec<f64> {
    let size = side(lower);
    for i in (0..size).rev() {
        found[i] /= lower[i * size + i];
        let own = found[i];
        for (j, other) in found.iter_mut().enumerate().take(i) {
            *other -= lower[i * size + j] * own;
        }
    }
    found
}

fn widened(lower: &[f64], size: usize) -> Vec<f64> {
    let mut wide = vec![0.0; (size + 1) * (size + 1)];
    for row in 0..size {
        wide[row * (size + 1)..row * (size + 1) + size]
            .copy_from_slice(&lower[row * size..(row + 1) * size]);
    }
    wide
}

fn inverse(lower: &[f64], size: usize) -> Vec<f64> {
    let mut whole = vec![0.0; size * size];
    for at in 0..size {
        let mut unit = vec![0.0; size];
        unit[at] = 1.0;
        whole[at * size..(at + 1) * size].copy_from_slice(&solved(lower, &unit));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_without_a_triangle_is_no_panic() {
        for matrix in [vec![1.0, 1.0, 1.0, 1.0], vec![1.0, 2.0, 2.0, 1.0], vec![f64::NAN; 4]] {
            let lower = triangle(&matrix, 2);
            assert_eq!(lower.len(), 4);
            assert_eq!(inverse(&lower, 2).len(), 4);
        }
    }

    #[test]
    fn a_triangle_solves_what_its_square_does() {
        let matrix = vec![4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let lower = cholesky(matrix.clone(), 3).unwrap();
        let found = solved(&lower, &[1.0, 2.0, 3.0]);
        for i in 0..3 {
            let back: f64 = (0..3).map(|j| matrix[i * 3 + j] * found[j]).sum();
            assert!((back - (i as f64 + 1.0)).abs() < 1e-12);
        }
        let whole = inverse(&lower, 3);
        let unit: f64 = (0..3).map(|j| matrix[j] * whole[j * 3]).sum();
        assert!((unit - 1.0).abs() < 1e-12);
        assert!(cholesky(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
    }
}
