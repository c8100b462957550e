//! A language model whose past is what another request left behind: outputs are bound as inputs where they lie.

use crate::{
    load, model::OpenVinoModel, recorded::Recorded, request::Request, session::failed,
    tensor::Tensor,
};
use engine::{
    CacheState, ElementsView, EngineError, EngineErrorKind, FeedLog, Generator, GeneratorLoader,
    GeneratorRequest, LoadedModel, OpenProfiled, RunRecord,
};
use std::{borrow::Cow, time::Instant};
use types::{DecoderShape, ElementType, Elements, Remark};

const PAST: &str = "past_key_values.";
const PRESENT: &str = "present.";
const SCORES: &str = "logits";

/// One that runs, one whose outputs are the past, one whose outputs are marked.
const REQUESTS: usize = 3;

impl GeneratorLoader for crate::OpenVino {
    fn generator(
        &self,
        request: &GeneratorRequest<'_>,
    ) -> Result<Option<Box<dyn Generator>>, EngineError> {
        let model = load::load(request.load)?;
        Ok(Some(Box::new(OpenVinoGenerator::new(model, request)?)))
    }
}

/// A request that has run, and how many tokens of each row its outputs hold.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    request: usize,
    tokens: usize,
}

/// What an input of the graph takes.
enum Source {
    Ids,
    Positions,
    /// The output with this index of the request before.
    Past(usize),
}

struct OpenVinoGenerator {
    /// Before the model, which they come from. While feeds are written down, those of the second compilation come behind.
    requests: Vec<Request>,
    recorded: Option<Recorded>,
    sources: Vec<Source>,
    scores_at: usize,
    shape: DecoderShape,
    batch: usize,
    now: Option<State>,
    mark: Option<State>,
    scores: Vec<f32>,
    model: OpenVinoModel,
}

fn broken(message: impl Into<String>) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, message)
}

impl OpenVinoGenerator {
    fn new(
        model: OpenVinoModel,
        &GeneratorRequest { shape, batch, .. }: &GeneratorRequest<'_>,
    ) -> Result<OpenVinoGenerator, EngineError> {
        let output = |name: &str| {
            let found = model.outputs.iter().position(|output| output.name == name);
            found.ok_or_else(|| broken(format!("the graph has no output `{name}`")))
        };
        let sources = model.inputs.iter().map(|input| match input.name.as_str() {
            "input_ids" => Ok(Source::Ids),
            "position_ids" => Ok(Source::Positions),
            name => match name.strip_prefix(PAST) {
                Some(rest) => output(&format!("{PRESENT}{rest}")).map(Source::Past),
                None => Err(broken(format!("the graph has an input `{name}`"))),
            },
        });
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let scores_at = output(SCORES)?;
        let requests = (0..REQUESTS).map(|_| model.compiled.request());
        Ok(OpenVinoGenerator {
            requests: requests.collect::<Result<_, _>>().map_err(failed)?,
            recorded: None,
            sources,
            scores_at,
            shape: shape.clone(),
            batch,
            now: None,
            mark: None,
            scores: Vec::new(),
            model,
        })
    }

    fn tokens(&self) -> usize {
        self.now.map_or(0, |now| now.tokens)
    }

    /// A request that neither the past nor the mark needs.
    fn free(&self) -> usize {
        let is_used = |request: &usize| {
            [self.now, self.mark].iter().flatten().any(|state| state.request == *request)
        };
        let first = if self.recorded.is_some() { REQUESTS } else { 0 };
        (first..first + REQUESTS).find(|request| !is_used(request)).unwrap_or(first)
    }

    /// The tensor that an input takes.
    fn input(
        &self,
        source: &Source,
        tokens: &[i64],
        positions: &[i64],
    ) -> Result<Tensor, EngineError> {
        let api = self.model.recipe.api;
        let numbers = |dims: &[usize], values: &[i64]| {
            let mut tensor = Tensor::new(api, ElementType::I64, dims)?;
            tensor.fill(&Elements::I64(values.to_vec()))?;
            Ok(tensor)
        };
        let made = match (source, self.now) {
            (Source::Ids, _) => numbers(&[self.batch, positions.len()], tokens),
            (Source::Positions, _) => numbers(&[positions.len()], positions),
            (Source::Past(output), Some(now)) => self.requests[now.request].output(*output),
            (Source::Past(_), None) => {
                let dims = [self.batch, self.shape.key_heads, 0, self.shape.head_dim];
                Tensor::new(api, ElementType::F32, &dims)
            }
        };
        made.map_err(failed)
    }
}

impl Generator for OpenVinoGenerator {
    fn placement(&self) -> String {
        self.model.placement()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.model.remarks()
    }

    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let (held, new) = (self.tokens(), tokens.len() / self.batch.max(1));
        let after = held + new;
        let positions: Vec<i64> = (held..after).map(|place| place as i64).collect();
        let free = self.free();
        for index in 0..self.sources.len() {
            let tensor = self.input(&self.sources[index], tokens, &positions)?;
            self.requests[free].set_input(index, &tensor).map_err(failed)?;
        }
        let begin = Instant::now();
        self.requests[free].infer().map_err(failed)?;
        if let Some(recorded) = &mut self.recorded {
            recorded.ran(&self.requests[free], begin.elapsed())?;
        }
        let scores = self.requests[free].output(self.scores_at).map_err(failed)?;
        self.scores.clear();
        match scores.elements().map_err(failed)? {
            Some(ElementsView::F32(values)) => self.scores.extend_from_slice(values),
            _ => return Err(broken("output `logits` holds no floats")),
        }
        self.now = Some(State { request: free, tokens: after });
        Ok(())
    }

    fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
        Ok(Cow::Borrowed(&self.scores))
    }

    fn mark(&mut self) -> Result<(), EngineError> {
        self.mark = self.now;
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), EngineError> {
        self.now = self.mark;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        (self.now, self.mark) = (None, None);
        Ok(())
    }

    fn cache(&self) -> CacheState {
        let bytes = self.now.map_or(Ok(0), |now| {
            let lines = self.sources.iter().filter_map(|source| match source {
                Source::Past(output) => Some(*output),
                _ => None,
            });
            let size = |output: usize| {
                let dims = self.requests[now.request].output(output)?.dims()?;
                Ok((dims.iter().product::<usize>() * size_of::<f32>()) as u64)
            };
            let sizes = lines.map(size).collect::<Result<Vec<u64>, crate::fault::Fault>>();
            sizes.map(|sizes| sizes.iter().sum()).map_err(|fault| fault.to_string())
        });
        CacheState {
            tokens: self.tokens(),
            bytes,
            element: "f32".into(),
            kept: "in the outputs of a request, copied in every step".into(),
        }
    }

    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        Some(self)
    }
}

impl FeedLog for OpenVinoGenerator {
    fn begin(&mut self, _open: OpenProfiled<'_>) -> Result<(), EngineError> {
        let recorded = Recorded::new(&self.model)?;
        for _ in 0..REQUESTS {
            self.requests.push(recorded.compiled.request().map_err(failed)?);
        }
        self.recorded = Some(recorded);
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError> {
        let recorded = self.recorded.take().ok_or_else(|| broken("nothing was written down"))?;
        let records = match self.requests.get(REQUESTS) {
            Some(request) => recorded.finish(request, &self.model),
            None => Err(broken("nothing was written down")),
        };
        self.requests.truncate(REQUESTS);
        // What the last feed left behind went with its request.
        let is_gone = |state: &State| state.request >= REQUESTS;
        if self.now.as_ref().is_some_and(is_gone) {
            self.now = self.mark;
        }
        records
    }
}
