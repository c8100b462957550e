//! A server that does what a test says: one thread a connection, answers written piece by piece.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// A request as a server sees it.
#[allow(dead_code, reason = "not every test asks for everything")]
pub(crate) struct Request {
    /// Its place among all requests.
    pub(crate) number: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The lines of its head, in small letters.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// A server, until the process ends.
pub(crate) struct ScriptedServer {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

#[allow(dead_code, reason = "not every test asks for everything")]
impl ScriptedServer {
    /// A server that answers with this function; the connection is kept if it says so.
    pub(crate) fn start(
        answer: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicUsize::new(0));
        let connections = Arc::new(AtomicUsize::new(0));
        let answer = Arc::new(answer);
        let server = ScriptedServer {
            address,
            requests: Arc::clone(&requests),
            connections: Arc::clone(&connections),
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                connections.fetch_add(1, Ordering::SeqCst);
                let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
                thread::spawn(move || serve(stream, &requests, &*answer));
            }
        });
        server
    }

    /// Its address with a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Requests that came.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Connections that were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    requests: &AtomicUsize,
    answer: &(impl Fn(&Request, &mut TcpStream) -> bool + ?Sized),
) {
    let _ = stream.set_nodelay(true);
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    loop {
        let Some(request) = read_request(&mut reader, requests) else { return };
        if !answer(&request, &mut stream) {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead, requests: &AtomicUsize) -> Option<Request> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut words = first.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let number = requests.fetch_add(1, Ordering::SeqCst);
    Some(Request { number, method, path, head, body })
}

/// Writes pieces one after the other, each after so many milliseconds.
pub(crate) fn write_pieces<B: AsRef<[u8]>>(stream: &mut TcpStream, pieces: &[(u64, B)]) {
    for (wait, piece) in pieces {
        thread::sleep(Duration::from_millis(*wait));
        if stream.write_all(piece.as_ref()).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// A whole answer with a length; the connection is kept.
pub(crate) fn write_whole(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> bool {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).is_ok()
}

/// A chunk.
pub(crate) fn chunk(data: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{:x}\r\n", data.len()).into_bytes();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The head of a stream of events in chunks.
#[allow(dead_code, reason = "not every test streams")]
pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The events of a chat with these texts, as llama.cpp sends them: role, texts, end, usage, done.
#[allow(dead_code, reason = "not every test streams")]
pub(crate) fn chat_events(texts: &[&str], tokens: u64) -> Vec<String> {
    let event = |json: serde_json::Value| format!("data: {json}\n\n");
    let delta = |delta: serde_json::Value, end: Option<&str>| {
        event(
            serde_json::json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] }),
        )
    };
    let mut events = vec![delta(serde_json::json!({ "role": "assistant", "content": null }), None)];
    events.extend(texts.iter().map(|text| delta(serde_json::json!({ "content": text }), None)));
    events.push(delta(serde_json::json!({}), Some("length")));
    events.push(event(serde_json::json!({
        "choices": [],
        "usage": { "prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": tokens + 5 },
    })));
    events.push("data: [DONE]\n\n".into());
    events
}
