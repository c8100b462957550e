//! The server of a measurement: gives a page its files, the questions, and takes the answers.
//!
//! It speaks just as much HTTP/1.1 as browsers need for that. Every path begins with a secret, and every answer isolates
//! the page from others, which is what browsers ask for before they give threads and a fine clock.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a question is waited for before the page is told to ask again; connections that are idle for longer are cut
/// by what lies between.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest head of a request.
const LONGEST_HEAD: u64 = 16 << 10;

/// The largest body: what a page holds in one array.
const LARGEST_BODY: u64 = 4 << 30;

/// Headers of every answer.
const HEADERS: &str = "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
                       Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n\
                       X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";

/// What lies at a path.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Part of this program.
    Text(&'static str),
    /// A file.
    File(PathBuf),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
}

/// What page and server say to each other.
#[derive(Default)]
struct Talk {
    question: Option<String>,
    answer: Option<String>,
    upload: Vec<u8>,
    /// How many pages have said hello.
    pages: u64,
    /// Why no answer will come.
    gone: Option<String>,
}

/// What the threads of the server share.
pub(crate) struct Shared {
    talk: Mutex<Talk>,
    changed: Condvar,
    contents: Mutex<HashMap<String, Content>>,
    ended: AtomicBool,
    prefix: String,
}

/// A server; it ends when dropped.
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
    address: SocketAddr,
}

