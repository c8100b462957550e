//! Threads that live on between steps; without them llama.cpp starts new ones for every pass through the graph.

use crate::{api::Handle, runtime::Runtime};
use std::ffi::c_int;

/// More bytes than `ggml_threadpool_params` has in any version: 528 in 0.5.0.
const PARAMETERS: usize = 4096;

pub(crate) struct Threads {
    pub(crate) handle: Handle,
    free: unsafe extern "C" fn(Handle),
}

impl Threads {
    /// `None` where they cannot be started.
    pub(crate) fn new(runtime: &Runtime, count: c_int) -> Option<Threads> {
        let init = runtime.api.ggml_threadpool_params_init;
        let new = runtime.of_processor(c"ggml_threadpool_new")?;
        let free = runtime.of_processor(c"ggml_threadpool_free")?;
        // SAFETY: functions of these names have had these types since they were added in August 2024.
        let (new, free) = unsafe {
            (
                std::mem::transmute::<Handle, unsafe extern "C" fn(Handle) -> Handle>(new),
                std::mem::transmute::<Handle, unsafe extern "C" fn(Handle)>(free),
            )
        };
        let mut block = [0_u64; PARAMETERS / 8];
        let told: Handle = block.as_mut_ptr().cast();
        // SAFETY: the block is larger than the structure; the library fills it with its defaults and copies what it keeps.
        let handle = unsafe {
            init(told, count);
            new(told)
        };
        (!handle.is_null()).then_some(Threads { handle, free })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: they are freed once, after the context that used them.
        unsafe { (self.free)(self.handle) }
    }
}
