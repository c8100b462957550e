//! The highest rate that keeps its limits: doubling, then bisection in the logarithm of the rate.
//!
//! A probe that cannot be decided is neither passed nor failed. It stays between the two, and the search closes in on it from
//! both sides: the answer is as wide as what cannot be told.

use types::{ProbeOutcome, RateProbe, RateSearch};

/// Where to search, and how closely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPlan {
    /// The first rate.
    pub start: f64,
    /// No rate below this is tried.
    pub lowest: f64,
    /// No rate above this is tried.
    pub highest: f64,
    /// How wide the answer may be: 0.1 is 10 %.
    pub width: f64,
    /// The most probes.
    pub probes: usize,
    /// Below this rate the longest probe has too few requests to tell that a limit holds; 0 where that is not known.
    pub decidable: f64,
    /// How often at most the highest rate that held is measured again, until it has held twice.
    pub confirmations: usize,
}

impl Default for SearchPlan {
    fn default() -> SearchPlan {
        SearchPlan {
            start: 1.0,
            lowest: 0.01,
            highest: 100_000.0,
            width: 0.1,
            probes: 30,
            decidable: 0.0,
            confirmations: 0,
        }
    }
}

/// A search that is asked for its next rate and told what came of it.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    probes: Vec<RateProbe>,
    /// How often a rate that held was measured again.
    again: usize,
    confirmed: Option<f64>,
}

impl Search {
    /// A search that has not begun.
    #[must_use]
    pub fn new(plan: SearchPlan) -> Search {
        Search { plan, probes: Vec::new(), again: 0, confirmed: None }
    }

    /// What came of a probe.
    pub fn tell(&mut self, rate: f64, outcome: ProbeOutcome) {
        if self.explore().is_none() && self.passed() == Some(rate) {
            self.again += 1;
            if outcome == ProbeOutcome::Held {
                self.confirmed = Some(rate);
            }
        }
        self.probes.push(RateProbe { rate, outcome });
    }

