use crate::bench::{bench, job, scripted};
use engine::ServingJob;
use load::{Batching, ServedRequests, ServingPlan, Source};
use modelmeter_meter::{MeterError, Serving, serve_requests};
use std::time::Duration;

const MS: u64 = 1_000_000;

fn plan(source: Source, most: usize, wait: u64) -> ServingPlan {
    ServingPlan {
        source,
        max_requests: 1000,
        until: 60_000 * MS,
        drain: 60_000 * MS,
        backlog: None,
        max_in_flight: None,
        batching: Batching { most, wait },
    }
}

/// Serves with the fake; `goes_on` is asked after every window.
fn served(
    script: &str,
    plan: ServingPlan,
    goes_on: &mut dyn FnMut(&ServedRequests) -> bool,
) -> Result<Serving, MeterError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let serving = ServingJob { plan, by_row: vec!["x".into()], texts: None };
    let mut hear = |requests: &ServedRequests, _: u64, _: u64| goes_on(requests);
    let timeout = Duration::from_secs(20);
    serve_requests(&job(file.path()), &bench(), &scripted(script), timeout, serving, &mut hear)
}

#[test]
fn a_model_in_a_worker_serves_its_queue_as_lindley_says() {
    // More than it can do at times: 10 ms each, every 8 ms, with pauses.
    let moments: Vec<u64> = (0..60).map(|at| (at * 8 + at / 20 * 100) * MS).collect();
    let found = served("10ms", plan(Source::Open(moments.clone()), 1, 0), &mut |_| true).unwrap();
    let ServedRequests { scheduled, began, ended, lag, batch, .. } = &found.requests;
    assert_eq!(scheduled, &moments);
    let mut free = 0;
    for at in 0..scheduled.len() {
        assert_eq!(began[at], scheduled[at].max(free) + lag[at], "request {at}");
        assert!(ended[at] >= began[at] + 10 * MS);
        free = ended[at];
    }
    assert!(batch.iter().all(|size| *size == 1));
    assert!(!found.is_overrun && found.stopped_at.is_none());
    assert!(found.own < found.elapsed / 10, "{:?} of {:?}", found.own, found.elapsed);
    assert!(found.metrics.iter().any(|metric| metric.key == "memory.peak"));
}

#[test]
fn requests_that_wait_are_answered_together() {
    let found = served("5ms", plan(Source::Open(vec![0; 8]), 3, 0), &mut |_| true).unwrap();
    assert_eq!(found.requests.batch, [3, 3, 3, 3, 3, 3, 2, 2]);
    let users = ServingPlan { max_requests: 7, ..plan(Source::Closed { users: 2 }, 3, 5 * MS) };
    let found = served("1ms", users, &mut |_| true).unwrap();
    // Two users never fill a batch of three: the wait passes every time.
    assert_eq!(found.requests.batch, [2, 2, 2, 2, 2, 2, 1]);
    let waits = found.requests.began.iter().zip(&found.requests.scheduled);
    assert!(waits.clone().all(|(began, scheduled)| began - scheduled >= 5 * MS));
}

#[test]
fn a_load_can_be_stopped_and_a_backlog_ends_it() {
    let moments: Vec<u64> = (0..1000).map(|at| at * 10 * MS).collect();
    let mut windows = 0;
    let mut twice = |_: &ServedRequests| {
        windows += 1;
        windows < 2
    };
    let found = served("1ms", plan(Source::Open(moments.clone()), 1, 0), &mut twice).unwrap();
    assert!(found.stopped_at.is_some() && !found.requests.is_empty());
    assert!(found.requests.len() < 1000);
    let crowded = ServingPlan { backlog: Some(5), ..plan(Source::Open(vec![0; 100]), 1, 0) };
    let found = served("1ms", crowded, &mut |_| true).unwrap();
    assert!(found.is_overrun);
}

#[test]
fn a_model_that_fails_under_load_says_so() {
    // Three inferences come before the first request: the first of all, and one of each size of a batch.
    let source = Source::Open(vec![0; 10]);
    let failed = served("1ms, 1ms, 1ms, fail no luck", plan(source, 1, 0), &mut |_| true);
    assert!(failed.unwrap_err().to_string().contains("no luck"));
}
