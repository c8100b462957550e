//! The parent's half of the protocol: ask, wait at most so long, and know what became of a silent worker.

use crate::{
    Launch, Limit, MeterError,
    error::{MORE_MEMORY, MORE_THREADS, NO_THREADS},
    exit_report, family,
    hold::Hold,
};
use engine::{
    EngineErrorKind, Failure, Greeting, PROTOCOL, Reply, Request, inherited,
    private::TemporaryFolder, read_message, write_message,
};
use std::{
    collections::VecDeque,
    io::{self, BufReader, Read, Write},
    os::unix::{net::UnixStream, process::CommandExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};
use types::{LimitedBy, MemoryLimit};

/// How long the end of what a dead worker printed is waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// How much of what a worker prints is kept to tell how it ended.
const LAST_WORDS: usize = 16 << 10;

/// How many answers may wait; a worker that talks without being asked must not fill our memory.
const WAITING_REPLIES: usize = 4;

/// A worker that can be asked.
pub struct Link {
    writer: Box<dyn Write + Send>,
    replies: Receiver<io::Result<Reply>>,
    child: Option<Child>,
    /// The worker's temporary folder; goes after the worker did.
    _scratch: Option<TemporaryFolder>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    /// What holds the worker to a limit; goes after the worker did.
    hold: Option<Hold>,
    kills_before: Option<u64>,
    timeout: Duration,
    greeting: Greeting,
    started_in: Duration,
}

impl Link {
    /// Starts a worker and waits for its greeting.
    ///
    /// # Errors
    /// When it cannot be started, dies, stays silent or speaks another protocol.
    pub fn open(launch: &Launch, timeout: Duration) -> Result<Link, MeterError> {
        Link::open_on(launch, timeout, None)
    }

    /// The same, on these processors and no others; a thread of this process runs wherever it likes.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub(crate) fn open_on(
        launch: &Launch,
        timeout: Duration,
        processors: Option<&[u32]>,
    ) -> Result<Link, MeterError> {
        let kills_before = exit_report::kernel_kills();
        let scratch = match launch.is_isolated() {
            true => Some(TemporaryFolder::make().map_err(MeterError::Scratch)?),
            false => None,
        };
        let begin = Instant::now();
        let last_words = Arc::default();
        let place = Place { processors, scratch: scratch.as_ref() };
        let Ends { writer, reader, child, hold } = start(launch, &last_words, &place)?;
        let (sender, replies) = sync_channel(WAITING_REPLIES);
        let listen = move || {
            let mut reader = BufReader::new(reader);
            loop {
                let message = read_message::<Reply>(&mut reader);
                let is_last = !matches!(message, Ok(Some(_)));
                if let Some(message) = message.transpose()
                    && sender.send(message).is_err()
                {
                    return;
                }
                if is_last {
                    return;
                }
            }
        };
        let greeting = Greeting { protocol: PROTOCOL, pid: 0 };
        let mut link = Link {
            writer,
            replies,
            child,
            _scratch: scratch,
            last_words,
            hold,
            kills_before,
            timeout,
            greeting,
            started_in: Duration::ZERO,
        };
        // The link is there already: where no thread can be had, the worker goes with it.
        begin_thread("replies", listen)?;
        link.greeting = match link.wait("start")? {
            Reply::Hello(greeting) if greeting.protocol == PROTOCOL => greeting,
            other => return Err(out_of_turn("start", &other)),
        };
        link.started_in = begin.elapsed();
        Ok(link)
    }

    /// The worker's process; this process itself where the worker is a thread.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.greeting.pid
    }

    /// From starting the worker process to its first message.
    #[must_use]
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// What the worker is held to, and by whom.
    #[must_use]
    pub fn limit(&self) -> Option<MemoryLimit> {
        self.hold.as_ref().map(|hold| hold.limit)
    }

    /// From now on waits no longer than this for an answer.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Asks and waits for the answer; `doing` completes the sentence "it should …".
    ///
    /// # Errors
    /// When the worker dies, stays silent, or answers with a failure.
    pub fn ask(&mut self, request: &Request, doing: &'static str) -> Result<Reply, MeterError> {
        if write_message(&mut self.writer, request).is_err() {
            // The stream is broken, so the worker is gone or going.
            return Err(self.bury(doing));
        }
        match self.wait(doing)? {
            Reply::Failed(failure) => Err(MeterError::Engine(self.explain(failure))),
            reply => Ok(reply),
        }
    }

    /// Lets the worker go in peace; one that does not leave is stopped when the link is dropped.
    pub fn close(mut self) {
        if write_message(&mut self.writer, &Request::Bye).is_ok() {
            // The stream's end is the worker's answer to `bye`.
            let _ = self.replies.recv_timeout(Duration::from_secs(2));
        }
    }

    fn wait(&mut self, doing: &'static str) -> Result<Reply, MeterError> {
        match self.replies.recv_timeout(self.timeout) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(MeterError::Protocol { doing, said: error.to_string() }),
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                Err(MeterError::Timeout { doing, limit: self.timeout })
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.bury(doing)),
        }
    }

    /// Engines say in many ways that memory ran out; under a limit the limit is named, and a helper that the kernel killed
    /// for it tells as much.
    fn explain(&self, mut failure: Failure) -> Failure {
        let killed = self.hold.as_ref().and_then(Hold::kills).is_some_and(|kills| kills > 0);
        let no_stack = self.is_held_by_rlimit() && exit_report::tells_of_threads(&failure);
        if killed || no_stack || exit_report::tells_of_memory(&failure) {
            failure.kind = EngineErrorKind::OutOfMemory;
            failure.causes.extend(self.hold.as_ref().map(Hold::words));
            failure.hint = Some(MORE_MEMORY.into());
        } else if exit_report::tells_of_threads(&failure) {
            // Neither the file nor the engine is to blame.
            failure.causes.insert(0, failure.message);
            failure.message = NO_THREADS.into();
            failure.kind = EngineErrorKind::Unavailable;
            failure.hint = Some(MORE_THREADS.into());
        }
        failure
    }

    /// Whether the stacks of threads count for the limit: they are private and writable.
    fn is_held_by_rlimit(&self) -> bool {
        self.limit().is_some_and(|limit| limit.by == LimitedBy::Rlimit)
    }

    /// Waits for a worker that has closed its stream and says how it ended.
    fn bury(&mut self, doing: &'static str) -> MeterError {
        let status = self.child.as_mut().and_then(wait_briefly);
        match status {
            Some(_) => self.child = None,
            None => self.stop(),
        }
        self.wait_for_last_words();
        let last_words = self.last_words();
        let Some(status) = status else {
            let how = "it closed its output".into();
            return MeterError::Died { doing, how, last_words, out_of_memory: false };
        };
        let since = || match (self.kills_before, exit_report::kernel_kills()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => 0,
        };
        let kills = self.hold.as_ref().and_then(Hold::kills).unwrap_or_else(since);
        let mut end = exit_report::describe(status, &last_words, kills);
        if self.is_held_by_rlimit() && exit_report::is_without_threads(&last_words) {
            end.how = "it ran out of memory (no memory for the stack of a thread)".into();
            end.out_of_memory = true;
        }
        if !end.out_of_memory && exit_report::is_without_threads(&last_words) {
            return MeterError::NoThreads { cause: last_words };
        }
        if let Some(hold) = self.hold.as_ref().filter(|_| end.out_of_memory) {
            end.how = format!("{}; {}", end.how, hold.words());
        }
        MeterError::Died { doing, how: end.how, last_words, out_of_memory: end.out_of_memory }
    }

    /// What it printed last may still be on its way through the pipe: whoever reads it holds a reference until its end.
    /// A process that the worker started may keep the pipe open, and is not waited for.
    fn wait_for_last_words(&self) {
        let begin = Instant::now();
        while Arc::strong_count(&self.last_words) > 1 && begin.elapsed() < DRAIN {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn last_words(&self) -> String {
        let Ok(words) = self.last_words.lock() else { return String::new() };
        let bytes: Vec<u8> = words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        // Backtraces are long; the first line after the last panic, a refusal of memory or the very last lines say it.
        let start = lines.iter().rposition(|line| line.contains("panicked at"));
        let refused = || lines.iter().rposition(|line| exit_report::is_refusal(line));
        let start = start.or_else(refused);
        let start = start.unwrap_or(lines.len().saturating_sub(3));
        lines[start..].iter().take(3).copied().collect::<Vec<_>>().join("; ")
    }

    /// Ends the worker and whatever it started.
    fn stop(&mut self) {
        // Taken, because once it was waited for its number may be somebody else's.
        if let Some(mut child) = self.child.take() {
            family::kill(&mut child);
            let _ = child.wait();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop();
    }
}

fn out_of_turn(doing: &'static str, reply: &Reply) -> MeterError {
    let said = format!("{reply:?}").chars().take(200).collect();
    MeterError::Protocol { doing, said }
}

/// What a started worker consists of.
struct Ends {
    writer: Box<dyn Write + Send>,
    reader: Box<dyn Read + Send>,
    child: Option<Child>,
    hold: Option<Hold>,
}

/// Where a worker runs and keeps what it needs for a while.
struct Place<'a> {
    processors: Option<&'a [u32]>,
    scratch: Option<&'a TemporaryFolder>,
}

fn start(
    launch: &Launch,
    last_words: &Arc<Mutex<VecDeque<u8>>>,
    place: &Place<'_>,
) -> Result<Ends, MeterError> {
    match launch {
        Launch::Process { .. } => start_process(launch, last_words, None, place),
        Launch::Limited { launch, limit } => start_limited(launch, last_words, limit, place),
        Launch::Thread(serve) => {
            let failed = |source| MeterError::Start { program: "a thread".into(), source };
            let (ours, theirs) = UnixStream::pair().map_err(failed)?;
            let reader = ours.try_clone().map_err(failed)?;
            let serve = Arc::clone(serve);
            begin_thread("worker", move || serve(theirs))?;
            let (writer, reader) = (Box::new(ours), Box::new(reader));
            Ok(Ends { writer, reader, child: None, hold: None })
        }
    }
}

/// Starts a worker under a limit; a means that does not work here gives way to the next.
fn start_limited(
    launch: &Launch,
    last_words: &Arc<Mutex<VecDeque<u8>>>,
    limit: &Limit,
    place: &Place<'_>,
) -> Result<Ends, MeterError> {
    let mut refused = None;
    for by in limit.means() {
        let refuse = |source| MeterError::Limit { by, source };
        match Hold::make(limit.bytes, by).map_err(refuse) {
            Ok(hold) => match start_process(launch, last_words, Some(hold), place) {
                Err(error) => refused = refused.or(Some(error)),
                started => return started,
            },
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let nothing =
        || MeterError::Limit { by: LimitedBy::Nobody, source: io::Error::other("no means") };
    Err(refused.unwrap_or_else(nothing))
}

fn start_process(
    launch: &Launch,
    last_words: &Arc<Mutex<VecDeque<u8>>>,
    hold: Option<Hold>,
    place: &Place<'_>,
) -> Result<Ends, MeterError> {
    let Launch::Process { program, arguments, environment } = launch else {
        let source = io::Error::other("only a separate process can have a memory limit");
        return Err(MeterError::Limit { by: LimitedBy::Nobody, source });
    };
    let failed = |source| MeterError::Start { program: program.display().to_string(), source };
    let mut command = Command::new(program);
    command
        .args(arguments)
        // Neither our secrets nor those of the user's other programs.
        .env_clear()
        .envs(inherited())
        // Engines leave files in the temporary folder under names that everybody knows.
        .envs(place.scratch.map(|folder| ("TMPDIR", folder.path())))
        // A backtrace would push what matters out of the last words.
        .env("RUST_BACKTRACE", "0")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the parent, which decides what becomes of its worker.
        .process_group(0);
    if let Some(hold) = &hold {
        hold.apply(&mut command).map_err(failed)?;
    }
    if let Some(processors) = place.processors {
        crate::place::on(&mut command, processors);
    }
    let mut child = command.spawn().map_err(failed)?;
    let lost = || failed(io::Error::other("a stream of the worker is missing"));
    let writer = child.stdin.take().ok_or_else(lost)?;
    let reader = child.stdout.take().ok_or_else(lost)?;
    let stderr = child.stderr.take().ok_or_else(lost)?;
    let kept = Arc::clone(last_words);
    if let Err(error) = begin_thread("last words", move || keep_last_words(stderr, &kept)) {
        // Nobody else knows of the worker yet.
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    Ok(Ends { writer: Box::new(writer), reader: Box::new(reader), child: Some(child), hold })
}

/// Starts a thread; a system that gives none is an error and not our bug.
fn begin_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), MeterError> {
    let started = thread::Builder::new().name(name.into()).spawn(work);
    started.map(drop).map_err(|error| MeterError::NoThreads { cause: error.to_string() })
}

/// Drains what the worker prints, so that it never blocks, and keeps the end.
fn keep_last_words(mut stream: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            return;
        }
        let Ok(mut words) = kept.lock() else { return };
        words.extend(&buffer[..count]);
        let excess = words.len().saturating_sub(LAST_WORDS);
        words.drain(..excess);
    }
}

/// A worker that closed its stream is about to end; give it a moment.
fn wait_briefly(child: &mut Child) -> Option<ExitStatus> {
    for _ in 0..200 {
        if family::has_ended(child) {
            // What it started goes before its number can be given to somebody else.
            family::kill(child);
            return child.wait().ok();
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}
