//! How much faster one thing is than another, when both were timed by turns or at different times.
//!
//! Everything happens on logarithms, where twice as fast and half as fast lie equally far from equal. The unit of
//! inference is the process: samples of one process share its luck (addresses, pages, threads), so a thousand of them
//! say no more about the next process than a few do.

use crate::{
    Generator, NANOS, dependence,
    hierarchy::{self, Round},
    interval::doubled_median,
    looks::{Looks, Rounds},
    quantile, student,
};
use types::Interval;

/// How often the data are drawn anew; the ends of an interval then rest on 50 values each.
const RESAMPLES: usize = 2000;

/// The power that a detectable difference is said for: found four times in five.
const POWER: f64 = 0.8;

/// A quotient of two times, and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioEstimate {
    /// The estimate: baseline's time ÷ the side's, above 1 the side is faster.
    pub ratio: f64,
    /// Its 95 % interval; `None` if nothing was repeated.
    pub interval: Option<Interval>,
    /// The largest ratio of any pair.
    pub best: f64,
    /// The smallest ratio of any pair.
    pub worst: f64,
    /// What each round alone says; empty if the data are not paired.
    pub rounds: Vec<f64>,
    /// Two-sided chance of a ratio so far from 1 if it were 1; `None` if processes were not repeated on both sides.
    pub p_value: Option<f64>,
    /// The smallest difference found four times in five, as a share of the time; `None` if `p_value` is.
    pub detectable: Option<f64>,
}

/// The logarithm of the quotient of two windows' medians, baseline ÷ side; `None` if one has no positive median.
#[must_use]
pub fn log_ratio(baseline: &[u64], side: &[u64]) -> Option<f64> {
    Some(log_median(baseline)? - log_median(side)?)
}

/// The ratio from rounds of pairs: one entry per round, in it [`log_ratio`] of each sweep in the order they were taken.
///
/// The estimate is the mean of the rounds' means. Its interval reaches at either end as far as the farther of two: Student's
/// over the rounds' means, and the percentiles of a bootstrap that draws rounds and then, inside each, sweeps. The second
/// guards against rounds that agree by luck. With a single round the interval knows only its sweeps, and there is no p
/// value. `None` if there is no pair at all.
#[must_use]
pub fn paired_ratio(rounds: &[Vec<f64>], seed: u64) -> Option<RatioEstimate> {
    let rounds: Vec<Round> = rounds.iter().filter_map(|pairs| Round::of(pairs)).collect();
    let means: Vec<f64> = rounds.iter().map(Round::mean).collect();
    let centre = mean(&means)?;
    let drawn = hierarchy::bootstrap(&rounds, RESAMPLES, seed);
    let mut estimate = RatioEstimate::of_rounds(&rounds, &means, centre);
    if let [only] = rounds.as_slice() {
        let blocks = only.block_means();
        let error = standard_error(&blocks);
        estimate.interval =
            error.map(|error| interval(centre, error, blocks.len() as f64 - 1.0, drawn));
    } else if let Some(error) = standard_error(&means) {
        estimate.rest_on(centre, error, means.len() as f64 - 1.0, drawn);
    }
    Some(estimate)
}

/// The ratio from rounds of pairs with Student's interval over the rounds alone: what [`paired_ratio`] says without its
/// bootstrap, for whoever wants to know at once.
#[must_use]
pub fn mean_ratio(rounds: &[Vec<f64>]) -> Option<RatioEstimate> {
    let rounds: Vec<Round> = rounds.iter().filter_map(|pairs| Round::of(pairs)).collect();
    let means: Vec<f64> = rounds.iter().map(Round::mean).collect();
    let centre = mean(&means)?;
    let mut estimate = RatioEstimate::of_rounds(&rounds, &means, centre);
    let none = Interval { low: centre, high: centre };
    let degrees = means.len() as f64 - 1.0;
    estimate.interval = standard_error(&means).map(|error| interval(centre, error, degrees, none));
    Some(estimate)
}

