//! The library in this process: loaded once, silent, and never another one after it.

use crate::version::{self, OLDEST};
use engine::{EngineError, EngineErrorKind, found::Library};
use ort::{LoadDynamicError, environment::Environment, logging::LogLevel};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use types::caught;

/// The loaded library.
pub(crate) struct Runtime {
    /// What sessions are made in.
    pub(crate) environment: Environment,
    /// Where it was loaded from, without links.
    pub(crate) path: PathBuf,
}

static RUNTIME: Mutex<Option<&'static Runtime>> = Mutex::new(None);

/// What the library complained about lately; its own errors often leave the reason to its log.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How many complaints are kept: those of one failure, not of a long life.
const KEPT: usize = 8;

/// Loads the library, or says that another one was loaded before.
pub(crate) fn load(library: &Library) -> Result<&'static Runtime, EngineError> {
    let path = library.path.canonicalize().unwrap_or_else(|_| library.path.clone());
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match *runtime {
        Some(loaded) if loaded.path == path => Ok(loaded),
        Some(loaded) => Err(EngineError::new(
            EngineErrorKind::Unavailable,
            format!(
                "this process runs ONNX Runtime from `{}` and cannot load `{}` as well",
                loaded.path.display(),
                path.display()
            ),
        )
        .with_hint(
            "one process loads one ONNX Runtime; run the other one in a process of its own",
        )),
        None => {
            let loaded = Box::leak(Box::new(open(library, path)?));
            *runtime = Some(loaded);
            Ok(loaded)
        }
    }
}

fn open(library: &Library, path: PathBuf) -> Result<Runtime, EngineError> {
    let failed = |why: String| {
        let message = format!("could not load ONNX Runtime from `{}`", library.path.display());
        EngineError::new(EngineErrorKind::Unavailable, message).with_source(why).with_hint(
            "`modelmeter engines install onnxruntime` installs one that works; `ORT_DYLIB_PATH` selects another",
        )
    };
    // The binding panics where a library breaks its promises.
    let environment = caught(|| {
        let builder = ort::init_from(&library.path).map_err(|error| in_words(&error))?;
        let builder = builder.with_name("modelmeter").with_telemetry(false);
        builder.with_logger(Arc::new(listen)).build().map_err(|error| error.to_string())
    });
    let environment = match environment {
        Ok(environment) => environment.map_err(failed)?,
        Err(said) => return Err(failed(said)),
    };
    // The binding asks for every message when there is a listener.
    environment.set_log_level(LogLevel::Error);
    Ok(Runtime { environment, path })
}

fn in_words(error: &LoadDynamicError) -> String {
    match error {
        LoadDynamicError::Dlopen { error, .. } => error.to_string(),
        LoadDynamicError::MissingApi { .. } => {
            "it does not have ONNX Runtime's interface".to_owned()
        }
        LoadDynamicError::InvalidVersionString => "its version is not text".to_owned(),
        LoadDynamicError::BadVersion { version_str, .. } => {
            let [major, minor] = OLDEST;
            format!("it is version {version_str}; {major}.{minor} or newer is needed")
        }
    }
}

/// The version of a library whose name tells none, as far as it says so itself.
pub(crate) fn version_by_loading(library: &Library) -> Option<String> {
    ort::util::probe(&library.path).map(|minor| format!("{}.{minor}", version::OLDEST[0]))
}

/// Takes what the library would print.
fn listen(level: LogLevel, _category: &str, _id: &str, _location: &str, message: &str) {
    if level >= LogLevel::Error {
        let mut complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() == KEPT {
            complaints.remove(0);
        }
        complaints.push(message.trim().to_owned());
    }
}

/// What was complained about since the last look.
pub(crate) fn complaints() -> Vec<String> {
    std::mem::take(&mut *COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A status of the library as a result.
pub(crate) fn checked(status: ort::sys::OrtStatusPtr) -> Result<(), ort::Error> {
    // SAFETY: every status here comes straight from the library and is handed over once.
    unsafe { ort::Error::result_from_status(status) }
}
