//! Reads a model file, and says plainly why when it cannot.

use crate::{
    model::RtenModel,
    settings::{Packing, Settings},
};
use engine::{EngineError, EngineErrorKind, LoadRequest, LoadedModel};
use rten::{LoadError, LoadErrorKind, Model, ModelOptions};
use std::path::Path;
use types::{Device, Precision};

/// Whether the engine's own graph optimisations run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Optimise {
    /// As people run it.
    Yes,
    /// Every value keeps its name, to look at shapes.
    No,
}

pub(crate) fn load(
    request: &LoadRequest,
    precisions: &[Precision],
) -> Result<Box<dyn LoadedModel>, EngineError> {
    if request.device != Device::Cpu {
        return Err(EngineError::new(
            EngineErrorKind::Unsupported,
            format!("engine `rten` runs on `cpu`, not on `{}`", request.device),
        )
        .with_hint("`--device cpu` works here"));
    }
    if !precisions.contains(&request.precision) {
        return Err(EngineError::new(
            EngineErrorKind::Unsupported,
            format!("engine `rten` cannot run {}", request.precision),
        )
        .with_hint("`--precision fp32` works here"));
    }
    let settings = Settings::read(&request.options)?;
    let model = open(&request.onnx, Optimise::Yes, settings.packing)?;
    Ok(Box::new(RtenModel::new(model, request, settings)))
}

/// Opens the file; weights in external data are mapped, and copied only if they are packed.
pub(crate) fn open(
    path: &Path,
    optimise: Optimise,
    packing: Packing,
) -> Result<Model, EngineError> {
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(optimise == Optimise::Yes);
    options.prepack_weights(packing == Packing::On);
    // SAFETY: a file changed while it is mapped could change the weights under the engine. Prepared models are
    // renamed into place and never written again, and for a user's own file other runtimes take the same risk.
    unsafe { options.load_mmap(path) }.map_err(|error| explain(path, error))
}

/// The engine's words; many exporters leave operators without a name, and `""` says nothing.
pub(crate) fn without_empty_names(text: &str) -> String {
    text.replace("in node \"\"", "in a node without a name")
        .replace("operator \"\"", "an operator without a name")
}

fn explain(path: &Path, error: LoadError) -> EngineError {
    let name = path.display();
    // The engine's message ends with its cause, so the words alone are kept: the cause would be said twice.
    let text = without_empty_names(&error.to_string());
    let is_operator = matches!(error.kind(), LoadErrorKind::OperatorInvalid)
        || text.contains("unsupported")
        || text.contains("not supported");
    if is_operator && error.kind() != LoadErrorKind::IoError {
        return EngineError::new(
            EngineErrorKind::Unsupported,
            format!("engine `rten` cannot run `{name}`"),
        )
        .with_hint("another engine may have what is missing; `modelmeter devices` lists them")
        .with_source(text);
    }
    let failed = EngineError::new(
        EngineErrorKind::BadModel,
        format!("could not load `{name}` with engine `rten`"),
    );
    // ONNX lets writers leave out where external weights begin and end; this engine wants both said.
    let failed = match text.contains("missing external data") {
        true => failed.with_hint(
            "write the offsets with Python's `onnx`: `onnx.save_model(onnx.load(path), copy, \
             save_as_external_data=True)`",
        ),
        false => failed,
    };
    failed.with_source(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_empty_name_is_put_into_words() {
        let text = "operator \"\" failed: shapes differ. Inputs were (float)";
        let expected = "an operator without a name failed: shapes differ. Inputs were (float)";
        assert_eq!(super::without_empty_names(text), expected);
        assert_eq!(super::without_empty_names("in node \"a\": missing"), "in node \"a\": missing");
    }
}
