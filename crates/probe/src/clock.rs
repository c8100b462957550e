//! Processor time of this thread, and of another process, in nanoseconds.

use std::time::Duration;

/// Processor time this thread has used; zero where the system has no such clock.
#[cfg(unix)]
pub(crate) fn thread_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

#[cfg(not(unix))]
pub(crate) fn thread_time() -> Duration {
    Duration::ZERO
}

/// Processor time per process has used, its ended threads included; finer than the hundredths of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
pub(crate) fn process_time(pid: u32) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a live variable that the call fills.
    let status = unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &mut clock) };
    if status != 0 { None } else { read(clock) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_time(_pid: u32) -> Option<Duration> {
    None
}

#[cfg(unix)]
fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live variable that the call fills.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_moves_both_clocks() {
        let (thread, process) = (thread_time(), process_time(std::process::id()).unwrap());
        let mut value = 1u64;
        while thread_time() == thread {
            value = std::hint::black_box(value.wrapping_mul(3));
        }
        assert!(process_time(std::process::id()).unwrap() > process);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_time() {
        // Above the largest id that the kernel gives out.
        assert_eq!(process_time(1 << 23), None);
    }
}
