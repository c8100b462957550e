//! Holds a worker to a limit of memory: in a control group of its own where one can be made, otherwise by `RLIMIT_DATA`.
//!
//! A control group counts what is resident, of the worker and all its children together, and takes swap away.
//! `RLIMIT_DATA` counts the writable private memory that each process has asked for, whether it was touched or not. It
//! is stricter: stacks of threads and room that an allocator only reserved count as well. `RLIMIT_AS` would count
//! mapped weights and libraries too, and engines reserve far more addresses than they ever use.

mod group;

use crate::MeterError;
use group::MemoryGroup;
use number::mebibytes;
use std::{io, os::unix::process::CommandExt, process::Command};
use types::{Bytes, LimitedBy, MemoryLimit};

/// A limit that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The most the worker may hold.
    pub bytes: Bytes,
    /// Who shall see to it; the best means there is unless said.
    pub by: Option<LimitedBy>,
}

impl Limit {
    /// The means to try, the best first.
    pub(crate) fn means(&self) -> Vec<LimitedBy> {
        self.by.map_or_else(|| vec![LimitedBy::Cgroup, LimitedBy::Rlimit], |by| vec![by])
    }

    /// Who would hold a worker here, found by getting ready to.
    ///
    /// # Errors
    /// When nobody can by the means that were asked for.
    pub fn holder(&self) -> Result<LimitedBy, MeterError> {
        let mut refused = None;
        for by in self.means() {
            match Hold::make(self.bytes, by) {
                Ok(_) => return Ok(by),
                Err(source) => {
                    refused = refused.or(Some(MeterError::Limit { by, source }));
                }
            }
        }
        let nothing = || io::Error::other("no means");
        Err(refused
            .unwrap_or_else(|| MeterError::Limit { by: LimitedBy::Nobody, source: nothing() }))
    }
}

/// What holds one worker; a group made for it goes with it.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) limit: MemoryLimit,
    group: Option<MemoryGroup>,
}

impl Hold {
    /// Gets ready to hold a worker by this means.
    pub(crate) fn make(bytes: Bytes, by: LimitedBy) -> io::Result<Hold> {
        let group = match by {
            LimitedBy::Cgroup => Some(MemoryGroup::make(bytes)?),
            LimitedBy::Rlimit | LimitedBy::DeviceAllocator | LimitedBy::Nobody => None,
        };
        Ok(Hold { limit: MemoryLimit { bytes, by }, group })
    }

    /// Makes a program start under the limit.
    pub(crate) fn apply(&self, command: &mut Command) -> io::Result<()> {
        if let Some(group) = &self.group {
            let door = group.door()?;
            // SAFETY: the closure makes one `write` system call on a descriptor that it owns, and allocates nothing.
            unsafe { command.pre_exec(move || group::enter(&door)) };
        }
        if self.limit.by == LimitedBy::Rlimit {
            // A process under a stricter limit already cannot be given a wider one.
            let bytes = (self.limit.bytes.0 as libc::rlim_t).min(hard_limit());
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // SAFETY: setrlimit is async-signal-safe and reads one struct that lives for the call.
            unsafe {
                command.pre_exec(move || {
                    match libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) {
                        0 => Ok(()),
                        _ => Err(io::Error::last_os_error()),
                    }
                });
            }
        }
        Ok(())
    }

    /// How many processes the kernel killed because they went over this limit; `None` if it does not kill.
    pub(crate) fn kills(&self) -> Option<u64> {
        self.group.as_ref().and_then(MemoryGroup::kills)
    }

    /// The limit in words, for an error.
    pub(crate) fn words(&self) -> String {
        let MemoryLimit { bytes, by } = self.limit;
        format!("its memory was limited to {} by {}", mebibytes(bytes.0), by.words())
    }
}

/// The most that this process may allow its children.
fn hard_limit() -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call writes one struct that lives for the call.
    match unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) } {
        0 => limit.rlim_max,
        _ => libc::RLIM_INFINITY,
    }
}
