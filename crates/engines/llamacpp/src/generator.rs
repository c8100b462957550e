//! A language model in llama.cpp.

use crate::{
    batch::Batch,
    context::Context,
    instruments::Instruments,
    locate,
    model::Model,
    runtime,
    settings::{CacheType, cache_type},
};
use engine::{
    CacheState, EngineError, EngineErrorKind, FeedLog, Generator, GeneratorRequest, LoadRequest,
    OpenProfiled, RunRecord,
};
use std::{borrow::Cow, rc::Rc};
use types::{DecoderShape, Device, Precision};

pub(crate) struct LlamaGenerator {
    context: Context,
    batch: Batch,
    cache: CacheType,
    rows: usize,
    /// The most tokens of a row.
    room: usize,
    /// Tokens of each row that the cache holds.
    held: usize,
    mark: usize,
    /// Where the last token of each row was in the last batch; empty where nothing was read since the last change.
    scored: Vec<usize>,
    placement: String,
    threads: i32,
    /// While feeds are written down: the context without instruments, and the instruments of the one that is in its place.
    put_aside: Option<(Context, Instruments)>,
}

fn unsupported(message: String) -> EngineError {
    EngineError::new(EngineErrorKind::Unsupported, message)
}

fn bad_input(message: String) -> EngineError {
    EngineError::new(EngineErrorKind::BadInput, message)
}

impl LlamaGenerator {
    pub(crate) fn new(
        &GeneratorRequest { load: request, shape, batch: rows, context: room, .. }: &GeneratorRequest<'_>,
    ) -> Result<LlamaGenerator, EngineError> {
        refuse(request)?;
        let cache = cache_type(&request.options)?;
        let Some(file) = &request.gguf else {
            return Err(unsupported("engine `llamacpp` needs the model as a `.gguf` file".into()));
        };
        let library = locate::locate(&request.places)?;
        let runtime = runtime::load(&library)?;
        let model = Model::load(runtime, file)?;
        if model.vocabulary != shape.vocabulary {
            let message = format!(
                "llama.cpp knows {} tokens in `{}`, not {}",
                model.vocabulary,
                file.display(),
                shape.vocabulary
            );
            return Err(EngineError::new(EngineErrorKind::BadModel, message));
        }
        enough_memory(shape, cache, rows, room)?;
        let mut context = Context::new(Rc::new(model), cache, rows, room, None)?;
        let threads = request.threads.clamp(1, 512);
        context.set_threads(threads as i32)?;
        let count = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        let variant = runtime.variant().map(|variant| format!(", {variant} variant"));
        Ok(LlamaGenerator {
            context,
            batch: Batch::new(rows as i32),
            cache,
            rows,
            room,
            held: 0,
            mark: 0,
            scored: Vec::new(),
            placement: format!("cpu, {count}{}", variant.unwrap_or_default()),
            threads: threads as i32,
            put_aside: None,
        })
    }

    fn check(&self, tokens: &[i64]) -> Result<usize, EngineError> {
        let each = tokens.len() / self.rows;
        if each == 0 || each * self.rows != tokens.len() {
            let text =
                format!("{} tokens cannot be divided among {} rows", tokens.len(), self.rows);
            return Err(bad_input(text));
        }
        if self.held + each > self.room {
            let text =
                format!("{} tokens do not fit in a context of {}", self.held + each, self.room);
            return Err(bad_input(text));
        }
        let known = 0..self.context.model.vocabulary as i64;
        match tokens.iter().find(|token| !known.contains(token)) {
            Some(token) => Err(bad_input(format!("the model knows no token {token}"))),
            None => Ok(each),
        }
    }

    /// Reads the tokens in pieces that the library takes at once.
    fn read(&mut self, tokens: &[i64], each: usize) -> Result<(), EngineError> {
        let piece = self.context.batch / self.rows;
        for begin in (0..each).step_by(piece) {
            let end = (begin + piece).min(each);
            self.batch.clear();
            for (row, tokens) in tokens.chunks_exact(each).enumerate() {
                for (place, token) in tokens.iter().enumerate().take(end).skip(begin) {
                    let is_last = place + 1 == each;
                    if is_last {
                        self.scored.push(self.batch.len());
                    }
                    self.batch.push(row, *token as i32, (self.held + place) as i32, is_last);
                }
            }
            self.context.decode(&mut self.batch)?;
        }
        Ok(())
    }

