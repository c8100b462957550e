//! llama.cpp's C functions, found by name in a library that is opened by its path.
//!
//! Only what we call is declared, as `llama.h` and `ggml-backend.h` have it since June 2025. Everything else in this
//! crate goes through the owners in `runtime`, `model`, `context` and `threads`.

use crate::parameters::Block;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Something llama.cpp made, of which we know only the address.
pub(crate) type Handle = *mut c_void;
pub(crate) type Text = *const c_char;

/// Takes what the library would print: level, text, and what was given with the function.
pub(crate) type Listener = unsafe extern "C" fn(c_int, Text, *mut c_void);

/// Is asked before an operator whether its result is wanted, and told when it is there: tensor, whether this is the question, and
/// what was given with the function. `false` after a result ends the pass.
pub(crate) type Watcher = unsafe extern "C" fn(Handle, bool, *mut c_void) -> bool;

/// Tokens to read; the arrays belong to whoever made them.
#[repr(C)]
pub(crate) struct RawBatch {
    pub(crate) count: i32,
    pub(crate) token: *mut i32,
    pub(crate) embedding: *mut f32,
    pub(crate) position: *mut i32,
    pub(crate) sequences: *mut i32,
    pub(crate) sequence: *mut *mut i32,
    pub(crate) is_scored: *mut i8,
}

/// Declares the functions and how they are found.
macro_rules! functions {
    ($($name:ident: $kind:ty,)+) => {
        /// llama.cpp's functions; the library they lie in is never closed.
        pub(crate) struct Api { $(pub(crate) $name: $kind,)+ }

        impl Api {
            /// The functions of a library, those of `ggml` in the libraries that it brings along.
            pub(crate) fn of(library: &Library) -> Result<Api, libloading::Error> {
                // SAFETY: each type is the declaration of that very name in the C headers.
                unsafe {
                    Ok(Api { $($name: *library.get::<$kind>(stringify!($name).as_bytes())?,)+ })
                }
            }
        }
    };
}

functions! {
    llama_log_set: unsafe extern "C" fn(Option<Listener>, *mut c_void),
    llama_backend_init: unsafe extern "C" fn(),
    llama_max_parallel_sequences: unsafe extern "C" fn() -> usize,
    llama_model_default_params: unsafe extern "C" fn() -> Block,
    llama_model_load_from_file: unsafe extern "C" fn(Text, Block) -> Handle,
    llama_model_free: unsafe extern "C" fn(Handle),
    llama_model_get_vocab: unsafe extern "C" fn(Handle) -> Handle,
    llama_vocab_n_tokens: unsafe extern "C" fn(Handle) -> i32,
    llama_context_default_params: unsafe extern "C" fn() -> Block,
    llama_init_from_model: unsafe extern "C" fn(Handle, Block) -> Handle,
    llama_free: unsafe extern "C" fn(Handle),
    llama_n_ctx: unsafe extern "C" fn(Handle) -> u32,
    llama_n_batch: unsafe extern "C" fn(Handle) -> u32,
    llama_n_seq_max: unsafe extern "C" fn(Handle) -> u32,
    llama_set_n_threads: unsafe extern "C" fn(Handle, i32, i32),
    llama_decode: unsafe extern "C" fn(Handle, RawBatch) -> i32,
    llama_get_logits_ith: unsafe extern "C" fn(Handle, i32) -> *mut f32,
    llama_get_memory: unsafe extern "C" fn(Handle) -> Handle,
    llama_memory_clear: unsafe extern "C" fn(Handle, bool),
    llama_memory_seq_rm: unsafe extern "C" fn(Handle, i32, i32, i32) -> bool,
    llama_state_get_size: unsafe extern "C" fn(Handle) -> usize,
    llama_state_get_data: unsafe extern "C" fn(Handle, *mut u8, usize) -> usize,
    llama_state_set_data: unsafe extern "C" fn(Handle, *const u8, usize) -> usize,
    llama_model_meta_val_str: unsafe extern "C" fn(Handle, Text, *mut c_char, usize) -> i32,
    ggml_get_name: unsafe extern "C" fn(Handle) -> Text,
    ggml_backend_dev_by_type: unsafe extern "C" fn(c_int) -> Handle,
    ggml_backend_dev_backend_reg: unsafe extern "C" fn(Handle) -> Handle,
    ggml_backend_reg_get_proc_address: unsafe extern "C" fn(Handle, Text) -> Handle,
    ggml_threadpool_params_init: unsafe extern "C" fn(Handle, c_int),
    llama_attach_threadpool: unsafe extern "C" fn(Handle, Handle, Handle),
    ggml_backend_load_all_from_path: unsafe extern "C" fn(Text),
}

/// A copy of a text that may be absent.
///
/// # Safety
/// The text must end with a zero.
pub(crate) unsafe fn copied(text: Text) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises the zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
