//! Requests that wait for one engine, and when it takes how many of them: a machine of states that knows no clock.
//!
//! The rules are those of [`simulate`](crate::simulate()): a batch begins when the engine is free and either as many requests wait as
//! fit, or the oldest has waited long enough. So a measured queue and a simulated one can be compared.

use crate::{Batching, Dispatcher, Next, Record, Source};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use types::RequestOutcome;

/// What an engine has to serve, and how. Times are nanoseconds from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingPlan {
    /// Where requests come from.
    pub source: Source,
    /// The most requests.
    pub max_requests: usize,
    /// No request comes from this moment on.
    pub until: u64,
    /// How long waiting requests are served after the last one came.
    pub drain: u64,
    /// More requests than this that wait end the load.
    pub backlog: Option<usize>,
    /// The most requests that are served or wait; more stay with whoever asks, and their wait counts.
    pub max_in_flight: Option<usize>,
    /// How requests are put together.
    pub batching: Batching,
}

/// Requests that were served, in the order of the schedule, one list a column. Times are nanoseconds from the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServedRequests {
    /// When the schedule wanted it.
    pub scheduled: Vec<u64>,
    /// When the engine took it up.
    pub began: Vec<u64>,
    /// When its answer was complete.
    pub ended: Vec<u64>,
    /// How late it was taken up: after the moment at which its batch was full or had waited enough and the engine was free.
    pub lag: Vec<u64>,
    /// Requests in its batch.
    pub batch: Vec<u32>,
    /// Its tokens, where requests are texts of several lengths; else empty.
    #[serde(default)]
    pub tokens: Vec<u32>,
    /// Tokens of the longest request of its batch, which is as long as all of them became.
    #[serde(default)]
    pub length: Vec<u32>,
}

impl ServedRequests {
    /// Adds what came later.
    pub fn append(&mut self, mut later: ServedRequests) {
        self.scheduled.append(&mut later.scheduled);
        self.began.append(&mut later.began);
        self.ended.append(&mut later.ended);
        self.lag.append(&mut later.lag);
        self.batch.append(&mut later.batch);
        self.tokens.append(&mut later.tokens);
        self.length.append(&mut later.length);
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scheduled.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scheduled.is_empty()
    }

    /// One record a request; those of a schedule that were never taken up are at the end.
    #[must_use]
    pub fn records(&self, plan: &ServingPlan) -> Vec<Record> {
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let served = (0..self.len()).map(|at| Record {
            sent: Some(self.began[at]),
            lag: Some(self.lag[at]),
            ended: Some(self.ended[at]),
            outcome: RequestOutcome::Completed,
            ..Record::not_sent(number(at), self.scheduled[at])
        });
        let rest = match &plan.source {
            Source::Open(moments) => {
                let end = moments.len().min(plan.max_requests);
                moments.get(self.len()..end).unwrap_or_default()
            }
            Source::Closed { .. } | Source::Bursts { .. } => &[],
        };
        let rest = rest.iter().enumerate();
        let rest = rest.map(|(at, moment)| Record::not_sent(number(self.len() + at), *moment));
        served.chain(rest).collect()
    }
}

/// What an engine does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serve {
    /// Take up so many requests at once.
    Batch(usize),
    /// Nothing until this moment.
    At(u64),
    /// Nothing any more.
    Finished,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    scheduled: u64,
    ready: u64,
}

/// The queue before an engine.
#[derive(Debug, Clone)]
pub struct Batcher {
    dispatcher: Dispatcher,
    batching: Batching,
    waiting: VecDeque<Waiting>,
    /// When the engine became free.
    free: u64,
    /// When the last request came; waiting ones are served for so long after it.
    drain: u64,
    last: u64,
}

impl Batcher {
    /// A queue that nothing has come to yet.
    #[must_use]
    pub fn new(plan: &ServingPlan) -> Batcher {
        let mut dispatcher = Dispatcher::new(plan.source.clone(), plan.max_requests, plan.until);
        if let Some(most) = plan.max_in_flight {
            dispatcher = dispatcher.most_in_flight(most);
        }
        if let Some(backlog) = plan.backlog {
            dispatcher = dispatcher.stop_at_backlog(backlog);
        }
        let batching = Batching { most: plan.batching.most.max(1), ..plan.batching };
        Batcher {
            dispatcher,
            batching,
            waiting: VecDeque::new(),
            free: 0,
            drain: plan.drain,
            last: 0,
        }
    }

    /// What the engine, which is free, does at this moment.
    pub fn next(&mut self, now: u64) -> Serve {
        let next = loop {
            match self.dispatcher.next(now) {
                Next::Send { scheduled, ready, .. } => {
                    self.last = now;
                    self.waiting.push_back(Waiting { scheduled, ready });
                }
                next => break next,
            }
        };
        let Some(due) = self.due() else {
            return match next {
                Next::At(moment) => Serve::At(moment),
                _ => Serve::Finished,
            };
        };
        if now.saturating_sub(self.last) > self.drain {
            return Serve::Finished;
        }
        if now >= due {
            return Serve::Batch(self.waiting.len().min(self.batching.most));
        }
        match next {
            Next::At(moment) => Serve::At(moment.min(due)),
            _ => Serve::At(due),
        }
    }

