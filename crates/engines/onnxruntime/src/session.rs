//! A session: what is done with bound inputs.

use crate::{binding::Bound, model::OrtModel, profile};
use engine::{
    Detail, EngineError, EngineErrorKind, MemoryReporter, NodeProfile, NodeProfiler, OutputView,
    Session, parts::PartRecorder,
};
use types::{Device, HostTensor};

/// A model with its inputs bound.
pub(crate) struct OrtSession<'a> {
    pub(crate) model: &'a OrtModel,
    bound: Option<Bound<'a>>,
}

impl OrtSession<'_> {
    pub(crate) fn new(model: &OrtModel) -> OrtSession<'_> {
        OrtSession { model, bound: None }
    }
}

impl Session for OrtSession<'_> {
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError> {
        self.bound = None;
        self.bound = Some(Bound::new(&self.model.session, inputs.to_vec())?);
        Ok(())
    }

    fn infer(&mut self) -> Result<(), EngineError> {
        match &mut self.bound {
            Some(bound) => bound.run(),
            None => Err(EngineError::new(EngineErrorKind::BadInput, "no inputs are bound")),
        }
    }

    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        match &self.bound {
            Some(bound) if bound.has_run => bound.outputs(),
            _ => Err(EngineError::new(EngineErrorKind::Failed, "nothing was inferred yet")),
        }
    }

    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        // Elsewhere the library's clock sees work being handed over, not being done; a GPU's own records see it.
        let is_told =
            matches!(self.model.request.device, Device::Cpu | Device::Openvino | Device::Xnnpack)
                || PartRecorder::of_this_process().is_some();
        if is_told { Some(self) } else { None }
    }

    fn memory_reporter(&mut self) -> Option<&mut dyn MemoryReporter> {
        // The arena of another device is another one, and its statistics are those of the CPU's.
        if self.model.request.device == Device::Cpu { Some(self) } else { None }
    }
}

impl NodeProfiler for OrtSession<'_> {
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
        let inputs = self.bound.as_ref().map(|bound| bound.inputs.clone()).unwrap_or_default();
        match PartRecorder::of_this_process().filter(|_| detail == Detail::Times) {
            Some(recorder) => {
                recorder.turn();
                for _ in 0..count {
                    recorder.whole(|| self.infer())?;
                }
                profile::profile_parts(self.model, inputs, count, &recorder)
            }
            None => profile::profile(self.model, inputs, count, detail),
        }
    }
}
