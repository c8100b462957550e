//! The exit codes: one documented list.

use crate::{
    arguments::Refusal,
    output,
    terminal::{self, Colour, Stream},
};
use std::process::ExitCode;

/// What the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Fine.
    Fine = 0,
    /// A gate failed.
    Failed = 1,
    /// Usage error: an unknown model, a bad shape, a missing file.
    Wrong = 2,
    /// Not supported on this machine: no device, out of memory, a crash, a timeout, a full disk.
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
pub(crate) fn after_parsing(refusal: &Refusal) -> ExitCode {
    let error = match refusal {
        Refusal::Usage(error) => error,
        Refusal::Failure(failure) => {
            // What was said about colour was not understood either.
            let colour = terminal::wants_colour(Colour::Auto, Stream::Error);
            output::complain(&failure.render(colour));
            return failure.exit.into();
        }
    };
    // A closed pipe (`modelmeter --help | head -1`) is no reason to complain.
    let _ = error.print();
    if error.use_stderr() { Exit::Wrong.into() } else { Exit::Fine.into() }
}
