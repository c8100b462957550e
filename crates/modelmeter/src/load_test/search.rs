//! The highest rate that keeps its limits. Every probe is a load of its own, with a generator of its own.

use super::{LoadTarget, LoadTest};
use crate::{Error, Session};
use ::load::{Search, SearchPlan, requests_needed};
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Arrivals, Event, LoadMetric, ProbeOutcome, Rate, RateSearch, Run, Scenario};

/// How many times the asked duration a probe takes, one after the other, until it can be decided.
const LONGER: [u32; 3] = [1, 2, 4];

/// The first rate where nobody gives one and the limits need no higher one.
const START: f64 = 1.0;

/// With fewer requests than this in the longest probe, even a rate that breaks every limit is not told reliably.
const FEWEST: f64 = 11.0;

/// Where to begin, and how closely to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateQuestion {
    /// The first rate; `None` for 1/s, or the lowest one at which the limits can be told to hold in the time.
    pub start: Option<f64>,
    /// How gaps are drawn.
    pub arrivals: Arrivals,
    /// No rate above this is tried.
    pub highest: f64,
    /// How wide the answer may be: 0.1 is 10 %.
    pub width: f64,
    /// How often at most the highest rate that held is measured again, until it has held twice.
    pub confirmations: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRate {
    /// The answer.
    pub search: RateSearch,
    /// The loads, in their order.
    pub runs: Vec<Run>,
}

impl LoadTest {
    /// Searches the highest rate at which every limit holds.
    ///
    /// # Errors
    /// Where no limit was given, or a load cannot be sent at all.
    pub fn find_rate(
        &self,
        question: &RateQuestion,
        target: &LoadTarget,
        session: &mut Session,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<FoundRate, Error> {
        if self.limits.is_empty() {
            return Err(Error::Rule("a search needs a limit: `--slo p99:200ms`".into()));
        }
        let mut search = Search::new(self.search_plan(question));
        let mut runs = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let Some(rate) = search.next_rate() else { break };
            // Another schedule every time: one that was lucky once must not be lucky again.
            let probe = LoadTest {
                scenario: Scenario::Server {
                    rate: Rate(rate),
                    arrivals: question.arrivals,
                    ramp_to: None,
                },
                backlog: Some(self.backlog_at(rate)),
                seed: stats::mix(self.seed ^ runs.len() as u64),
                ..self.clone()
            };
            let label = format!("{}/s", report::significant(rate, 3));
            for longer in LONGER {
                let probe = LoadTest { duration: probe.duration * longer, ..probe.clone() };
                let mut sink = |event: Event| sink(event.labelled(&label));
                let run = probe.run(target, session, stop, &mut sink)?;
                let outcome = outcome(&run);
                let is_enough = outcome != ProbeOutcome::Undecided || is_disturbed(&run);
                runs.push(run);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                // Too few requests to tell: the same rate goes on for longer.
                if is_enough || longer == LONGER[LONGER.len() - 1] {
                    search.tell(rate, outcome);
                    break;
                }
            }
        }
        Ok(FoundRate { search: search.found(), runs })
    }
}

impl LoadTest {
    /// Where the search begins and ends. A rate with too few requests in the longest probe cannot be told to keep the limits.
    fn search_plan(&self, question: &RateQuestion) -> SearchPlan {
        let longest = LONGER[LONGER.len() - 1] as f64;
        let steady = self.duration.saturating_sub(self.warmup).as_secs_f64();
        let span = (longest * steady).max(f64::MIN_POSITIVE);
        let decidable = self.requests_needed() / span;
        let plan = SearchPlan::default();
        SearchPlan {
            start: question.start.unwrap_or_else(|| decidable.max(START)),
            lowest: plan.lowest.max(FEWEST / span),
            highest: question.highest,
            width: question.width,
            decidable,
            confirmations: question.confirmations,
            ..plan
        }
    }

    /// The most requests that one of the limits needs. Gaps are several a request, and a mean needs no certain number.
    fn requests_needed(&self) -> f64 {
        let of_requests = self.limits.iter().filter(|limit| limit.metric != LoadMetric::Gap);
        let shares = of_requests.filter_map(|limit| limit.statistic.share());
        shares.map(requests_needed).fold(FEWEST, f64::max)
    }

    /// So many requests that wait mean that the rate is above what the server can do: ten times as many as fit into the
    /// longest limit.
    fn backlog_at(&self, rate: f64) -> usize {
        const FEWEST: f64 = 64.0;
        let longest = self.limits.iter().map(|limit| limit.seconds).fold(0.0, f64::max);
        (10.0 * rate * longest).max(FEWEST) as usize
    }
}

/// Whether the generator was in the way: a longer load would not help.
fn is_disturbed(run: &Run) -> bool {
    use types::ReasonCode::{GeneratorLate, RateNotKept};
    let is_ours = |code| matches!(code, GeneratorLate | RateNotKept);
    run.verdict.reasons.iter().any(|reason| reason.invalidates && is_ours(reason.code))
}

/// A load that is not valid for another reason than the server says nothing about the server.
fn outcome(run: &Run) -> ProbeOutcome {
    let Some(report) = &run.load else { return ProbeOutcome::Undecided };
    if is_disturbed(run) {
        return ProbeOutcome::Undecided;
    }
    if report.limits.iter().any(|limit| limit.holds == Some(false)) {
        return ProbeOutcome::Broken;
    }
    match report.limits.iter().all(|limit| limit.holds == Some(true)) {
        true => ProbeOutcome::Held,
        false => ProbeOutcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_test::tests::single_stream;
    use std::time::Duration;

    fn question(start: Option<f64>) -> RateQuestion {
        RateQuestion {
            start,
            arrivals: Arrivals::Poisson,
            highest: 1000.0,
            width: 0.1,
            confirmations: 1,
        }
    }

    #[test]
    fn a_search_begins_where_its_limits_can_be_decided() {
        let of = |slo: &str, seconds: u64| LoadTest {
            limits: vec![slo.parse().unwrap()],
            duration: Duration::from_secs(seconds),
            warmup: Duration::from_secs(5),
            ..single_stream()
        };
        // 459 requests in four times 25 s, and 7 for a median, which 1/s has.
        assert_eq!(of("p99:200ms", 30).search_plan(&question(None)).start, 4.59);
        assert_eq!(of("p50:200ms", 30).search_plan(&question(None)).start, 1.0);
        let asked = of("p99:200ms", 30).search_plan(&question(Some(2.0)));
        assert_eq!((asked.start, asked.decidable, asked.lowest), (2.0, 4.59, 0.11));
    }
}
