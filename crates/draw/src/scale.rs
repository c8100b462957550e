//! From numbers to places on the paper: in proportion or by powers of ten, with round ticks.
//!
//! Whatever the numbers are, a scale has a few ticks and ends. What is no number has no place.

/// No axis goes beyond these: what is measured never does, and a typed or imported number must not cost memory without end.
pub(crate) const SMALLEST: f64 = 1e-30;
pub(crate) const LARGEST: f64 = 1e30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

/// From a range of numbers to a range of places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// From 0 to a little more than the largest of the numbers.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let most = values.filter_map(sane).fold(0.0, f64::max).min(LARGEST);
        let most = if most > SMALLEST { most } else { 1.0 };
        Scale { kind: Kind::Linear, low: 0.0, high: most * 1.03, from, to }
    }

    /// From one number to another, in proportion.
    pub(crate) fn between(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let low = sane(low).unwrap_or(0.0).clamp(-LARGEST, LARGEST);
        let high = sane(high).unwrap_or(low).clamp(-LARGEST, LARGEST);
        let least = (low.abs() * 1e-6).max(SMALLEST);
        let high = if high - low > least { high } else { low + least.max(low.abs() * 0.1) };
        Scale { kind: Kind::Linear, low, high, from, to }
    }

    /// By powers of ten, from a little less than the smallest positive number to a little more than the largest.
    pub(crate) fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let values = values.filter_map(sane).filter(|value| *value > 0.0);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            let value = value.clamp(SMALLEST, LARGEST);
            (low.min(value), high.max(value))
        });
        let (low, high) = if high > 0.0 { (low, high) } else { (0.1, 10.0) };
        // A little more at either end, and never so little that a single number fills the paper.
        let span = (high / low).log10().max(0.3);
        let middle = (low.log10() + high.log10()) / 2.0;
        let half = span / 2.0 + (span * 0.05).min(0.3);
        let (low, high) = (10_f64.powf(middle - half), 10_f64.powf(middle + half));
        Scale { kind: Kind::Log, low, high, from, to }
    }

    /// As [`Scale::linear`], or as [`Scale::log`] where the numbers are too far apart for that.
    pub(crate) fn fitting(values: &[f64], from: f64, to: f64) -> Scale {
        const FAR: f64 = 30.0;
        let positive = || values.iter().copied().filter_map(sane).filter(|value| *value > 0.0);
        let low = positive().fold(f64::INFINITY, f64::min);
        let high = positive().fold(0.0, f64::max);
        match high > low * FAR {
            true => Scale::log(values.iter().copied(), from, to),
            false => Scale::linear(values.iter().copied(), from, to),
        }
    }

    /// The same numbers on other places.
    #[cfg(test)]
    pub(crate) fn onto(self, from: f64, to: f64) -> Scale {
        Scale { from, to, ..self }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.kind == Kind::Log
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    /// Where a number lies; at the end that it is beyond, and at the beginning where it is none.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let Some(value) = sane(value) else { return self.from };
        let value = value.clamp(self.low, self.high);
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        let share = share.clamp(0.0, 1.0);
        self.from * (1.0 - share) + self.to * share
    }

    /// Whether a number lies on the scale.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Round numbers on the scale, the smallest first: two to ten of them.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                even_ticks(self.low, self.high, round_step((self.high - self.low) / 5.5))
            }
            Kind::Log => self.log_ticks(),
        }
    }

    fn log_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10(), self.high.log10());
        let decades = last - first;
        let steps: &[f64] = match decades {
            few if few <= 0.6 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
            few if few <= 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            few if few <= 2.4 => &[1.0, 2.0, 5.0],
            few if few <= 4.2 => &[1.0, 3.0],
            _ => &[1.0],
        };
        // At most eight powers of ten, whatever the span.
        let stride = (decades / 8.0).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        let mut power = (first.floor() as i32).div_euclid(stride) * stride;
        while f64::from(power) <= last {
            for step in steps {
                let tick = step * 10_f64.powi(power);
                if self.holds(tick) {
                    ticks.push(tick);
                }
            }
            power += stride;
        }
        if ticks.len() >= 3 {
            return ticks;
        }
        // Less than a decade: round numbers of one distance.
        even_ticks(self.low, self.high, round_step((self.high - self.low) / 5.5))
    }
}

