//! The recorder of a GPU's work, where the parent had it loaded into this worker: it is told from when on work belongs to
//! which node. What the GPU did then stands in its file, which the parent reads.

/// The variable that names the recorder's library.
pub const RECORDER: &str = "MODELMETER_GPU_LIBRARY";

/// The numbers of `crates/gpu-inject/src/format.rs`.
const RUN: u64 = 1 << 40;
const RUN_IN_PARTS: u64 = RUN + 1;
const END: u64 = RUN + 2;
const NOBODY: u64 = RUN + 3;
const TURN: u64 = RUN + 4;

/// The functions of the recorder.
#[derive(Debug, Clone, Copy)]
pub struct PartRecorder {
    part: extern "C" fn(u64),
    part_at: extern "C" fn(u64, u64),
    flush: extern "C" fn(),
}

impl PartRecorder {
    /// The recorder, if there is one in this process and it records.
    #[must_use]
    pub fn of_this_process() -> Option<PartRecorder> {
        let path = std::env::var_os(RECORDER)?;
        let path = std::ffi::CString::new(std::os::unix::ffi::OsStringExt::into_vec(path)).ok()?;
        // SAFETY: the path ends in zero. The library is our own; the driver has loaded it already, or it does nothing.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        let symbol = |name: &std::ffi::CStr| {
            // SAFETY: the handle was opened and is never closed, the name ends in zero.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!library.is_null() && !address.is_null()).then_some(address)
        };
        let is_recording = symbol(c"modelmeter_gpu_is_recording")?;
        // SAFETY: the library declares its functions with these arguments.
        let (is_recording, recorder) = unsafe {
            use std::mem::transmute;
            type Place = *mut libc::c_void;
            (
                transmute::<Place, extern "C" fn() -> i32>(is_recording),
                PartRecorder {
                    part: transmute::<Place, extern "C" fn(u64)>(symbol(c"modelmeter_gpu_part")?),
                    part_at: transmute::<Place, extern "C" fn(u64, u64)>(symbol(
                        c"modelmeter_gpu_part_at",
                    )?),
                    flush: transmute::<Place, extern "C" fn()>(symbol(c"modelmeter_gpu_flush")?),
                },
            )
        };
        (is_recording() == 1).then_some(recorder)
    }

    /// Runs of another turn follow.
    pub fn turn(&self) {
        (self.part)(TURN);
    }

    /// Runs something whose parts are not told apart.
    pub fn whole<T>(&self, run: impl FnOnce() -> T) -> T {
        (self.part)(RUN);
        let answer = run();
        (self.part)(END);
        answer
    }

    /// Runs something whose parts are told afterwards; also when it began and ended, in nanoseconds of the recorder's clock.
    pub fn in_parts<T>(&self, run: impl FnOnce() -> T) -> (T, (u64, u64)) {
        (self.part)(RUN_IN_PARTS);
        let begin = now();
        (self.part_at)(begin, NOBODY);
        let answer = run();
        let end = now();
        (self.part)(END);
        (answer, (begin, end))
    }

    /// From a moment on time and work belong to this node; `None` for no node.
    pub fn node_at(&self, time: u64, node: Option<usize>) {
        (self.part_at)(time, node.map_or(NOBODY, part_of));
    }

    /// Everything that has happened is in the file when this returns.
    pub fn flush(&self) {
        (self.flush)();
    }
}

/// The recorder's number of a node.
#[must_use]
pub fn part_of(node: usize) -> u64 {
    4 * node as u64
}

/// Nanoseconds of the recorder's clock.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct outlives the call; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
