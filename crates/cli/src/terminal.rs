//! What the terminal can show.

use clap::ValueEnum;
use std::{
    io::{IsTerminal, stderr, stdout},
    os::fd::{AsRawFd, RawFd},
};

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Data.
    Output,
    /// Talk.
    Error,
}

/// Whether to colour what goes to this stream.
pub(crate) fn wants_colour(colour: Colour, stream: Stream) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            is_terminal(stream) && !no_color && !dumb
        }
    }
}

/// Whether a person looks at this stream.
pub(crate) fn is_terminal(stream: Stream) -> bool {
    match stream {
        Stream::Output => stdout().is_terminal(),
        Stream::Error => stderr().is_terminal(),
    }
}

/// Columns of the terminal; 80 where there is none, so that what is piped is pasteable.
pub(crate) fn width() -> usize {
    width_of(stdout().as_raw_fd())
}

/// Columns of the terminal that talk goes to.
pub(crate) fn talk_width() -> usize {
    width_of(stderr().as_raw_fd())
}

fn width_of(descriptor: RawFd) -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one winsize through the pointer, which is valid for the call.
    let status = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    if status == 0 && size.ws_col > 0 { usize::from(size.ws_col) } else { 80 }
}

/// A file that passes the user's size limit shall be an error that is told, not a signal that kills.
pub(crate) fn outlive_file_limits() {
    // SAFETY: ignoring a signal installs no handler and touches no memory of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