/// The ratio from rounds of pairs as [`paired_ratio`], seen at the look after `round`: interval and p value hold over all
/// looks together.
///
/// With a single round there is neither: how processes differ is not known. `None` if there is no pair at all.
#[must_use]
pub fn looked_ratio(
    rounds: &[Vec<f64>],
    looks: &Looks,
    round: u32,
    seed: u64,
) -> Option<RatioEstimate> {
    let rounds: Vec<Round> = rounds.iter().filter_map(|pairs| Round::of(pairs)).collect();
    let means: Vec<f64> = rounds.iter().map(Round::mean).collect();
    let centre = mean(&means)?;
    let mut estimate = RatioEstimate::of_rounds(&rounds, &means, centre);
    if let Some(error) = standard_error(&means) {
        // Each pair counts for itself here: drift between a forward and a backward sweep only widens.
        let each = rounds.iter().filter_map(|round| {
            standard_error(&round.pairs().collect::<Vec<_>>()).map(|error| error * error)
        });
        let within = mean(&each.collect::<Vec<_>>()).unwrap_or(0.0).sqrt();
        // Only the last look asks Student, whose interval the bootstrap guards.
        let widened = match looks.is_early(round) {
            true => 0.0,
            false => {
                let drawn = around(centre, hierarchy::bootstrap(&rounds, RESAMPLES, seed));
                (drawn.high - centre).max(centre - drawn.low)
            }
        };
        let seen = Rounds { centre, error, within, count: means.len() };
        let looked = looks.look(round, &seen, widened);
        estimate.interval = Some(exponential(looked.interval));
        estimate.p_value = Some(looked.p_value);
        estimate.detectable = Some(looked.detectable.exp_m1());
    }
    Some(estimate)
}

/// After how many rounds the answer is expected if the rounds to come are as those so far; the last look if none before it
/// is.
#[must_use]
pub fn expected_rounds(rounds: &[Vec<f64>], looks: &Looks) -> u32 {
    let rounds: Vec<Round> = rounds.iter().filter_map(|pairs| Round::of(pairs)).collect();
    let means: Vec<f64> = rounds.iter().map(Round::mean).collect();
    let Some(centre) = mean(&means) else { return looks.at_most() };
    let deviation = standard_error(&means).map_or(0.0, |error| error * (means.len() as f64).sqrt());
    looks.expected(centre, deviation, means.len() as u32)
}

/// The ratio from processes that were timed apart: one entry per process on either side, its samples in their order.
///
/// With several processes on both sides: Welch's interval over the logarithms of their medians, or the percentiles of a
/// bootstrap over processes and samples where those reach farther. Otherwise the bootstrap alone, and no p value: what the
/// next process would do is then not known. `None` if a side has no samples.
#[must_use]
pub fn unpaired_ratio(baseline: &[&[u64]], side: &[&[u64]], seed: u64) -> Option<RatioEstimate> {
    let (base, other) = (Processes::of(baseline), Processes::of(side));
    let centre = mean(&base.logs)? - mean(&other.logs)?;
    let mut generator = Generator::new(seed);
    let drawn =
        middle((0..RESAMPLES).map(|_| base.draw(&mut generator) - other.draw(&mut generator)));
    let extreme = |pick: fn(f64, f64) -> f64, logs: &[f64]| logs.iter().copied().reduce(pick);
    let (slowest, fastest) = (extreme(f64::max, &base.logs)?, extreme(f64::min, &base.logs)?);
    let mut estimate = RatioEstimate {
        ratio: centre.exp(),
        interval: None,
        best: (slowest - extreme(f64::min, &other.logs)?).exp(),
        worst: (fastest - extreme(f64::max, &other.logs)?).exp(),
        rounds: Vec::new(),
        p_value: None,
        detectable: None,
    };
    match (standard_error(&base.logs), standard_error(&other.logs)) {
        (Some(left), Some(right)) => {
            let (left, right) = (left * left, right * right);
            let share = |variance: f64, logs: &[f64]| variance * variance / (logs.len() - 1) as f64;
            let degrees =
                (left + right).powi(2) / (share(left, &base.logs) + share(right, &other.logs));
            // Without any spread the quotient is 0 ÷ 0; the fewest degrees promise the least.
            let degrees = if degrees.is_finite() { degrees } else { 1.0 };
            estimate.rest_on(centre, (left + right).sqrt(), degrees, drawn);
        }
        _ => estimate.interval = Some(exponential(around(centre, drawn))),
    }
    Some(estimate)
}

impl RatioEstimate {
    /// What the pairs themselves show, before anything is said of how sure it is.
    fn of_rounds(rounds: &[Round], means: &[f64], centre: f64) -> RatioEstimate {
        let pairs = || rounds.iter().flat_map(Round::pairs);
        RatioEstimate {
            ratio: centre.exp(),
            interval: None,
            best: pairs().fold(f64::NEG_INFINITY, f64::max).exp(),
            worst: pairs().fold(f64::INFINITY, f64::min).exp(),
            rounds: means.iter().map(|mean| mean.exp()).collect(),
            p_value: None,
            detectable: None,
        }
    }

