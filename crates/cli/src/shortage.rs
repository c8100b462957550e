//! A system that gives no memory or no threads: not our bug, and not a crash.

use crate::{Exit, Failure};
use probe::refused_allocation;

/// What the standard library and thread pools say when the system gives no thread.
const NO_THREAD: [&str; 3] =
    ["failed to spawn thread", "Resource temporarily unavailable", "Cannot allocate memory"];

/// The failure that a panic stands for, where it is for want of threads or memory.
pub(crate) fn of_panic(said: &str) -> Option<Failure> {
    NO_THREAD.iter().any(|words| said.contains(words)).then(|| {
        Failure::new(Exit::Cannot, "the system refused to start more threads").cause(said).hint(
            "stop other programs, or raise the limits `ulimit -u` (threads) and `ulimit -v` (their stacks)",
        )
    })
}

/// Lets a refused allocation end the command as what it is: the machine cannot. Rust aborts then, and stored runs are
/// not touched, because each is one transaction.
pub(crate) fn explain_refused_memory() {
    let handler = on_abort as extern "C" fn(libc::c_int);
    // SAFETY: the handler only calls what may be called in a handler.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
}

extern "C" fn on_abort(_signal: libc::c_int) {
    const TEXT: &str = "error: the system is out of memory; stored runs are safe\nhint: use a smaller `--batch-size`, \
                        stop other programs, or raise the limit `ulimit -v`\n";
    if refused_allocation().is_none() {
        // Any other abort stays one: a handler that was taken away does not come again.
        // SAFETY: both calls may be made in a handler and have no memory arguments.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            libc::abort();
        }
    }
    // SAFETY: both may be called in a handler; the text is constant. Nothing is flushed or freed.
    unsafe {
        libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
        libc::_exit(Exit::Cannot as libc::c_int);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_for_want_of_threads_is_no_bug() {
        let said = "failed to spawn thread: Os { code: 11, kind: WouldBlock }";
        let failure = of_panic(said).unwrap();
        assert_eq!(failure.exit, Exit::Cannot);
        assert!(failure.render(false).contains("code: 11"));
        assert!(of_panic("index out of bounds").is_none());
    }
}
