//! Waits until a moment, to some ten microseconds: the timer of tokio counts whole milliseconds.

use crate::clock::Clock;
use std::io;

#[cfg(target_os = "linux")]
mod timer {
    use super::Clock;
    use std::{
        io,
        os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        time::Instant,
    };
    use tokio::io::{Interest, unix::AsyncFd};

    /// A timer of the kernel that becomes readable at a moment.
    pub(crate) struct Pacer {
        timer: AsyncFd<Timer>,
    }

    struct Timer(OwnedFd);

    impl AsRawFd for Timer {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }
    }

    impl Pacer {
        pub(crate) fn new() -> io::Result<Pacer> {
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            // SAFETY: timerfd_create takes numbers and touches no memory of ours.
            let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor was just made and nobody else owns it.
            let timer = Timer(unsafe { OwnedFd::from_raw_fd(descriptor) });
            // SAFETY: the timer owns its descriptor, always gives the same one, and closes it only when it is dropped.
            let timer = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) };
            Ok(Pacer { timer: timer.map_err(io::Error::from)? })
        }

        /// Waits until this moment of the clock.
        pub(crate) async fn until(&self, clock: Clock, nanos: u64) -> io::Result<()> {
            let left = clock.moment(nanos).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let setting = libc::itimerspec {
                it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: libc::timespec {
                    tv_sec: left.as_secs() as libc::time_t,
                    tv_nsec: left.subsec_nanos() as libc::c_long,
                },
            };
            let descriptor = self.timer.get_ref().as_raw_fd();
            // SAFETY: the descriptor is open and the setting lives for the call.
            if unsafe {
                libc::timerfd_settime(descriptor, 0, &raw const setting, std::ptr::null_mut())
            } < 0
            {
                return Err(io::Error::last_os_error());
            }
            loop {
                let mut ready = self.timer.readable().await?;
                let mut count = [0u8; 8];
                // SAFETY: the buffer has the eight bytes that a timer writes.
                let read =
                    unsafe { libc::read(descriptor, count.as_mut_ptr().cast(), count.len()) };
                ready.clear_ready();
                if read == 8 {
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use super::Clock;
    use std::{io, time::Duration};

    /// The timer of tokio, and short turns of the loop for the rest.
    pub(crate) struct Pacer;

    impl Pacer {
        pub(crate) fn new() -> io::Result<Pacer> {
            Ok(Pacer)
        }

        /// Waits until this moment of the clock.
        pub(crate) async fn until(&self, clock: Clock, nanos: u64) -> io::Result<()> {
            const COARSE: Duration = Duration::from_millis(2);
            if let Some(early) = clock.moment(nanos).checked_sub(COARSE) {
                tokio::time::sleep_until(early.into()).await;
            }
            while clock.now() < nanos {
                tokio::task::yield_now().await;
            }
            Ok(())
        }
    }
}

pub(crate) use timer::Pacer;

/// Waits until a moment. A timer that fails leaves it to tokio's, which is coarser: the lag tells.
pub(crate) async fn wait_until(pacer: &Pacer, clock: Clock, nanos: u64) {
    let waited: io::Result<()> = pacer.until(clock, nanos).await;
    if waited.is_err() {
        tokio::time::sleep_until(clock.moment(nanos).into()).await;
    }
}
