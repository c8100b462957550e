//! How a worker comes to life.

use crate::Limit;
use std::{ffi::OsString, os::unix::net::UnixStream, path::PathBuf, sync::Arc};

/// Serves the protocol over one end of a socket until the other end goes away.
pub type ServeThread = Arc<dyn Fn(UnixStream) + Send + Sync>;

/// How a worker comes to life.
#[derive(Clone)]
pub enum Launch {
    /// A fresh process that speaks the protocol on its standard streams.
    Process {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
        /// What its environment has beside what every worker inherits ([`engine::INHERITED`]).
        environment: Vec<(OsString, OsString)>,
    },
    /// A thread of this process: for debugging only, a crash takes everything along.
    Thread(ServeThread),
    /// A fresh process that is held to a limit of memory.
    Limited {
        /// How it comes to life otherwise.
        launch: Box<Launch>,
        /// The limit.
        limit: Limit,
    },
}

impl Launch {
    /// Whether a crash of the worker leaves this process alive.
    #[must_use]
    pub fn is_isolated(&self) -> bool {
        match self {
            Launch::Process { .. } => true,
            Launch::Thread(_) => false,
            Launch::Limited { launch, .. } => launch.is_isolated(),
        }
    }
}
