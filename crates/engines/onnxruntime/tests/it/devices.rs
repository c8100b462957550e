//! What it can use here, and why not more.

use crate::{cause, library, models, places, python, request};
use engine::{Availability, Engine, EngineErrorKind, Loader, Places};
use modelmeter_engine_onnxruntime::OnnxRuntime;
use std::{collections::BTreeMap, path::PathBuf};
use types::Device;

fn places_with(path: impl Into<PathBuf>) -> Places {
    let libraries = BTreeMap::from([("onnxruntime".to_owned(), path.into())]);
    Places { libraries, ..Places::default() }
}

fn refusal(places: &Places) -> (String, String) {
    match OnnxRuntime.availability(places) {
        Availability::Unavailable { why, hint } => (why, hint),
        available @ Availability::Available { .. } => panic!("{available:?}"),
    }
}

#[test]
fn the_library_of_a_python_environment_is_found_with_its_version() {
    let python_says = std::process::Command::new(python())
        .args(["-c", "import onnxruntime; print(onnxruntime.__version__)"])
        .output()
        .unwrap();
    let version = String::from_utf8(python_says.stdout).unwrap().trim().to_owned();
    assert_eq!(OnnxRuntime.availability(&places()), Availability::Available { version });
    assert_eq!(OnnxRuntime.devices(&places()), [Device::Cpu]);
}

#[test]
fn nothing_anywhere_says_how_to_get_it() {
    let (why, hint) = refusal(&Places::default());
    assert_eq!(why, "no ONNX Runtime library was found");
    assert!(hint.contains("modelmeter engines install onnxruntime"), "{hint}");
    assert_eq!(OnnxRuntime.devices(&Places::default()), []);
}

#[test]
fn a_library_of_another_machine_is_refused_without_loading_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(library()).unwrap();
    // The machine in an ELF header: this is s390.
    bytes[18..20].copy_from_slice(&22u16.to_le_bytes());
    let path = folder.path().join("libonnxruntime.so.1.31.1");
    std::fs::write(&path, bytes).unwrap();
    let (why, _) = refusal(&places_with(&path));
    assert!(why.contains("was built for machine 22"), "{why}");
    let asked = engine::LoadRequest { places: places_with(path), ..request("model.onnx") };
    assert_eq!(OnnxRuntime.load(&asked).err().unwrap().kind, EngineErrorKind::Unavailable);
}

#[test]
fn a_library_that_is_none_or_ends_early_is_refused_without_loading_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libonnxruntime.so.1.31.1");
    std::fs::write(&path, "hello").unwrap();
    assert!(refusal(&places_with(&path)).0.contains("is not a shared library"));
    let bytes = std::fs::read(library()).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(refusal(&places_with(folder.path())).0.contains("is truncated"));
}

#[test]
fn a_provider_that_is_not_installed_is_the_reason() {
    let why = OnnxRuntime.absence(&places(), Device::Cuda(0)).unwrap();
    assert_eq!(why, "ONNX Runtime is installed without its CUDA provider");
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("Identity"));
    let asked = engine::LoadRequest { device: Device::Cuda(0), ..request(onnx) };
    let error = OnnxRuntime.load(&asked).err().unwrap();
    assert_eq!((error.kind, error.to_string()), (EngineErrorKind::Unsupported, why));
    assert_eq!(OnnxRuntime.absence(&places(), Device::Cpu), None);
}

#[test]
fn a_provider_needs_its_driver_too() {
    // The main library need not be the real one to look at what lies beside it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libonnxruntime.so.1.31.1");
    std::os::unix::fs::symlink(library(), &path).unwrap();
    for provider in ["rocm", "openvino"] {
        let file = format!("libonnxruntime_providers_{provider}.so");
        std::fs::write(folder.path().join(file), "").unwrap();
    }
    let places = places_with(path);
    let has_amd = std::path::Path::new("/dev/kfd").exists();
    assert_eq!(OnnxRuntime.absence(&places, Device::Rocm(0)).is_none(), has_amd);
    let devices = OnnxRuntime.devices(&places);
    assert_eq!(devices.contains(&Device::Rocm(0)), has_amd);
    assert!(devices.contains(&Device::Openvino), "{devices:?}");
}

#[test]
fn a_provider_that_the_library_was_not_built_with_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("Identity"));
    let mut asked = request(onnx);
    asked.device = Device::Xnnpack;
    let error = OnnxRuntime.load(&asked).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(
        error.to_string().contains("without its XNNPACK provider"),
        "{error}: {}",
        cause(&error)
    );
}
