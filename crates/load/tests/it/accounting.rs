//! What the accounting says of servers whose times are known.

use crate::virtual_server::{Fifo, Frozen, MS, SECOND, Tokens, every, run};
use modelmeter_load::{
    Account, Accounting, Dispatcher, Pattern, Record, Schedule, Source, account, window,
};
use types::{Arrivals, LoadLimit, LoadMetric, LoadWindow, RequestOutcome, Seconds, Summary};

fn whole(seconds: f64) -> LoadWindow {
    LoadWindow { from: Seconds(0.0), to: Seconds(seconds) }
}

fn accounted(records: &[Record], window: LoadWindow, limits: &[LoadLimit]) -> Account {
    account(&Accounting {
        records,
        window,
        limits,
        is_open: true,
        generates: true,
        streaming: true,
    })
}

fn summary(account: &Account, metric: LoadMetric) -> Summary {
    let row = account.latencies.iter().find(|row| row.metric == metric).unwrap();
    row.summary.value.clone().unwrap()
}

fn limits(texts: &[&str]) -> Vec<LoadLimit> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_server_that_freezes_for_two_seconds_of_twenty_shows_it() {
    let load = Dispatcher::new(every(10 * MS, 2000), 10_000, 60 * SECOND);
    let records = run(load, &mut Frozen { from: 10 * SECOND, to: 12 * SECOND });
    let found = accounted(&records, whole(20.0), &[]);
    let e2e = summary(&found, LoadMetric::E2e);
    assert!((e2e.p95 - 1.0).abs() < 0.05, "{}", e2e.p95);
    assert!((e2e.p99 - 1.8).abs() < 0.05, "{}", e2e.p99);
    assert!(e2e.median < 0.002);
}

#[test]
fn the_wait_in_the_generator_counts_where_one_request_at_a_time_is_allowed() {
    // 10/s of 500 ms each: every request waits 400 ms longer than the one before.
    let load = Dispatcher::new(every(100 * MS, 9), 100, 60 * SECOND).most_in_flight(1);
    let records = run(load, &mut Fifo::new(vec![500 * MS]));
    let found = accounted(&records, whole(10.0), &[]);
    let expected: f64 = (0..9).map(|at| 0.5 + 0.4 * f64::from(at)).sum::<f64>() / 9.0;
    assert!((summary(&found, LoadMetric::E2e).mean - expected).abs() < 1e-9);
    assert!((summary(&found, LoadMetric::E2eService).mean - 0.5).abs() < 1e-9);
    assert_eq!(summary(&found, LoadMetric::Lag).max, 0.0, "the generator itself was never late");
}

#[test]
fn one_request_at_a_time_of_half_a_second_takes_1932_ms_on_average() {
    // The case of docs/LOAD.md: 500 ms asleep are 507 ms with what a server adds, eight requests come, one every 100 ms.
    let pattern = Pattern { rate: 10.0, ramp_to: None, arrivals: Arrivals::Constant };
    let moments = Schedule::draw(&pattern, 10.0, 8, 1).moments;
    let load = Dispatcher::new(Source::Open(moments), 8, 60 * SECOND).most_in_flight(1);
    let records = run(load, &mut Fifo::new(vec![507 * MS]));
    let found = accounted(&records, whole(10.0), &[]);
    let (e2e, service) =
        (summary(&found, LoadMetric::E2e), summary(&found, LoadMetric::E2eService));
    assert!((e2e.mean - 1.932).abs() < 0.02, "{}", e2e.mean);
    assert!(
        (service.mean - 0.507).abs() < 1e-9,
        "who begins to count at the sending sees {}",
        service.mean
    );
}

#[test]
fn every_latency_of_a_queue_is_that_of_lindley() {
    let pattern = Pattern { rate: 60.0, ramp_to: None, arrivals: Arrivals::Poisson };
    let schedule = Schedule::draw(&pattern, 30.0, 10_000, 4);
    let service: Vec<u64> = (0..97).map(|at| (5 + at % 13) * MS).collect();
    let load = Dispatcher::new(Source::Open(schedule.moments.clone()), 10_000, 90 * SECOND);
    let records = run(load, &mut Fifo::new(service.clone()));
    let mut free = 0;
    for (at, record) in records.iter().enumerate() {
        free = free.max(schedule.moments[at]) + service[at % 97];
        assert_eq!(record.last(), Some(free));
        assert_eq!(record.scheduled, schedule.moments[at]);
    }
}

#[test]
fn tokens_are_timed_from_the_first_content_to_the_last() {
    let load = Dispatcher::new(every(SECOND, 20), 100, 60 * SECOND);
    let records = run(load, &mut Tokens { first: 120 * MS, gap: 10 * MS, count: 8 });
    let found = accounted(&records, whole(20.0), &[]);
    let (ttft, itl, gap) = (
        summary(&found, LoadMetric::Ttft),
        summary(&found, LoadMetric::Itl),
        summary(&found, LoadMetric::Gap),
    );
    assert_eq!((ttft.min, ttft.max), (0.12, 0.12));
    assert_eq!((itl.min, itl.max), (0.01, 0.01));
    assert_eq!(gap.count, 20 * 7, "seven gaps between eight tokens");
    let tokens = found.tokens.unwrap();
    assert_eq!((tokens.completion.value, tokens.events, tokens.estimated), (Some(160), 160, 0));
    assert_eq!(found.rates.tokens.value, Some(8.0));
}

