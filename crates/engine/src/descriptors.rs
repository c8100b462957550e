//! Keeps the protocol on descriptors nobody else knows, so that an engine that prints cannot break it.

use std::{
    fs::File,
    io::{self, BufReader},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// The worker's side of the protocol.
pub struct Channel {
    /// What the parent asks.
    pub reader: BufReader<File>,
    /// What the worker answers.
    pub writer: File,
}

/// Moves the protocol from standard input and output to private descriptors.
///
/// Afterwards standard input is empty and standard output goes where standard error goes, for this process and
/// everything it starts. Call once, before anything else runs.
///
/// # Errors
/// When the system has no descriptors left.
pub fn claim_standard_streams() -> io::Result<Channel> {
    let reader = duplicate(libc::STDIN_FILENO)?;
    let writer = duplicate(libc::STDOUT_FILENO)?;
    let nothing = File::open("/dev/null")?;
    replace(nothing.as_raw_fd(), libc::STDIN_FILENO)?;
    replace(libc::STDERR_FILENO, libc::STDOUT_FILENO)?;
    Ok(Channel { reader: BufReader::new(File::from(reader)), writer: File::from(writer) })
}

/// A copy that is closed when another program is started, above the numbers that programs expect to be theirs.
fn duplicate(descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_DUPFD_CLOEXEC takes a descriptor and a lower bound and touches no memory of ours.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 10) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

fn replace(from: i32, to: i32) -> io::Result<()> {
    // SAFETY: dup2 takes two descriptors and touches no memory of ours.
    if unsafe { libc::dup2(from, to) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
