//! ONNX Runtime, with the library of the repository's Python environment.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod alone;
mod conformance;
mod devices;
mod installing;
mod memory;
mod models;
mod profiling;
mod refusals;
mod running;

use engine::{EngineError, LoadRequest, LoadedModel, Loader, Places};
use modelmeter_engine_onnxruntime::OnnxRuntime;
use std::path::{Path, PathBuf};
use types::{Device, Elements, HostTensor, Precision};

/// The repository's Python.
fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    python
}

/// The repository's Python environment and nothing else.
fn places() -> Places {
    Places { python: Some(python()), ..Places::default() }
}

/// The library in it.
fn library() -> PathBuf {
    let packages = python().parent().unwrap().join("../lib");
    let mut folders = std::fs::read_dir(packages).unwrap().map(|entry| entry.unwrap().path());
    let capi = folders.find_map(|folder| {
        Some(folder.join("site-packages/onnxruntime/capi")).filter(|capi| capi.is_dir())
    });
    let mut files = std::fs::read_dir(capi.unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| path.to_string_lossy().contains("/libonnxruntime.");
    files.find(is_library).unwrap().canonicalize().unwrap()
}

fn request(onnx: impl Into<PathBuf>) -> LoadRequest {
    let request = LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, 2);
    LoadRequest { places: places(), ..request }
}

fn load(onnx: impl Into<PathBuf>) -> Box<dyn LoadedModel> {
    OnnxRuntime.load(&request(onnx)).unwrap()
}

fn tensor(name: &str, dims: &[usize], elements: Elements) -> HostTensor {
    HostTensor { name: name.into(), dims: dims.to_vec(), elements }
}

/// The error's own cause, in the library's words.
fn cause(error: &EngineError) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}
