//! How a worker ended, in words a person can act on.

use engine::Failure;
use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExitReport {
    /// In plain words.
    pub(crate) how: String,
    /// Whether memory ran out.
    pub(crate) out_of_memory: bool,
}

/// Reads an exit status, the worker's last words and how often the kernel killed for memory meanwhile.
pub(crate) fn describe(status: ExitStatus, last_words: &str, kernel_kills: u64) -> ExitReport {
    let refused = is_refusal(last_words);
    let killed = status.signal() == Some(libc::SIGKILL);
    if refused || (killed && kernel_kills > 0) {
        let who = if refused { "an allocation was refused" } else { "the kernel killed it" };
        return ExitReport { how: format!("it ran out of memory ({who})"), out_of_memory: true };
    }
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by signal {signal} ({})", signal_name(signal)),
        (None, Some(0)) => "it exited early without an error".into(),
        (None, Some(code)) => format!("it exited with status {code}"),
        (None, None) => "for an unknown reason".into(),
    };
    ExitReport { how, out_of_memory: false }
}

/// How allocators, engines and the C library say that there is no memory left.
const REFUSALS: [&str; 8] = [
    "memory allocation of",
    "bad_alloc",
    "out of memory",
    // ONNX Runtime goes on with `memory for requested buffer`, OpenVINO with `81920000 bytes of memory`.
    "failed to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    // Python's own.
    "memoryerror",
];

pub(crate) fn is_refusal(text: &str) -> bool {
    let text = text.to_lowercase();
    REFUSALS.iter().any(|words| text.contains(words))
}

/// How a system says that a thread cannot be had; where memory is limited, that its stack has no room.
const NO_THREAD: &str = "resource temporarily unavailable";

/// Whether words are about a thread that could not be started.
pub(crate) fn is_without_threads(words: &str) -> bool {
    let words = words.to_lowercase();
    // C++ says it as `thread constructor failed: Resource temporarily unavailable`, Python as `can't start new thread`.
    words.contains(NO_THREAD) || words.contains("can't start new thread")
}

/// Whether an engine's failure is for want of memory.
pub(crate) fn tells_of_memory(failure: &Failure) -> bool {
    is_refusal(&failure.message) || failure.causes.iter().any(|cause| is_refusal(cause))
}

/// Whether an engine's failure is for want of threads.
pub(crate) fn tells_of_threads(failure: &Failure) -> bool {
    let causes = failure.causes.iter().any(|cause| is_without_threads(cause));
    causes || is_without_threads(&failure.message)
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV, a crash in native code",
        libc::SIGABRT => "SIGABRT, it aborted itself",
        libc::SIGBUS => "SIGBUS, a file shrank or the disk is full",
        libc::SIGILL => "SIGILL, an instruction this processor lacks",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        _ => "see `man 7 signal`",
    }
}

/// How many processes the kernel has killed for memory since boot, where it counts them.
pub(crate) fn kernel_kills() -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/vmstat").ok()?;
    parse_kernel_kills(&counters)
}

fn parse_kernel_kills(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|n| n.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_allocation_and_a_kernel_kill_are_out_of_memory() {
        let aborted = ExitStatus::from_raw(libc::SIGABRT);
        let killed = ExitStatus::from_raw(libc::SIGKILL);
        assert!(describe(aborted, "memory allocation of 4096 bytes failed", 0).out_of_memory);
        assert!(describe(killed, "", 1).out_of_memory);
        let by_hand = describe(killed, "", 0);
        assert!(!by_hand.out_of_memory);
        assert!(by_hand.how.contains("SIGKILL"));
    }

    #[test]
    fn engines_say_in_many_ways_that_memory_ran_out() {
        let failure = |message: &str, cause: &str| Failure {
            kind: engine::EngineErrorKind::Failed,
            message: message.into(),
            causes: vec![cause.into()],
            hint: None,
        };
        let refused = "Failed to allocate memory for requested buffer of size 1048576";
        assert!(tells_of_memory(&failure("the model failed", refused)));
        let checked = "Check 'ptr' failed at cpu_memory.cpp:257:\nFailed to allocate 81920000 bytes of memory";
        assert!(tells_of_memory(&failure("the model failed", checked)));
        let enforced = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes";
        assert!(tells_of_memory(&failure("the model failed", enforced)));
        assert!(tells_of_memory(&failure("out of memory on `cpu`", "")));
        assert!(!tells_of_memory(&failure("no such kernel", "opset 99")));
        let pool = "the engine panicked: IOError(Os { code: 11, message: \"Resource temporarily unavailable\" })";
        assert!(tells_of_threads(&failure(pool, "")) && !tells_of_memory(&failure(pool, "")));
    }

    #[test]
    fn an_exit_status_is_named() {
        assert!(describe(ExitStatus::from_raw(3 << 8), "", 0).how.contains("status 3"));
    }

    #[test]
    fn kernel_kills_are_read_from_the_counters() {
        assert_eq!(parse_kernel_kills("nr_free_pages 5\noom_kill 2\n"), Some(2));
        assert_eq!(parse_kernel_kills("nr_free_pages 5\n"), None);
    }
}
