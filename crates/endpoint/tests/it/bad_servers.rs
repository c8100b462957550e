//! Servers that fail in every way: each request says how.

use crate::{
    running::{job, run},
    scripted_server::{STREAM_HEAD, ScriptedServer, chat_events, chunk, write_pieces, write_whole},
};
use load::Record;
use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    time::Duration,
};
use types::{Protocol, RequestOutcome};

fn one(
    answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static,
) -> (RequestOutcome, String) {
    let server = ScriptedServer::start(move |_, stream| answer(stream));
    let mut short = job(&server, Protocol::OpenaiChat, 1);
    short.timeout = 300_000_000;
    let record: Record = run(&short).records.remove(0);
    (record.outcome, record.why.unwrap_or_default())
}

#[test]
fn html_is_no_answer() {
    let (outcome, why) = one(|stream| {
        write_whole(stream, "200 OK", "text/html", b"<html><body>welcome</body></html>")
    });
    assert_eq!(outcome, RequestOutcome::Protocol);
    assert!(why.contains("text/html") && why.contains("openai-chat"), "{why}");
}

#[test]
fn json_where_events_were_asked_for_is_no_answer() {
    let (outcome, why) = one(|stream| {
        let body = br#"{"choices":[{"message":{"content":"x"}}]}"#;
        write_whole(stream, "200 OK", "application/json", body)
    });
    assert_eq!(outcome, RequestOutcome::Protocol);
    assert!(why.contains("not a stream"), "{why}");
}

#[test]
fn a_status_comes_with_what_the_server_says() {
    let (outcome, why) = one(|stream| {
        let body = br#"{"error":{"message":"no such model","type":"not_found"}}"#;
        write_whole(stream, "404 Not Found", "application/json", body)
    });
    assert_eq!((outcome, why.as_str()), (RequestOutcome::Status, "status 404: no such model"));
}

#[test]
fn a_redirect_is_not_followed() {
    let (outcome, why) = one(|stream| {
        let head = "HTTP/1.1 307 Moved\r\nlocation: http://elsewhere.example/\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(head.as_bytes()).is_ok()
    });
    assert_eq!(outcome, RequestOutcome::Redirect);
    assert!(why.contains("elsewhere.example"), "{why}");
}

#[test]
fn a_stream_that_is_cut_keeps_what_came() {
    let server = ScriptedServer::start(|_, stream| {
        let events = chat_events(&["a", "b", "c"], 3);
        let mut pieces = vec![(0, STREAM_HEAD.as_bytes().to_vec())];
        pieces.extend(events[..3].iter().map(|event| (0, chunk(event.as_bytes()))));
        write_pieces(stream, &pieces);
        false
    });
    let record = run(&job(&server, Protocol::OpenaiChat, 1)).records.remove(0);
    assert_eq!(record.outcome, RequestOutcome::Closed, "{record:?}");
    assert_eq!(record.events.len(), 2);
    assert_eq!(server.requests(), 1, "what has begun is not asked again");
}

#[test]
fn a_stream_that_never_ends_is_given_up() {
    let (outcome, why) = one(|stream| {
        let event = chunk(chat_events(&["x"], 1)[1].as_bytes());
        let _ = stream.write_all(STREAM_HEAD.as_bytes());
        while stream.write_all(&event).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    });
    assert_eq!(outcome, RequestOutcome::Timeout);
    assert!(why.contains("0.3 s"), "{why}");
}

#[test]
fn a_huge_answer_does_not_fill_the_memory() {
    let (outcome, why) = one(|stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n";
        let part = vec![b' '; 1 << 16];
        let _ = stream.write_all(head.as_bytes());
        (0..1600).all(|_| stream.write_all(&part).is_ok())
    });
    assert_eq!(outcome, RequestOutcome::TooLarge);
    assert!(why.contains("1 MiB"), "{why}");
}

#[test]
fn an_error_inside_a_stream_is_one_of_the_server() {
    let (outcome, why) = one(|stream| {
        let event = chunk(b"data: {\"error\":{\"message\":\"out of memory\"}}\n\n");
        write_pieces(stream, &[(0, STREAM_HEAD.as_bytes().to_vec()), (0, event)]);
        false
    });
    assert_eq!((outcome, why.as_str()), (RequestOutcome::Server, "out of memory"));
}

#[test]
fn what_is_not_http_is_told_so() {
    let (outcome, why) = one(|stream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        false
    });
    assert_eq!(outcome, RequestOutcome::Protocol);
    assert!(why.contains("not HTTP"), "{why}");
}

#[test]
fn an_address_where_nobody_listens_ends_the_load_before_it_begins() {
    let server = ScriptedServer::start(|_, _| false);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut nowhere = job(&server, Protocol::Http, 1);
    nowhere.target.address = format!("http://{free}/").parse().unwrap();
    let heard = run(&nowhere);
    assert!(heard.failed.unwrap().contains("no connection to http://127.0.0.1"));
    assert!(heard.records.is_empty());
    let mut unnamed = job(&server, Protocol::Http, 1);
    unnamed.target.address = "http://nobody.invalid/".parse().unwrap();
    assert!(run(&unnamed).failed.unwrap().contains("nobody.invalid"));
}

#[test]
fn a_plain_server_does_not_speak_tls() {
    let server = ScriptedServer::start(|_, _| false);
    let mut encrypted = job(&server, Protocol::Http, 1);
    encrypted.target.address.encrypted = true;
    // It closes what it does not understand.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    encrypted.target.address.port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = (&stream).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let failed = run(&encrypted).failed.unwrap();
    assert!(failed.contains("no encrypted connection"), "{failed}");
}
