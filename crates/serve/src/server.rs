//! Listening, and how it ends.

use crate::{
    answer::{Answer, HTML, Refusal},
    app::{App, Settings},
    events,
    feed::{self, Moment},
    guard::Decision,
    hook::{self, Hook},
    listener::{Limited, Work},
    query::Query,
    request::Request,
};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{ConnectInfo, State},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
};
use flate2::{Compression, write::GzEncoder};
use std::{
    io::{self, Write},
    net::{SocketAddr, TcpListener},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{Semaphore, watch};

/// Connections at the same time; more wait in the system's queue.
const CONNECTIONS: usize = 256;

/// How long a connection may be silent while it is its turn; longer than the pause between two signs of a stream of events.
const SILENCE: Duration = Duration::from_secs(30);

/// Streams of events at the same time.
const STREAMS: usize = 128;

/// Requests that read the database at the same time.
const AT_WORK: usize = 4;

/// Requests that may wait for that; more are told to come again.
const WAITING: usize = 64;

/// The largest body of a request, in bytes: a plan.
const LARGEST_BODY: usize = 256 << 10;

/// Answers from this size on are compressed for whoever takes that.
const WORTH_COMPRESSING: usize = 1400;

/// How long open requests have to end when the server does.
const FAREWELL: Duration = Duration::from_millis(700);

/// What a page may load: nothing but what is from here, and no script or style within it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An address of this machine.
    Address(SocketAddr),
    /// A socket in the file system, for this user alone.
    Socket(PathBuf),
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Something else listens there.
    #[error("{0} is taken by another program")]
    Taken(SocketAddr),
    /// It cannot be listened there.
    #[error("could not listen on {place}")]
    Listen {
        /// Where.
        place: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is something at the path of the socket that is no socket, or somebody listens on it.
    #[error("could not listen on `{}`: {why}", path.display())]
    Socket {
        /// The path.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The system gave no thread.
    #[error("could not start the server")]
    Start(#[source] io::Error),
}

enum Bound {
    Address(TcpListener),
    Socket(UnixListener, PathBuf),
}

/// A server that has its place, and does not answer yet.
pub struct Server {
    bound: Bound,
    app: Arc<App>,
    hook: Option<Hook>,
}

impl Server {
    /// Takes its place.
    ///
    /// # Errors
    /// Where somebody else has it.
    pub fn bind(place: &Place, settings: Settings) -> Result<Server, ServeError> {
        let (bound, port) = match place {
            Place::Address(address) => {
                let listener =
                    TcpListener::bind(address).map_err(|source| match source.kind() {
                        io::ErrorKind::AddrInUse => ServeError::Taken(*address),
                        _ => ServeError::Listen { place: address.to_string(), source },
                    })?;
                let port = listener.local_addr().map_or(address.port(), |address| address.port());
                (Bound::Address(listener), Some(port))
            }
            Place::Socket(path) => (Bound::Socket(bind_socket(path)?, path.clone()), None),
        };
        let mut settings = settings;
        let hook = settings.hook.take();
        let app = Arc::new(App::new(settings, port).map_err(ServeError::Start)?);
        Ok(Server { bound, app, hook })
    }

    /// The address where it listens; `None` for a socket in the file system.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.bound {
            Bound::Address(listener) => listener.local_addr().ok(),
            Bound::Socket(..) => None,
        }
    }

    /// Answers until `stop` says that it is enough.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn run(self, stop: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
        yield_to_measurements();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(AT_WORK + 1)
            .build()
            .map_err(ServeError::Start)?;
        if let Some(hook) = self.hook {
            hook::start(&self.app, hook).map_err(ServeError::Start)?;
        }
        let (sender, moments) = watch::channel(Moment::default());
        let sender = Arc::new(sender);
        feed::start(Arc::clone(&self.app), Arc::clone(&sender)).map_err(ServeError::Start)?;
        // Kept for those who come; whoever listens has one of their own.
        drop(moments);
        let ended = Arc::clone(&sender);
        let (end, over) = watch::channel(false);
        std::thread::Builder::new()
            .name("stop".into())
            .spawn(move || {
                stop();
                ended.send_modify(|moment| moment.is_over = true);
                let _ = end.send(true);
            })
            .map_err(ServeError::Start)?;
        let service = Arc::new(Service {
            app: self.app,
            moments: sender,
            streams: Arc::new(Semaphore::new(STREAMS)),
            at_work: Semaphore::new(AT_WORK),
            waiting: Semaphore::new(WAITING),
        });
        let served = runtime.block_on(serve(self.bound, service, over));
        // A request that still reads the database is not waited for.
        runtime.shutdown_background();
        served.map_err(ServeError::Start)
    }
}

