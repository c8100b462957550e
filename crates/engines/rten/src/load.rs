//! Reads a model file, and says plainly why when it cannot.

use crate::model::RtenModel;
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
        .with_hint("`--device cpu` runs now"));
    }
    if !precisions.contains(&request.precision) {
        return Err(EngineError::new(
            EngineErrorKind::Unsupported,
            format!("engine `rten` cannot run {}", request.precision),
        )
        .with_hint("`--precision fp32` runs now"));
    }
    let model = open(&request.onnx, Optimise::Yes)?;
    Ok(Box::new(RtenModel::new(model, request)))
}

/// Opens the file; weights in external data are mapped, not copied.
pub(crate) fn open(path: &Path, optimise: Optimise) -> Result<Model, EngineError> {
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(optimise == Optimise::Yes);
    // SAFETY: a file changed while it is mapped could change the weights under the engine. Prepared models are
    // renamed into place and never written again, and for a user's own file other runtimes take the same risk.
    unsafe { options.load_mmap(path) }.map_err(|error| explain(path, error))
}

/// The engine's words; many exporters leave operators without a name, and `""` says nothing.
pub(crate) fn named(text: &str) -> String {
    text.replace("in node \"\"", "in a node without a name")
        .replace("operator \"\"", "an operator without a name")
}

fn explain(path: &Path, error: LoadError) -> EngineError {
    let name = path.display();
    // The engine's message ends with its cause, so the words alone are kept: the cause would be said twice.
    let text = named(&error.to_string());
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
            "let Python's `onnx` write the offsets: \
             `onnx.save_model(onnx.load(path), copy, save_as_external_data=True)`",
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
        assert_eq!(super::named(text), expected);
        assert_eq!(super::named("in node \"a\": missing"), "in node \"a\": missing");
    }
}
