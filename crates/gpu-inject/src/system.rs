//! The few calls into the system that the standard library does not have, declared by hand.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

pub(crate) const RTLD_NOW: c_int = 2;
/// Only what is loaded already.
pub(crate) const RTLD_NOLOAD: c_int = 4;

/// The number of the call; the C library has had a function for it only since 2.30.
#[cfg(target_arch = "x86_64")]
const GETTID: c_long = 186;
#[cfg(not(target_arch = "x86_64"))]
const GETTID: c_long = 178;

const CLOCK_REALTIME: c_int = 0;
const CLOCK_MONOTONIC: c_int = 1;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const u8, old: *mut u8) -> c_int;
}

/// A library that is loaded; never closed, because its functions are kept.
#[derive(Clone, Copy)]
pub(crate) struct Library(*mut c_void);

impl Library {
    /// Opens a library by name or path.
    pub(crate) fn open(name: &str, flags: c_int) -> Option<Library> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends in zero. Loading runs the library's own initialisers; only CUPTI is opened here.
        let library = unsafe { dlopen(name.as_ptr(), flags) };
        (!library.is_null()).then_some(Library(library))
    }

    /// The address of a function, if the library has it.
    pub(crate) fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle was opened and never closed, the name ends in zero.
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

fn clock(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct outlives the call; these clocks always exist.
    unsafe { clock_gettime(clock, &raw mut time) };
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// Nanoseconds of the clock that all records share.
pub(crate) fn now() -> u64 {
    clock(CLOCK_MONOTONIC)
}

/// Nanoseconds since the epoch.
pub(crate) fn since_epoch() -> u64 {
    clock(CLOCK_REALTIME)
}

/// The kernel's number of this thread.
pub(crate) fn thread() -> u32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { syscall(GETTID) as u32 }
}

/// Bytes that a file of this process may have (`ulimit -f`).
pub(crate) fn largest_file() -> u64 {
    const FILE_SIZE: c_int = 1;
    // What counts now, and the most that it may be set to.
    let mut limit = [u64::MAX; 2];
    // SAFETY: the place outlives the call; both numbers have 64 bits on the systems that are supported.
    unsafe { getrlimit(FILE_SIZE, &raw mut limit) };
    limit[0]
}

/// Calls this when the program returns from `main` or calls `exit`.
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the handler stays where it is.
    unsafe { atexit(handler) };
}

/// Calls this in a process that was forked from this one.
pub(crate) fn in_children(handler: extern "C" fn()) {
    // SAFETY: as above.
    unsafe { pthread_atfork(None, None, Some(handler)) };
}

/// Starts a thread of ours that takes no signals: they belong to the program's own threads.
pub(crate) fn quiet_thread(work: impl FnOnce() + Send + 'static) -> bool {
    const SETMASK: c_int = 2;
    // As large as the system's set, and more.
    let (all, mut old) = ([0xff_u8; 128], [0_u8; 128]);
    // SAFETY: both sets are larger than the system's, and a new thread takes over the mask of the one that starts it.
    unsafe { pthread_sigmask(SETMASK, all.as_ptr(), old.as_mut_ptr()) };
    let started = std::thread::Builder::new().name("modelmeter-gpu".into()).spawn(work).is_ok();
    // SAFETY: the set was filled by the call above.
    unsafe { pthread_sigmask(SETMASK, old.as_ptr(), std::ptr::null_mut()) };
    started
}
