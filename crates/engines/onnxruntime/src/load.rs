//! Makes a session of a file, and says plainly why when it cannot.

use crate::{
    explain, locate,
    model::OrtModel,
    nvidia,
    provider::{self, Provider},
    register,
    runtime::{self, Runtime},
};
use engine::{EngineError, EngineErrorKind, LoadRequest, LoadedModel};
use ort::{
    logging::LogLevel,
    session::{
        Session,
        builder::{GraphOptimizationLevel, SessionBuilder},
    },
};
use std::sync::{Arc, Mutex, PoisonError};
use types::{Device, GraphOptimisation, Remark, RemarkCode};

/// Nodes by provider.
pub(crate) type Placements = Vec<(String, u64)>;

pub(crate) fn load(request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
    let library = locate::locate(&request.places)?;
    let refused = |why: String| EngineError::new(EngineErrorKind::Unsupported, why);
    let provider = Provider::of(request.device);
    let problem = match &provider {
        Some(provider) => provider.problem(&library),
        None if request.device == Device::Cpu => None,
        None => Some(format!("ONNX Runtime cannot run on `{}`", request.device)),
    };
    if let Some(problem) = problem {
        return Err(refused(problem).with_hint("`--device cpu` works here"));
    }
    if !provider::precisions(request.device).contains(&request.precision) {
        let (precision, device) = (request.precision, request.device);
        return Err(refused(format!("ONNX Runtime cannot run {precision} on `{device}`"))
            .with_hint("`--precision fp32` works here"));
    }
    let runtime = runtime::load(&library)?;
    if let Some(provider) = &provider {
        let built_in = register::built_in()
            .map_err(|error| explain::other("could not list the providers", &error))?;
        if !built_in.iter().any(|name| name == provider.name) {
            let name = provider.short;
            return Err(refused(format!("ONNX Runtime was built without its {name} provider"))
                .with_hint("`--device cpu` works here"));
        }
        if request.device.nvidia_index().is_some() {
            nvidia::preload(&library, &request.places);
        }
    }
    let placements = Arc::new(Mutex::new(Placements::new()));
    let mut builder = builder(runtime, request, &[])?;
    if provider.is_some() {
        builder = listen(builder, &placements)?;
    }
    let session = commit(builder, request)?;
    let placements = placements.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(provider) = &provider
        && !placements.is_empty()
        && !placements.iter().any(|(name, _)| name == provider.name)
    {
        let (name, onnx) = (provider.short, request.onnx.display());
        return Err(refused(format!(
            "the {name} provider of ONNX Runtime took no node of `{onnx}`"
        ))
        .with_hint("`--device cpu` runs it, and every node would have run there anyway"));
    }
    let mut model = OrtModel::new(runtime, session, request, &placements);
    if library.version.is_none()
        && let Some(version) = runtime::version_by_loading(&library)
    {
        let text = format!("`{}` says that it is version {version}", library.path.display());
        model.remark(Remark::new(RemarkCode::LibraryVersion, text));
    }
    Ok(Box::new(model))
}

