//! The generator itself: how many requests, on which connections, and what is left when it is stopped.

use crate::{
    running::{job, run, run_with},
    scripted_server::{ScriptedServer, write_whole},
};
use load::Source;
use modelmeter_endpoint::{Content, Message};
use std::{sync::mpsc, time::Duration};
use types::{Protocol, RequestOutcome};

fn plain() -> ScriptedServer {
    ScriptedServer::start(|_, stream| write_whole(stream, "200 OK", "text/plain", b"ok"))
}

#[test]
fn the_server_counts_as_many_requests_as_the_generator() {
    let server = plain();
    let closed = run(&job(&server, Protocol::Http, 25));
    assert_eq!(closed.records.len(), 25);
    assert!(closed.records.iter().all(|record| record.outcome == RequestOutcome::Completed));
    assert_eq!(server.requests(), 25);
    assert_eq!(server.connections(), 1, "one user needs one connection");
    let numbers: Vec<u32> = closed.records.iter().map(|record| record.request).collect();
    assert_eq!(numbers, (0..25).collect::<Vec<u32>>());
}

#[test]
fn a_schedule_is_kept_as_it_is() {
    let server = plain();
    let moments: Vec<u64> = (0..50).map(|at| at * 2_000_000).collect();
    let mut open = job(&server, Protocol::Http, 1000);
    open.source = Source::Open(moments.clone());
    let heard = run(&open);
    let scheduled: Vec<u64> = heard.records.iter().map(|record| record.scheduled).collect();
    assert_eq!(scheduled, moments);
    for record in &heard.records {
        assert!(record.sent.unwrap() >= record.scheduled, "never before its time");
        assert!(record.last().unwrap() >= record.sent.unwrap());
    }
    assert_eq!(server.requests(), 50);
    let generator = heard.generator.unwrap();
    assert!(generator.elapsed.0 > 0.0 && generator.processor.0 > 0.0);
}

#[test]
fn requests_wait_where_only_so_many_may_be_in_flight() {
    let server = ScriptedServer::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(10));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let mut capped = job(&server, Protocol::Http, 100);
    capped.source = Source::Open(vec![0; 12]);
    capped.max_in_flight = Some(1);
    let heard = run(&capped);
    assert_eq!((heard.records.len(), server.connections()), (12, 1));
    for pair in heard.records.windows(2) {
        assert!(pair[1].sent.unwrap() >= pair[0].ended.unwrap(), "one at a time");
        assert_eq!(pair[1].scheduled, 0, "the wait counts from the schedule");
    }
}

#[test]
fn bodies_follow_their_order() {
    let (tell, told) = mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let server = ScriptedServer::start(move |request, stream| {
        tell.lock().unwrap().send(request.body.clone()).unwrap();
        assert!(request.head.contains(&"x-test: yes".to_owned()));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let mut ordered = job(&server, Protocol::Http, 6);
    let content = |text: &str| Content {
        body: text.as_bytes().to_vec(),
        content_type: "text/plain".into(),
        inference_header: None,
    };
    ordered.contents = vec![content("a"), content("b"), content("c")];
    ordered.order = vec![2, 0, 1, 1];
    run(&ordered);
    let bodies: Vec<String> =
        told.try_iter().map(|body| String::from_utf8(body).unwrap()).collect();
    assert_eq!(bodies, ["c", "a", "b", "b", "c", "a"]);
}

#[test]
fn a_kept_connection_that_the_server_closes_is_replaced() {
    // Every connection serves one request, but says that it would be kept.
    let server = ScriptedServer::start(|_, stream| {
        write_whole(stream, "200 OK", "text/plain", b"ok");
        false
    });
    let heard = run(&job(&server, Protocol::Http, 10));
    let completed =
        heard.records.iter().filter(|record| record.outcome == RequestOutcome::Completed).count();
    assert_eq!((completed, server.requests()), (10, 10));
    assert_eq!(heard.generator.unwrap().connections, 10);
}

#[test]
fn a_server_killed_in_the_middle_is_counted() {
    let server = ScriptedServer::start(|request, stream| match request.number {
        0..5 => write_whole(stream, "200 OK", "text/plain", b"ok"),
        _ => false,
    });
    let heard = run(&job(&server, Protocol::Http, 12));
    let of = |outcome| heard.records.iter().filter(|record| record.outcome == outcome).count();
    assert_eq!((of(RequestOutcome::Completed), of(RequestOutcome::Closed)), (5, 7));
}

#[test]
fn stopping_keeps_what_was_measured() {
    let server = ScriptedServer::start(|request, stream| {
        if request.number >= 3 {
            std::thread::sleep(Duration::from_secs(20));
        }
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let mut long = job(&server, Protocol::Http, 1000);
    long.timeout = 60_000_000_000;
    // The fourth request is waited for when the pipe is closed.
    let heard = run_with(&long, |message, open| {
        if let Message::Progress(live) = message
            && live.completed >= 3
        {
            *open = None;
        }
    });
    assert!(heard.stopped_at.is_some() && heard.progress > 0);
    let outcomes: Vec<RequestOutcome> = heard.records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes[..3], [RequestOutcome::Completed; 3]);
    assert_eq!(outcomes[3..], [RequestOutcome::Unanswered]);
}

#[test]
fn a_growing_backlog_ends_the_load_early() {
    let server = ScriptedServer::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(200));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let mut flood = job(&server, Protocol::Http, 10_000);
    flood.source = Source::Open((0..5000).map(|at| at * 1_000_000).collect());
    flood.max_in_flight = Some(2);
    flood.backlog = Some(50);
    let heard = run(&flood);
    assert!(heard.overrun);
    assert_eq!(heard.records.len(), 5000, "also those that were never sent");
    assert!(server.requests() < 50);
    let last = heard.records.last().unwrap();
    assert_eq!((last.outcome, last.sent), (RequestOutcome::NotSent, None));
}
