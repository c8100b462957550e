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

/// For `--modules`: PyTorch's own profiler is about to start, and only one of the two can have the GPU's records.
#[unsafe(no_mangle)]
pub extern "C" fn modelmeter_gpu_release() {
    guarded((), || cupti::release("torch.profiler was started by the program"));
}
