//! A language model whose cache lies in memory of ours, where the library's fused attention appends to it in place: the past
//! that goes in and the present that comes out are the same tensors.

use crate::{
    convert::raw_value,
    explain, load, locate,
    recorded::Recorded,
    runtime,
    runtime::{Runtime, checked},
    statistics,
};
use engine::{
    Arena, CacheState, ElementsView, EngineError, EngineErrorKind, FeedLog, Generator,
    GeneratorLoader, GeneratorRequest, LoadRequest, OpenProfiled, RunRecord,
};
use ort::{
    AsPointer,
    memory::Allocator,
    session::Session,
    value::{DynValue, ValueType},
};
use std::{
    borrow::Cow,
    ffi::{CStr, CString, c_char, c_void},
    ptr::{self, NonNull},
};
use types::{DecoderDialect, DecoderShape, Device};

const PAST: &str = "past_key_values.";
const PRESENT: &str = "present.";
const SCORES: &CStr = c"logits";
const IDS: &CStr = c"input_ids";
const POSITIONS: &CStr = c"position_ids";

impl GeneratorLoader for crate::OnnxRuntime {
    fn generator(
        &self,
        request: &GeneratorRequest<'_>,
    ) -> Result<Option<Box<dyn Generator>>, EngineError> {
        match (request.dialect, request.load.device) {
            (DecoderDialect::Fused, Device::Cpu) => Ok(Some(Box::new(OrtGenerator::new(request)?))),
            // Its other attentions read a past and write a present of their own.
            _ => Ok(None),
        }
    }
}

/// One key or value of one layer: room for all tokens, of which the first are held.
struct Line {
    past: CString,
    present: CString,
    /// Before the room that it lies in.
    value: DynValue,
    _room: Vec<f32>,
}

struct OrtGenerator {
    session: Session,
    /// The same graph while feeds are written down, and how many there were: it works on the same cache.
    recorded: Option<(Recorded, usize)>,
    runtime: &'static Runtime,
    request: LoadRequest,
    lines: Vec<Line>,
    shape: DecoderShape,
    batch: usize,
    threads: u32,
    tokens: usize,
    mark: usize,
    scores: Vec<f32>,
}

fn failed(message: impl Into<String>) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, message)
}

impl OrtGenerator {
    fn new(
        &GeneratorRequest { load: request, shape, batch, context, .. }: &GeneratorRequest<'_>,
    ) -> Result<OrtGenerator, EngineError> {
        let library = locate::locate(&request.places).map_err(|absent| {
            EngineError::new(EngineErrorKind::Unavailable, absent.why).with_hint(absent.hint)
        })?;
        let runtime = runtime::load(&library)?;
        let session = load::commit(load::builder(runtime, request, &[])?, request)?;
        let dims = [batch, shape.key_heads, context, shape.head_dim];
        let mut lines = Vec::new();
        for input in session.inputs() {
            let Some(rest) = input.name().strip_prefix(PAST) else { continue };
            let present = format!("{PRESENT}{rest}");
            if !session.outputs().iter().any(|output| output.name() == present) {
                return Err(failed(format!("the graph has no output `{present}`")));
            }
            lines.push(Line::new(input.name(), &present, dims)?);
        }
        Ok(OrtGenerator {
            session,
            recorded: None,
            runtime,
            request: request.clone(),
            lines,
            shape: shape.clone(),
            batch,
            threads: request.threads.max(1),
            tokens: 0,
            mark: 0,
            scores: Vec::new(),
        })
    }
}

impl Line {
    fn new(past: &str, present: &str, dims: [usize; 4]) -> Result<Line, EngineError> {
        let none = || {
            let [batch, _, context, _] = dims;
            let text = format!("there is no memory for a cache of {batch} × {context} tokens");
            EngineError::new(EngineErrorKind::OutOfMemory, text)
        };
        let numbers = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
        let numbers = numbers.ok_or_else(none)?;
        let mut room: Vec<f32> = Vec::new();
        room.try_reserve_exact(numbers).map_err(|_| none())?;
        // Touched here, so that no step waits for the system's pages.
        room.resize(numbers, 0.0);
        // SAFETY: the room stays where it is, and the value goes before it. The library writes into it between two feeds only,
        // and nobody else looks at it.
        let value = unsafe { value_in(&mut room, &dims) }
            .map_err(|error| explain::other("could not bind the cache", &error))?;
        let name = |name: &str| CString::new(name).map_err(|_| failed("a name with a zero byte"));
        Ok(Line { past: name(past)?, present: name(present)?, value, _room: room })
    }
}

/// A value in memory that the library may write to.
///
/// # Safety
/// The memory must stay where it is while the value lives, and be used by nobody else.
unsafe fn value_in(room: &mut [f32], dims: &[usize]) -> Result<DynValue, ort::Error> {
    let data = room.as_mut_ptr();
    // SAFETY: the pointer and the length are the room's own; the value keeps the pointer, as the caller allows.
    let elements = unsafe { std::slice::from_raw_parts(data, room.len()) };
    // SAFETY: the caller's promise.
    unsafe { raw_value(&ElementsView::F32(elements), dims) }
}

