//! What can end a cell without a run.

use engine::{EngineError, EngineErrorKind, Failure};
use std::{io, time::Duration};
use types::LimitedBy;

/// What everybody is told whose memory ran out.
pub(crate) const MORE_MEMORY: &str =
    "use a smaller `--batch-size` or `--sequence-length`, or a machine with more memory";

/// What everybody is told who got no thread or process.
pub(crate) const NO_THREADS: &str = "the system refused to start more threads";

/// What helps against it.
pub(crate) const MORE_THREADS: &str =
    "stop other programs, or raise the limits `ulimit -u` (threads) and `ulimit -v` (their stacks)";

/// Why a cell ended without a run.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// The worker could not be started.
    #[error("could not start the worker `{program}`")]
    Start {
        /// What was started.
        program: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The worker's temporary folder could not be made.
    #[error("could not create a temporary folder for the worker")]
    Scratch(#[source] io::Error),
    /// The system gives no more threads, or no room for their stacks.
    #[error("{NO_THREADS}")]
    NoThreads {
        /// How it said so.
        cause: String,
    },
    /// The worker could not be held to its limit of memory.
    #[error("could not limit the worker's memory with `{by}`")]
    Limit {
        /// By which means.
        by: LimitedBy,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The worker ended while it should have answered.
    #[error("the worker failed to {doing}: {how}")]
    Died {
        /// What it was asked.
        doing: &'static str,
        /// How it ended, in plain words.
        how: String,
        /// The last lines it printed.
        last_words: String,
        /// Whether memory ran out.
        out_of_memory: bool,
    },
    /// The worker did not answer in time and was killed.
    #[error("the worker did not {doing} within {limit:?} and was stopped")]
    Timeout {
        /// What it was asked.
        doing: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The worker said something that makes no sense here.
    #[error("unexpected answer of the worker, which had to {doing}: {said}")]
    Protocol {
        /// What it was asked.
        doing: &'static str,
        /// What came instead.
        said: String,
    },
    /// The engine refused or failed.
    #[error("{}", .0.message)]
    Engine(Failure),
}

impl From<EngineError> for MeterError {
    fn from(error: EngineError) -> MeterError {
        MeterError::Engine(Failure::from(&error))
    }
}

impl MeterError {
    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            MeterError::Start { source, .. } if is_without_room(source) => {
                Some(MORE_THREADS.into())
            }
            MeterError::Start { .. } => None,
            MeterError::Scratch(_) => {
                Some("put `TMPDIR=/var/tmp` in front of the command to use another folder".into())
            }
            MeterError::NoThreads { .. } => Some(MORE_THREADS.into()),
            MeterError::Limit { by: LimitedBy::Cgroup, .. } => {
                Some("`--limit-by rlimit` needs no privileges, but counts more strictly".into())
            }
            MeterError::Limit { .. } => None,
            MeterError::Died { out_of_memory: true, .. } => Some(MORE_MEMORY.into()),
            MeterError::Died { .. } => Some(
                "`--isolation none` runs in this process, where a debugger can see the crash"
                    .into(),
            ),
            MeterError::Timeout { .. } => {
                Some("`--timeout 30m` waits longer; a smaller `--batch-size` is faster".into())
            }
            MeterError::Protocol { .. } => None,
            MeterError::Engine(failure) => failure.hint.clone(),
        }
    }

    /// The causes below the message, outermost first.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        match self {
            MeterError::Engine(failure) => failure.causes.clone(),
            MeterError::Died { last_words, .. } if !last_words.is_empty() => {
                vec![format!("its last output: {last_words}")]
            }
            MeterError::Start { source, .. }
            | MeterError::Limit { source, .. }
            | MeterError::Scratch(source) => vec![source.to_string()],
            MeterError::NoThreads { cause } => vec![cause.clone()],
            _ => Vec::new(),
        }
    }

    /// Whether memory ran out: the kernel killed the worker, or an allocation was refused.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            MeterError::Died { out_of_memory, .. } => *out_of_memory,
            MeterError::Engine(failure) => failure.kind == EngineErrorKind::OutOfMemory,
            _ => false,
        }
    }

    /// Which step of the engine failed, where one did.
    #[must_use]
    pub fn engine_kind(&self) -> Option<EngineErrorKind> {
        match self {
            MeterError::Engine(failure) => Some(failure.kind),
            _ => None,
        }
    }
}

/// Whether a process was refused for want of processes or memory.
fn is_without_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory)
}
