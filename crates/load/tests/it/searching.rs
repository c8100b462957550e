//! The search for a rate against a queue whose true rate is known, on a simulated clock.

use crate::virtual_server::{Fifo, MS, SECOND, run};
use modelmeter_load::{Dispatcher, Pattern, Record, Schedule, Search, SearchPlan, Source, decide};
use types::{Arrivals, LoadLimit, ProbeOutcome, RateSearch};

/// One probe of a queue with a fixed service of 10 ms: longer and longer until it can be decided.
fn probe(rate: f64, seed: u64, limit: &LoadLimit) -> ProbeOutcome {
    for seconds in [60.0, 600.0, 6000.0] {
        let pattern = Pattern { rate, ramp_to: None, arrivals: Arrivals::Poisson };
        let moments = Schedule::draw(&pattern, seconds, 1_000_000, seed).moments;
        let load =
            Dispatcher::new(Source::Open(moments), 1_000_000, u64::MAX).stop_at_backlog(1000);
        let records = run(load, &mut Fifo::new(vec![10 * MS]));
        // What the accounting does with this limit, without its summaries of every other time, which cost most.
        let most = (limit.seconds * SECOND as f64) as u64;
        let is_late = |one: &Record| one.last().is_none_or(|last| last - one.scheduled > most);
        let broken: Vec<bool> = records.iter().map(is_late).collect();
        match decide(&broken, 0.99) {
            Some(true) => return ProbeOutcome::Held,
            Some(false) => return ProbeOutcome::Broken,
            None => {}
        }
    }
    ProbeOutcome::Undecided
}

fn search(seed: u64) -> RateSearch {
    let limit: LoadLimit = "p99:30ms".parse().unwrap();
    let mut search = Search::new(SearchPlan { start: 10.0, ..SearchPlan::default() });
    while let Some(rate) = search.next_rate() {
        let outcome = probe(rate, seed ^ rate.to_bits(), &limit);
        search.tell(rate, outcome);
    }
    search.found()
}

#[test]
fn the_true_rate_of_a_queue_is_inside_the_answer() {
    // M/D/1 with 10 ms: 99 % wait at most 20 ms at 32 requests a second.
    let found: Vec<RateSearch> = (0..20).map(search).collect();
    let holds = |one: &&RateSearch| {
        let (passed, failed) = (one.passed.unwrap(), one.failed.unwrap());
        passed <= 32.3 && 31.7 <= failed && failed / passed <= 1.1
    };
    let good = found.iter().filter(holds).count();
    assert!(good >= 19, "{good} of 20: {found:#?}");
}

#[test]
fn a_rate_above_the_service_ends_early() {
    let limit: LoadLimit = "p99:30ms".parse().unwrap();
    let load = {
        let pattern = Pattern { rate: 500.0, ramp_to: None, arrivals: Arrivals::Constant };
        let moments = Schedule::draw(&pattern, 60.0, 1_000_000, 1).moments;
        Dispatcher::new(Source::Open(moments), 1_000_000, u64::MAX)
            .most_in_flight(64)
            .stop_at_backlog(256)
    };
    let records = run(load, &mut Fifo::new(vec![10 * MS]));
    let sent = records.iter().filter(|one| one.sent.is_some()).count();
    assert!(sent < 400, "{sent}");
    // Every 2 ms for 60 s: the one at 60 s is not in it. What was not sent is kept too.
    assert_eq!(records.len(), 29_999);
    assert_eq!(probe(500.0, 1, &limit), ProbeOutcome::Broken);
    assert!(records.iter().all(|one| one.sent.is_none_or(|sent| sent < 60 * SECOND)));
}
