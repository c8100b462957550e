//! Where a history changes its level: change points of a series of numbers, with how sure they are.
//!
//! Binary segmentation in the manner of E-divisive means (Matteson and James, 2014; on performance histories Daly and
//! others, 2020): the segment is cut where the two sides differ most, the cut is tested, and both sides are searched in turn.
//! Three things are our own. Numbers are taken in units of the noise and held at six of them, so that no outlier makes a change.
//! The test is not a plain permutation: neighbours in time resemble each other, so the noise is drawn anew as a first-order
//! process with the resemblance that is seen (a sieve bootstrap); without resemblance that is the permutation test. And a cut
//! must explain the numbers better than a smooth curve does, because a machine that gets slower month by month has no day
//! on which it did.

use crate::{Generator, smooth, step::resemblance};

/// The fewest numbers on either side of a change: one or two that are off may be an outlier and its echo.
pub const SMALLEST_SIDE: usize = 3;

/// The fewest numbers in which a change is looked for; below, hardly an order of them is so rare that it could not be luck.
pub const SMALLEST_SERIES: usize = 10;

/// Series that are drawn anew at most for one test; the smallest p value is one over this.
const DRAWS: usize = 3999;

/// So many drawn series as extreme as the one seen are enough to know that it is not (Besag and Clifford, 1991).
const ENOUGH: usize = 40;

/// Steps before a drawn series counts, so that it does not begin at its middle.
const RUN_UP: usize = 24;

/// Beyond so many standard deviations a number is an outlier, and how far beyond says nothing more.
const FAR: f64 = 6.0;

/// The same where a step is compared with a curve, which squares what lies beside it.
const NEAR: f64 = 3.0;

/// The median distance of two independent normal numbers of deviation 1.
const DIFFERENCE: f64 = 0.953_873;

/// Levels that lie more than so many deviations apart are plainly two.
const PLAIN: f64 = 4.0;

/// A place at which a segment was cut, or could have been: every one of them is a question that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The first number after it.
    pub at: usize,
    /// The chance that numbers without a change look as much like one.
    pub p_value: f64,
    /// The cut that made the segment, by its place in the list; `None` for the whole series.
    pub parent: Option<usize>,
    /// Whether a smooth curve explains the segment as well.
    pub is_drift: bool,
}

/// Every cut that was tried in a series of logarithms, the one of the whole series first; sides of those with a p value of
/// `level` or more, or that a smooth curve explains as well, were not searched. Empty where the series is shorter than
/// [`SMALLEST_SERIES`].
#[must_use]
pub fn cuts(logs: &[f64], level: f64, seed: u64) -> Vec<Cut> {
    let mut found = Vec::new();
    let mut open = vec![(0, logs.len(), None)];
    while let Some((from, to, parent)) = open.pop() {
        let segment = &logs[from..to];
        if segment.len() < SMALLEST_SERIES {
            continue;
        }
        let scores = scores(segment);
        let Some(best) = strongest(&scores) else { continue };
        let noise = Noise::of(segment, &pieces(&scores, best));
        let is_drift = noise.is_smooth(&scores);
        // Beside levels a slide looks like resemblance between neighbours, which explains anything: its noise is what lies
        // beside the curve.
        let noise = match is_drift {
            true => Noise::of(&smooth::beside_a_curve(segment), &[segment.len()]),
            false => noise,
        };
        let p_value = noise.chance(best.strength, segment.len(), seed ^ from as u64);
        let number = found.len();
        found.push(Cut { at: from + best.at, p_value, parent, is_drift });
        if p_value < level && !is_drift {
            open.push((from + best.at, to, Some(number)));
            open.push((from, from + best.at, Some(number)));
        }
    }
    found
}

/// The strongest cut of a segment: where the second stretch begins and ends, and how far it stands from the first.
#[derive(Debug, Clone, Copy)]
struct Strongest {
    at: usize,
    end: usize,
    strength: f64,
}

