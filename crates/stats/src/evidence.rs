//! What a few repeated units (rounds, processes, sessions) say of a mean on the logarithmic scale.
//!
//! A gate asks one-sided questions: is it slower than so much, and could it be? Both are answered from the same three
//! numbers, a centre, its standard error and degrees of freedom, so that a verdict and its interval never disagree.

use crate::student;
use types::Interval;

/// The chance with which a difference that is called detectable is found.
const POWER: f64 = 0.95;

/// The most units that are ever asked for.
const MOST_UNITS: u64 = 100_000;

/// A mean of logarithms and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The mean.
    pub centre: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub degrees: f64,
    /// Units it rests on.
    pub units: usize,
}

impl Evidence {
    /// From one value a unit; `None` below two, or where one is not a number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Evidence> {
        let (centre, variance) = moments(values)?;
        let count = values.len() as f64;
        let error = (variance / count).sqrt();
        Some(Evidence { centre, error, degrees: count - 1.0, units: values.len() })
    }

    /// The second list's mean over the first one's, which were taken apart (Welch).
    #[must_use]
    pub fn between(base: &[f64], side: &[f64]) -> Option<Evidence> {
        let ((left, left_variance), (right, right_variance)) = (moments(base)?, moments(side)?);
        let (n, m) = (base.len() as f64, side.len() as f64);
        let (a, b) = (left_variance / n, right_variance / m);
        let degrees = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
        Some(Evidence {
            centre: right - left,
            error: (a + b).sqrt(),
            // Without any spread the quotient is 0 ÷ 0; the fewest degrees promise the least.
            degrees: if degrees.is_finite() { degrees } else { n.min(m) - 1.0 },
            units: base.len().min(side.len()),
        })
    }

    /// One new unit over a history of them: as uncertain as the history scatters.
    #[must_use]
    pub fn of_next(history: &[f64], next: f64) -> Option<Evidence> {
        let (centre, variance) = moments(history)?;
        let count = history.len() as f64;
        next.is_finite().then(|| Evidence {
            centre: next - centre,
            error: (variance * (1.0 + 1.0 / count)).sqrt(),
            degrees: count - 1.0,
            units: history.len(),
        })
    }

    /// The estimate as a quotient.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.centre.exp()
    }

    /// The interval that misses the truth at either end with this chance, as quotients.
    #[must_use]
    pub fn interval(&self, miss: f64) -> Interval {
        let half = self.reach(miss);
        Interval { low: (self.centre - half).exp(), high: (self.centre + half).exp() }
    }

    /// The chance of a centre as high as this if the truth were `limit`.
    #[must_use]
    pub fn chance_if_below(&self, limit: f64) -> f64 {
        let distance = self.centre - limit;
        if self.error > 0.0 {
            let both = student::two_sided(distance / self.error, self.degrees);
            if distance >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
        } else if distance > 0.0 {
            0.0
        } else {
            1.0
        }
    }

    /// The chance of a centre as low as this if the truth were `limit`.
    #[must_use]
    pub fn chance_if_above(&self, limit: f64) -> f64 {
        let mirrored = Evidence { centre: -self.centre, ..*self };
        mirrored.chance_if_below(-limit)
    }

    /// The smallest change that is found 19 times in 20 where chance is held to `miss`, as a share.
    #[must_use]
    pub fn detectable(&self, miss: f64) -> f64 {
        (self.reach(miss) + student::point(POWER, self.degrees) * self.error).exp_m1()
    }

    /// How many units would tell apart two values so far from each other, as far as this scatter goes; `None` if no sensible
    /// number would.
    #[must_use]
    pub fn units_to_tell(&self, distance: f64, miss: f64) -> Option<u64> {
        let spread = self.error * (self.units as f64).sqrt();
        let mut units = 2;
        while units <= MOST_UNITS {
            let degrees = units as f64 - 1.0;
            let reach = student::point(1.0 - miss, degrees) + student::point(POWER, degrees);
            if reach * spread / (units as f64).sqrt() <= distance.abs() {
                return Some(units);
            }
            units += 1 + units / 16;
        }
        None
    }

    fn reach(&self, miss: f64) -> f64 {
        student::point(1.0 - miss, self.degrees) * self.error
    }
}

/// Mean and variance (n − 1).
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let count = values.len() as f64;
    let centre = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((centre, squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9 * (1.0 + right.abs())
    }

    #[test]
    fn both_questions_are_answered_by_the_same_interval() {
        let found = Evidence::of(&[0.04, 0.05, 0.06, 0.05, 0.03]).unwrap();
        for miss in [0.05, 0.01, 0.002] {
            let Interval { low, high } = found.interval(miss);
            assert!(close(found.chance_if_below(low.ln()), miss), "{miss}");
            assert!(close(found.chance_if_above(high.ln()), miss), "{miss}");
        }
        assert!(found.chance_if_below(0.0) < 0.01 && found.chance_if_above(0.0) > 0.99);
    }

    #[test]
    fn values_are_those_of_another_implementation() {
        // scipy 1.17: ttest_1samp([.04, .05, .06, .05, .03], 0, alternative="greater") and ttest_ind(…, equal_var=False).
        let found = Evidence::of(&[0.04, 0.05, 0.06, 0.05, 0.03]).unwrap();
        assert!(close(found.chance_if_below(0.0), 0.000_418_093_085_341_618_9), "{found:?}");
        let apart = Evidence::between(&[1.0, 1.1, 1.2], &[1.4, 1.5, 1.3, 1.45]).unwrap();
        assert!(close(apart.chance_if_below(0.0), 0.006_102_542_624_236_143), "{apart:?}");
    }

    #[test]
    fn a_new_unit_is_as_uncertain_as_the_history_scatters() {
        let history = [0.0, 0.1, -0.1, 0.05, -0.05];
        let found = Evidence::of_next(&history, 0.2).unwrap();
        assert!(close(found.centre, 0.2) && close(found.error, (0.00625f64 * 1.2).sqrt()));
        assert_eq!(Evidence::of_next(&history[..1], 0.2), None);
    }

    #[test]
    fn units_that_agree_to_the_last_digit_decide_at_once() {
        let found = Evidence::of(&[0.25; 3]).unwrap();
        assert_eq!((found.chance_if_below(0.0), found.chance_if_above(0.5)), (0.0, 0.0));
        assert_eq!((found.chance_if_below(0.25), found.chance_if_above(0.25)), (1.0, 1.0));
        assert_eq!(found.units_to_tell(0.01, 0.01), Some(2));
    }

    #[test]
    fn so_many_units_as_are_asked_for_are_enough() {
        let found = Evidence::of(&[0.03, -0.03, 0.02, -0.02, 0.01, -0.01]).unwrap();
        let units = found.units_to_tell(0.02, 0.01).unwrap();
        let spread = found.error * 6f64.sqrt();
        let later = Evidence {
            error: spread / (units as f64).sqrt(),
            degrees: units as f64 - 1.0,
            units: units as usize,
            ..found
        };
        assert!(later.detectable(0.01) <= 0.0203, "{units}: {}", later.detectable(0.01));
        assert_eq!(found.units_to_tell(0.0, 0.01), None);
    }

    #[test]
    fn one_value_and_no_number_say_nothing() {
        assert_eq!(Evidence::of(&[0.1]), None);
        assert_eq!(Evidence::of(&[0.1, f64::NAN]), None);
        assert_eq!(Evidence::between(&[0.1, 0.2], &[0.1]), None);
    }
}
