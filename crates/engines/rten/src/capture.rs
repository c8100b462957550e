//! Catches what is printed to standard output, for a while.
//!
//! The engine tells its times by printing them. Descriptor 1 points at a file in memory meanwhile and back afterwards,
//! whatever happens in between.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// There is one standard output in a process.
static TURN: Mutex<()> = Mutex::new(());

/// Standard output goes into a file while this lives.
pub(crate) struct Capture {
    log: File,
    before: OwnedFd,
    _turn: MutexGuard<'static, ()>,
}

impl Capture {
    /// Waits for its turn and takes standard output.
    pub(crate) fn begin() -> io::Result<Capture> {
        // The lock guards no data, so a panic of an earlier holder spoils nothing.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let log = memory()?;
        // SAFETY: fcntl takes a descriptor and a lower bound and touches no memory of ours.
        let before = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 10) };
        if before < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        let before = unsafe { OwnedFd::from_raw_fd(before) };
        // What waits in the buffer belongs to the old place.
        io::stdout().flush()?;
        point_output_at(log.as_raw_fd())?;
        Ok(Capture { log, before, _turn: turn })
    }

    /// What was printed since the last call, into `text`; invalid characters are replaced.
    pub(crate) fn take(&mut self, text: &mut String) -> io::Result<()> {
        io::stdout().flush()?;
        // The descriptor and the file share one position. The file keeps its pages, so that writing over them is cheap.
        let length = self.log.stream_position()?;
        self.log.rewind()?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        (&mut self.log).take(length).read_to_end(&mut bytes)?;
        self.log.rewind()?;
        text.clear();
        text.push_str(&String::from_utf8_lossy(&bytes));
        Ok(())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Neither can be answered here; half a line of a log is no loss.
        let _ = io::stdout().flush();
        let _ = point_output_at(self.before.as_raw_fd());
    }
}

fn point_output_at(descriptor: i32) -> io::Result<()> {
    // SAFETY: dup2 takes two descriptors and touches no memory of ours.
    match unsafe { libc::dup2(descriptor, libc::STDOUT_FILENO) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file that is nowhere on a disk, where the system has such.
fn memory() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the name ends with a zero and is only read.
        let made = unsafe { libc::memfd_create(c"engine log".as_ptr(), libc::MFD_CLOEXEC) };
        if made >= 0 {
            // SAFETY: the descriptor was just made and nobody else owns it.
            return Ok(unsafe { File::from_raw_fd(made) });
        }
    }
    tempfile::tempfile()
}