    /// When the next batch can begin if nothing more comes; `None` if nothing waits.
    fn due(&self) -> Option<u64> {
        let first = self.waiting.front()?;
        let waited = first.ready.saturating_add(self.batching.wait);
        let full = self.waiting.get(self.batching.most - 1).map(|last| last.ready);
        Some(full.map_or(waited, |full| full.min(waited)).max(self.free))
    }

    /// The engine took up a batch of [`Batcher::next`] and has finished it.
    pub fn served(&mut self, count: usize, began: u64, ended: u64, into: &mut ServedRequests) {
        let lag = began.saturating_sub(self.due().unwrap_or(began));
        for one in self.waiting.drain(..count.min(self.waiting.len())) {
            into.scheduled.push(one.scheduled);
            into.began.push(began);
            into.ended.push(ended);
            into.lag.push(lag);
            into.batch.push(u32::try_from(count).unwrap_or(u32::MAX));
            self.dispatcher.answered(ended);
        }
        self.free = ended;
    }

    /// Requests that came and were not taken up.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether it ended because too many requests waited.
    #[must_use]
    pub fn is_overrun(&self) -> bool {
        self.dispatcher.is_overrun_by_backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, Routing, Schedule, ServiceTimes, simulate};
    use types::Arrivals;

    const MS: u64 = 1_000_000;

    fn plan(source: Source, most: usize, wait: u64) -> ServingPlan {
        ServingPlan {
            source,
            max_requests: 100_000,
            until: 1_000_000 * MS,
            drain: u64::MAX,
            backlog: None,
            max_in_flight: None,
            batching: Batching { most, wait },
        }
    }

    /// Serves everything on a clock that is only counted; a batch takes `time`.
    fn serve(plan: &ServingPlan, time: impl Fn(usize) -> u64) -> ServedRequests {
        let (mut batcher, mut now, mut found) = (Batcher::new(plan), 0, ServedRequests::default());
        loop {
            match batcher.next(now) {
                Serve::Finished => return found,
                Serve::At(moment) => now = moment,
                Serve::Batch(count) => {
                    let began = now;
                    now += time(count);
                    batcher.served(count, began, now, &mut found);
                }
            }
        }
    }

    #[test]
    fn what_is_served_is_what_the_simulation_says() {
        let pattern = Pattern { rate: 300.0, ramp_to: None, arrivals: Arrivals::Poisson };
        let arrivals = Schedule::draw(&pattern, 20.0, 100_000, 3).moments;
        let times = ServiceTimes::new([(1, vec![5 * MS]), (8, vec![12 * MS])]);
        for (most, wait) in [(1, 0), (8, 0), (8, 10 * MS)] {
            let plan = plan(Source::Open(arrivals.clone()), most, wait);
            let found = serve(&plan, |count| (5 + count as u64 - 1) * MS);
            let batching = Batching { most, wait };
            let simulated = simulate(&arrivals, &times, 1, Routing::OneQueue, batching, 1);
            let latencies: Vec<u64> =
                found.ended.iter().zip(&found.scheduled).map(|(end, from)| end - from).collect();
            assert_eq!(latencies, simulated.latencies, "{most} {wait}");
            assert!(found.lag.iter().all(|lag| *lag == 0));
        }
    }

    #[test]
    fn users_and_bursts_are_served_without_a_schedule() {
        let users = ServingPlan { max_requests: 10, ..plan(Source::Closed { users: 4 }, 4, 0) };
        let found = serve(&users, |_| 10 * MS);
        assert_eq!(found.batch, [4, 4, 4, 4, 4, 4, 4, 4, 2, 2]);
        assert_eq!(found.ended.last(), Some(&(30 * MS)));
        let bursts = ServingPlan { max_requests: 6, ..plan(Source::Bursts { streams: 3 }, 2, 0) };
        let found = serve(&bursts, |_| MS);
        assert_eq!(found.batch, [2, 2, 1, 2, 2, 1]);
        assert_eq!(found.scheduled, [0, 0, 0, 2 * MS, 2 * MS, 2 * MS]);
    }

    #[test]
    fn who_begins_late_has_a_lag_and_only_that_is_one() {
        let mut batcher = Batcher::new(&plan(Source::Open(vec![0, 0]), 1, 0));
        let mut found = ServedRequests::default();
        assert_eq!(batcher.next(0), Serve::Batch(1));
        batcher.served(1, 3, 100, &mut found);
        assert_eq!(batcher.next(107), Serve::Batch(1));
        batcher.served(1, 107, 200, &mut found);
        assert_eq!(found.lag, [3, 7], "a wait for the engine is none of the generator");
    }

    #[test]
    fn what_was_not_taken_up_is_a_record_too() {
        let plan = ServingPlan { drain: 5, ..plan(Source::Open(vec![0, 0, 50]), 1, 0) };
        let mut batcher = Batcher::new(&plan);
        let mut found = ServedRequests::default();
        assert_eq!(batcher.next(0), Serve::Batch(1));
        batcher.served(1, 0, 20, &mut found);
        assert_eq!(batcher.next(20), Serve::Finished, "the last one came 20 ago");
        let records = found.records(&plan);
        assert_eq!(records.len(), 3);
        assert!(records[0].is_completed() && records[2].outcome == RequestOutcome::NotSent);
    }
}