impl Generator for OrtGenerator {
    fn placement(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("cpu, {} thread{plural}", self.threads)
    }

    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let new = tokens.len() / self.batch.max(1);
        let positions: Vec<i64> =
            (self.tokens..self.tokens + new).map(|place| place as i64).collect();
        let bind = |error: ort::Error| explain::other("could not bind the inputs", &error);
        // SAFETY: tokens and positions live until the run is over, and the values go before that.
        let (ids, places) = unsafe {
            let ids = raw_value(&ElementsView::I64(tokens), &[self.batch, new]).map_err(bind)?;
            (ids, raw_value(&ElementsView::I64(&positions), &[new]).map_err(bind)?)
        };
        let count = self.lines.len();
        let mut inputs: Vec<*const c_char> = Vec::with_capacity(count + 2);
        let mut values = Vec::with_capacity(count + 2);
        let mut outputs: Vec<*const c_char> = Vec::with_capacity(count + 1);
        let mut found = Vec::with_capacity(count + 1);
        inputs.extend([IDS.as_ptr(), POSITIONS.as_ptr()]);
        values.extend([ids.ptr(), places.ptr()]);
        outputs.push(SCORES.as_ptr());
        found.push(ptr::null_mut());
        for line in &self.lines {
            inputs.push(line.past.as_ptr());
            values.push(line.value.ptr());
            outputs.push(line.present.as_ptr());
            found.push(line.value.ptr().cast_mut());
        }
        let session = match &mut self.recorded {
            Some((recorded, feeds)) => {
                *feeds += 1;
                &recorded.session
            }
            None => &self.session,
        };
        // SAFETY: names and values live during the call. What is in `found` is written to; the first, which is not there yet, is
        // ours to release.
        let ran = unsafe {
            checked((ort::api().Run)(
                session.ptr().cast_mut(),
                ptr::null(),
                inputs.as_ptr(),
                values.as_ptr(),
                values.len(),
                outputs.as_ptr(),
                outputs.len(),
                found.as_mut_ptr(),
            ))
        };
        ran.map_err(|error| explain::of_running(&error))?;
        let scores = NonNull::new(found[0]).ok_or_else(|| failed("`logits` has no value"))?;
        // SAFETY: the value is ours, and nobody else releases it.
        let scores = unsafe { DynValue::from_ptr(scores, Some(&Allocator::default())) };
        self.take(&scores)?;
        self.tokens += new;
        Ok(())
    }

    fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
        Ok(Cow::Borrowed(&self.scores))
    }

    fn mark(&mut self) -> Result<(), EngineError> {
        self.mark = self.tokens;
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), EngineError> {
        self.tokens = self.mark;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        (self.tokens, self.mark) = (0, 0);
        Ok(())
    }

    fn cache(&self) -> CacheState {
        let line = self.batch * self.shape.key_heads * self.tokens * self.shape.head_dim;
        CacheState {
            tokens: self.tokens,
            bytes: Ok((line * self.lines.len() * size_of::<f32>()) as u64),
            element: "f32".into(),
            kept: "in tensors that a step reads and writes, appended in place".into(),
        }
    }

    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        Some(self)
    }

    fn arena(&self) -> Option<Result<Arena, String>> {
        Some(statistics::arena(self.runtime, &self.session))
    }
}

impl FeedLog for OrtGenerator {
    fn begin(&mut self, _open: OpenProfiled<'_>) -> Result<(), EngineError> {
        self.recorded = Some((Recorded::new(self.runtime, &self.request, &[])?, 0));
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError> {
        match self.recorded.take() {
            Some((recorded, feeds)) => recorded.finish(feeds),
            None => Err(failed("nothing was written down")),
        }
    }
}

impl OrtGenerator {
    /// Copies the scores of a run.
    fn take(&mut self, scores: &DynValue) -> Result<(), EngineError> {
        let ValueType::Tensor { shape, .. } = scores.dtype() else {
            return Err(failed("output `logits` is no tensor"));
        };
        let wanted = self.batch * self.shape.vocabulary;
        let length: i64 = shape.iter().product();
        if usize::try_from(length).ok() != Some(wanted) {
            return Err(failed(format!("`logits` has {length} scores, not {wanted}")));
        }
        let mut data: *mut c_void = ptr::null_mut();
        // SAFETY: the value lives during the call, and holds that many floats.
        let scores = unsafe {
            checked((ort::api().GetTensorMutableData)(scores.ptr().cast_mut(), &raw mut data))
                .map_err(|error| explain::other("could not read the scores", &error))?;
            std::slice::from_raw_parts(data.cast_const().cast::<f32>(), wanted)
        };
        self.scores.clear();
        self.scores.extend_from_slice(scores);
        Ok(())
    }
}