    /// Fills in what follows from a standard error over processes.
    fn rest_on(&mut self, centre: f64, error: f64, degrees: f64, drawn: Interval) {
        let found = interval(centre, error, degrees, drawn);
        // The error that the interval shown really stands for: the bootstrap may have made it wider.
        let shown = (found.high / found.low).ln() / 2.0 / student::t(degrees);
        self.interval = Some(found);
        self.p_value = Some(match (error > 0.0, centre == 0.0) {
            (true, _) => student::two_sided(centre / error, degrees),
            (false, is_equal) => f64::from(u8::from(is_equal)),
        });
        let reach = student::t(degrees) + student::point(POWER, degrees);
        self.detectable = Some((reach * shown.max(error)).exp_m1());
    }
}

/// One side's processes: the logarithm of each one's median, and what its median may have been instead.
struct Processes {
    logs: Vec<f64>,
    medians: Vec<Medians>,
}

impl Processes {
    fn of(processes: &[&[u64]]) -> Processes {
        let usable = || processes.iter().filter(|samples| log_median(samples).is_some());
        Processes {
            logs: usable().filter_map(|samples| log_median(samples)).collect(),
            medians: usable().map(|samples| Medians::of(samples)).collect(),
        }
    }

    fn draw(&self, generator: &mut Generator) -> f64 {
        let count = self.medians.len();
        let sum: f64 =
            (0..count).map(|_| self.medians[generator.below(count)].draw(generator).ln()).sum();
        sum / count as f64
    }
}

/// Medians of samples drawn anew, without drawing the samples: such a median is an order statistic whose rank scatters
/// around the middle by √n ÷ 2, and by more where neighbours resemble each other.
struct Medians {
    sorted: Vec<f64>,
    scatter: f64,
}

impl Medians {
    fn of(nanos: &[u64]) -> Medians {
        let inflation = dependence::inflation(nanos, doubled_median(&mut nanos.to_vec()));
        let mut sorted: Vec<f64> = nanos.iter().map(|&x| x as f64).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let scatter = (nanos.len() as f64 * inflation).sqrt() / 2.0 / nanos.len() as f64;
        Medians { sorted, scatter }
    }

    fn draw(&self, generator: &mut Generator) -> f64 {
        let share = 0.5 + self.scatter * generator.normal();
        // A time of 0 has no logarithm; the clock cannot tell it from one nanosecond.
        quantile::of_sorted(&self.sorted, share.clamp(0.0, 1.0)).max(1.0)
    }
}

