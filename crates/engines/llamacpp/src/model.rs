//! A model whose weights are in.

use crate::{
    api::{Handle, copied},
    log, parameters,
    runtime::Runtime,
};
use engine::{EngineError, EngineErrorKind};
use std::{
    ffi::{CString, c_char},
    fs::File,
    os::unix::ffi::OsStrExt,
    path::Path,
};

pub(crate) struct Model {
    pub(crate) runtime: &'static Runtime,
    pub(crate) handle: Handle,
    pub(crate) vocabulary: usize,
}

impl Model {
    pub(crate) fn load(runtime: &'static Runtime, path: &Path) -> Result<Model, EngineError> {
        let bad = |cause: String| {
            let message = format!("llama.cpp could not load `{}`", path.display());
            EngineError::new(EngineErrorKind::BadModel, message).with_source(cause)
        };
        File::open(path).map_err(|error| bad(error.to_string()))?;
        let text =
            CString::new(path.as_os_str().as_bytes()).map_err(|error| bad(error.to_string()))?;
        let api = &runtime.api;
        log::forget();
        // SAFETY: the function takes nothing and returns its defaults.
        let defaults = unsafe { (api.llama_model_default_params)() };
        let told =
            parameters::for_model(defaults).ok_or_else(|| runtime.unknown_layout("model"))?;
        // SAFETY: the text ends with a zero; the block is the library's own with an empty list of devices that lives as
        // long as the program.
        let handle = unsafe { (api.llama_model_load_from_file)(text.as_ptr(), told) };
        if handle.is_null() {
            let cause = log::complaint().unwrap_or_else(|| "llama.cpp does not say why".to_owned());
            let mut error = bad(cause);
            if log::is_about_memory() {
                error.kind = EngineErrorKind::OutOfMemory;
            }
            return Err(error);
        }
        // SAFETY: the model was just made; its vocabulary lives in it.
        let vocabulary = unsafe { (api.llama_vocab_n_tokens)((api.llama_model_get_vocab)(handle)) };
        Ok(Model { runtime, handle, vocabulary: usize::try_from(vocabulary).unwrap_or(0) })
    }

    /// The family of the model, as its file names it; empty where it does not.
    pub(crate) fn family(&self) -> String {
        let mut text = [0 as c_char; 64];
        // SAFETY: the model lives, and the library is told how long the room is. It ends what it writes with a zero.
        unsafe {
            let read = self.runtime.api.llama_model_meta_val_str;
            let key = c"general.architecture".as_ptr();
            match read(self.handle, key, text.as_mut_ptr(), text.len()) {
                0.. => copied(text.as_ptr()),
                _ => String::new(),
            }
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the model is freed once; contexts own the model they were made of, so that none is left.
        unsafe { (self.runtime.api.llama_model_free)(self.handle) }
    }
}
