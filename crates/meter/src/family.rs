//! A worker and whatever it started end together.
//!
//! Every worker leads a process group of its own. The group's number stays taken until the worker was waited for, so the
//! group is always ended before that: the signal can never reach somebody else's. What leaves the group on purpose is
//! ended only where a control group holds the worker.

use std::process::Child;

/// Whether a worker has ended; it is not waited for, so its number is still its own.
pub(crate) fn has_ended(child: &Child) -> bool {
    // SAFETY: the struct is plain numbers; all zero is a valid one.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: waitid writes one struct that lives for the call.
    let result = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut found, options) };
    // SAFETY: waitid has filled the struct, or left it zero where nothing has ended.
    result == 0 && unsafe { found.si_pid() } != 0
}

/// Ends a worker and all of its group; it must not have been waited for yet.
pub(crate) fn kill(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: kill takes two numbers and touches no memory of ours.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // The worker itself, should it lead no group.
    let _ = child.kill();
}