/// Looks at every beginning and every end of the second stretch: a slow week in the middle must not hide.
fn strongest(scores: &[f64]) -> Option<Strongest> {
    let mut sums = Vec::with_capacity(scores.len() + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for score in scores {
        sum += score;
        sums.push(sum);
    }
    let mut best: Option<Strongest> = None;
    for at in SMALLEST_SIDE..=scores.len().saturating_sub(SMALLEST_SIDE) {
        let first = at as f64;
        let mean = sums[at] / first;
        for end in at + SMALLEST_SIDE..=scores.len() {
            let second = (end - at) as f64;
            let apart = mean - (sums[end] - sums[at]) / second;
            let strength = apart * apart * first * second / (first + second);
            if best.is_none_or(|best| strength > best.strength) {
                best = Some(Strongest { at, end, strength });
            }
        }
    }
    best
}

/// How far each number lies from the middle of all, in units of the noise and no farther than [`FAR`]: no outlier outweighs the
/// rest, and three that are off together are seen.
///
/// The noise is told from the differences of neighbours, which a change of level leaves alone.
fn scores(values: &[f64]) -> Vec<f64> {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let noise = steps.get(steps.len() / 2).copied().unwrap_or(0.0) / DIFFERENCE;
    let middle = crate::step::median(values);
    let score = |value: &f64| {
        let off = value - middle;
        match noise > 0.0 {
            true => (off / noise).clamp(-FAR, FAR),
            // Numbers that hardly ever change, such as bytes: off is off.
            false if off == 0.0 => 0.0,
            false => FAR.copysign(off),
        }
    };
    values.iter().map(score).collect()
}

/// The segment cut at the strongest place, and further where levels lie so far apart that no noise looks like it: what else
/// happened must not pass for resemblance between neighbours.
fn pieces(scores: &[f64], cut: Strongest) -> Vec<usize> {
    let mut ends = vec![cut.at, cut.end, scores.len()];
    ends.dedup();
    let mut place = 0;
    while place < ends.len() {
        let from = place.checked_sub(1).map_or(0, |before| ends[before]);
        let piece = &scores[from..ends[place]];
        let further = strongest(piece).filter(|found| {
            let level = crate::step::median;
            let (before, after) = (&piece[..found.at], &piece[found.at..found.end]);
            (level(before) - level(after)).abs() > PLAIN
        });
        match further {
            Some(found) => ends.insert(place, from + found.at),
            None => place += 1,
        }
    }
    ends
}

/// What is left of a segment without its levels, and how much neighbours in it resemble each other.
struct Noise {
    /// What each number adds to what its neighbour let expect.
    innovations: Vec<f64>,
    alike: f64,
    /// Where its pieces end.
    ends: Vec<usize>,
}

impl Noise {
    fn of(segment: &[f64], ends: &[usize]) -> Noise {
        let starts = [0].into_iter().chain(ends.iter().copied());
        let pieces: Vec<&[f64]> = starts.zip(ends).map(|(from, to)| &segment[from..*to]).collect();
        let alike = resemblance(&pieces);
        let mut innovations = Vec::with_capacity(segment.len());
        for piece in &pieces {
            let middle = crate::step::median(piece);
            let mut last = 0.0;
            for value in piece.iter() {
                innovations.push(value - middle - alike * last);
                last = value - middle;
            }
        }
        Noise { innovations, alike, ends: ends.to_vec() }
    }

    /// Whether a smooth curve explains the numbers as well as the step does, with outliers and with less of them.
    fn is_smooth(&self, scores: &[f64]) -> bool {
        let near: Vec<f64> = scores.iter().map(|score| score.clamp(-NEAR, NEAR)).collect();
        let ends = &self.ends;
        smooth::is_as_good(scores, ends, self.alike) && smooth::is_as_good(&near, ends, self.alike)
    }

    /// The chance that a series of this noise without a change has a cut as strong.
    fn chance(&self, strength: f64, count: usize, seed: u64) -> f64 {
        let mut generator = Generator::new(seed);
        let mut as_strong = 0;
        for draw in 1..=DRAWS {
            let drawn = scores(&self.draw(count, &mut generator));
            if strongest(&drawn).is_some_and(|best| best.strength >= strength) {
                as_strong += 1;
                if as_strong == ENOUGH {
                    return as_strong as f64 / draw as f64;
                }
            }
        }
        (as_strong + 1) as f64 / (DRAWS + 1) as f64
    }

    fn draw(&self, count: usize, generator: &mut Generator) -> Vec<f64> {
        if self.alike == 0.0 {
            // Without resemblance only the order is luck: a permutation.
            let mut drawn = self.innovations.clone();
            for place in (1..drawn.len()).rev() {
                drawn.swap(place, generator.below(place + 1));
            }
            return drawn;
        }
        let mut last = 0.0;
        let mut next = || {
            last = self.alike * last + self.innovations[generator.below(self.innovations.len())];
            last
        };
        for _ in 0..RUN_UP {
            next();
        }
        (0..count).map(|_| next()).collect()
    }
}