async fn serve(
    bound: Bound,
    service: Arc<Service>,
    mut over: watch::Receiver<bool>,
) -> io::Result<()> {
    let router = Router::new()
        .fallback(receive)
        .with_state(service)
        .into_make_service_with_connect_info::<Work>();
    let mut last = over.clone();
    let end = async move {
        let _ = over.wait_for(|over| *over).await;
    };
    let late = async {
        let _ = last.wait_for(|over| *over).await;
        tokio::time::sleep(FAREWELL).await;
    };
    let served = async {
        match bound {
            Bound::Address(listener) => {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(Limited::new(listener, CONNECTIONS, SILENCE), router)
                    .with_graceful_shutdown(end)
                    .await
            }
            Bound::Socket(listener, path) => {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::UnixListener::from_std(listener)?;
                let served = axum::serve(Limited::new(listener, CONNECTIONS, SILENCE), router)
                    .with_graceful_shutdown(end)
                    .await;
                let _ = std::fs::remove_file(path);
                served
            }
        }
    };
    tokio::select! {
        served = served => served,
        () = late => Ok(()),
    }
}

/// What all requests share.
struct Service {
    app: Arc<App>,
    moments: Arc<watch::Sender<Moment>>,
    streams: Arc<Semaphore>,
    at_work: Semaphore,
    waiting: Semaphore,
}

async fn receive(
    State(service): State<Arc<Service>>,
    ConnectInfo(work): ConnectInfo<Work>,
    request: axum::extract::Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let takes_gzip = accepts_gzip(&parts.headers);
    let is_head = parts.method == Method::HEAD;
    let app = &service.app;
    let decision = app.guard.decide(&parts.method, &parts.uri, &parts.headers);
    let read = Request::new(&parts.method, &parts.uri, &parts.headers, &app.base);
    let answer = match (decision, read) {
        (Decision::Refuse(status, why), read) => {
            let refusal = Refusal::new(status, why);
            match read {
                Some(request) => app.refuse(&request, &refusal),
                None => refusal.json(),
            }
        }
        (_, None) => Refusal::not_found().json(),
        (Decision::Settle, Some(_)) => settle(app, &parts.uri),
        (Decision::Welcome, Some(request)) if request.path == ["events"] => {
            let Ok(permit) = Arc::clone(&service.streams).try_acquire_owned() else {
                return respond(busy().json(), false, false);
            };
            let last =
                parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
            let mut response = events::stream(service.moments.subscribe(), permit, last);
            protect(response.headers_mut());
            return response;
        }
        (Decision::Welcome, Some(mut request)) => {
            let Ok(body) = to_bytes(body, LARGEST_BODY).await else {
                return respond(Refusal::new(413, "the request is too large").json(), false, false);
            };
            request.body = body.to_vec();
            // From here on the silence of the connection is ours.
            let _working = work.begin();
            service.work(request).await
        }
    };
    respond(answer, takes_gzip, is_head)
}

