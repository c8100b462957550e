//! What a generator is told, and what it says: one line of JSON each, and the bodies of requests as they are.

use crate::Address;
use load::{Record, Source};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use types::{GeneratorReport, LoadProgress, Protocol};

/// The most bytes of all bodies: a generator holds them in memory.
const MOST_BODIES: usize = 1 << 30;

/// Where requests go, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The address of every request.
    pub address: Address,
    /// How the server is spoken to.
    pub protocol: Protocol,
    /// Whether answers come in pieces.
    pub streaming: bool,
    /// More lines of the head of every request; keys stand here, so it is never shown.
    pub headers: Vec<(String, String)>,
}

/// One body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The bytes; none for a request without a body.
    pub body: Vec<u8>,
    /// What they are.
    pub content_type: String,
    /// How long the JSON before binary tensors is.
    pub inference_header: Option<usize>,
}

impl Content {
    pub(crate) fn json(body: Vec<u8>) -> Content {
        Content { body, content_type: "application/json".into(), inference_header: None }
    }
}

/// What a generator has to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Where requests go.
    pub target: Target,
    /// Their bodies.
    pub contents: Vec<Content>,
    /// Which body each request has; begins again at its end.
    pub order: Vec<u32>,
    /// Where requests come from.
    pub source: Source,
    /// The most requests.
    pub max_requests: usize,
    /// No request is sent from this moment on, in nanoseconds.
    pub until: u64,
    /// How long answers are waited for after the last request, in nanoseconds.
    pub drain: u64,
    /// The longest that one answer may take, in nanoseconds.
    pub timeout: u64,
    /// The most requests in flight; more wait, and their wait counts.
    pub max_in_flight: Option<usize>,
    /// More requests than this due and unanswered end the load.
    pub backlog: Option<usize>,
    /// Connections that are opened before the start.
    pub connections: usize,
    /// Whether it begins with others: after a line `go`, not as soon as it can.
    pub together: bool,
    /// The most bytes of an answer.
    pub max_answer: usize,
}

/// What a generator says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "says")]
pub enum Message {
    /// The first request can be sent.
    Started,
    /// How it goes.
    Progress(LoadProgress),
    /// What became of a request.
    Request(Record),
    /// Everything was said.
    Done {
        /// What the generator did itself.
        generator: GeneratorReport,
        /// Whether it ended because too many requests waited.
        overrun: bool,
        /// Whether it was stopped from outside, and when.
        stopped_at: Option<u64>,
    },
    /// It cannot begin.
    Failed {
        /// Why.
        why: String,
    },
}

/// The job without its bodies, which follow as they are.
#[derive(Serialize, Deserialize)]
struct Line {
    target: Target,
    contents: Vec<ContentLine>,
    order: Vec<u32>,
    moments: Option<Vec<u64>>,
    users: Option<usize>,
    streams: Option<usize>,
    max_requests: usize,
    until: u64,
    drain: u64,
    timeout: u64,
    max_in_flight: Option<usize>,
    backlog: Option<usize>,
    connections: usize,
    together: bool,
    max_answer: usize,
}

#[derive(Serialize, Deserialize)]
struct ContentLine {
    length: usize,
    content_type: String,
    inference_header: Option<usize>,
}