impl Server {
    /// Listens on this address, behind this secret.
    pub(crate) fn start(address: SocketAddr, secret: &str) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            talk: Mutex::default(),
            changed: Condvar::new(),
            contents: Mutex::default(),
            ended: AtomicBool::new(false),
            prefix: format!("/{secret}/"),
        });
        let own = Arc::clone(&shared);
        thread::Builder::new().name("pages".into()).spawn(move || {
            for stream in listener.incoming() {
                if own.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&own);
                // Where no thread can be had, the connection is closed and the page asks again.
                let _ = thread::Builder::new().name("page".into()).spawn(move || {
                    // A connection that breaks is the page's to make anew.
                    let _ = stream.set_nodelay(true).and_then(|()| shared.serve(&stream));
                });
            }
        })?;
        Ok(Server { shared, address })
    }

    /// The address of the page for a browser on this machine.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.address.port(), self.shared.prefix)
    }

    /// Puts something at a path.
    pub(crate) fn put(&self, path: impl Into<String>, content: Content) {
        lock(&self.shared.contents).insert(path.into(), content);
    }

    /// Waits until a page is there.
    pub(crate) fn wait_for_page(&self) -> Result<(), String> {
        let talk = self.shared.wait(|talk| talk.pages > 0 || talk.gone.is_some());
        talk.gone.clone().map_or(Ok(()), Err)
    }

    /// Asks the page and waits for its answer.
    pub(crate) fn ask(&self, question: String) -> Result<String, String> {
        {
            let mut talk = lock(&self.shared.talk);
            talk.answer = None;
            talk.upload = Vec::new();
            talk.question = Some(question);
        }
        self.shared.changed.notify_all();
        let mut talk = self.shared.wait(|talk| talk.answer.is_some() || talk.gone.is_some());
        match (talk.answer.take(), &talk.gone) {
            (Some(answer), _) => Ok(answer),
            (None, gone) => Err(gone.clone().unwrap_or_default()),
        }
    }

    /// What the page sent beside its last answer.
    pub(crate) fn take_upload(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.shared.talk).upload)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.shared.lose("the measurement has ended".to_owned());
        // Wakes the thread that waits for connections.
        let loopback = SocketAddr::new(IpAddr::from([127, 0, 0, 1]), self.address.port());
        let _ = TcpStream::connect_timeout(&loopback, Duration::from_secs(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request's head.
struct Head {
    method: String,
    path: String,
    length: u64,
}

impl Shared {
    /// Nobody will answer any more, for this reason; the first one stays.
    pub(crate) fn lose(&self, why: String) {
        lock(&self.talk).gone.get_or_insert(why);
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&Talk) -> bool) -> MutexGuard<'_, Talk> {
        let talk = lock(&self.talk);
        self.changed.wait_while(talk, |talk| !until(talk)).unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection until it is closed.
    fn serve(&self, wire: impl Read + Write) -> io::Result<()> {
        let mut reader = BufReader::new(wire);
        while let Some(head) = read_head(&mut reader)? {
            // Who does not know the secret gets nothing, and sends nothing either.
            let Some(path) = head.path.strip_prefix(&self.prefix) else {
                return Reply::of("404 Not Found").write(reader.get_mut());
            };
            let mut body = Vec::new();
            (&mut reader).take(head.length).read_to_end(&mut body)?;
            self.answer(&head.method, path, body).write(reader.get_mut())?;
        }
        Ok(())
    }

    fn answer(&self, method: &str, path: &str, body: Vec<u8>) -> Reply {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        match (method, path) {
            ("POST", "hello") => self.hello(),
            ("GET", "next") => self.next(query),
            // A page that waits for the next measurement must not take the end of this one for it.
            ("GET", "alive") => match lock(&self.talk).gone {
                None => Reply::of("200 OK"),
                Some(_) => Reply::of("503 Service Unavailable"),
            },
            ("POST", "answer") => {
                lock(&self.talk).answer = Some(String::from_utf8_lossy(&body).into_owned());
                self.changed.notify_all();
                Reply::of("200 OK")
            }
            ("POST", "outputs") => {
                lock(&self.talk).upload = body;
                Reply::of("200 OK")
            }
            ("GET", path) => self.give(path),
            _ => Reply::of("405 Method Not Allowed"),
        }
    }

    /// A page is there; a second one means that the first is not there any more.
    fn hello(&self) -> Reply {
        let page = {
            let mut talk = lock(&self.talk);
            talk.pages += 1;
            if talk.pages > 1 {
                talk.gone.get_or_insert("the page was loaded again".to_owned());
            }
            talk.pages
        };
        self.changed.notify_all();
        Reply { body: Body::Bytes(page.to_string().into_bytes()), ..Reply::of("200 OK") }
    }

    /// The next question, as soon as there is one; an empty answer lets the page ask again.
    fn next(&self, query: &str) -> Reply {
        let mut talk = lock(&self.talk);
        let begin = Instant::now();
        loop {
            // A page that was replaced by a newer one gets nothing to do.
            let is_current = query == format!("session={}", talk.pages);
            if !is_current || talk.gone.is_some() {
                return Reply::of("205 Reset Content");
            }
            if let Some(question) = talk.question.take() {
                let body = Body::Bytes(question.into_bytes());
                return Reply { kind: "application/json", body, ..Reply::of("200 OK") };
            }
            let left = PATIENCE.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Reply::of("204 No Content");
            }
            let waited = self.changed.wait_timeout(talk, left);
            talk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, path: &str) -> Reply {
        let content = lock(&self.contents).get(path).cloned();
        let body = match content {
            Some(Content::Text(text)) => Body::Text(text),
            Some(Content::Bytes(bytes)) => Body::Shared(bytes),
            Some(Content::File(path)) => match File::open(&path) {
                Ok(file) => Body::File(file),
                Err(_) => return Reply::of("404 Not Found"),
            },
            None => return Reply::of("404 Not Found"),
        };
        Reply { status: "200 OK", kind: kind_of(path), body }
    }
}

/// An answer of the server.
struct Reply {
    status: &'static str,
    kind: &'static str,
    body: Body,
}

enum Body {
    Text(&'static str),
    Bytes(Vec<u8>),
    Shared(Arc<[u8]>),
    File(File),
}

impl Reply {
    /// An answer without a body.
    fn of(status: &'static str) -> Reply {
        Reply { status, kind: "text/plain", body: Body::Text("") }
    }

    fn write(self, mut wire: impl Write) -> io::Result<()> {
        let bytes: &[u8] = match &self.body {
            Body::Text(text) => text.as_bytes(),
            Body::Bytes(bytes) => bytes,
            Body::Shared(bytes) => bytes,
            Body::File(file) => {
                let length = file.metadata()?.len();
                wire.write_all(self.head(length).as_bytes())?;
                io::copy(&mut file.take(length), &mut wire)?;
                return wire.flush();
            }
        };
        // One packet where it is short: a second one would wait for the first to be acknowledged.
        let mut message = self.head(bytes.len() as u64).into_bytes();
        message.extend_from_slice(bytes);
        wire.write_all(&message)?;
        wire.flush()
    }

    fn head(&self, length: u64) -> String {
        let (status, kind) = (self.status, self.kind);
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{HEADERS}\r\n"
        )
    }
}

/// What a browser must be told of a file, by its name: it runs nothing whose kind is not said.
fn kind_of(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        _ if path.is_empty() => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

/// The head of the next request; `None` when the connection was closed.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut lines = reader.take(LONGEST_HEAD);
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it is no request");
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(wrong()) };
    let mut head = Head { method: method.to_owned(), path: path.to_owned(), length: 0 };
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Err(wrong());
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(Some(head));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            head.length = value.trim().parse().map_err(|_| wrong())?;
            if head.length > LARGEST_BODY {
                return Err(wrong());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn server() -> Server {
        let server = Server::start("127.0.0.1:0".parse().unwrap(), "secret").unwrap();
        server.put("a.mjs", Content::Text("export {}"));
        server
    }

    #[test]
    fn nothing_is_given_to_who_does_not_know_the_secret() {
        let server = server();
        for path in ["/", "/a.mjs", "/secret", "/wrong/a.mjs", "/secret/../secret/a.mjs"] {
            let text = get(&server, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert!(text.starts_with("HTTP/1.1 404"), "{path}: {text}");
        }
        let text = get(&server, "GET /secret/a.mjs HTTP/1.1\r\n\r\n");
        assert!(text.contains("text/javascript") && text.ends_with("export {}"), "{text}");
        assert!(text.contains("Cross-Origin-Embedder-Policy: require-corp"), "{text}");
    }

    #[test]
    fn a_question_goes_to_the_page_and_its_answer_comes_back() {
        let server = server();
        assert!(get(&server, "GET /secret/alive HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
        assert!(get(&server, "POST /secret/hello HTTP/1.1\r\n\r\n").ends_with('1'));
        server.wait_for_page().unwrap();
        thread::scope(|scope| {
            let asked = scope.spawn(|| server.ask("how?".to_owned()));
            let text = get(&server, "GET /secret/next?session=1 HTTP/1.1\r\n\r\n");
            assert!(text.ends_with("how?"), "{text}");
            get(&server, "POST /secret/outputs HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
            get(&server, "POST /secret/answer HTTP/1.1\r\nContent-Length: 2\r\n\r\nso");
            assert_eq!(asked.join().unwrap(), Ok("so".to_owned()));
        });
        assert_eq!(server.take_upload(), b"abc");
    }

    #[test]
    fn a_page_that_was_loaded_again_or_is_gone_ends_the_waiting() {
        let server = server();
        get(&server, "POST /secret/hello HTTP/1.1\r\n\r\n");
        get(&server, "POST /secret/hello HTTP/1.1\r\n\r\n");
        let text = get(&server, "GET /secret/next?session=1 HTTP/1.1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 205"), "{text}");
        let text = get(&server, "GET /secret/alive HTTP/1.1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 503"), "it is no new measurement: {text}");
        assert!(server.ask("how?".to_owned()).unwrap_err().contains("loaded again"));
    }
}
