//! A graph that runs on values which the caller holds: floats are read where they lie.

use crate::{
    capture::Capture,
    convert,
    load::{Optimise, open},
    log::Log,
    model::explain,
    profile::{Nodes, uncaught},
    settings::Packing,
};
use engine::{
    ElementsView, EngineError, EngineErrorKind, GraphRunner, LoadRequest, OutputView,
    ProfiledRunner, RunOutputs, RunRecord,
};
use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueView};
use rten_tensor::TensorView;
use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, Instant},
};

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
        let model = open(&request.onnx, Optimise::Yes, Packing::Off)?;
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

/// A graph whose runs are logged, each in a capture of its own.
pub(crate) struct LoggedRunner {
    runner: RtenRunner,
    logs: RefCell<Vec<LoggedRun>>,
}

struct LoggedRun {
    text: String,
    before: u64,
    paused: u64,
}

impl LoggedRunner {
    pub(crate) fn new(request: &LoadRequest) -> Result<LoggedRunner, EngineError> {
        let mut runner = RtenRunner::new(request)?;
        runner.options = runner.options.with_verbose(true);
        Ok(LoggedRunner { runner, logs: RefCell::default() })
    }
}

impl GraphRunner for LoggedRunner {
    fn inputs(&self) -> &[String] {
        self.runner.inputs()
    }

    fn placement(&self) -> String {
        self.runner.placement()
    }

    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError> {
        let asked = Instant::now();
        let mut capture = Capture::begin().map_err(uncaught)?;
        let begin = Instant::now();
        let outputs = self.runner.run(inputs)?;
        let end = Instant::now();
        let mut text = String::new();
        capture.take(&mut text).map_err(uncaught)?;
        drop(capture);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let before = nanos(begin - asked);
        let paused = before + nanos(end.elapsed());
        self.logs.borrow_mut().push(LoggedRun { text, before, paused });
        Ok(outputs)
    }
}

impl ProfiledRunner for LoggedRunner {
    fn finish(self: Box<Self>, count: usize) -> Result<Vec<RunRecord>, EngineError> {
        let LoggedRunner { runner, logs } = *self;
        let mut logs = logs.into_inner();
        let logs = logs.split_off(logs.len().saturating_sub(count));
        let mut nodes = Nodes::default();
        let record = |run: LoggedRun| {
            let log = Log::read(&run.text, |value| runner.model.find_node(value).is_some());
            // Somebody else's words in the log may hide a node: such a run tells nothing.
            let calls = if log.is_whole() { nodes.calls(&log) } else { Vec::new() };
            let (before, paused) = (run.before, run.paused);
            RunRecord { calls, before, paused, laid_out: true, remarks: Vec::new() }
        };
        let mut records: Vec<RunRecord> = logs.into_iter().map(record).collect();
        if let Some(first) = records.first_mut() {
            first.remarks = nodes.remarks();
        }
        Ok(records)
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
                let message = format!("output `{name}` is not a tensor");
                EngineError::new(EngineErrorKind::Failed, message)
            })?;
            views.push(OutputView { name, dims, elements });
        }
        Ok(views)
    }
}
