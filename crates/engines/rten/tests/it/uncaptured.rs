//! A thread whose prints the test harness does not catch.
//!
//! The engine tells its times by printing. The harness catches what is printed in a test's thread and in all that are made
//! from it by the standard library, before it comes to the descriptor where the engine's log is read.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::null_mut,
    thread,
};

type Work<T> = (Option<Box<dyn FnOnce() -> T + Send>>, Option<thread::Result<T>>);

extern "C" fn enter<T>(work: *mut c_void) -> *mut c_void {
    // SAFETY: the maker of this thread hands over its own `Work` and waits for the end before it looks at it.
    let (work, result) = unsafe { &mut *work.cast::<Work<T>>() };
    if let Some(work) = work.take() {
        *result = Some(catch_unwind(AssertUnwindSafe(work)));
    }
    null_mut()
}

/// Does the work on such a thread and waits for it; its panics are the caller's.
pub(crate) fn uncaptured<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let mut shared: Work<T> = (Some(Box::new(work)), None);
    let pointer = (&raw mut shared).cast::<c_void>();
    // SAFETY: `shared` lives until the thread was joined.
    let joined = unsafe {
        let mut thread = std::mem::zeroed();
        let made = libc::pthread_create(&raw mut thread, std::ptr::null(), enter::<T>, pointer);
        assert_eq!(made, 0, "no thread");
        libc::pthread_join(thread, null_mut())
    };
    assert_eq!(joined, 0, "the thread was not joined");
    match shared.1.unwrap() {
        Ok(value) => value,
        Err(panic) => resume_unwind(panic),
    }
}
