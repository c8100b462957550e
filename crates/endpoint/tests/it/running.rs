//! Runs a generator in a thread of this process.

use crate::scripted_server::ScriptedServer;
use load::{Length, Record, Source};
use modelmeter_endpoint::{Bodies, Content, Job, Message, Prompts, Target, serve};
use serde_json::Map;
use std::{
    io::{BufRead, BufReader, PipeWriter},
    thread,
};
use types::{GeneratorReport, Protocol};

/// A job of so many requests, one after the other.
pub(crate) fn job(server: &ScriptedServer, protocol: Protocol, requests: usize) -> Job {
    let streaming = protocol.generates();
    Job {
        target: Target {
            address: server.url("/v1/chat/completions").parse().unwrap(),
            protocol,
            streaming,
            headers: vec![("x-test".into(), "yes".into())],
        },
        contents: vec![Content {
            body: b"{\"messages\":[]}".to_vec(),
            content_type: "application/json".into(),
            inference_header: None,
        }],
        order: vec![0],
        source: Source::Closed { users: 1 },
        max_requests: requests,
        until: 60_000_000_000,
        drain: 10_000_000_000,
        timeout: 10_000_000_000,
        max_in_flight: None,
        backlog: None,
        connections: 1,
        together: false,
        max_answer: 1 << 20,
    }
}

/// What a generator said.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) records: Vec<Record>,
    pub(crate) generator: Option<GeneratorReport>,
    pub(crate) stopped_at: Option<u64>,
    pub(crate) overrun: bool,
    pub(crate) failed: Option<String>,
    pub(crate) progress: usize,
}

/// Runs a job to its end.
pub(crate) fn run(job: &Job) -> Heard {
    run_with(job, |_, _| {})
}

/// The same; the function hears every message and can close the pipe, which stops the load.
pub(crate) fn run_with(
    job: &Job,
    mut hear: impl FnMut(&Message, &mut Option<PipeWriter>),
) -> Heard {
    let (job_reader, mut job_writer) = std::io::pipe().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let generator = thread::spawn(move || serve(BufReader::new(job_reader), writer).unwrap());
    job.write(&mut job_writer).unwrap();
    let mut open = Some(job_writer);
    let mut heard = Heard::default();
    for line in BufReader::new(reader).lines() {
        let message: Message = serde_json::from_str(&line.unwrap()).unwrap();
        hear(&message, &mut open);
        match message {
            Message::Started => {}
            Message::Progress(_) => heard.progress += 1,
            Message::Request(record) => heard.records.push(record),
            Message::Failed { why } => heard.failed = Some(why),
            Message::Done { generator, overrun, stopped_at } => {
                heard.generator = Some(generator);
                heard.overrun = overrun;
                heard.stopped_at = stopped_at;
            }
        }
    }
    generator.join().unwrap();
    heard
}

/// Prompts that are given.
pub(crate) fn prompts() -> Bodies {
    Bodies::Prompts {
        prompts: Prompts::Given(vec!["one".into(), "two".into()]),
        tokens: Length::exactly(8),
        extra: Map::new(),
    }
}
