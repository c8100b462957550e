//! A loaded model.

use crate::{
    convert::element_type,
    load::Placements,
    provider::Provider,
    runtime::Runtime,
    session::OrtSession,
    statistics::{self, Statistics},
};
use engine::{EngineError, LoadRequest, LoadedModel, Session, Signature, SignatureValue};
use ort::value::{Outlet, ValueType};
use types::{Remark, RemarkCode};

/// A model in the library's memory.
pub(crate) struct OrtModel {
    pub(crate) runtime: &'static Runtime,
    pub(crate) session: ort::session::Session,
    pub(crate) request: LoadRequest,
    /// What the library's arena held once the model was in, or why is unknown.
    pub(crate) loaded: Result<Statistics, String>,
    remarks: Vec<Remark>,
}

impl OrtModel {
    pub(crate) fn new(
        runtime: &'static Runtime,
        session: ort::session::Session,
        request: &LoadRequest,
        placements: &Placements,
    ) -> OrtModel {
        let loaded = statistics::of(runtime, &session);
        let (request, remarks) = (request.clone(), Vec::new());
        let mut model = OrtModel { runtime, session, request, loaded, remarks };
        if let Some(provider) = Provider::of(model.request.device)
            && let Some(remark) = elsewhere(&provider, placements)
        {
            model.remark(remark);
        }
        model
    }

    /// Adds what a reader must know.
    pub(crate) fn remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }
}

/// Which nodes do not run where the user asked for.
fn elsewhere(provider: &Provider, placements: &Placements) -> Option<Remark> {
    if placements.is_empty() {
        let text = "ONNX Runtime did not report which nodes run on the device";
        return Some(Remark::new(RemarkCode::UnknownPlacement, text));
    }
    let all: u64 = placements.iter().map(|(_, count)| count).sum();
    let others: Vec<String> = placements
        .iter()
        .filter(|(name, _)| name != provider.name)
        .map(|(name, count)| {
            let place = if name == "CPUExecutionProvider" { "the cpu" } else { name };
            format!("{count} of {all} nodes of the optimised graph run on {place}")
        })
        .collect();
    (!others.is_empty()).then(|| Remark::new(RemarkCode::OtherDevice, others.join(", ")))
}

fn value(outlet: &Outlet) -> SignatureValue {
    let tensor = match outlet.dtype() {
        ValueType::Tensor { ty, shape, .. } => Some((ty, shape)),
        _ => None,
    };
    SignatureValue {
        name: outlet.name().to_owned(),
        dtype: tensor.and_then(|(ty, _)| element_type(*ty)),
        dims: tensor.map(|(_, shape)| shape.iter().map(|&dim| usize::try_from(dim).ok()).collect()),
    }
}

impl LoadedModel for OrtModel {
    fn signature(&self) -> Signature {
        Signature {
            inputs: self.session.inputs().iter().map(value).collect(),
            outputs: self.session.outputs().iter().map(value).collect(),
        }
    }

    fn placement(&self) -> String {
        let (device, threads) = (self.request.device, self.request.threads.max(1));
        let plural = if threads == 1 { "" } else { "s" };
        match Provider::of(device) {
            Some(provider) => format!("{device} ({})", provider.name),
            None => format!("{device}, {threads} thread{plural}"),
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        self.remarks.clone()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError> {
        Ok(Box::new(OrtSession::new(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Device;

    #[test]
    fn nodes_that_went_elsewhere_are_counted() {
        let cuda = Provider::of(Device::Cuda(0)).unwrap();
        let on = |name: &str, count| (name.to_owned(), count);
        let mixed = vec![on("CUDAExecutionProvider", 241), on("CPUExecutionProvider", 12)];
        let remark = elsewhere(&cuda, &mixed).unwrap();
        assert_eq!(remark.text, "12 of 253 nodes of the optimised graph run on the cpu");
        assert_eq!(elsewhere(&cuda, &mixed[..1].to_vec()), None);
        let unknown = elsewhere(&cuda, &Placements::new()).unwrap();
        assert_eq!(unknown.code, RemarkCode::UnknownPlacement);
    }
}
