//! Which batch is best: when larger ones need not be timed any more, and who may still be first.

use types::{Interval, Pooled};

/// So many doublings in a row that made it slower, told apart, end the climb.
const FALLS: usize = 2;
/// So many doublings in a row that brought nothing end it too: time is in proportion to the batch by then.
const IDLE: usize = 3;
/// A doubling that brings less than that brought nothing.
const STILL_GROWS: f64 = 1.03;

/// A way up the batch sizes, a doubling at a time.
#[derive(Debug, Clone, Default)]
pub struct Climb {
    best: Option<(usize, f64)>,
    last: Option<Pooled>,
    falls: usize,
    idle: usize,
}

impl Climb {
    /// Hears of the next batch; says why to go no further, where that is so.
    pub fn hear(&mut self, batch: usize, throughput: Pooled) -> Option<String> {
        let fell = self.last.is_some_and(|last| is_below(&throughput, &last));
        self.falls = if fell { self.falls + 1 } else { 0 };
        match self.best {
            Some((_, best)) if throughput.value < best * STILL_GROWS => self.idle += 1,
            _ => {
                self.idle = 0;
                self.best = Some((batch, throughput.value));
            }
        }
        self.last = Some(throughput);
        let since = self.best.map_or(batch, |(batch, _)| batch);
        if self.falls >= FALLS {
            return Some(format!("slower at each of the last {FALLS} doublings"));
        }
        (self.idle >= IDLE).then(|| format!("not faster since batch {since}"))
    }
}

/// Who may be first: the best, and those whose intervals overlap its own; as indices, the best first, at most `most`.
#[must_use]
pub fn contenders(throughputs: &[Pooled], most: usize) -> Vec<usize> {
    let order = ranked(throughputs);
    let Some(&first) = order.first() else { return Vec::new() };
    let best = &throughputs[first];
    let near = |index: &usize| *index == first || !is_below(&throughputs[*index], best);
    order.into_iter().filter(near).take(most).collect()
}

/// Indices by throughput, the highest first.
#[must_use]
pub fn ranked(throughputs: &[Pooled]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..throughputs.len()).collect();
    order.sort_by(|&a, &b| throughputs[b].value.total_cmp(&throughputs[a].value));
    order
}

/// Whether one number is smaller than another, intervals apart; without intervals nobody can tell.
#[must_use]
pub fn is_below(one: &Pooled, other: &Pooled) -> bool {
    match (one.interval, other.interval) {
        (Some(Interval { high, .. }), Some(Interval { low, .. })) => high < low,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(value: f64, half: f64) -> Pooled {
        Pooled { value, interval: Some(Interval { low: value - half, high: value + half }) }
    }

    /// The batch at which a climb ends, and why.
    fn climb(rates: &[Pooled]) -> Option<(usize, String)> {
        let mut climb = Climb::default();
        let batches = (0..).map(|power| 1 << power);
        batches.zip(rates).find_map(|(batch, rate)| Some((batch, climb.hear(batch, *rate)?)))
    }

    #[test]
    fn what_grows_is_climbed_to_the_top() {
        assert_eq!(climb(&[1.0, 1.9, 3.5, 6.0, 7.0, 8.0].map(|value| rate(value, 0.1))), None);
    }

    #[test]
    fn two_falls_in_a_row_end_the_climb_and_one_does_not() {
        let ends = climb(&[5.0, 9.0, 7.0, 6.0, 20.0].map(|value| rate(value, 0.1)));
        assert_eq!(ends.unwrap(), (8, "slower at each of the last 2 doublings".into()));
        assert_eq!(climb(&[5.0, 9.0, 7.0, 10.0, 9.0].map(|value| rate(value, 0.1))), None);
    }

    #[test]
    fn falls_that_the_noise_explains_do_not_count() {
        assert_eq!(climb(&[5.0, 4.9, 4.8].map(|value| rate(value, 0.5))), None);
    }

    #[test]
    fn three_doublings_that_bring_nothing_end_it() {
        let ends = climb(&[5.0, 9.0, 9.1, 9.0, 9.2, 9.3].map(|value| rate(value, 0.5)));
        assert_eq!(ends.unwrap(), (16, "not faster since batch 2".into()));
    }

    #[test]
    fn contenders_are_those_that_noise_alone_may_have_put_behind() {
        let rates =
            [rate(5.0, 0.1), rate(9.0, 0.3), rate(8.8, 0.3), rate(9.1, 0.3), rate(8.9, 0.3)];
        assert_eq!(contenders(&rates, 3), [3, 1, 4]);
        assert_eq!(contenders(&rates[..2], 3), [1]);
        assert_eq!(contenders(&[], 3), [0; 0]);
        let unsure = [Pooled { value: 1.0, interval: None }, rate(9.0, 0.1)];
        assert_eq!(contenders(&unsure, 3), [1, 0], "what has no interval is never told apart");
    }
}
