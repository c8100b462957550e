//! The clock of a load: nanoseconds since it started, monotonic.

use std::time::{Duration, Instant};

/// The clock of one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn started() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The moment as the system counts it; far beyond any load where it does not fit.
    pub(crate) fn moment(&self, nanos: u64) -> Instant {
        const LATEST: u64 = 1_000_000_000 * 86_400 * 365;
        self.start + Duration::from_nanos(nanos.min(LATEST))
    }
}

/// Processor time that this process has used, in seconds.
pub(crate) fn processor_time() -> f64 {
    // SAFETY: all zero is a valid rusage, and getrusage fills one that lives for the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
