//! A graph that runs on values which the caller holds: floats are read where they lie.

use crate::{
    convert,
    load::{Optimise, open},
    model::explain,
};
use engine::{
    ElementsView, EngineError, EngineErrorKind, GraphRunner, LoadRequest, OutputView, RunOutputs,
};
use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueView};
use rten_tensor::TensorView;
use std::sync::Arc;

pub(crate) struct RtenRunner {
    model: Model,
    options: RunOptions,
    inputs: Vec<String>,
    ids: Vec<NodeId>,
    outputs: Arc<[String]>,
    threads: u32,
}

impl RtenRunner {
    pub(crate) fn new(request: &LoadRequest) -> Result<RtenRunner, EngineError> {
        let model = open(&request.onnx, Optimise::Yes)?;
        let threads = request.threads.max(1);
        let pool = ThreadPool::with_num_threads(threads as usize);
        let name = |id: &NodeId| {
            let info = model.node_info(*id);
            info.and_then(|info| info.name().map(str::to_owned)).unwrap_or_default()
        };
        Ok(RtenRunner {
            inputs: model.input_ids().iter().map(name).collect(),
            ids: model.input_ids().to_vec(),
            outputs: model.output_ids().iter().map(name).collect(),
            options: RunOptions::default().with_thread_pool(Some(Arc::new(pool))),
            threads,
            model,
        })
    }
}

impl GraphRunner for RtenRunner {
    fn inputs(&self) -> &[String] {
        &self.inputs
    }

    fn placement(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("cpu, {} thread{plural}", self.threads)
    }

    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError> {
        let mut bound: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(inputs.len());
        for view in inputs {
            let place = self.inputs.iter().position(|name| name == view.name).ok_or_else(|| {
                let message = format!("the graph has no input `{}`", view.name);
                EngineError::new(EngineErrorKind::BadInput, message)
            })?;
            bound.push((self.ids[place], value(view)?));
        }
        let ids = self.model.output_ids();
        let values = self.model.run(bound, ids, Some(self.options.clone())).map_err(explain)?;
        let values = values.into_iter().map(convert::contiguous).collect();
        Ok(Box::new(Outputs { names: Arc::clone(&self.outputs), values }))
    }
}

/// Floats and 32-bit integers as they lie; what the engine keeps in another width is converted.
fn value<'a>(view: &OutputView<'a>) -> Result<ValueOrView<'a>, EngineError> {
    let dims = view.dims.as_slice();
    Ok(match view.elements {
        ElementsView::F32(elements) => {
            ValueOrView::View(ValueView::FloatTensor(TensorView::from_data(dims, elements)))
        }
        ElementsView::I32(elements) => {
            ValueOrView::View(ValueView::Int32Tensor(TensorView::from_data(dims, elements)))
        }
        _ => ValueOrView::Value(convert::to_value(&view.to_host())?),
    })
}

struct Outputs {
    names: Arc<[String]>,
    values: Vec<Value>,
}

impl RunOutputs for Outputs {
    fn views(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let mut views = Vec::with_capacity(self.values.len());
        for (name, value) in self.names.iter().zip(&self.values) {
            let (dims, elements) = convert::view(value).ok_or_else(|| {
                let message = format!("output `{name}` is no tensor");
                EngineError::new(EngineErrorKind::Failed, message)
            })?;
            views.push(OutputView { name, dims, elements });
        }
        Ok(views)
    }
}
