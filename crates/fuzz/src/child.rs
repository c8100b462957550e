//! The child process: runs cases one after the other and says how they end.
//!
//! What it writes, one per line: `finding CASE WHAT`, and at last `done`. Where it stands is in a file, so that a parent
//! knows the case that ended it.

use crate::{
    Outcome, Random, Target,
    case::{self, End},
    panics,
};
use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A worker thread's stack as it is on most systems: what nests too deep must end here, too.
const STACK: usize = 8 << 20;

/// A case that never ends is ended after this long.
const ENDLESS: Duration = Duration::from_secs(120);

/// Where a child stands: the case, how many were run and how many were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) case: u64,
    pub(crate) run: u64,
    pub(crate) accepted: u64,
}

impl Standing {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.case, self.run, self.accepted]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads where a child stood at its end.
    pub(crate) fn read(path: &Path) -> io::Result<Standing> {
        let bytes = fs::read(path)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let number =
            |place: usize| numbers.get(place).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok(Standing { case: number(0), run: number(1), accepted: number(2) })
    }
}

/// The bytes of a case.
pub(crate) fn bytes_of(target: &Target, seeds: &[Vec<u8>], seed: u64, case: u64) -> Vec<u8> {
    let mut random = Random::of_case(target.name, seed, case);
    (target.mutate)(&mut random, seeds)
}

/// The bytes of one case, from its target, seed and number alone.
#[must_use]
pub fn case_bytes(target: &Target, seed: u64, case: u64) -> Vec<u8> {
    bytes_of(target, &(target.seeds)(), seed, case)
}

/// Runs the cases `from..to` of a target and writes what was found.
///
/// # Errors
/// Where the file of its standing cannot be written.
pub fn serve(
    target: &'static Target,
    seed: u64,
    from: u64,
    to: u64,
    standing: &Path,
) -> io::Result<()> {
    let file = File::create(standing)?;
    panics::remember();
    let now = Arc::new(AtomicU64::new(from));
    let at = Arc::clone(&now);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || -> io::Result<()> {
        let seeds = (target.seeds)();
        let mut reader = (target.open)();
        let mut known = HashSet::new();
        let mut stands = Standing::default();
        for case in from..to {
            at.store(case, Ordering::Relaxed);
            stands.case = case;
            file.write_all_at(&stands.bytes(), 0)?;
            let bytes = bytes_of(target, &seeds, seed, case);
            match case::run(target, &mut reader, &bytes) {
                End::Answered(Outcome::Accepted) => stands.accepted += 1,
                End::Answered(Outcome::Refused) => {}
                End::Found(what) => {
                    if known.insert(panics::place(&what).to_owned()) {
                        let mut out = io::stdout().lock();
                        writeln!(out, "finding {case} {what}")?;
                        out.flush()?;
                    }
                }
            }
            stands.run += 1;
        }
        stands.case = to;
        file.write_all_at(&stands.bytes(), 0)
    })?;
    watch(&worker, &now);
    worker.join().map_err(|_| io::Error::other("the cases ended by a panic of the harness"))??;
    writeln!(io::stdout().lock(), "done")
}

/// Ends the process where a case does not end.
fn watch<T>(worker: &thread::JoinHandle<T>, now: &AtomicU64) {
    let mut last = (now.load(Ordering::Relaxed), Instant::now());
    while !worker.is_finished() {
        thread::sleep(Duration::from_millis(5));
        let case = now.load(Ordering::Relaxed);
        if case != last.0 {
            last = (case, Instant::now());
        }
        if last.1.elapsed() > ENDLESS {
            let _ = writeln!(io::stderr(), "endless: no answer after {} s", ENDLESS.as_secs());
            std::process::abort();
        }
    }
}

/// Reads one kept file; the error says how it did not end in an answer. Panics print as usual.
///
/// # Errors
/// Where the file cannot be read, or did not end in an answer.
pub fn replay_file(target: &'static Target, path: &Path) -> Result<Outcome, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        panics::remember();
    }
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        let mut reader = (target.open)();
        case::run(target, &mut reader, &bytes)
    });
    let worker = worker.map_err(|error| error.to_string())?;
    watch(&worker, &AtomicU64::new(0));
    match worker.join() {
        Ok(End::Answered(outcome)) => Ok(outcome),
        Ok(End::Found(what)) => Err(what),
        Err(_) => Err("the harness panicked".into()),
    }
}
