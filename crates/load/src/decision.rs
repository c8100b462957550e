//! Whether a share of requests keeps a limit: held, broken, or too few requests to tell.

use stats::binomial_at_most;

/// How sure a decision is: LoadGen's early stopping uses the same.
pub const CONFIDENCE: f64 = 0.99;

/// Groups of neighbours by which the dependence of requests on each other is estimated.
const GROUPS: usize = 20;

/// Whether at least `share` of all requests keep a limit, at [`CONFIDENCE`]; `None` if these are too few to tell.
///
/// `broken` says of every request, in the order of the schedule, whether it missed the limit. Requests in one queue wait
/// together, so they count as fewer independent ones.
#[must_use]
pub fn decide(broken: &[bool], share: f64) -> Option<bool> {
    let failures = broken.iter().filter(|one| **one).count() as f64;
    let trials = broken.len() as f64;
    if trials == 0.0 {
        return None;
    }
    let inflation = inflation(broken);
    let (trials, failures) = (trials / inflation, failures / inflation);
    let allowed = 1.0 - share;
    let error = 1.0 - CONFIDENCE;
    if binomial_at_most(trials, failures, allowed) <= error {
        return Some(true);
    }
    // At least as many failures as were seen.
    let at_least = 1.0 - binomial_at_most(trials, failures - 1.0, allowed);
    (at_least <= error).then_some(false)
}

/// The fewest requests with which a limit on this share of them can be told to hold: none of them missed it.
#[must_use]
pub fn requests_needed(share: f64) -> f64 {
    ((1.0 - CONFIDENCE).ln() / share.ln()).ceil()
}

/// By how much the variance of a mean exceeds that of independent requests; at least 1.
fn inflation(broken: &[bool]) -> f64 {
    let size = broken.len() / GROUPS;
    if size < 2 {
        return 1.0;
    }
    let count = |group: &[bool]| group.iter().filter(|one| **one).count() as f64 / size as f64;
    let means: Vec<f64> = broken.chunks_exact(size).take(GROUPS).map(count).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    let independent = mean * (1.0 - mean) / size as f64;
    if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Generator;

    fn spread(n: usize, failures: usize) -> Vec<bool> {
        (0..n).map(|at| failures > 0 && at % (n / failures) == n / failures / 2).collect()
    }

    #[test]
    fn few_requests_tell_nothing_and_many_do() {
        assert_eq!(decide(&[], 0.99), None);
        assert_eq!(decide(&[false; 100], 0.99), None, "459 without a failure are needed");
        assert_eq!(decide(&[false; 460], 0.99), Some(true));
        assert_eq!(decide(&spread(10_000, 50), 0.99), Some(true));
        assert_eq!(decide(&spread(10_000, 100), 0.99), None, "exactly at the limit");
        assert_eq!(decide(&spread(10_000, 200), 0.99), Some(false));
    }

    #[test]
    fn the_fewest_requests_are_known_before_any_is_sent() {
        for (share, needed) in [(0.5, 7), (0.95, 90), (0.99, 459)] {
            assert_eq!(requests_needed(share), f64::from(needed));
            let needed = needed as usize;
            assert_eq!(decide(&vec![false; needed], share), Some(true), "{share}");
            assert_eq!(decide(&vec![false; needed - 1], share), None, "{share}");
        }
    }

    #[test]
    fn failures_in_one_burst_tell_less_than_spread_ones() {
        let mut burst = vec![false; 4000];
        burst[1000..1080].fill(true);
        assert_eq!(decide(&burst, 0.99), None);
        assert_eq!(decide(&spread(4000, 80), 0.99), Some(false));
    }

    #[test]
    fn a_wrong_decision_is_rarer_than_it_promises() {
        // The true share is the limit itself: either decision is wrong.
        let mut generator = Generator::new(11);
        let wrong = (0..400)
            .filter(|_| {
                let broken: Vec<bool> = (0..2000).map(|_| generator.below(100) == 0).collect();
                decide(&broken, 0.99).is_some()
            })
            .count();
        assert!(wrong <= 16, "{wrong} of 400, 8 are expected");
    }
}
