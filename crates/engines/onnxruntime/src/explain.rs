//! The library's errors in our words.

use crate::{provider::Provider, runtime};
use engine::{EngineError, EngineErrorKind};
use ort::ErrorCode;
use std::path::Path;

/// What the library says when an operator, a type or a version is beyond it, though the file is sound.
const BEYOND_IT: [&str; 6] = [
    "is not a registered function/op",
    "No Op registered for",
    "No opset import for domain",
    "Could not find an implementation",
    "Unsupported model IR version",
    "is under development and support for this is limited",
];

/// A session could not be made of a file.
pub(crate) fn of_loading(
    path: &Path,
    provider: Option<&Provider>,
    error: &ort::Error,
) -> EngineError {
    let text = words(error);
    let name = path.display();
    if error.code() == ErrorCode::NotImplemented || BEYOND_IT.iter().any(|part| text.contains(part))
    {
        return EngineError::new(
            EngineErrorKind::Unsupported,
            format!("engine `onnxruntime` cannot run `{name}`"),
        )
        .with_hint("a newer ONNX Runtime or another engine may have what is missing; `modelmeter devices` lists them")
        .with_source(text);
    }
    if text.contains("fallback to CPU EP has been explicitly disabled") {
        return EngineError::new(
            EngineErrorKind::Unsupported,
            format!("not every node of `{name}` can run on the device"),
        )
        .with_hint("omit `session.disable_cpu_ep_fallback` to run the others on the cpu")
        .with_source(text);
    }
    if let Some(Provider { name: provider, short, .. }) = provider
        && (error.code() == ErrorCode::ExecutionProviderFailure
            || [provider, short].iter().any(|name| text.contains(*name)))
    {
        let message = format!("the {short} provider of ONNX Runtime refused `{name}`");
        return EngineError::new(EngineErrorKind::Unsupported, message)
            .with_hint("`--device cpu` may run it")
            .with_source(text);
    }
    EngineError::new(
        EngineErrorKind::BadModel,
        format!("could not load `{name}` with engine `onnxruntime`"),
    )
    .with_source(text)
}

/// A provider could not be registered; it is never replaced by another.
pub(crate) fn of_provider(provider: &str, error: &ort::Error) -> EngineError {
    let mut text = words(error);
    for complaint in runtime::complaints().iter().map(|complaint| plain(complaint)) {
        if !text.contains(&complaint) {
            text = format!("{text}; {complaint}");
        }
    }
    let refused = EngineError::new(
        EngineErrorKind::Unsupported,
        format!("ONNX Runtime could not set up its {provider} provider"),
    )
    .with_source(text.clone());
    match text.contains("cannot open shared object file") {
        true => refused.with_hint(
            "a library it needs is missing; install it, or add its folder to `LD_LIBRARY_PATH`",
        ),
        false => refused,
    }
}

/// A run failed.
pub(crate) fn of_running(error: &ort::Error) -> EngineError {
    let text = words(error);
    let kind = match error.code() {
        ErrorCode::InvalidArgument if text.contains("input") => EngineErrorKind::BadInput,
        _ => EngineErrorKind::Failed,
    };
    let failed = EngineError::new(kind, "the model failed while running").with_source(text);
    match kind {
        EngineErrorKind::Failed => failed.with_hint(
            "the graph may need other inputs: `--input NAME=1x80x100` gives a shape, `NAME=0..9` values",
        ),
        _ => failed,
    }
}

/// What has no better explanation.
pub(crate) fn other(what: &str, error: &ort::Error) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, what).with_source(words(error))
}

/// The library's message.
fn words(error: &ort::Error) -> String {
    plain(error.message())
}

/// A message on one line, without the place in the library's source that some begin with.
fn plain(message: &str) -> String {
    let reason = message.rsplit_once("[ONNXRuntimeError] : ").and_then(|(_, rest)| {
        // A number and a name of the kind of error stand before the reason.
        rest.splitn(3, " : ").nth(2)
    });
    reason.unwrap_or(message).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_reason_is_kept_and_the_place_in_the_source_is_not() {
        let text = "/src/core/session/bridge.cc:2043 Provider& Get() [ONNXRuntimeError] : 1 : FAIL : \
                    Failed to load library\nlibx.so with error: libnvinfer.so.10 : none ";
        let reason = "Failed to load library libx.so with error: libnvinfer.so.10 : none";
        assert_eq!(plain(text), reason);
        assert_eq!(plain("Invalid  rank for input: x"), "Invalid rank for input: x");
    }
}