fn log_median(nanos: &[u64]) -> Option<f64> {
    let median = (!nanos.is_empty()).then(|| doubled_median(&mut nanos.to_vec()) as f64 / 2.0)?;
    (median > 0.0).then(|| (median / NANOS).ln())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard error of the mean; `None` below two values.
fn standard_error(values: &[f64]) -> Option<f64> {
    let (count, centre) = (values.len() as f64, mean(values)?);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
}

/// Student's interval, carried out to the drawn one where that reaches farther; as a ratio.
fn interval(centre: f64, error: f64, degrees: f64, drawn: Interval) -> Interval {
    let half = student::t(degrees) * error;
    let Interval { low, high } = around(centre, drawn);
    exponential(Interval { low: low.min(centre - half), high: high.max(centre + half) })
}

/// The interval, widened to hold its own estimate where the draw missed it.
fn around(centre: f64, drawn: Interval) -> Interval {
    Interval { low: drawn.low.min(centre), high: drawn.high.max(centre) }
}

fn exponential(logs: Interval) -> Interval {
    Interval { low: logs.low.exp(), high: logs.high.exp() }
}

/// From the 2.5 % to the 97.5 % quantile.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> Interval {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    Interval { low: quantile::of_sorted(&values, 0.025), high: quantile::of_sorted(&values, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left / right - 1.0).abs() < 1e-9
    }

    #[test]
    fn three_rounds_give_the_numbers_worked_out_by_hand() {
        // Means 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1, error 0.1 ÷ √3, t = 2√3.
        let estimate = paired_ratio(&[vec![0.1; 4], vec![0.2; 4], vec![0.3; 4]], 1).unwrap();
        assert!(close(estimate.ratio, 0.2f64.exp()));
        let half = 4.302_652_729_749_462 * 0.1 / 3f64.sqrt();
        let interval = estimate.interval.unwrap();
        assert!(
            close(interval.low, (0.2 - half).exp()) && close(interval.high, (0.2 + half).exp())
        );
        // For two degrees of freedom p = 1 − t ÷ √(2 + t²).
        let t = 2.0 * 3f64.sqrt();
        assert!(close(estimate.p_value.unwrap(), 1.0 - t / (2.0 + t * t).sqrt()));
        let reach = (4.302_652_729_749_462 + 1.060_660_171_779_821_4) * 0.1 / 3f64.sqrt();
        assert!(close(estimate.detectable.unwrap(), reach.exp() - 1.0));
        assert!(close(estimate.best, 0.3f64.exp()) && close(estimate.worst, 0.1f64.exp()));
        assert_eq!(estimate.rounds.len(), 3);
    }

    #[test]
    fn rounds_that_agree_by_luck_do_not_narrow_the_interval() {
        let rounds: Vec<Vec<f64>> = vec![vec![0.3, 0.3, -0.3, -0.3, 0.2, 0.2, -0.2, -0.2]; 3];
        let estimate = paired_ratio(&rounds, 1).unwrap();
        let interval = estimate.interval.unwrap();
        assert!(interval.low < 0.95 && interval.high > 1.05, "{interval:?}");
        assert!(estimate.detectable.unwrap() > 0.05, "{estimate:?}");
    }

    #[test]
    fn drift_over_a_round_cancels_between_forward_and_backward() {
        // The side is as fast, but each sweep the machine is 2 % slower by the time the second one runs.
        let rounds = vec![vec![0.02, -0.02, 0.02, -0.02, 0.02, -0.02]; 3];
        let interval = paired_ratio(&rounds, 1).unwrap().interval.unwrap();
        assert!(close(interval.low, 1.0) && close(interval.high, 1.0), "{interval:?}");
    }

    #[test]
    fn one_round_has_an_interval_but_no_p_value() {
        let estimate = paired_ratio(&[vec![0.1, 0.12, 0.08, 0.11]], 1).unwrap();
        assert!(estimate.interval.is_some());
        assert_eq!((estimate.p_value, estimate.detectable), (None, None));
        let estimate = paired_ratio(&[vec![0.1]], 1).unwrap();
        assert_eq!(estimate.interval, None);
        assert_eq!(paired_ratio(&[vec![], vec![]], 1), None);
    }

    #[test]
    fn the_seed_settles_everything() {
        let rounds = vec![vec![0.1, 0.4, -0.2, 0.3], vec![0.1, 0.2, 0.0, 0.1]];
        assert_eq!(paired_ratio(&rounds, 5), paired_ratio(&rounds, 5));
    }

    #[test]
    fn processes_apart_follow_welch() {
        let base = [2000u64, 2200, 2100].map(|nanos| [nanos; 20]);
        let side = [1000u64, 1010, 1020, 990].map(|nanos| [nanos; 20]);
        let (base, side) = (base.each_ref().map(|x| &x[..]), side.each_ref().map(|x| &x[..]));
        let estimate = unpaired_ratio(&base, &side, 1).unwrap();
        // As scipy 1.17 gives them for the logarithms: `ttest_ind(…, equal_var=False)`.
        assert!(close(estimate.ratio, 2.088_100_859_009_766_7));
        assert!(close(estimate.p_value.unwrap(), 0.000_834_999_092_494_583_3));
        let interval = estimate.interval.unwrap();
        assert!(close(interval.low.ln(), 0.625_505_013_035_216));
        assert!(close(interval.high.ln(), 0.847_004_932_919_258_4));
        assert!(close(estimate.best, 2200.0 / 990.0) && close(estimate.worst, 2000.0 / 1020.0));
    }

    #[test]
    fn single_processes_have_an_interval_but_no_p_value() {
        let samples: Vec<u64> = (0..200).map(|i| 1_000_000 + i * 7919 % 10_007).collect();
        let slower: Vec<u64> = samples.iter().map(|x| x * 3 / 2).collect();
        let estimate = unpaired_ratio(&[&slower], &[&samples], 1).unwrap();
        let interval = estimate.interval.unwrap();
        assert!((estimate.ratio - 1.5).abs() < 1e-6 && estimate.p_value.is_none());
        assert!(interval.low < 1.5 && interval.high > 1.5 && interval.high < 1.51, "{interval:?}");
        assert_eq!(unpaired_ratio(&[&slower], &[], 1), None);
        assert_eq!(unpaired_ratio(&[&slower], &[&[0, 0]], 1), None);
    }
}
