//! A generator made of a graph that takes the past and gives the present: what a step leaves behind is read by the next one
//! where it lies.

use crate::{
    Arena, CacheState, ElementsView, EngineError, EngineErrorKind, FeedLog, Generator, GraphRunner,
    OpenProfiled, OutputView, ProfiledRunner, RunOutputs, RunRecord,
};
use std::{borrow::Cow, rc::Rc};
use types::DecoderShape;

const PAST: &str = "past_key_values.";
const PRESENT: &str = "present.";
const SCORES: &str = "logits";

/// What a run left behind, and how many tokens of each row are in it.
#[derive(Clone)]
struct Kept {
    outputs: Rc<Box<dyn RunOutputs>>,
    tokens: usize,
}

pub(super) struct GraphGenerator {
    runner: Box<dyn GraphRunner>,
    /// The graph with instruments while feeds are written down, and how many there were.
    profiled: Option<(Box<dyn ProfiledRunner>, usize)>,
    batch: usize,
    shape: DecoderShape,
    now: Option<Kept>,
    mark: Option<Kept>,
    scores: Vec<f32>,
    /// Inputs of past values by name, with the name of the output that gives them.
    names: Vec<(String, String)>,
}

fn failed(message: String) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, message)
}

impl GraphGenerator {
    pub(super) fn new(
        runner: Box<dyn GraphRunner>,
        shape: &DecoderShape,
        batch: usize,
    ) -> GraphGenerator {
        let names = runner.inputs().iter().filter_map(|name| {
            let rest = name.strip_prefix(PAST)?;
            Some((name.clone(), format!("{PRESENT}{rest}")))
        });
        GraphGenerator {
            names: names.collect(),
            runner,
            profiled: None,
            batch,
            shape: shape.clone(),
            now: None,
            mark: None,
            scores: Vec::new(),
        }
    }

    fn tokens(&self) -> usize {
        self.now.as_ref().map_or(0, |now| now.tokens)
    }
}

impl Generator for GraphGenerator {
    fn placement(&self) -> String {
        self.runner.placement()
    }

    fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
        let (held, new) = (self.tokens(), tokens.len() / self.batch.max(1));
        let positions: Vec<i64> = (held..held + new).map(|place| place as i64).collect();
        let mut inputs = vec![
            OutputView {
                name: "input_ids",
                dims: vec![self.batch, new],
                elements: ElementsView::I64(tokens),
            },
            OutputView {
                name: "position_ids",
                dims: vec![new],
                elements: ElementsView::I64(&positions),
            },
        ];
        let views = match &self.now {
            Some(now) => now.outputs.views()?,
            None => Vec::new(),
        };
        for (past, present) in &self.names {
            let (dims, elements) = match &self.now {
                None => {
                    let dims = vec![self.batch, self.shape.key_heads, 0, self.shape.head_dim];
                    (dims, ElementsView::F32(&[]))
                }
                Some(_) => {
                    let view = views.iter().find(|view| view.name == present);
                    let view = view.ok_or_else(|| failed(format!("no output `{present}`")))?;
                    (view.dims.clone(), view.elements)
                }
            };
            inputs.push(OutputView { name: past, dims, elements });
        }
        let outputs = match &mut self.profiled {
            Some((runner, feeds)) => {
                *feeds += 1;
                runner.run(&inputs)?
            }
            None => self.runner.run(&inputs)?,
        };
        self.scores.clear();
        for view in outputs.views()? {
            if let (SCORES, ElementsView::F32(scores)) = (view.name, view.elements) {
                self.scores.extend_from_slice(scores);
            }
        }
        drop(views);
        self.now = Some(Kept { outputs: Rc::new(outputs), tokens: held + new });
        Ok(())
    }

    fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
        Ok(Cow::Borrowed(&self.scores))
    }

    fn mark(&mut self) -> Result<(), EngineError> {
        self.mark.clone_from(&self.now);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), EngineError> {
        self.now.clone_from(&self.mark);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        (self.now, self.mark) = (None, None);
        Ok(())
    }

    fn cache(&self) -> CacheState {
        let (tokens, element) = (self.tokens(), size_of::<f32>());
        let bytes = self.now.as_ref().map_or(Ok(0), |now| {
            let views = now.outputs.views().map_err(|error| error.to_string())?;
            let of_cache = views.iter().filter(|view| view.name.starts_with(PRESENT));
            Ok(of_cache.map(|view| (view.elements.len() * element) as u64).sum())
        });
        CacheState {
            tokens,
            bytes,
            element: "f32".into(),
            kept: "in the values of the graph, copied in every step".into(),
        }
    }

    fn feed_log(&mut self) -> Option<&mut dyn FeedLog> {
        Some(self)
    }

    fn arena(&self) -> Option<Result<Arena, String>> {
        self.runner.arena()
    }
}

impl FeedLog for GraphGenerator {
    fn begin(&mut self, open: OpenProfiled<'_>) -> Result<(), EngineError> {
        self.profiled = Some((open()?, 0));
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<RunRecord>, EngineError> {
        match self.profiled.take() {
            Some((runner, feeds)) => runner.finish(feeds),
            None => Err(failed("nothing was written down".into())),
        }
    }
}