/// The number, where it is one.
fn sane(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn even_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    let count = ((high / step + 1e-9).floor() - first).clamp(0.0, 12.0) as usize;
    (0..=count).map(|number| (first + number as f64) * step).collect()
}

/// The round distance next to this one: 1, 2 or 5 times a power of ten.
fn round_step(wanted: f64) -> f64 {
    let wanted = if wanted.is_finite() { wanted.clamp(SMALLEST, LARGEST) } else { 1.0 };
    let power = 10_f64.powf(wanted.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= wanted * 0.999);
    times.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_linear_scale_begins_at_nothing_and_has_round_ticks() {
        let scale = Scale::linear([3.0, 100.0].into_iter(), 0.0, 103.0);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let [none, half, most] = [0.0, 50.0, 100.0].map(|value| scale.at(value));
        assert!(none == 0.0 && (half - 50.0).abs() < 1e-9 && (most - 100.0).abs() < 1e-9);
        assert!((scale.onto(103.0, 0.0).at(100.0) - 3.0).abs() < 1e-9);
        let scale = Scale::linear([400.0].into_iter(), 0.0, 1.0);
        assert_eq!(scale.ticks(), [0.0, 100.0, 200.0, 300.0, 400.0]);
    }

    #[test]
    fn a_log_scale_has_powers_or_ones_twos_and_fives() {
        let wide = Scale::log([1e-5, 1e2].into_iter(), 0.0, 1.0).ticks();
        assert_eq!(wide.len(), 8);
        assert!(wide.iter().all(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9));
        let ticks = Scale::log([1.0, 100.0].into_iter(), 0.0, 1.0).ticks();
        assert_eq!(ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let narrow = Scale::log([10.0, 11.0].into_iter(), 0.0, 1.0);
        assert!(narrow.ticks().len() >= 2, "{:?}", narrow.ticks());
    }

    #[test]
    fn no_gap_between_the_ticks_of_a_log_scale_is_a_third() {
        for ends in [[1.0, 3.0], [0.9, 9.5], [1.5, 480.0], [0.4, 130.0], [2.0, 60_000.0]] {
            let scale = Scale::log(ends.into_iter(), 0.0, 90.0);
            let mut places = vec![0.0];
            places.extend(scale.ticks().into_iter().map(|tick| scale.at(tick)));
            places.push(90.0);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] < 30.0), "{ends:?} {places:?}");
        }
    }

    #[test]
    fn what_is_no_number_has_no_say() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -5.0];
        for scale in [
            Scale::linear(values.into_iter(), 0.0, 10.0),
            Scale::log(values.into_iter(), 0.0, 10.0),
            Scale::fitting(&values, 0.0, 10.0),
            Scale::log(std::iter::empty(), 0.0, 10.0),
        ] {
            assert!(scale.low().is_finite() && scale.high() > scale.low());
            assert_eq!(scale.at(f64::NAN), 0.0);
            assert!(scale.at(f64::MAX) <= 10.0 && !scale.ticks().is_empty());
        }
    }

    #[test]
    fn numbers_far_apart_get_powers_of_ten() {
        assert!(Scale::fitting(&[1.0, 1000.0], 0.0, 1.0).is_log());
        assert!(!Scale::fitting(&[1.0, 20.0], 0.0, 1.0).is_log());
    }

    proptest! {
        #[test]
        fn every_scale_ends_and_has_few_ticks_in_order(
            one in prop::num::f64::ANY, two in prop::num::f64::ANY, seen in prop::num::f64::ANY,
        ) {
            let values = [one, two];
            for scale in [
                Scale::linear(values.into_iter(), 10.0, 90.0),
                Scale::log(values.into_iter(), 10.0, 90.0),
                Scale::fitting(&values, 90.0, 10.0),
                Scale::between(one, two, 10.0, 90.0),
            ] {
                prop_assert!(scale.high() <= LARGEST * 100.0);
                let ticks = scale.ticks();
                prop_assert!((1..=13).contains(&ticks.len()), "{scale:?} {ticks:?}");
                prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{scale:?} {ticks:?}");
                let place = scale.at(seen);
                prop_assert!((10.0..=90.0).contains(&place), "{scale:?} {place}");
            }
        }
    }
}