#[test]
fn the_drain_does_not_lower_the_rate() {
    // Ten requests a second for ten seconds, each answered five seconds later: the last answers come at 15 s.
    let load = Dispatcher::new(every(100 * MS, 100), 1000, 60 * SECOND);
    let records = run(load, &mut Tokens { first: 5 * SECOND, gap: MS, count: 1 });
    let part = window(&records, 5.0, true, u64::MAX);
    assert_eq!((part.from.0, part.to.0), (5.0, 9.9));
    let found = accounted(&records, part, &[]);
    let rates = &found.rates;
    assert!((rates.offered.value.unwrap() / 10.0 - 1.0).abs() < 0.03, "{rates:?}");
    assert!((rates.completed.value.unwrap() / 10.0 - 1.0).abs() < 0.03, "{rates:?}");
    assert_eq!(found.counts.warmup, 50);
    assert!(found.counts.drained > 45, "{:?}", found.counts);
}

#[test]
fn goodput_counts_what_meets_every_limit_and_nothing_else() {
    let load = Dispatcher::new(every(100 * MS, 100), 1000, 60 * SECOND);
    let mut records = run(load, &mut Tokens { first: 120 * MS, gap: 10 * MS, count: 8 });
    records[3].outcome = RequestOutcome::Closed;
    records[4].outcome = RequestOutcome::Unanswered;
    records[5].events[3].at += 60 * MS;
    let asked = limits(&["ttft.p99:200ms", "itl.p95:50ms", "gap.p99:50ms"]);
    let found = accounted(&records, whole(10.0), &asked);
    assert_eq!(found.counts.good, Some(97));
    assert_eq!(found.rates.good.value, Some(9.7));
    assert_eq!((found.counts.failed, found.counts.unanswered), (1, 1));
    let ttft = &found.limits[0];
    assert_eq!((ttft.kept, ttft.of), (98, 100), "requests without an answer kept no limit");
    let tight = accounted(&records, whole(10.0), &limits(&["ttft.p99:100ms"]));
    assert_eq!((tight.counts.good, tight.limits[0].holds), (Some(0), Some(false)));
}

#[test]
fn a_single_token_is_neither_bad_nor_divided_by_nothing() {
    let load = Dispatcher::new(every(100 * MS, 50), 1000, 60 * SECOND);
    let records = run(load, &mut Tokens { first: 20 * MS, gap: MS, count: 1 });
    let found = accounted(&records, whole(5.0), &limits(&["itl.p95:50ms", "ttft.p50:50ms"]));
    assert_eq!(found.counts.good, Some(50));
    let row = found.latencies.iter().find(|row| row.metric == LoadMetric::Itl).unwrap();
    assert_eq!(row.summary.value, None);
    assert!(row.summary.why.as_ref().unwrap().contains("no request has an itl"));
}

#[test]
fn what_was_never_sent_counts_as_scheduled_and_as_bad() {
    let load = Dispatcher::new(every(10 * MS, 1000), 10_000, 60 * SECOND)
        .most_in_flight(1)
        .stop_at_backlog(50);
    let records = run(load, &mut Fifo::new(vec![100 * MS]));
    let found = accounted(&records, whole(10.0), &limits(&["p99:200ms"]));
    assert_eq!(found.counts.scheduled, 1000);
    assert!(found.counts.not_sent > 900, "{:?}", found.counts);
    assert_eq!(found.limits[0].holds, Some(false));
}

#[test]
fn a_closed_loop_has_no_offered_rate_and_ends_with_its_answers() {
    let load = Dispatcher::new(Source::Closed { users: 4 }, 10_000, 10 * SECOND);
    let records = run(load, &mut Tokens { first: 80 * MS, gap: 10 * MS, count: 3 });
    let part = window(&records, 2.0, false, 10 * SECOND);
    assert_eq!((part.from.0, part.to.0), (2.0, 10.0));
    let found = account(&Accounting {
        records: &records,
        window: part,
        limits: &[],
        is_open: false,
        generates: true,
        streaming: true,
    });
    assert_eq!(found.rates.offered.value, None);
    assert!((found.rates.completed.value.unwrap() - 40.0).abs() < 1.0, "{:?}", found.rates);
    assert_eq!(summary(&found, LoadMetric::E2e), summary(&found, LoadMetric::E2eService));
}

#[test]
fn whole_answers_have_no_time_to_a_first_token() {
    let load = Dispatcher::new(every(100 * MS, 20), 100, 60 * SECOND);
    let records = run(load, &mut Fifo::new(vec![MS]));
    let of = |generates, streaming| {
        account(&Accounting {
            records: &records,
            window: whole(2.0),
            limits: &[],
            is_open: true,
            generates,
            streaming,
        })
    };
    let why = |account: &Account| account.latencies[0].summary.why.clone().unwrap();
    assert!(why(&of(true, false)).contains("--no-stream"));
    assert!(why(&of(false, false)).contains("token by token"));
    assert!(of(false, false).tokens.is_none());
}
