//! A session: what is done with bound inputs. The page's own clock times each inference.

use crate::{
    convert::{Part, pack, unpack},
    model::BrowserModel,
    page::duration,
    profile,
};
use engine::{
    Detail, EngineError, EngineErrorKind, NodeProfile, NodeProfiler, OutputView, Session, view_of,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{cell::OnceCell, time::Duration};
use types::{Device, HostTensor};

/// A session of a model in a page.
pub(crate) struct BrowserSession<'a> {
    pub(crate) model: &'a BrowserModel,
    is_bound: bool,
    last: Option<Duration>,
    outputs: OnceCell<Vec<HostTensor>>,
}

#[derive(Deserialize)]
struct Ran {
    time: f64,
}

#[derive(Deserialize)]
struct Told {
    outputs: Vec<Part>,
}

impl BrowserSession<'_> {
    pub(crate) fn new(model: &BrowserModel) -> BrowserSession<'_> {
        BrowserSession { model, is_bound: false, last: None, outputs: OnceCell::new() }
    }

    fn fetch(&self) -> Result<Vec<HostTensor>, EngineError> {
        let page = &self.model.page;
        let told: Told = page.ask("outputs", json!({}))?;
        unpack(&told.outputs, &page.server.take_upload())
    }
}

impl Session for BrowserSession<'_> {
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError> {
        use engine::LoadedModel;
        self.is_bound = false;
        let signature = self.model.signature();
        let bad = |message: String| Err(EngineError::new(EngineErrorKind::BadInput, message));
        let knows = |name: &str| signature.inputs.iter().any(|value| value.name == name);
        if let Some(input) = inputs.iter().find(|input| !knows(&input.name)) {
            return bad(format!("the model has no input `{}`", input.name));
        }
        let is_given = |name: &str| inputs.iter().any(|input| input.name == name);
        if let Some(value) = signature.inputs.iter().find(|value| !is_given(&value.name)) {
            return bad(format!("the input `{}` is missing", value.name));
        }
        let (parts, bytes) = pack(inputs)?;
        self.model.page.offer("inputs", bytes);
        let question = json!({ "inputs": parts, "path": "inputs" });
        self.model.page.ask::<Value>("bind", question)?;
        self.is_bound = true;
        Ok(())
    }

    fn infer(&mut self) -> Result<(), EngineError> {
        if !self.is_bound {
            return Err(EngineError::new(EngineErrorKind::BadInput, "no inputs are bound"));
        }
        self.outputs = OnceCell::new();
        self.last = None;
        let ran: Ran = self.model.page.ask("infer", json!({}))?;
        if self.model.page.was_hidden() {
            let message = "the page was in the background, where browsers slow it down";
            return Err(EngineError::new(EngineErrorKind::Failed, message)
                .with_hint("keep the page open and in front"));
        }
        self.last = Some(duration(ran.time));
        Ok(())
    }

    fn own_time(&self) -> Option<Duration> {
        self.last
    }

    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        if self.last.is_none() {
            return Err(EngineError::new(EngineErrorKind::Failed, "nothing was inferred yet"));
        }
        let outputs = match self.outputs.get() {
            Some(outputs) => outputs,
            None => {
                let fetched = self.fetch()?;
                self.outputs.get_or_init(|| fetched)
            }
        };
        Ok(outputs.iter().map(view_of).collect())
    }

    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        // WebNN runs the model as one node, and its clock sees that being handed over.
        if self.model.device == Device::Webnn { None } else { Some(self) }
    }
}

impl NodeProfiler for BrowserSession<'_> {
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
        profile::profile(&self.model.page, count, detail)
    }
}
