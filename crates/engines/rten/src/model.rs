//! A loaded model and its sessions.

use crate::{
    convert,
    load::{Optimise, open, without_empty_names},
    settings::{Packing, Settings, idle},
};
use engine::{
    EngineError, EngineErrorKind, LoadRequest, LoadedModel, MemoryReporter, NodeProfiler,
    OutputView, Session, ShapeObserver, Signature, SignatureValue,
};
use rten::{Dimension, Model, NodeId, RunError, RunErrorKind, RunOptions, ThreadPool, Value};
use std::{path::PathBuf, sync::Arc};
use types::{HostTensor, Remark};

/// A model in the engine's memory.
pub(crate) struct RtenModel {
    pub(crate) model: Model,
    pub(crate) options: RunOptions,
    onnx: PathBuf,
    threads: u32,
    settings: Settings,
    remarks: Vec<Remark>,
}

impl RtenModel {
    pub(crate) fn new(model: Model, request: &LoadRequest, settings: Settings) -> RtenModel {
        let pool = ThreadPool::with_num_threads(request.threads.max(1) as usize);
        RtenModel {
            model,
            options: RunOptions::default().with_thread_pool(Some(Arc::new(pool))),
            onnx: request.onnx.clone(),
            threads: request.threads.max(1),
            settings,
            remarks: idle(&request.options),
        }
    }

    fn value(&self, id: NodeId) -> SignatureValue {
        let info = self.model.node_info(id);
        SignatureValue {
            name: info.as_ref().and_then(|info| info.name()).unwrap_or_default().to_owned(),
            dtype: info.as_ref().and_then(|info| info.dtype()).and_then(convert::element_type),
            dims: info.as_ref().and_then(|info| info.shape()).map(|dims| {
                let fixed = |dim: &Dimension| match dim {
                    Dimension::Fixed(size) => Some(*size),
                    Dimension::Symbolic(_) => None,
                };
                dims.iter().map(fixed).collect()
            }),
        }
    }
}

impl LoadedModel for RtenModel {
    fn signature(&self) -> Signature {
        Signature {
            inputs: self.model.input_ids().iter().map(|&id| self.value(id)).collect(),
            outputs: self.model.output_ids().iter().map(|&id| self.value(id)).collect(),
        }
    }

    fn placement(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("cpu, {} thread{plural}{}", self.threads, self.settings.words())
    }

    fn remarks(&self) -> Vec<Remark> {
        self.remarks.clone()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError> {
        Ok(Box::new(RtenSession {
            model: self,
            names: self.signature().outputs.into_iter().map(|output| output.name).collect(),
            inputs: Vec::new(),
            outputs: None,
        }))
    }
}

pub(crate) struct RtenSession<'a> {
    pub(crate) model: &'a RtenModel,
    names: Vec<String>,
    pub(crate) inputs: Vec<(NodeId, Value)>,
    pub(crate) outputs: Option<Vec<Value>>,
}

impl Session for RtenSession<'_> {
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError> {
        let known = self.model.model.input_ids();
        let mut bound = Vec::with_capacity(inputs.len());
        for tensor in inputs {
            let id = self.model.model.find_node(&tensor.name).filter(|id| known.contains(id));
            let id = id.ok_or_else(|| {
                EngineError::new(
                    EngineErrorKind::BadInput,
                    format!("the model has no input `{}`", tensor.name),
                )
            })?;
            bound.push((id, convert::to_value(tensor)?));
        }
        self.inputs = bound;
        Ok(())
    }

    fn infer(&mut self) -> Result<(), EngineError> {
        let outputs = run(
            &self.model.model,
            &self.inputs,
            self.model.model.output_ids(),
            &self.model.options,
        )?;
        self.outputs = Some(outputs);
        Ok(())
    }

    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let values = self
            .outputs
            .as_ref()
            .ok_or_else(|| EngineError::new(EngineErrorKind::Failed, "nothing was inferred yet"))?;
        // Outputs that are no tensors (sequences) have no view and are left out.
        let views = self.names.iter().zip(values).filter_map(|(name, value)| {
            let (dims, elements) = convert::view(value)?;
            Some(OutputView { name, dims, elements })
        });
        Ok(views.collect())
    }

    fn shape_observer(&mut self) -> Option<&mut dyn ShapeObserver> {
        Some(self)
    }

    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        Some(self)
    }

    fn memory_reporter(&mut self) -> Option<&mut dyn MemoryReporter> {
        Some(self)
    }
}

impl ShapeObserver for RtenSession<'_> {
    fn observe(&mut self, values: &[String]) -> Result<Vec<(String, Vec<usize>)>, EngineError> {
        // Optimising would fuse values away, so the file is opened once more as it stands.
        let plain = open(&self.model.onnx, Optimise::No, Packing::Off)?;
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (id, value) in &self.inputs {
            let name =
                self.model.model.node_info(*id).and_then(|info| info.name().map(str::to_owned));
            if let Some(id) = name.and_then(|name| plain.find_node(&name)) {
                inputs.push((id, value.clone()));
            }
        }
        let mut found: Vec<(&String, NodeId)> = Vec::new();
        for name in values {
            if let Some(id) = plain.find_node(name) {
                found.push((name, id));
            }
        }
        let ids: Vec<NodeId> = found.iter().map(|(_, id)| *id).collect();
        let outputs = run(&plain, &inputs, &ids, &self.model.options)?;
        Ok(found
            .into_iter()
            .zip(&outputs)
            .filter_map(|((name, _), value)| Some((name.clone(), convert::shape(value)?)))
            .collect())
    }
}

pub(crate) fn run(
    model: &Model,
    inputs: &[(NodeId, Value)],
    outputs: &[NodeId],
    options: &RunOptions,
) -> Result<Vec<Value>, EngineError> {
    let inputs = inputs.iter().map(|(id, value)| (*id, value.as_view().into())).collect();
    let values = model.run(inputs, outputs, Some(options.clone())).map_err(explain)?;
    Ok(values.into_iter().map(convert::contiguous).collect())
}

pub(crate) fn explain(error: RunError) -> EngineError {
    let kind = match error.kind() {
        RunErrorKind::InvalidInput | RunErrorKind::NodeNotFound => EngineErrorKind::BadInput,
        _ => EngineErrorKind::Failed,
    };
    let failed = EngineError::new(kind, "the model failed while running")
        .with_source(without_empty_names(&error.to_string()));
    match error.kind() {
        RunErrorKind::OperatorError => failed.with_hint(
            "the graph may need other inputs: `--input NAME=1x80x100` gives a shape, `NAME=0..9` values",
        ),
        _ => failed,
    }
}
