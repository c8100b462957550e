//! Streams of tokens as servers send them, cut in every way.

use crate::{
    running::{job, run},
    scripted_server::{STREAM_HEAD, ScriptedServer, chat_events, chunk, write_pieces, write_whole},
};
use load::Record;
use types::{Protocol, RequestOutcome};

/// Answers every request with these pieces.
fn streaming(pieces: Vec<Vec<u8>>) -> ScriptedServer {
    ScriptedServer::start(move |_, stream| {
        let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|piece| (0, piece.as_slice())).collect();
        write_pieces(stream, &pieces);
        true
    })
}

fn one(server: &ScriptedServer, protocol: Protocol) -> Record {
    let heard = run(&job(server, protocol, 1));
    assert_eq!(heard.records.len(), 1, "{heard:?}");
    heard.records.into_iter().next().unwrap()
}

/// A chat of eight tokens as chunks.
fn chat(texts: &[&str], tokens: u64) -> Vec<Vec<u8>> {
    let mut pieces = vec![STREAM_HEAD.as_bytes().to_vec()];
    pieces.extend(chat_events(texts, tokens).iter().map(|event| chunk(event.as_bytes())));
    pieces.push(b"0\r\n\r\n".to_vec());
    pieces
}

const EIGHT: [&str; 8] = ["Die", " B", "äu", "me", " sind", " gr", "ün", "."];

fn check(record: &Record) {
    assert_eq!(record.outcome, RequestOutcome::Completed, "{record:?}");
    assert_eq!(record.events.len(), 8, "role, end, usage and done are no content");
    assert_eq!(record.tokens.completion, Some(8));
    assert_eq!(record.tokens.prompt, Some(5));
    let moments: Vec<u64> = record.events.iter().map(|event| event.at).collect();
    assert!(moments.is_sorted() && record.sent.unwrap() <= moments[0]);
    assert!(record.ended.unwrap() >= *moments.last().unwrap());
    assert_eq!(record.events.iter().map(|event| event.size).sum::<u32>(), 20);
}

#[test]
fn a_chat_of_eight_tokens_has_eight_events_with_content() {
    check(&one(&streaming(chat(&EIGHT, 8)), Protocol::OpenaiChat));
}

#[test]
fn a_stream_byte_by_byte_and_one_in_a_single_piece_are_the_same() {
    let whole: Vec<u8> = chat(&EIGHT, 8).concat();
    check(&one(&streaming(vec![whole.clone()]), Protocol::OpenaiChat));
    // Characters are cut in two, and so are lines, chunks and the head.
    let bytes: Vec<Vec<u8>> = whole.chunks(1).map(<[u8]>::to_vec).collect();
    check(&one(&streaming(bytes), Protocol::OpenaiChat));
}

#[test]
fn comments_and_lines_that_end_with_cr_and_lf_change_nothing() {
    let mut pieces = vec![STREAM_HEAD.as_bytes().to_vec()];
    for event in chat_events(&EIGHT, 8) {
        let event = format!(": keep-alive\r\n\r\n{}", event.replace('\n', "\r\n"));
        pieces.push(chunk(event.as_bytes()));
    }
    pieces.push(b"0\r\n\r\n".to_vec());
    check(&one(&streaming(pieces), Protocol::OpenaiChat));
}

#[test]
fn a_stream_that_ends_with_its_connection_is_whole_after_its_last_event() {
    let server = ScriptedServer::start(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
        let body: String = chat_events(&EIGHT, 8).concat();
        write_pieces(stream, &[(0, head), (0, body)]);
        false
    });
    check(&one(&server, Protocol::OpenaiChat));
}

#[test]
fn several_tokens_in_an_event_are_counted_by_the_server() {
    let record = one(&streaming(chat(&["ab", "cd", "ef", "gh"], 8)), Protocol::OpenaiChat);
    assert_eq!((record.events.len(), record.tokens.completion), (4, Some(8)));
    let (_, estimated) = record.token_interval().unwrap();
    assert!(estimated, "how many tokens the first event holds is not known");
}

#[test]
fn reasoning_is_content_that_nobody_sees() {
    let delta =
        |key: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"{key}\":\"x\"}}}}]}}\n\n");
    let events = [delta("reasoning_content"), delta("content"), "data: [DONE]\n\n".into()];
    let mut pieces = vec![STREAM_HEAD.as_bytes().to_vec()];
    pieces.extend(events.iter().map(|event| chunk(event.as_bytes())));
    pieces.push(b"0\r\n\r\n".to_vec());
    let record = one(&streaming(pieces), Protocol::OpenaiChat);
    let visible: Vec<bool> = record.events.iter().map(|event| event.visible).collect();
    assert_eq!(visible, [false, true]);
}

#[test]
fn completions_and_whole_answers_are_understood_too() {
    let completion = "data: {\"choices\":[{\"text\":\"ab\",\"index\":0}]}\n\ndata: [DONE]\n\n";
    let pieces =
        vec![STREAM_HEAD.as_bytes().to_vec(), chunk(completion.as_bytes()), b"0\r\n\r\n".to_vec()];
    let record = one(&streaming(pieces), Protocol::OpenaiCompletions);
    assert_eq!((record.outcome, record.events.len()), (RequestOutcome::Completed, 1));
    let server = ScriptedServer::start(|_, stream| {
        let body =
            br#"{"choices":[{"message":{"content":"four"}}],"usage":{"completion_tokens":1}}"#;
        write_whole(stream, "200 OK", "application/json", body)
    });
    let mut whole = job(&server, Protocol::OpenaiChat, 1);
    whole.target.streaming = false;
    let record = run(&whole).records.remove(0);
    assert_eq!((record.outcome, record.tokens.completion), (RequestOutcome::Completed, Some(1)));
    assert_eq!(record.last(), record.ended);
}
