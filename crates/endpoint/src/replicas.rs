//! Scripted replicas behind a router: a real server on this machine whose answers take as long as those that were measured.
//!
//! What a simulation says of queues can so be held against a real schedule, real connections and real queues. Every replica is a
//! thread that sleeps as long as its batch takes, so that as many as are wanted run on one processor.

use load::{Batching, Router, Routing, ServiceTimes};
use stats::Generator;
use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// The longest head and body of a request: nobody but our own generator asks.
const LONGEST: u64 = 1 << 20;
/// The answer to every request.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";

/// What replicas do.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaScript {
    /// How long a batch takes.
    pub times: ServiceTimes,
    /// How many replicas.
    pub count: usize,
    /// Who gets a request.
    pub routing: Routing,
    /// How requests are put together.
    pub batching: Batching,
    /// The seed of the times and of the router.
    pub seed: u64,
}

/// Replicas that answer until this is dropped.
#[derive(Debug)]
pub struct Replicas {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// One for each queue: wakes its replicas.
    come: Vec<Condvar>,
    batching: Batching,
    times: ServiceTimes,
}

#[derive(Debug)]
struct State {
    router: Router,
    queues: Vec<Queue>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(Instant, mpsc::Sender<()>)>,
    working: usize,
}

impl Replicas {
    /// Starts them on a free port of this machine.
    ///
    /// # Errors
    /// Where the system gives no port or no thread.
    pub fn start(script: &ReplicaScript) -> io::Result<Replicas> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let router = Router::new(script.routing, script.seed);
        let queues = router.queues(script.count);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                router,
                queues: (0..queues).map(|_| Queue::default()).collect(),
                is_over: false,
            }),
            come: (0..queues).map(|_| Condvar::new()).collect(),
            batching: Batching { most: script.batching.most.max(1), ..script.batching },
            times: script.times.clone(),
        });
        for replica in 0..script.count.max(1) {
            let (shared, seed) = (Arc::clone(&shared), stats::mix(script.seed ^ replica as u64));
            let work = move || shared.work(replica % queues, &mut Generator::new(seed));
            thread::Builder::new().name("replica".into()).spawn(work)?;
        }
        let accepting = Arc::clone(&shared);
        thread::Builder::new().name("router".into()).spawn(move || accepting.accept(&listener))?;
        Ok(Replicas { address, shared })
    }

    /// Where they answer.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.come.iter().for_each(Condvar::notify_all);
        // The one that waits for connections looks up when one comes.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Shared>, listener: &TcpListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            if self.lock().is_over {
                return;
            }
            let shared = Arc::clone(self);
            // Without a thread the connection closes, which the load counts as an error.
            let _ = thread::Builder::new().name("connection".into()).spawn(move || {
                // A connection that breaks is the generator's to report.
                let _ = shared.converse(&stream);
            });
        }
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut reader, mut writer) = (BufReader::new(stream), stream);
        while skip_request(&mut reader)? {
            let (sender, answered) = mpsc::channel();
            self.enqueue(sender);
            if answered.recv().is_err() {
                return Ok(());
            }
            writer.write_all(ANSWER)?;
        }
        Ok(())
    }

    fn enqueue(&self, sender: mpsc::Sender<()>) {
        let mut state = self.lock();
        let State { router, queues, .. } = &mut *state;
        let loads: Vec<usize> =
            queues.iter().map(|queue| queue.waiting.len() + queue.working).collect();
        let place = router.choose(queues.len(), |place| loads[place]);
        queues[place].waiting.push_back((Instant::now(), sender));
        drop(state);
        self.come[place].notify_one();
    }

    /// Answers requests of one queue, a batch after the other, by the rules of the simulation.
    fn work(&self, place: usize, generator: &mut Generator) {
        crate::precise_timers();
        let mut state = self.lock();
        loop {
            if state.is_over {
                return;
            }
            let Batching { most, wait } = self.batching;
            let queue = &mut state.queues[place];
            let Some((oldest, _)) = queue.waiting.front() else {
                state = self.come[place].wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = Duration::from_nanos(wait).saturating_sub(oldest.elapsed());
            if queue.waiting.len() < most && !left.is_zero() {
                let waited = self.come[place].wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let begin = Instant::now();
            let count = queue.waiting.len().min(most);
            let batch: Vec<_> = queue.waiting.drain(..count).collect();
            queue.working += count;
            drop(state);
            let time = Duration::from_nanos(self.times.draw(count, generator));
            thread::sleep(time.saturating_sub(begin.elapsed()));
            for (_, sender) in batch {
                // Somebody who has gone misses no answer.
                let _ = sender.send(());
            }
            state = self.lock();
            state.queues[place].working -= count;
        }
    }
}

/// Reads a request and forgets it; false at the end of the connection.
fn skip_request(reader: &mut impl BufRead) -> io::Result<bool> {
    let (mut length, mut is_first) = (0, true);
    loop {
        let mut line = String::new();
        if reader.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() && !is_first {
            break;
        }
        is_first = false;
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let skipped = io::copy(&mut reader.take(length.min(LONGEST)), &mut io::sink())?;
    Ok(skipped == length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc").unwrap();
        stream
    }

    fn hear(stream: &mut TcpStream) -> Duration {
        let begin = Instant::now();
        let mut answer = vec![0; ANSWER.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, ANSWER);
        begin.elapsed()
    }

    #[test]
    fn every_request_is_answered_by_every_policy_and_takes_its_time() {
        for routing in Routing::ALL {
            let script = ReplicaScript {
                times: ServiceTimes::constant(5_000_000),
                count: 3,
                routing,
                batching: Batching { most: 2, wait: 1_000_000 },
                seed: 1,
            };
            let replicas = Replicas::start(&script).unwrap();
            let begin = Instant::now();
            let mut streams: Vec<TcpStream> = (0..9).map(|_| ask(replicas.address())).collect();
            for stream in &mut streams {
                hear(stream);
            }
            assert!(begin.elapsed() >= Duration::from_millis(5), "{routing}");
            // The connection is kept.
            let stream = &mut streams[0];
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            assert!(hear(stream) >= Duration::from_millis(4));
        }
    }
}
