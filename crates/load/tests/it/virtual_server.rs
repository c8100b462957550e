//! A server on a simulated clock, and the load on it.

use modelmeter_load::{ContentEvent, Dispatcher, Next, Record, Source, TokenCounts};
use std::{cmp::Reverse, collections::BinaryHeap};
use types::RequestOutcome;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;

/// How a server answers: given when a request arrives and what it did before, the moments of its events.
pub(crate) trait Server {
    /// The moments of the events of this request, the last of which ends it.
    fn answer(&mut self, request: u32, arrival: u64) -> Vec<u64>;
}

/// One request after the other, each taking a known time.
pub(crate) struct Fifo {
    pub(crate) service: Vec<u64>,
    free: u64,
}

impl Fifo {
    pub(crate) fn new(service: Vec<u64>) -> Fifo {
        Fifo { service, free: 0 }
    }
}

impl Server for Fifo {
    fn answer(&mut self, request: u32, arrival: u64) -> Vec<u64> {
        let service = self.service[request as usize % self.service.len()];
        self.free = self.free.max(arrival) + service;
        vec![self.free]
    }
}

/// Answers at once, but not within these moments.
pub(crate) struct Frozen {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Server for Frozen {
    fn answer(&mut self, _: u32, arrival: u64) -> Vec<u64> {
        let frozen = (self.from..self.to).contains(&arrival);
        vec![if frozen { self.to } else { arrival } + MS]
    }
}

/// The first event after a time, then one after the other.
pub(crate) struct Tokens {
    pub(crate) first: u64,
    pub(crate) gap: u64,
    pub(crate) count: u64,
}

impl Server for Tokens {
    fn answer(&mut self, _: u32, arrival: u64) -> Vec<u64> {
        (0..self.count).map(|token| arrival + self.first + token * self.gap).collect()
    }
}

/// Runs a load on a simulated clock until the last answer.
pub(crate) fn run(mut dispatcher: Dispatcher, server: &mut dyn Server) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut answers: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut now = 0;
    loop {
        match dispatcher.next(now) {
            Next::Send { request, scheduled, ready } => {
                let moments = server.answer(request, now);
                answers.push(Reverse(*moments.last().expect("an answer")));
                records.push(Record {
                    sent: Some(now),
                    lag: Some(now - ready),
                    events: moments
                        .iter()
                        .map(|at| ContentEvent { at: *at, visible: true, size: 4 })
                        .collect(),
                    ended: moments.last().copied(),
                    outcome: RequestOutcome::Completed,
                    tokens: TokenCounts {
                        completion: Some(moments.len() as u64),
                        ..TokenCounts::default()
                    },
                    ..Record::not_sent(request, scheduled)
                });
            }
            Next::At(moment) => now = answer_until(moment, &mut dispatcher, &mut answers),
            Next::WhenAnswered => {
                let Some(Reverse(at)) = answers.pop() else { break };
                now = at;
                dispatcher.answered(at);
            }
            Next::Finished => break,
        }
    }
    for (place, moment) in dispatcher.unsent().iter().enumerate() {
        records.push(Record::not_sent((dispatcher.sent() + place) as u32, *moment));
    }
    records
}

/// Lets answers come until a moment, or only the first of them.
fn answer_until(
    moment: u64,
    dispatcher: &mut Dispatcher,
    answers: &mut BinaryHeap<Reverse<u64>>,
) -> u64 {
    match answers.peek() {
        Some(Reverse(at)) if *at <= moment => {
            let at = *at;
            answers.pop();
            dispatcher.answered(at);
            at
        }
        _ => moment,
    }
}

/// Every arrival of a constant rate.
pub(crate) fn every(gap: u64, count: u64) -> Source {
    Source::Open((0..count).map(|at| at * gap).collect())
}