    /// Forgets all but the first tokens of each row.
    fn keep(&mut self, tokens: usize) -> Result<(), EngineError> {
        self.scored.clear();
        if tokens == 0 {
            self.context.forget_all();
        } else {
            for row in 0..self.rows {
                if !self.context.forget_from(row as i32, tokens as i32) {
                    let message = "llama.cpp cannot take back tokens of this kind of model";
                    return Err(unsupported(message.into()));
                }
            }
        }
        self.held = tokens;
        Ok(())
    }
}

/// Refuses a cache that is larger than all memory: the library would reserve it, and the system would end this process
/// when it is filled.
fn enough_memory(
    shape: &DecoderShape,
    cache: CacheType,
    rows: usize,
    room: usize,
) -> Result<(), EngineError> {
    const GIBI: u128 = 1 << 30;
    let (numbers, bytes) = cache.block;
    let each = shape.cache_per_token(1).0 * bytes / numbers;
    let needed = u128::from(each).saturating_mul(rows as u128 * room as u128);
    // SAFETY: the calls take a number and return one.
    let (pages, page) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let has = u128::try_from(pages).unwrap_or(0) * u128::try_from(page).unwrap_or(0);
    if has == 0 || needed <= has {
        return Ok(());
    }
    let message = format!("llama.cpp has no room for {rows} × {room} tokens");
    let cause = format!("they take {} GiB, and this machine has {} GiB", needed / GIBI, has / GIBI);
    Err(EngineError::new(EngineErrorKind::OutOfMemory, message).with_source(cause))
}

/// Refuses everything that is not offered.
fn refuse(request: &LoadRequest) -> Result<(), EngineError> {
    if request.device != Device::Cpu {
        return Err(unsupported(format!(
            "engine `llamacpp` runs on the CPU, not on `{}`",
            request.device
        )));
    }
    if request.precision != Precision::Stored {
        return Err(unsupported(format!(
            "engine `llamacpp` runs the weights as they are stored, not in {}",
            request.precision
        )));
    }
    Ok(())
}

impl Generator for LlamaGenerator {
    fn placement(&self) -> String {
        self.placement.clone()
    }

    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let each = self.check(tokens)?;
        self.scored.clear();
        if let Some((_, instruments)) = &mut self.put_aside {
            instruments.begin();
        }
        match self.read(tokens, each) {
            Ok(()) => {
                self.held += each;
                // On a device, this waits for it.
                self.context.scores(self.scored[0]).map(|_| ())
            }
            Err(error) => {
                // Some pieces may have been read.
                self.keep(self.held)?;
                Err(error)
            }
        }
    }

    fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
        match self.scored[..] {
            [] => Err(EngineError::new(EngineErrorKind::Failed, "nothing was fed yet")),
            [only] => Ok(Cow::Borrowed(self.context.scores(only)?)),
            ref places => {
                let mut all = Vec::with_capacity(places.len() * self.context.model.vocabulary);
                for place in places {
                    all.extend_from_slice(self.context.scores(*place)?);
                }
                Ok(Cow::Owned(all))
            }
        }
    }

    fn mark(&mut self) -> Result<(), EngineError> {
        self.mark = self.held;
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), EngineError> {
        self.keep(self.mark)
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        self.mark = 0;
        self.keep(0)
    }

    fn cache(&self) -> CacheState {
        CacheState {
            tokens: self.held,
            bytes: match self.context.state() {
                0 => Err("llama.cpp could not tell".into()),
                bytes => Ok(bytes as u64),
            },
            element: self.cache.name.into(),
            kept: "by the engine, appended in place".into(),
        }
    }

    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        Some(self)
    }
}

impl FeedLog for LlamaGenerator {
    fn begin(&mut self, _open: OpenProfiled<'_>) -> Result<(), EngineError> {
        let model = Rc::clone(&self.context.model);
        let instruments = Instruments::new(&model);
        let watcher = Some(instruments.watcher());
        let mut context = Context::new(model, self.cache, self.rows, self.room, watcher)?;
        context.set_threads(self.threads)?;
        context.take_over(&self.context)?;
        self.put_aside = Some((std::mem::replace(&mut self.context, context), instruments));
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError> {
        let Some((context, mut instruments)) = self.put_aside.take() else {
            return Err(EngineError::new(EngineErrorKind::Failed, "nothing was written down"));
        };
        // The one with instruments goes before them.
        drop(std::mem::replace(&mut self.context, context));
        self.keep(self.held)?;
        Ok(instruments.take())
    }
}