impl Service {
    /// Answers on another thread; of a flood only so many wait.
    async fn work(self: &Arc<Service>, request: Request) -> Answer {
        let Ok(_waiting) = self.waiting.try_acquire() else { return busy().json() };
        let Ok(_at_work) = self.at_work.acquire().await else { return busy().json() };
        let app = Arc::clone(&self.app);
        let done = tokio::task::spawn_blocking(move || app.answer(&request)).await;
        done.unwrap_or_else(|_| Refusal::new(500, "this request met a bug in modelmeter").json())
    }
}

fn busy() -> Refusal {
    Refusal::new(503, "too many requests at the same time; try again in a moment")
}

/// The same address without the token, which is in a cookie from now on.
fn settle(app: &App, uri: &axum::http::Uri) -> Answer {
    let query = Query::parse(uri.query().unwrap_or_default()).with("token", None);
    let path =
        if uri.path() == app.base { format!("{}/", app.base) } else { uri.path().to_owned() };
    let cookie = format!(
        "{}={}; Path={}; HttpOnly; SameSite=Strict; Max-Age=31536000",
        app.guard.cookie,
        app.guard.token.cookie(),
        app.cookie_path()
    );
    Answer { cookie: Some(cookie), ..Answer::see(format!("{path}{}", query.text())) }
}

fn respond(answer: Answer, takes_gzip: bool, is_head: bool) -> Response<Body> {
    let Answer { status, kind, body, is_fixed, location, cookie, download } = answer;
    let packed = (takes_gzip && body.len() >= WORTH_COMPRESSING).then(|| gzip(&body)).flatten();
    let is_packed = packed.is_some();
    let body = packed.unwrap_or(body);
    let length = body.len();
    let mut response = Response::new(if is_head { Body::empty() } else { Body::from(body) });
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    protect(headers);
    let mut put = |name: header::HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(header::CONTENT_TYPE, if kind.is_empty() { HTML } else { kind });
    put(header::CONTENT_LENGTH, &length.to_string());
    put(header::VARY, "accept-encoding, cookie");
    put(
        header::CACHE_CONTROL,
        if is_fixed { "private, max-age=31536000, immutable" } else { "no-store" },
    );
    if is_packed {
        put(header::CONTENT_ENCODING, "gzip");
    }
    if let Some(location) = location {
        put(header::LOCATION, &location);
    }
    if let Some(cookie) = cookie {
        put(header::SET_COOKIE, &cookie);
    }
    if let Some(name) = download {
        put(header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
    }
    match status {
        401 => put(header::WWW_AUTHENTICATE, "Bearer realm=\"modelmeter\""),
        503 => put(header::RETRY_AFTER, "1"),
        _ => {}
    }
    response
}

/// What browsers shall not do with any of our answers.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // With `no-referrer` browsers send `Origin: null` with the forms of our own pages.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted
        .is_some_and(|text| text.split(',').any(|one| one.trim().split(';').next() == Some("gzip")))
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// A socket for this user alone. One that nobody listens on any more is replaced; anything else stays.
fn bind_socket(path: &Path) -> Result<UnixListener, ServeError> {
    let refused = |why| ServeError::Socket { path: path.to_owned(), why };
    if let Ok(found) = std::fs::symlink_metadata(path) {
        use std::os::unix::fs::FileTypeExt;
        if !found.file_type().is_socket() {
            return Err(refused("there is something else"));
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(refused("another program listens there"));
        }
        let _ = std::fs::remove_file(path);
    }
    let failed = |source| ServeError::Listen { place: path.display().to_string(), source };
    // SAFETY: umask takes a number, cannot fail and touches no memory of ours. Nothing else makes files at this moment.
    let before = unsafe { libc::umask(0o177) };
    let bound = UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(before) };
    let listener = bound.map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Measurements on this machine come first.
fn yield_to_measurements() {
    #[cfg(target_os = "linux")]
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: both calls concern this process alone, take plain numbers, and `parameters` outlives the call. A system that
    // refuses leaves everything as it was.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 10);
        #[cfg(target_os = "linux")]
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}
