//! The generator of a load: one thread that sends every request at its time and notes when answers come.

use crate::{
    Job, Message,
    answer::AnswerReader,
    clock::{Clock, processor_time},
    connection::{ConnectError, Connection, Destination},
    exchange::Exchange,
    pacer::{Pacer, wait_until},
    signal::Signal,
    tls::Encryption,
};
use load::{Dispatcher, LastRequests, Next, Record};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::{Future, poll_fn},
    io::{self, BufRead, Write},
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    thread,
    time::Duration,
};
use tokio::task::LocalSet;
use types::{GeneratorReport, LoadProgress, RequestOutcome, Seconds};

/// How often it says how it goes, in nanoseconds.
const PROGRESS: u64 = 250_000_000;
/// The longest that opening the first connections may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How often one that begins with others looks whether all are ready.
const WAITING: Duration = Duration::from_micros(50);
/// After so many requests in a row, answers are looked at.
const IN_A_ROW: usize = 16;

/// A generator that could not work.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It was not told what to do, or nobody listens.
    #[error("the connection between the generator and its command broke")]
    Talk(#[from] io::Error),
}

/// Does what a job says. It reads the job, then listens: for `go` where it begins with others, and for `stop` or the end of the
/// stream, which both end the load.
///
/// # Errors
/// Where the stream to whoever asked breaks.
pub fn serve(
    mut reader: impl BufRead + Send + 'static,
    mut writer: impl Write,
) -> Result<(), ServeError> {
    let job = Job::read(&mut reader)?;
    raise_file_limit();
    let go = Arc::new(AtomicBool::new(!job.together));
    let stop = Arc::new(AtomicBool::new(false));
    let (begin, heard) = (Arc::clone(&go), Arc::clone(&stop));
    thread::spawn(move || {
        let mut line = String::new();
        // Another word, the end of the stream and an error all mean the same.
        while matches!(reader.read_line(&mut line), Ok(1..)) && line.trim() == "go" {
            begin.store(true, Ordering::Relaxed);
            line.clear();
        }
        heard.store(true, Ordering::Relaxed);
        begin.store(true, Ordering::Relaxed);
    });
    let mut say = |message: &Message| -> io::Result<()> {
        serde_json::to_writer(&mut writer, message)?;
        writer.write_all(b"\n")?;
        writer.flush()
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let local = LocalSet::new();
    let outcome = local.block_on(&runtime, run(job, &go, &stop, &mut say));
    match outcome? {
        Ok(()) => Ok(()),
        Err(why) => Ok(say(&Message::Failed { why })?),
    }
}

/// A socket a request: the usual 1,024 descriptors would be an error of the generator.
fn raise_file_limit() {
    // SAFETY: the limit is plain numbers that live for both calls.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            // Where the system refuses, the old limit stays.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// What all requests share.
struct Shared {
    job: Job,
    requests: Vec<Vec<u8>>,
    clock: Clock,
    destination: Destination,
    dispatcher: RefCell<Dispatcher>,
    idle: RefCell<Vec<Connection>>,
    records: RefCell<Vec<Record>>,
    flying: RefCell<BTreeMap<u32, Rc<Flight>>>,
    last: RefCell<LastRequests>,
    answered: Signal,
    connections: Cell<u64>,
}

/// What is known of a request that is not answered yet.
struct Flight {
    request: u32,
    scheduled: u64,
    lag: u64,
    sent: Cell<Option<u64>>,
}

type Say<'a> = &'a mut dyn FnMut(&Message) -> io::Result<()>;

async fn run(
    job: Job,
    go: &AtomicBool,
    stop: &AtomicBool,
    say: Say<'_>,
) -> io::Result<Result<(), String>> {
    let destination = match destination(&job) {
        Ok(destination) => destination,
        Err(why) => return Ok(Err(why)),
    };
    let connections = Cell::new(0);
    let idle = match prepared(&job, &destination, &connections).await {
        Ok(idle) => idle,
        Err(why) => return Ok(Err(why)),
    };
    let pacer = Pacer::new()?;
    let mut dispatcher = Dispatcher::new(job.source.clone(), job.max_requests, job.until);
    if let Some(most) = job.max_in_flight {
        dispatcher = dispatcher.most_in_flight(most);
    }
    if let Some(backlog) = job.backlog {
        dispatcher = dispatcher.stop_at_backlog(backlog);
    }
    let requests = job.requests();
    say(&Message::Started)?;
    while !go.load(Ordering::Relaxed) {
        // Nothing else can be done before all are ready.
        thread::sleep(WAITING);
    }
    let processor = processor_time();
    let shared = Rc::new(Shared {
        requests,
        clock: Clock::started(),
        destination,
        dispatcher: RefCell::new(dispatcher),
        idle: RefCell::new(idle),
        records: RefCell::default(),
        flying: RefCell::default(),
        last: RefCell::default(),
        answered: Signal::default(),
        connections,
        job,
    });
    let stopped_at = send_all(&shared, &pacer, stop, say).await?;
    let generator = GeneratorReport {
        processor: Seconds(processor_time() - processor),
        elapsed: Seconds(shared.clock.now() as f64 / 1e9),
        connections: shared.connections.get(),
        generators: 1,
    };
    let overrun = shared.dispatcher.borrow().is_overrun_by_backlog();
    for record in shared.all_records() {
        say(&Message::Request(record))?;
    }
    say(&Message::Done { generator, overrun, stopped_at })?;
    Ok(Ok(()))
}

fn destination(job: &Job) -> Result<Destination, String> {
    let address = &job.target.address;
    let addresses = address
        .resolve()
        .map_err(|error| format!("the name `{}` is not known: {error}", address.host))?;
    let encryption = match address.encrypted {
        true => Some(Encryption::of(&address.host)?),
        false => None,
    };
    Ok(Destination { addresses, encryption })
}

/// Opens connections before the start. One that fails is told only if none works: a server may allow few.
async fn prepared(
    job: &Job,
    destination: &Destination,
    connections: &Cell<u64>,
) -> Result<Vec<Connection>, String> {
    let mut idle = Vec::new();
    for _ in 0..job.connections.max(1) {
        let why = match tokio::time::timeout(CONNECTING, destination.connect()).await {
            Ok(Ok(connection)) => {
                connections.set(connections.get() + 1);
                idle.push(connection);
                continue;
            }
            Ok(Err(ConnectError::Refused(error))) => {
                format!("no connection to {}: {error}", job.target.address)
            }
            Ok(Err(ConnectError::Tls(error))) => {
                format!("no encrypted connection to {}: {error}", job.target.address)
            }
            Err(_) => {
                format!("no connection to {} within {} s", job.target.address, CONNECTING.as_secs())
            }
        };
        if idle.is_empty() {
            return Err(why);
        }
        break;
    }
    Ok(idle)
}

/// Sends every request at its time and waits for the answers; when it was stopped, if it was.
async fn send_all(
    shared: &Rc<Shared>,
    pacer: &Pacer,
    stop: &AtomicBool,
    say: Say<'_>,
) -> io::Result<Option<u64>> {
    let mut report = PROGRESS;
    let mut in_a_row = 0;
    loop {
        let now = shared.clock.now();
        if stop.load(Ordering::Relaxed) {
            return Ok(Some(now));
        }
        if now >= report {
            say(&Message::Progress(shared.live(now)))?;
            report = now + PROGRESS;
        }
        let next = shared.dispatcher.borrow_mut().next(now);
        match next {
            Next::Send { request, scheduled, ready } => {
                start(shared, request, scheduled, ready);
                in_a_row += 1;
                if in_a_row % IN_A_ROW == 0 {
                    tokio::task::yield_now().await;
                }
            }
            Next::At(moment) => wait_until(pacer, shared.clock, moment.min(report)).await,
            Next::WhenAnswered => {
                // At the end of the load nobody waits for an answer before it says so.
                let moment = report.min(shared.job.until);
                first_of(shared.answered.wait(), wait_until(pacer, shared.clock, moment)).await;
            }
            Next::Finished => break,
        }
    }
    let end = shared.clock.now().saturating_add(shared.job.drain);
    loop {
        let now = shared.clock.now();
        if shared.dispatcher.borrow().in_flight() == 0 || now >= end {
            return Ok(None);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Some(now));
        }
        if now >= report {
            say(&Message::Progress(shared.live(now)))?;
            report = now + PROGRESS;
        }
        let moment = report.min(end);
        first_of(shared.answered.wait(), wait_until(pacer, shared.clock, moment)).await;
    }
}

/// Waits until one of two is ready.
async fn first_of(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| {
        if one.as_mut().poll(context).is_ready() || other.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// Sends a request at once if a connection is free, and leaves its answer to a task.
fn start(shared: &Rc<Shared>, request: u32, scheduled: u64, ready: u64) {
    let bytes = shared.bytes_of(request);
    let mut kept = shared.idle_connection();
    let now = shared.clock.now();
    let flight = Rc::new(Flight {
        request,
        scheduled,
        lag: now.saturating_sub(ready),
        sent: Cell::new(None),
    });
    let mut written = 0;
    if let Some(connection) = &mut kept {
        // An error shows again when the rest is written.
        written = connection.write_now(&shared.requests[bytes]).unwrap_or(0);
        flight.sent.set((written > 0).then_some(now));
    }
    shared.flying.borrow_mut().insert(request, Rc::clone(&flight));
    let shared = Rc::clone(shared);
    tokio::task::spawn_local(async move { finish(&shared, &flight, bytes, kept, written).await });
}

/// Reads the answer and notes what became of the request.
async fn finish(
    shared: &Shared,
    flight: &Flight,
    bytes: usize,
    kept: Option<Connection>,
    written: usize,
) {
    let job = &shared.job;
    let mut reader = AnswerReader::new(job.target.protocol, job.target.streaming, job.max_answer);
    let exchange = Exchange {
        request: &shared.requests[bytes],
        written,
        sent: &flight.sent,
        clock: shared.clock,
        destination: &shared.destination,
        connections: &shared.connections,
    };
    let limit = Duration::from_nanos(job.timeout);
    let outcome = tokio::time::timeout(limit, exchange.run(kept, &mut reader)).await;
    let now = shared.clock.now();
    let (ended, outcome, why) = match outcome {
        Ok(Ok((ended, connection))) => {
            shared.idle.borrow_mut().extend(connection);
            (ended, RequestOutcome::Completed, None)
        }
        Ok(Err(failure)) => (now, failure.outcome, Some(failure.why)),
        Err(_) => {
            let why = format!("no whole answer within {} s", limit.as_secs_f64());
            (now, RequestOutcome::Timeout, Some(why))
        }
    };
    let (events, tokens) = reader.take();
    let record = Record {
        sent: flight.sent.get(),
        lag: Some(flight.lag),
        events,
        ended: Some(ended),
        outcome,
        why,
        tokens,
        ..Record::not_sent(flight.request, flight.scheduled)
    };
    shared.last.borrow_mut().add(&record, job.target.streaming);
    shared.records.borrow_mut().push(record);
    shared.flying.borrow_mut().remove(&flight.request);
    shared.dispatcher.borrow_mut().answered(ended);
    shared.answered.raise();
}

impl Shared {
    /// Which of the requests' bytes this one has.
    fn bytes_of(&self, request: u32) -> usize {
        let order = &self.job.order;
        let place = order.get(request as usize % order.len().max(1)).copied().unwrap_or(request);
        place as usize % self.requests.len()
    }

    /// The connection that was used last: others may be closed by the server, and nobody misses them.
    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        while let Some(connection) = idle.pop() {
            if !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }

    fn live(&self, now: u64) -> LoadProgress {
        let (sent, in_flight) = {
            let dispatcher = self.dispatcher.borrow();
            (dispatcher.sent() as u64, dispatcher.in_flight() as u64)
        };
        self.last.borrow_mut().live(now, sent, in_flight)
    }

    /// Every request in the order of the schedule: also those without an answer, and those that were never sent.
    fn all_records(&self) -> Vec<Record> {
        let mut records = std::mem::take(&mut *self.records.borrow_mut());
        for flight in std::mem::take(&mut *self.flying.borrow_mut()).into_values() {
            records.push(Record {
                sent: flight.sent.get(),
                lag: Some(flight.lag),
                outcome: RequestOutcome::Unanswered,
                ..Record::not_sent(flight.request, flight.scheduled)
            });
        }
        let dispatcher = self.dispatcher.borrow();
        let unsent = dispatcher.unsent().iter().enumerate();
        records.extend(unsent.map(|(place, moment)| {
            let request = u32::try_from(dispatcher.sent() + place).unwrap_or(u32::MAX);
            Record::not_sent(request, *moment)
        }));
        records.sort_by_key(|record| record.request);
        records
    }
}
