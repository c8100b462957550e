//! The binomial distribution: how likely so many failures are.

use crate::beta;

/// The chance of at most `failures` among `trials`, each of which fails with this chance.
///
/// Both numbers may be fractions: correlated trials count as fewer independent ones.
#[must_use]
pub fn binomial_at_most(trials: f64, failures: f64, chance: f64) -> f64 {
    if failures < 0.0 {
        return 0.0;
    }
    if failures >= trials {
        return 1.0;
    }
    beta::incomplete(trials - failures, failures + 1.0, 1.0 - chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_add_up_as_they_are_counted() {
        let exact = |n: u32, k: u32, p: f64| -> f64 {
            let choose =
                |k: u32| (0..k).fold(1.0, |all, i| all * f64::from(n - i) / f64::from(i + 1));
            (0..=k).map(|k| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)).sum()
        };
        for (n, k, p) in [(10, 0, 0.1), (10, 3, 0.5), (100, 2, 0.01), (40, 39, 0.9)] {
            let found = binomial_at_most(f64::from(n), f64::from(k), p);
            assert!((found - exact(n, k, p)).abs() < 1e-12, "{n} {k} {p}: {found}");
        }
    }

    #[test]
    fn the_ends_are_certain() {
        assert_eq!(binomial_at_most(10.0, 10.0, 0.3), 1.0);
        assert_eq!(binomial_at_most(10.0, -1.0, 0.3), 0.0);
        // 662 samples with one above support the 99th percentile, 661 do not.
        assert!(binomial_at_most(662.0, 1.0, 0.01) <= 0.01);
        assert!(binomial_at_most(661.0, 1.0, 0.01) > 0.01);
    }
}
