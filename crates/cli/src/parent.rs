//! Ends with the program that it works for, if that program says who it is: a notebook's kernel may be killed.

use std::env;

/// The variable with the parent's process id; the Python package sets it.
const VARIABLE: &str = "MODELMETER_PARENT";

/// Asks the kernel for SIGTERM when the parent is gone. Does nothing if the parent is somebody else, such as a shell.
pub(crate) fn end_with_parent() {
    let named = env::var(VARIABLE).ok().and_then(|id| id.parse::<libc::pid_t>().ok());
    // SAFETY: both calls only ask the kernel about this process.
    #[cfg(target_os = "linux")]
    unsafe {
        if named == Some(libc::getppid()) {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = named;
}
