//! A model with room for what it has read.

use crate::{
    api::{Api, Handle, Watcher},
    batch::Batch,
    log,
    model::Model,
    parameters::{self, ContextSize},
    settings::CacheType,
    threads::Threads,
};
use engine::{EngineError, EngineErrorKind};
use std::rc::Rc;

pub(crate) struct Context {
    handle: Handle,
    threads: Option<Threads>,
    /// Freed after the context.
    pub(crate) model: Rc<Model>,
    /// The most tokens of a call.
    pub(crate) batch: usize,
}

fn failed(message: &str) -> EngineError {
    let error = EngineError::new(EngineErrorKind::Failed, message);
    match log::complaint() {
        Some(cause) => error.with_source(cause),
        None => error,
    }
}

impl Context {
    pub(crate) fn new(
        model: Rc<Model>,
        cache: CacheType,
        rows: usize,
        each: usize,
        watcher: Option<(Watcher, Handle)>,
    ) -> Result<Context, EngineError> {
        let runtime = model.runtime;
        let api = &runtime.api;
        // SAFETY: the function takes nothing.
        let most_rows = unsafe { (api.llama_max_parallel_sequences)() };
        if rows == 0 || rows > most_rows {
            let message = format!("llama.cpp takes 1 to {most_rows} rows at once, not {rows}");
            let hint = format!("use `--batch-sizes` up to {most_rows}");
            return Err(EngineError::new(EngineErrorKind::Unsupported, message).with_hint(hint));
        }
        let no_room = |cause: Option<String>| {
            let message = format!("llama.cpp could not make room for {rows} × {each} tokens");
            let kind = match cause.is_none() || log::is_about_memory() {
                true => EngineErrorKind::OutOfMemory,
                false => EngineErrorKind::Failed,
            };
            let error = EngineError::new(kind, message);
            match cause {
                Some(cause) => error.with_source(cause),
                None => error,
            }
        };
        // Positions are signed, and the library rounds up.
        let tokens = each.max(1).checked_mul(rows).filter(|tokens| *tokens < 1 << 30);
        let tokens = tokens.ok_or_else(|| no_room(None))?;
        let cache = cache.number;
        let size = ContextSize { tokens: tokens as u32, rows: rows as u32, cache, watcher };
        log::forget();
        // SAFETY: the function takes nothing and returns its defaults.
        let defaults = unsafe { (api.llama_context_default_params)() };
        let told = parameters::for_context(defaults, size);
        let told = told.ok_or_else(|| runtime.unknown_layout("context"))?;
        // SAFETY: the model lives in what is made here; the block is the library's own with another size.
        let handle = unsafe { (api.llama_init_from_model)(model.handle, told) };
        if handle.is_null() {
            return Err(no_room(log::complaint()));
        }
        let mut context = Context { handle, threads: None, model, batch: 0 };
        // SAFETY: the context was just made.
        let (has, rows_had, batch) = unsafe {
            let has = (api.llama_n_ctx)(handle);
            (has, (api.llama_n_seq_max)(handle), (api.llama_n_batch)(handle))
        };
        // Settings that went elsewhere in the block would show here.
        if (has as usize) < tokens || rows_had as usize != rows || (batch as usize) < rows {
            return Err(runtime.unknown_layout("context"));
        }
        context.batch = batch as usize;
        Ok(context)
    }

    fn api(&self) -> &'static Api {
        &self.model.runtime.api
    }

    /// Sets the number of threads, which live on between steps.
    pub(crate) fn set_threads(&mut self, count: i32) -> Result<(), EngineError> {
        let (api, runtime) = (self.api(), self.model.runtime);
        log::forget();
        let threads = Threads::new(runtime, count);
        let threads =
            threads.ok_or_else(|| failed(&format!("llama.cpp could not start {count} threads")))?;
        // SAFETY: the context lives, and the threads are freed after it.
        unsafe {
            (api.llama_set_n_threads)(self.handle, count, count);
            (api.llama_attach_threadpool)(self.handle, threads.handle, std::ptr::null_mut());
        }
        self.threads = Some(threads);
        Ok(())
    }

    /// Reads tokens and waits for them.
    pub(crate) fn decode(&mut self, batch: &mut Batch) -> Result<(), EngineError> {
        log::forget();
        // SAFETY: the arrays are as long as the batch says and live during the call; rows and positions are in range, as
        // the generator checks, and the library checks it again.
        match unsafe { (self.api().llama_decode)(self.handle, batch.raw()) } {
            0 => Ok(()),
            1 => Err(failed("llama.cpp found no room in its cache")),
            code => Err(failed(&format!("llama.cpp failed to read tokens (code {code})"))),
        }
    }

    /// The scores after the token at a place of the last batch, until the next one is read.
    pub(crate) fn scores(&self, place: usize) -> Result<&[f32], EngineError> {
        // SAFETY: the context lives; where the token has no scores, nothing is returned.
        let scores = unsafe { (self.api().llama_get_logits_ith)(self.handle, place as i32) };
        if scores.is_null() {
            return Err(failed("llama.cpp left no scores"));
        }
        // SAFETY: there is one score for each token that is known. They lie in the context until the next call of `decode`,
        // which needs what is borrowed here.
        Ok(unsafe { std::slice::from_raw_parts(scores, self.model.vocabulary) })
    }

    /// Forgets what a row holds from a position on; `false` where the model cannot.
    pub(crate) fn forget_from(&mut self, row: i32, position: i32) -> bool {
        let api = self.api();
        // SAFETY: the context lives; −1 stands for the end.
        unsafe { (api.llama_memory_seq_rm)((api.llama_get_memory)(self.handle), row, position, -1) }
    }

    /// Forgets everything.
    pub(crate) fn forget_all(&mut self) {
        let api = self.api();
        // SAFETY: the context lives. What is forgotten need not be overwritten.
        unsafe { (api.llama_memory_clear)((api.llama_get_memory)(self.handle), false) }
    }

    /// Bytes of what it holds, as they would be written to a file.
    pub(crate) fn state(&self) -> usize {
        // SAFETY: the context lives; nothing is changed by counting.
        unsafe { (self.api().llama_state_get_size)(self.handle) }
    }

    /// Holds what another context of the same size holds.
    pub(crate) fn take_over(&mut self, other: &Context) -> Result<(), EngineError> {
        let mut state = vec![0u8; other.state()];
        log::forget();
        // SAFETY: both contexts live, and the library is told how long the room is.
        let (written, read) = unsafe {
            let written =
                (self.api().llama_state_get_data)(other.handle, state.as_mut_ptr(), state.len());
            (written, (self.api().llama_state_set_data)(self.handle, state.as_ptr(), written))
        };
        match written > 0 && read == written {
            true => Ok(()),
            false => Err(failed("llama.cpp could not copy its cache")),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is freed once, before the threads and the model, which are fields.
        unsafe { (self.api().llama_free)(self.handle) }
    }
}
