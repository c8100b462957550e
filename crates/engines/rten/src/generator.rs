//! A language model whose cache is appended in place: its values are handed to the graph and come back longer.

use crate::{
    feed_log::FeedLogging,
    load::{Optimise, open},
    model::explain,
    settings::Settings,
};
use engine::{
    CacheState, EngineError, EngineErrorKind, FeedLog, Generator, GeneratorLoader,
    GeneratorRequest, MemoryRecord, OpenProfiled, RunRecord, Watched,
};
use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::{Tensor, prelude::*};
use std::{borrow::Cow, sync::Arc};
use types::Precision;

const PAST: &str = "past_key_values.";
const PRESENT: &str = "present.";
/// The axis of a cache `[batch, heads, tokens, width]` that grows.
const TOKENS: usize = 2;

impl GeneratorLoader for crate::Rten {
    fn generator(
        &self,
        request: &GeneratorRequest<'_>,
    ) -> Result<Option<Box<dyn Generator>>, EngineError> {
        Ok(Some(Box::new(RtenGenerator::new(request)?)))
    }
}

/// One key or value of one layer.
struct Line {
    input: NodeId,
    output: NodeId,
    /// `None` while the graph has it.
    held: Option<Tensor<f32>>,
}

struct RtenGenerator {
    model: Model,
    options: RunOptions,
    placement: String,
    ids: NodeId,
    positions: NodeId,
    /// The scores first, then every line of the cache.
    outputs: Vec<NodeId>,
    cache: Vec<Line>,
    batch: usize,
    context: usize,
    tokens: usize,
    mark: usize,
    scores: Vec<f32>,
    logging: FeedLogging,
}

fn failed(message: impl Into<String>) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, message)
}

impl RtenGenerator {
    fn new(
        &GeneratorRequest { load: request, shape, batch, context, .. }: &GeneratorRequest<'_>,
    ) -> Result<RtenGenerator, EngineError> {
        if ![Precision::Fp32, Precision::Int8, Precision::Stored].contains(&request.precision) {
            let why = format!("engine `rten` cannot run {}", request.precision);
            return Err(EngineError::new(EngineErrorKind::Unsupported, why));
        }
        let settings = Settings::read(&request.options)?;
        let model = open(&request.onnx, Optimise::Yes, settings.packing)?;
        let threads = request.threads.max(1);
        let pool = ThreadPool::with_num_threads(threads as usize);
        let node = |name: &str| {
            model.find_node(name).ok_or_else(|| failed(format!("the graph has no value `{name}`")))
        };
        let name = |id: &NodeId| {
            let info = model.node_info(*id);
            info.and_then(|info| info.name().map(str::to_owned)).unwrap_or_default()
        };
        let (ids, positions) = (node("input_ids")?, node("position_ids")?);
        let mut cache = Vec::new();
        for input in model.input_ids() {
            let Some(rest) = name(input).strip_prefix(PAST).map(str::to_owned) else { continue };
            let output = node(&format!("{PRESENT}{rest}"))?;
            cache.push(Line { input: *input, output, held: None });
        }
        let mut outputs = vec![node("logits")?];
        outputs.extend(cache.iter().map(|line| line.output));
        let plural = if threads == 1 { "" } else { "s" };
        let mut generator = RtenGenerator {
            options: RunOptions::default().with_thread_pool(Some(Arc::new(pool))),
            placement: format!("cpu, {threads} thread{plural}"),
            ids,
            positions,
            outputs,
            cache,
            batch,
            context,
            tokens: 0,
            mark: 0,
            scores: Vec::new(),
            logging: FeedLogging::Off,
            model,
        };
        let dims = [batch, shape.key_heads, context, shape.head_dim];
        let bytes = dims.iter().try_fold(size_of::<f32>(), |bytes, dim| bytes.checked_mul(*dim));
        let whole = bytes.and_then(|bytes| bytes.checked_mul(generator.cache.len()));
        if whole.is_none_or(|whole| isize::try_from(whole).is_err()) {
            let text = format!("a cache of {batch} × {context} tokens is beyond all memory");
            return Err(EngineError::new(EngineErrorKind::OutOfMemory, text));
        }
        for line in &mut generator.cache {
            line.held = Some(Tensor::with_capacity(dims.as_slice(), TOKENS));
        }
        Ok(generator)
    }