impl Job {
    /// Tells a generator what to do.
    ///
    /// # Errors
    /// Where it does not listen.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (moments, users, streams) = match &self.source {
            Source::Open(moments) => (Some(moments.clone()), None, None),
            Source::Closed { users } => (None, Some(*users), None),
            Source::Bursts { streams } => (None, None, Some(*streams)),
        };
        let content = |content: &Content| ContentLine {
            length: content.body.len(),
            content_type: content.content_type.clone(),
            inference_header: content.inference_header,
        };
        let line = Line {
            target: self.target.clone(),
            contents: self.contents.iter().map(content).collect(),
            order: self.order.clone(),
            moments,
            users,
            streams,
            max_requests: self.max_requests,
            until: self.until,
            drain: self.drain,
            timeout: self.timeout,
            max_in_flight: self.max_in_flight,
            backlog: self.backlog,
            connections: self.connections,
            together: self.together,
            max_answer: self.max_answer,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        for content in &self.contents {
            out.write_all(&content.body)?;
        }
        out.flush()
    }

    /// Reads what [`Job::write`] wrote.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn read(from: &mut dyn BufRead) -> io::Result<Job> {
        let mut text = Vec::new();
        from.read_until(b'\n', &mut text)?;
        let line: Line = serde_json::from_slice(&text)?;
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let source = match (line.moments, line.users, line.streams) {
            (Some(moments), None, None) => Source::Open(moments),
            (None, Some(users), None) => Source::Closed { users },
            (None, None, Some(streams)) => Source::Bursts { streams },
            _ => return Err(wrong("a job has one source of requests")),
        };
        let all = line.contents.iter().try_fold(0usize, |all, one| all.checked_add(one.length));
        if all.is_none_or(|all| all > MOST_BODIES) || line.contents.is_empty() {
            return Err(wrong("the bodies are too large, or there is none"));
        }
        let mut contents = Vec::new();
        for one in line.contents {
            let mut body = vec![0; one.length];
            from.read_exact(&mut body)?;
            let ContentLine { content_type, inference_header, .. } = one;
            contents.push(Content { body, content_type, inference_header });
        }
        Ok(Job {
            target: line.target,
            contents,
            order: line.order,
            source,
            max_requests: line.max_requests,
            until: line.until,
            drain: line.drain,
            timeout: line.timeout,
            max_in_flight: line.max_in_flight,
            backlog: line.backlog,
            connections: line.connections,
            together: line.together,
            max_answer: line.max_answer,
        })
    }

    /// The bytes of every request as they go over the wire, one for each content.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.contents.iter().map(|content| self.target.request(content)).collect()
    }
}

impl Target {
    /// One request as it goes over the wire.
    pub(crate) fn request(&self, content: &Content) -> Vec<u8> {
        let method = if content.body.is_empty() { "GET" } else { "POST" };
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\n",
            self.address.path,
            self.address.authority()
        );
        let given = |name: &str| self.headers.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
        if !given("accept") {
            head +=
                if self.streaming { "accept: text/event-stream\r\n" } else { "accept: */*\r\n" };
        }
        if !given("user-agent") {
            head += concat!("user-agent: modelmeter/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !content.body.is_empty() {
            if !content.content_type.is_empty() && !given("content-type") {
                head += &format!("content-type: {}\r\n", content.content_type);
            }
            head += &format!("content-length: {}\r\n", content.body.len());
        }
        if let Some(length) = content.inference_header {
            head += &format!("inference-header-content-length: {length}\r\n");
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(&content.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            target: Target {
                address: "http://127.0.0.1:8080/v1/x?a=1".parse().unwrap(),
                protocol: Protocol::Http,
                streaming: false,
                headers: vec![("authorization".into(), "Bearer secret".into())],
            },
            contents: vec![
                Content::json(b"{}\n".to_vec()),
                Content { body: vec![0, 255], ..Content::default() },
            ],
            order: vec![1, 0],
            source: Source::Open(vec![5, 10]),
            max_requests: 10,
            until: 100,
            drain: 100,
            timeout: 100,
            max_in_flight: Some(4),
            backlog: None,
            connections: 2,
            together: false,
            max_answer: 1000,
        }
    }

    #[test]
    fn a_job_comes_through_with_bodies_of_any_bytes() {
        for source in
            [Source::Open(vec![5, 10]), Source::Closed { users: 3 }, Source::Bursts { streams: 2 }]
        {
            let job = Job { source, ..job() };
            let mut bytes = Vec::new();
            job.write(&mut bytes).unwrap();
            assert_eq!(Job::read(&mut bytes.as_slice()).unwrap(), job);
        }
        assert!(Job::read(&mut &b"{}\n"[..]).is_err());
    }

    #[test]
    fn a_request_has_a_head_a_length_and_its_body() {
        let text = |content: usize| {
            let job = job();
            String::from_utf8_lossy(&job.target.request(&job.contents[content])).into_owned()
        };
        let json = text(0);
        assert!(json.starts_with("POST /v1/x?a=1 HTTP/1.1\r\nhost: 127.0.0.1:8080\r\n"), "{json}");
        assert!(json.contains("authorization: Bearer secret\r\n"));
        assert!(json.ends_with("content-type: application/json\r\ncontent-length: 3\r\n\r\n{}\n"));
        let get = Target::request(&job().target, &Content::default());
        assert!(get.starts_with(b"GET ") && get.ends_with(b"\r\n\r\n"));
    }
}
