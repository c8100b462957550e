//! OpenVINO of the test environment under the suites every engine must pass, and what is its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod libraries;
mod models;
mod profile;
mod running;
mod suites;

use engine::{EngineError, LoadRequest, LoadedModel, Loader, Places};
use modelmeter_engine_openvino::OpenVino;
use std::path::{Path, PathBuf};
use types::{Device, Elements, HostTensor, Precision};

/// The repository's Python environment, which has OpenVINO.
fn places() -> Places {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    Places { python: Some(python), ..Places::default() }
}

/// The folder of the test environment's OpenVINO libraries.
fn library_folder() -> PathBuf {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/lib");
    let mut entries = std::fs::read_dir(lib).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.find_map(|python| {
        let folder = python.join("site-packages/openvino/libs");
        folder.is_dir().then_some(folder)
    });
    found.unwrap().canonicalize().unwrap()
}

/// The C library among them.
fn library() -> PathBuf {
    let mut entries = std::fs::read_dir(library_folder()).unwrap().map(|e| e.unwrap().path());
    entries.find(|path| path.to_string_lossy().contains("libopenvino_c.so")).unwrap()
}

fn request(onnx: &Path) -> LoadRequest {
    let mut request = LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, 2);
    request.places = places();
    request
}

fn load(onnx: &Path) -> Box<dyn LoadedModel> {
    OpenVino.load(&request(onnx)).unwrap()
}

fn refusal(request: &LoadRequest) -> EngineError {
    OpenVino.load(request).err().unwrap()
}

fn cause(error: &EngineError) -> String {
    std::error::Error::source(error).unwrap().to_string()
}

fn tensor(name: &str, dims: &[usize], elements: Elements) -> HostTensor {
    HostTensor { name: name.into(), dims: dims.to_vec(), elements }
}
