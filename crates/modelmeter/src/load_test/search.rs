//! The highest rate that keeps its limits. Every probe is a load of its own, with a generator of its own.

use super::{LoadTarget, LoadTest};
use crate::{Error, Session};
use ::load::{Search, SearchPlan};
use endpoint::Live;
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Arrivals, ProbeOutcome, Rate, RateSearch, Run, Scenario};

/// How many times the asked duration a probe takes, one after the other, until it can be decided.
const LONGER: [u32; 3] = [1, 2, 4];

/// Where to begin, and how closely to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateQuestion {
    /// The first rate.
    pub start: f64,
    /// How gaps are drawn.
    pub arrivals: Arrivals,
    /// No rate above this is tried.
    pub highest: f64,
    /// How wide the answer may be: 0.1 is 10 %.
    pub width: f64,
    /// How often the highest rate that held is measured again.
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
        hear: &mut dyn FnMut(f64, &Live),
    ) -> Result<FoundRate, Error> {
        if self.limits.is_empty() {
            return Err(Error::Rule("a search needs a limit: `--slo p99:200ms`".into()));
        }
        let mut search = Search::new(SearchPlan {
            start: question.start,
            highest: question.highest,
            width: question.width,
            ..SearchPlan::default()
        });
        let mut runs = Vec::new();
        let mut confirmed = 0;
        while !stop.load(Ordering::Relaxed) {
            let next = search.next_rate();
            let rate = match (next, search.found().passed) {
                (Some(rate), _) => rate,
                (None, Some(passed)) if confirmed < question.confirmations => {
                    confirmed += 1;
                    passed
                }
                (None, _) => break,
            };
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
            for longer in LONGER {
                let probe = LoadTest { duration: probe.duration * longer, ..probe.clone() };
                let run = probe.run(target, session, stop, &mut |live| hear(rate, live))?;
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
