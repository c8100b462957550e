//! The exit codes: one documented list.

use std::process::ExitCode;

/// What the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Fine.
    Fine = 0,
    /// A gate failed.
    Failed = 1,
    /// Asked wrongly: an unknown model, a bad shape, a missing file.
    Wrong = 2,
    /// This machine cannot: no device, out of memory, a crash, a timeout, a full disk.
    Cannot = 3,
    /// Cannot tell: nothing could be judged.
    Untold = 4,
    /// Our bug.
    Bug = 70,
    /// Somebody stopped it; what was measured is stored.
    Stopped = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Shows help, the version or what is wrong with the arguments.
pub(crate) fn after_parsing(error: &clap::Error) -> ExitCode {
    // A closed pipe (`modelmeter --help | head -1`) is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { Exit::Wrong.into() } else { Exit::Fine.into() }
}