    /// Cuts every line of the cache to so many tokens; the room behind them stays.
    fn cut(&mut self, tokens: usize) -> Result<(), EngineError> {
        for line in &mut self.cache {
            let held = line.held.as_mut().ok_or_else(lost)?;
            if held.size(TOKENS) < tokens {
                return Err(failed("the cache is shorter than its mark"));
            }
            held.clip_dim(TOKENS, 0..tokens);
        }
        self.tokens = tokens;
        Ok(())
    }
}

/// A run that failed took the cache with it.
fn lost() -> EngineError {
    failed("the cache was lost when the model failed before")
}

impl Generator for RtenGenerator {
    fn placement(&self) -> String {
        self.placement.clone()
    }

    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let new = tokens.len() / self.batch.max(1);
        let after = self.tokens + new;
        let narrow = |token: &i64| i32::try_from(*token).unwrap_or(i32::MAX);
        let ids: Vec<i32> = tokens.iter().map(narrow).collect();
        let positions: Vec<i32> = (self.tokens..after).map(|place| place as i32).collect();
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(self.cache.len() + 2);
        let ids = Tensor::from_data(&[self.batch, new], ids);
        let positions = Tensor::from_data(&[new], positions);
        inputs.push((self.ids, Value::from(ids).into()));
        inputs.push((self.positions, Value::from(positions).into()));
        for line in &mut self.cache {
            let held = line.held.take().ok_or_else(lost)?;
            inputs.push((line.input, Value::from(held).into()));
        }
        let options = self.options.clone().with_verbose(self.logging.is_on());
        let open = self.logging.open()?;
        let outputs = self.model.run(inputs, &self.outputs, Some(options)).map_err(explain)?;
        self.logging.close(open)?;
        let mut outputs = outputs.into_iter();
        let scores: Option<Tensor<f32>> = outputs.next().and_then(|value| value.try_into().ok());
        let scores = scores.ok_or_else(|| failed("output `logits` holds no floats"))?;
        self.scores.clear();
        match scores.data() {
            Some(data) => self.scores.extend_from_slice(data),
            None => self.scores.extend(scores.iter()),
        }
        for (line, value) in self.cache.iter_mut().zip(outputs) {
            let tensor: Tensor<f32> =
                value.try_into().map_err(|_| failed("the cache holds no floats"))?;
            line.held = Some(tensor);
        }
        self.tokens = after;
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
        self.cut(self.mark)
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        self.mark = 0;
        self.cut(0)
    }

    fn cache(&self) -> CacheState {
        let held = || self.cache.iter().filter_map(|line| line.held.as_ref());
        let bytes = held().map(|held| (held.len() * size_of::<f32>()) as u64).sum();
        let has_room =
            held().all(|held| self.tokens == 0 || held.has_capacity(TOKENS, self.context));
        let kept = match has_room {
            true => "by the engine, appended in place",
            false => "by the engine, copied when it grows",
        };
        CacheState {
            tokens: self.tokens,
            bytes: Ok(bytes),
            element: "f32".into(),
            kept: kept.into(),
        }
    }

    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        Some(self)
    }
}

impl FeedLog for RtenGenerator {
    fn begin(&mut self, _open: OpenProfiled<'_>) -> Result<(), EngineError> {
        self.logging = FeedLogging::Times(Vec::new());
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError> {
        Ok(self.logging.records(&self.model))
    }

    fn begin_marks(&mut self) -> Result<Option<fn() -> u64>, EngineError> {
        self.logging.begin_marks().map(Some)
    }

    fn name_marks(&mut self, watched: &Watched) -> Result<MemoryRecord, EngineError> {
        self.logging.name_marks(watched)
    }
}
