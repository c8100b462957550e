//! The library that a CUDA program loads when `modelmeter gpu` starts it: it records kernels, copies, calls and NVTX
//! ranges into one file a process, and leaves everything else alone.
//!
//! The driver calls `InitializeInjection` (variable `CUDA_INJECTION64_PATH`), NVTX calls `InitializeInjectionNvtx2`
//! (variable `NVTX_INJECTION64_PATH`). Nothing here may disturb the program: no panic leaves an entry point, no lock is
//! held across a call into CUDA, and whatever goes wrong ends the recording, with a note in the file, not the program.
//!
//! `crates/gpu/build.rs` compiles these files as a shared library; `crates/gpu` reads what they write.

mod api;
mod buffers;
mod cupti;
mod encode;
pub mod format;
mod graphs;
mod nvtx;
mod process;
mod recorder;
mod strings;
mod system;
mod trouble;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what an entry point does; a panic ends there.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// What the CUDA driver calls while it initialises itself. Always 1: a refusal could disturb the program.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> i32 {
    guarded((), cupti::begin);
    1
}

/// What NVTX calls when the program uses it for the first time.
///
/// # Safety
/// The argument is NVTX's own function or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(table: Option<nvtx::ExportTable>) -> i32 {
    // SAFETY: the caller is NVTX, which hands over its own table.
    guarded(0, || unsafe { nvtx::attach(table) })
}

/// For workers of ours: time and work belong to this part from now on, see [`format::part`].
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_part(number: u64) {
    modelmeter_gpu_part_at(system::now(), number);
}

/// The same, of a moment that has passed: an engine that times its nodes tells only afterwards when each ran.
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_part_at(time: u64, number: u64) {
    guarded((), || {
        if let Some(recorder) = process::current() {
            nvtx::note_at(recorder, format::Event::Part, time, &[number]);
        }
    });
}

/// For workers of ours: whether kernels are recorded.
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_is_recording() -> i32 {
    guarded(0, || i32::from(cupti::is_recording()))
}

/// For workers of ours: everything that has happened is in the file when this returns.
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_flush() {
    guarded((), || {
        cupti::flush(true);
        if let Some(recorder) = process::existing() {
            recorder.flush_events();
        }
    });
}

/// For `--modules`: PyTorch's own profiler is about to start, and only one of the two can have the GPU's records.
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_release() {
    guarded((), cupti::release);
}
