//! Which request is sent next, and when: a machine of states that knows no clock. Somebody who has one asks it.
//!
//! It never moves its schedule. Where no request may be sent because too many are in flight, the waiting ones keep the moment
//! at which they were wanted, so that their wait counts.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Where requests come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A schedule that does not wait for answers: the moments in nanoseconds.
    Open(Vec<u64>),
    /// So many users, each of whom asks again when the last answer has come.
    Closed {
        /// How many.
        users: usize,
    },
    /// So many requests at once; the next ones when all of them are answered.
    Bursts {
        /// How many.
        streams: usize,
    },
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send this request, which was wanted at this moment.
    Send {
        /// Its number.
        request: u32,
        /// When it was wanted.
        scheduled: u64,
        /// When it could first be sent: later where too many were in flight.
        ready: u64,
    },
    /// Nothing until this moment.
    At(u64),
    /// Nothing until an answer comes.
    WhenAnswered,
    /// No request is sent any more.
    Finished,
}

/// Which request is sent next, and when.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    source: Source,
    /// The most requests in flight.
    most_in_flight: usize,
    /// The most requests in all.
    most: usize,
    /// No request is sent from this moment on.
    until: u64,
    /// More requests than this due and unanswered end the load: it can only get worse.
    backlog: Option<usize>,
    sent: usize,
    in_flight: usize,
    /// When users without a request became free.
    free: VecDeque<u64>,
    /// When the last place among the requests in flight became free, while all were taken.
    released: u64,
    overrun: bool,
}

impl Dispatcher {
    /// A source of requests: at most `most` of them, none from `until` on.
    #[must_use]
    pub fn new(source: Source, most: usize, until: u64) -> Dispatcher {
        let free = match &source {
            Source::Open(_) => VecDeque::new(),
            Source::Closed { users } => std::iter::repeat_n(0, *users).collect(),
            Source::Bursts { streams } => std::iter::repeat_n(0, *streams).collect(),
        };
        Dispatcher {
            source,
            most_in_flight: usize::MAX,
            most: most.min(u32::MAX as usize),
            until,
            backlog: None,
            sent: 0,
            in_flight: 0,
            free,
            released: 0,
            overrun: false,
        }
    }

    /// At most so many requests are in flight; the others wait here.
    #[must_use]
    pub fn most_in_flight(self, most: usize) -> Dispatcher {
        Dispatcher { most_in_flight: most.max(1), ..self }
    }

    /// Ends where more requests than this are due and not answered.
    #[must_use]
    pub fn stop_at_backlog(self, backlog: usize) -> Dispatcher {
        Dispatcher { backlog: Some(backlog), ..self }
    }

    /// What is to be done at this moment; a request that it names counts as sent.
    pub fn next(&mut self, now: u64) -> Next {
        if self.sent >= self.most || now >= self.until || self.overrun {
            return Next::Finished;
        }
        let scheduled = match &self.source {
            Source::Open(moments) => {
                let Some(moment) = moments.get(self.sent).copied() else { return Next::Finished };
                if moment > now {
                    return Next::At(moment.min(self.until));
                }
                if self.is_overrun(moments, now) {
                    self.overrun = true;
                    return Next::Finished;
                }
                if self.in_flight >= self.most_in_flight {
                    return Next::WhenAnswered;
                }
                moment
            }
            Source::Closed { .. } | Source::Bursts { .. } => match self.free.pop_front() {
                Some(moment) => moment,
                None => return Next::WhenAnswered,
            },
        };
        let request = self.sent as u32;
        self.sent += 1;
        self.in_flight += 1;
        Next::Send { request, scheduled, ready: scheduled.max(self.released) }
    }