    /// The next rate; `None` if the answer is known, or cannot be known more closely.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        self.explore().or_else(|| self.unconfirmed())
    }

    /// The highest rate that held, while it has not held twice. One that breaks is not the highest any more, and the next one has to
    /// be confirmed in its turn.
    fn unconfirmed(&self) -> Option<f64> {
        let passed = self.passed().filter(|_| self.again < self.plan.confirmations)?;
        (self.confirmed != Some(passed)).then_some(passed)
    }

    /// The next rate that was not tried.
    fn explore(&self) -> Option<f64> {
        let SearchPlan { start, lowest, highest, width, probes, .. } = self.plan;
        let lowest = lowest.min(highest);
        if self.probes.len() >= probes {
            return None;
        }
        if self.probes.is_empty() {
            return Some(start.clamp(lowest, highest));
        }
        let tried = |rate: f64| self.probes.iter().any(|probe| probe.rate == rate);
        match (self.passed(), self.failed()) {
            (None, Some(failed)) => {
                // Nothing held yet: halve below everything that was tried. Where the lowest one was not decided, a lower one with
                // even fewer requests will not be either.
                let least = self.probes.iter().map(|probe| probe.rate).fold(failed, f64::min);
                let next = (least / 2.0).max(lowest);
                let is_told = least == failed || next >= self.plan.decidable;
                (is_told && !tried(next)).then_some(next)
            }
            // Where nothing could be decided, a higher rate has more requests to decide by.
            (_, None) => {
                let most = self.probes.iter().map(|probe| probe.rate).fold(0.0, f64::max);
                let next = (most * 2.0).min(highest);
                (!tried(next)).then_some(next)
            }
            (Some(passed), Some(failed)) => self.between(passed, failed, width),
        }
    }

    /// The middle of the wider end: from what held, and from what broke, to the nearest probe that was not decided.
    fn between(&self, passed: f64, failed: f64, width: f64) -> Option<f64> {
        if failed / passed <= 1.0 + width {
            return None;
        }
        let inside: Vec<f64> = self
            .probes
            .iter()
            .filter(|probe| probe.outcome == ProbeOutcome::Undecided)
            .map(|probe| probe.rate)
            // A rate that held once and was not decided when it was measured again is no gap in the answer.
            .filter(|rate| passed < *rate && *rate < failed)
            .collect();
        let low = inside.iter().copied().fold(failed, f64::min);
        let high = inside.iter().copied().fold(passed, f64::max);
        let (from, to) = match inside.is_empty() {
            true => (passed, failed),
            false if low / passed >= failed / high => (passed, low),
            false => (high, failed),
        };
        let finest = if inside.is_empty() { 1.0 + width } else { 1.0 + width / 4.0 };
        (to / from > finest).then(|| (from * to).sqrt())
    }

    /// The highest rate that held, below everything that broke.
    fn passed(&self) -> Option<f64> {
        let below = self.failed().unwrap_or(f64::INFINITY);
        let held = self.probes.iter().filter(|probe| probe.outcome == ProbeOutcome::Held);
        held.map(|probe| probe.rate).filter(|rate| *rate < below).max_by(f64::total_cmp)
    }

    /// The lowest rate that broke.
    fn failed(&self) -> Option<f64> {
        let broken = self.probes.iter().filter(|probe| probe.outcome == ProbeOutcome::Broken);
        broken.map(|probe| probe.rate).min_by(f64::total_cmp)
    }

    /// What is known by now.
    #[must_use]
    pub fn found(&self) -> RateSearch {
        let passed = self.passed();
        RateSearch {
            passed,
            failed: self.failed(),
            confirmed: self.confirmed.filter(|rate| passed == Some(*rate)),
            probes: self.probes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(plan: SearchPlan, probe: impl Fn(f64) -> ProbeOutcome) -> RateSearch {
        let mut search = Search::new(plan);
        while let Some(rate) = search.next_rate() {
            search.tell(rate, probe(rate));
        }
        search.found()
    }

    fn sharp(limit: f64) -> impl Fn(f64) -> ProbeOutcome {
        move |rate| if rate <= limit { ProbeOutcome::Held } else { ProbeOutcome::Broken }
    }

    #[test]
    fn a_limit_is_enclosed_as_closely_as_asked() {
        for limit in [0.3, 1.0, 31.9, 32.0, 4567.0] {
            let found = run(SearchPlan::default(), sharp(limit));
            let (passed, failed) = (found.passed.unwrap(), found.failed.unwrap());
            assert!(passed <= limit && limit < failed, "{limit}: {passed} {failed}");
            assert!(failed / passed <= 1.1, "{limit}: {passed} {failed}");
            assert!(found.probes.len() <= 22, "{limit}: {}", found.probes.len());
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_inside_the_answer() {
        let vague = |rate: f64| match rate {
            rate if rate < 28.0 => ProbeOutcome::Held,
            rate if rate > 36.0 => ProbeOutcome::Broken,
            _ => ProbeOutcome::Undecided,
        };
        let found = run(SearchPlan::default(), vague);
        let (passed, failed) = (found.passed.unwrap(), found.failed.unwrap());
        assert!(
            (27.0..28.0).contains(&passed) && (36.0..37.5).contains(&failed),
            "{passed} {failed}"
        );
        assert!(found.probes.len() < 30, "it ends: {}", found.probes.len());
    }

    #[test]
    fn a_start_with_too_few_requests_leads_to_rates_with_more() {
        let few = |rate: f64| match rate {
            rate if rate < 5.0 => ProbeOutcome::Undecided,
            rate if rate < 50.0 => ProbeOutcome::Held,
            _ => ProbeOutcome::Broken,
        };
        let found = run(SearchPlan::default(), few);
        assert!((45.0..50.0).contains(&found.passed.unwrap()), "{found:?}");
    }

    #[test]
    fn the_ends_of_the_range_end_the_search() {
        let plan = SearchPlan { start: 10.0, lowest: 1.0, highest: 100.0, ..SearchPlan::default() };
        let all = run(plan, |_| ProbeOutcome::Held);
        assert_eq!((all.passed, all.failed), (Some(100.0), None));
        let none = run(plan, |_| ProbeOutcome::Broken);
        assert_eq!((none.passed, none.failed), (None, Some(1.0)));
        let unknown = run(plan, |_| ProbeOutcome::Undecided);
        assert_eq!((unknown.passed, unknown.failed), (None, None));
        assert!(unknown.probes.len() <= 30);
    }

    #[test]
    fn halving_ends_where_fewer_requests_could_not_tell_either() {
        let busy = |rate: f64| match rate {
            rate if rate < 160.0 => ProbeOutcome::Undecided,
            _ => ProbeOutcome::Broken,
        };
        let plan = SearchPlan { start: 10.0, decidable: 4.59, ..SearchPlan::default() };
        let found = run(plan, busy);
        assert_eq!((found.passed, found.failed), (None, Some(160.0)));
        assert!(!found.lowest_broke(), "nothing is known below: {found:?}");
        let rates: Vec<f64> = found.probes.iter().map(|probe| probe.rate).collect();
        assert_eq!(rates, [10.0, 20.0, 40.0, 80.0, 160.0, 5.0]);
        let all = run(plan, |_| ProbeOutcome::Broken);
        assert!(all.lowest_broke() && all.probes.last().unwrap().rate == 0.01, "{all:?}");
    }

    #[test]
    fn a_rate_below_every_lowest_one_is_no_panic() {
        let plan = SearchPlan { highest: 0.001, ..SearchPlan::default() };
        assert_eq!(run(plan, |_| ProbeOutcome::Held).passed, Some(0.001));
    }

    #[test]
    fn a_confirmation_that_breaks_leaves_a_rate_that_is_confirmed_in_its_turn() {
        let plan = SearchPlan { confirmations: 4, ..SearchPlan::default() };
        let mut search = Search::new(plan);
        let (mut broken, mut rates) = (0, Vec::new());
        while let Some(rate) = search.next_rate() {
            // The highest rate that held breaks once when it is measured again.
            let is_again = rates.contains(&rate);
            let outcome = match rate {
                rate if rate > 32.0 || (is_again && broken == 0) => ProbeOutcome::Broken,
                _ => ProbeOutcome::Held,
            };
            broken += u32::from(is_again && outcome == ProbeOutcome::Broken);
            rates.push(rate);
            search.tell(rate, outcome);
        }
        let found = search.found();
        assert_eq!(broken, 1);
        assert!(found.confirmed.is_some() && found.confirmed == found.passed, "{found:?}");
        let passed = found.passed.unwrap();
        assert_eq!(rates.iter().filter(|rate| **rate == passed).count(), 2, "{rates:?}");
    }

    #[test]
    fn a_confirmation_that_cannot_be_decided_is_none() {
        let plan = SearchPlan { confirmations: 3, ..SearchPlan::default() };
        let mut search = Search::new(plan);
        let mut rates: Vec<f64> = Vec::new();
        while let Some(rate) = search.next_rate() {
            let outcome = match rates.contains(&rate) {
                true => ProbeOutcome::Undecided,
                false => sharp(32.0)(rate),
            };
            rates.push(rate);
            search.tell(rate, outcome);
        }
        let found = search.found();
        let passed = found.passed.unwrap();
        assert_eq!(found.confirmed, None);
        assert_eq!(rates.iter().filter(|rate| **rate == passed).count(), 1 + 3, "{rates:?}");
        assert!(found.failed.unwrap() / passed <= 1.1, "{found:?}");
    }

    #[test]
    fn a_rate_that_held_above_one_that_broke_does_not_count() {
        let mut search = Search::new(SearchPlan::default());
        search.tell(8.0, ProbeOutcome::Held);
        search.tell(16.0, ProbeOutcome::Held);
        search.tell(12.0, ProbeOutcome::Broken);
        assert_eq!((search.found().passed, search.found().failed), (Some(8.0), Some(12.0)));
    }
}