/// A session's options, all but the file; what a user sets goes before what is `usual`.
pub(crate) fn builder(
    runtime: &Runtime,
    request: &LoadRequest,
    usual: &[(&str, &str)],
) -> Result<SessionBuilder, EngineError> {
    let inter = request.options.inter_threads.unwrap_or(1).max(1);
    let level = match request.options.graph_optimisation {
        Some(GraphOptimisation::None) => GraphOptimizationLevel::Disable,
        Some(GraphOptimisation::Basic) => GraphOptimizationLevel::Level1,
        Some(GraphOptimisation::Extended) => GraphOptimizationLevel::Level2,
        Some(GraphOptimisation::All) | None => GraphOptimizationLevel::All,
    };
    let is_session_key = |key: &str| key.starts_with("session.") || key.starts_with("ep.");
    // Whoever draws the graph that generates reads its own.
    let is_drawn = |key: &str, value: &str| {
        key == engine::DECODER && [engine::DECODER_STANDARD, engine::DECODER_FUSED].contains(&value)
    };
    let settings = request.options.settings.iter().filter(|(key, value)| !is_drawn(key, value));
    let settings = settings.map(|(key, value)| (key.as_str(), value.as_str()));
    let (entries, options): (Vec<_>, Vec<_>) = settings.partition(|(key, _)| is_session_key(key));
    let build = || -> Result<SessionBuilder, ort::Error> {
        let mut builder = Session::builder(&runtime.environment)?
            .with_log_level(LogLevel::Error)?
            .with_intra_threads(request.threads.max(1) as usize)?
            .with_inter_threads(inter as usize)?
            .with_parallel_execution(inter > 1)?
            .with_optimization_level(level)?;
        let is_set = |key: &str| entries.iter().any(|(set, _)| *set == key);
        let usual = usual.iter().filter(|(key, _)| !is_set(key));
        for (key, value) in usual.chain(&entries) {
            builder = builder.with_config_entry(key, value)?;
        }
        Ok(builder)
    };
    let mut builder =
        build().map_err(|error| explain::other("could not set the session's options", &error))?;
    match Provider::of(request.device) {
        Some(provider) => register::register(&provider, request.device, &mut builder, &options)
            .map_err(|error| explain::of_provider(provider.short, &error))?,
        None => {
            if let Some((key, _)) = options.first() {
                return Err(EngineError::new(
                    EngineErrorKind::Unsupported,
                    format!("ONNX Runtime's cpu has no setting `{key}`"),
                )
                .with_hint("settings of a session begin with `session.`, as `session.intra_op.allow_spinning` does"));
            }
        }
    }
    Ok(builder)
}

/// Reads the file.
pub(crate) fn commit(
    mut builder: SessionBuilder,
    request: &LoadRequest,
) -> Result<Session, EngineError> {
    let path = &request.onnx;
    if !path.is_file() {
        let message = format!("there is no file `{}`", path.display());
        return Err(EngineError::new(EngineErrorKind::BadModel, message));
    }
    let session = builder.commit_from_file(path);
    // What was complained about belongs to this file and no later failure.
    runtime::complaints();
    let provider = Provider::of(request.device);
    session.map_err(|error| explain::of_loading(path, provider.as_ref(), &error))
}

/// Hears where the nodes go. The library tells it in its log alone, and only while it loads.
fn listen(
    builder: SessionBuilder,
    placements: &Arc<Mutex<Placements>>,
) -> Result<SessionBuilder, EngineError> {
    let heard = Arc::clone(placements);
    let listener = move |_: LogLevel, _: &str, _: &str, _: &str, message: &str| {
        if let Some(placement) = placement(message) {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(placement);
        }
    };
    let failed =
        |error: ort::Error| explain::other("could not read the log of the session", &error);
    let builder = builder.with_logger(Arc::new(listener)).map_err(|error| failed(error.into()))?;
    builder.with_log_level(LogLevel::Verbose).map_err(|error| failed(error.into()))
}

/// `All nodes placed on [X]. Number of nodes: 12`, and the same with `Node(s)` for a part of them.
fn placement(message: &str) -> Option<(String, u64)> {
    let (_, rest) = message.split_once("placed on [")?;
    let (provider, rest) = rest.split_once("]. Number of nodes: ")?;
    Some((provider.to_owned(), rest.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::placement;

    #[test]
    fn the_log_tells_where_nodes_go() {
        let all = " All nodes placed on [CPUExecutionProvider]. Number of nodes: 2";
        assert_eq!(placement(all), Some(("CPUExecutionProvider".to_owned(), 2)));
        let some = " Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 241";
        assert_eq!(placement(some), Some(("CUDAExecutionProvider".to_owned(), 241)));
        assert_eq!(placement("Node placements"), None);
    }
}