    /// A request was answered, or failed, at this moment.
    pub fn answered(&mut self, now: u64) {
        if self.in_flight >= self.most_in_flight {
            self.released = now;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        match self.source {
            Source::Open(_) => {}
            Source::Closed { .. } => self.free.push_back(now),
            Source::Bursts { streams } if self.in_flight == 0 => {
                self.free = std::iter::repeat_n(now, streams).collect();
            }
            Source::Bursts { .. } => {}
        }
    }

    /// Requests that were sent and not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Requests that were sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Whether it ended because too many requests waited.
    #[must_use]
    pub fn is_overrun_by_backlog(&self) -> bool {
        self.overrun
    }

    /// Moments of the schedule that were never sent.
    #[must_use]
    pub fn unsent(&self) -> &[u64] {
        match &self.source {
            Source::Open(moments) => {
                let end = moments.len().min(self.most);
                moments.get(self.sent..end).unwrap_or_default()
            }
            _ => &[],
        }
    }

    fn is_overrun(&self, moments: &[u64], now: u64) -> bool {
        let Some(most) = self.backlog else { return false };
        // As many as are in flight, and those that are due and wait here.
        let place = self.sent + most.saturating_sub(self.in_flight);
        moments.get(place).is_some_and(|moment| *moment <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_has_to_wait_keeps_the_moment_at_which_it_was_wanted() {
        let mut dispatcher =
            Dispatcher::new(Source::Open(vec![10, 20, 30]), 10, 1000).most_in_flight(1);
        assert_eq!(dispatcher.next(0), Next::At(10));
        assert_eq!(dispatcher.next(10), Next::Send { request: 0, scheduled: 10, ready: 10 });
        assert_eq!(dispatcher.next(20), Next::WhenAnswered);
        dispatcher.answered(500);
        assert_eq!(dispatcher.next(500), Next::Send { request: 1, scheduled: 20, ready: 500 });
        dispatcher.answered(990);
        assert_eq!(dispatcher.next(995), Next::Send { request: 2, scheduled: 30, ready: 990 });
        assert_eq!(dispatcher.next(996), Next::Finished);
        assert!(dispatcher.unsent().is_empty());
    }

    #[test]
    fn users_ask_again_at_the_moment_of_their_answer() {
        let mut dispatcher = Dispatcher::new(Source::Closed { users: 2 }, 4, 1000);
        assert_eq!(dispatcher.next(0), Next::Send { request: 0, scheduled: 0, ready: 0 });
        assert_eq!(dispatcher.next(0), Next::Send { request: 1, scheduled: 0, ready: 0 });
        assert_eq!(dispatcher.next(0), Next::WhenAnswered);
        dispatcher.answered(70);
        assert_eq!(dispatcher.next(75), Next::Send { request: 2, scheduled: 70, ready: 70 });
        dispatcher.answered(80);
        assert_eq!(dispatcher.next(80), Next::Send { request: 3, scheduled: 80, ready: 80 });
        dispatcher.answered(90);
        assert_eq!(dispatcher.next(90), Next::Finished, "the number of requests is bounded");
    }

    #[test]
    fn a_burst_waits_for_the_whole_burst_before_it() {
        let mut dispatcher = Dispatcher::new(Source::Bursts { streams: 2 }, 100, 1000);
        for request in 0..2 {
            assert_eq!(dispatcher.next(0), Next::Send { request, scheduled: 0, ready: 0 });
        }
        dispatcher.answered(50);
        assert_eq!(dispatcher.next(50), Next::WhenAnswered);
        dispatcher.answered(60);
        assert_eq!(dispatcher.next(60), Next::Send { request: 2, scheduled: 60, ready: 60 });
    }

    #[test]
    fn nothing_is_sent_after_the_end_and_what_was_not_is_known() {
        let mut dispatcher = Dispatcher::new(Source::Open(vec![10, 2000]), 10, 1000);
        assert_eq!(dispatcher.next(10), Next::Send { request: 0, scheduled: 10, ready: 10 });
        assert_eq!(dispatcher.next(11), Next::At(1000), "it wakes up at the end");
        assert_eq!(dispatcher.next(1000), Next::Finished);
        assert_eq!(dispatcher.unsent(), [2000]);
        let mut few = Dispatcher::new(Source::Open(vec![1, 2, 3]), 1, 1000);
        assert_eq!(few.next(5), Next::Send { request: 0, scheduled: 1, ready: 1 });
        assert_eq!(few.next(5), Next::Finished);
        assert!(few.unsent().is_empty(), "what was never asked for is not missing");
    }

    #[test]
    fn a_growing_backlog_ends_the_load() {
        let moments: Vec<u64> = (0..100).map(|at| at * 10).collect();
        let mut dispatcher = Dispatcher::new(Source::Open(moments), 1000, 10_000)
            .most_in_flight(1)
            .stop_at_backlog(5);
        assert!(matches!(dispatcher.next(0), Next::Send { .. }));
        assert_eq!(dispatcher.next(40), Next::WhenAnswered);
        assert_eq!(dispatcher.next(50), Next::Finished);
        assert!(dispatcher.is_overrun_by_backlog());
        assert_eq!(dispatcher.unsent().len(), 99);
    }
}
