//! Libraries that cannot be used, and one that lies as Intel's archives do.

use crate::{cause, library, library_folder, load, models, places, refusal, request, tensor};
use engine::{Availability, Engine, EngineErrorKind, LoadRequest, Loader, Places};
use modelmeter_engine_openvino::OpenVino;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};
use types::{Device, Elements};

fn places_with(path: &Path) -> Places {
    let libraries = BTreeMap::from([("openvino".to_string(), path.to_owned())]);
    Places { libraries, ..Places::default() }
}

fn request_with(folder: &Path, library: &Path) -> LoadRequest {
    LoadRequest { places: places_with(library), ..request(&models::dense(folder, "Identity")) }
}

/// Why OpenVINO is not available with this library, and the hint.
fn unavailable(library: &Path) -> (String, String) {
    match OpenVino.availability(&places_with(library)) {
        Availability::Unavailable { why, hint } => (why, hint),
        Availability::Available { version } => panic!("available as {version}"),
    }
}

#[test]
fn the_test_environments_openvino_tells_its_version_and_the_cpu() {
    let Availability::Available { version } = OpenVino.availability(&places()) else {
        panic!("{:?}", OpenVino.availability(&places()));
    };
    assert!(version.starts_with("20") && version.matches('.').count() == 2, "{version}");
    assert_eq!(OpenVino.devices(&places())[0], Device::Cpu);
    assert_eq!(OpenVino.devices(&Places::default()), []);
}

#[test]
fn a_library_of_another_machine_is_unavailable_and_never_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libopenvino_c.so.2641");
    let mut bytes = fs::read(library()).unwrap();
    bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
    fs::write(&path, bytes).unwrap();
    let (why, hint) = unavailable(&path);
    assert!(why.contains("this machine is"), "{why}");
    assert!(hint.contains("pip install openvino"), "{hint}");
    let error = refusal(&request_with(folder.path(), &path));
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(error.message.contains("this machine is"), "{error}");
}

#[test]
fn a_text_under_the_librarys_name_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libopenvino_c.so.2641");
    fs::write(&path, "this is a text and not a library").unwrap();
    assert!(unavailable(&path).0.contains("is not a library"));
    let error = refusal(&request_with(folder.path(), &path));
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
}

#[test]
fn half_a_library_is_unavailable_and_ends_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libopenvino_c.so.2641");
    fs::write(&path, &fs::read(library()).unwrap()[..4096]).unwrap();
    assert!(unavailable(&path).0.contains("is truncated"));
    let error = refusal(&request_with(folder.path(), &path));
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
}

/// A whole ELF file of this machine that the system's loader does not take as a library: this very program.
fn program_as_library(folder: &Path) -> PathBuf {
    let path = folder.join("libopenvino_c.so.2641");
    fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    path
}

#[test]
fn a_library_that_does_not_open_is_refused_with_the_loaders_words_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = program_as_library(folder.path());
    let error = refusal(&request_with(folder.path(), &path));
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(cause(&error).contains("libopenvino_c.so.2641"), "{}", cause(&error));
    assert!(error.hint.unwrap().contains("reinstall"));
}

#[test]
fn a_library_that_is_not_openvinos_is_refused_with_the_function_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let other = library_folder().join("libtbb.so.12");
    let error = refusal(&request_with(folder.path(), &other));
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(cause(&error).contains("ov_"), "{}", cause(&error));
}

#[test]
fn a_good_library_opens_after_a_bad_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = program_as_library(folder.path());
    let bad = request_with(folder.path(), &path);
    assert_eq!(refusal(&bad).kind, EngineErrorKind::Unavailable);
    load(&bad.onnx);
}

/// Where the parent test tells its child what to open.
const ARCHIVE: &str = "MODELMETER_TEST_ARCHIVE";

#[test]
fn an_archive_of_intels_runs_with_its_threading_library_beside() {
    // The archive's folders, with links into the wheel. A process of its own, because in this one the wheel's
    // threading library may be open already.
    let root = tempfile::tempdir().unwrap();
    let libraries = root.path().join("runtime/lib/intel64");
    let threading = root.path().join("runtime/3rdparty/tbb/lib");
    fs::create_dir_all(&libraries).unwrap();
    fs::create_dir_all(&threading).unwrap();
    for entry in fs::read_dir(library_folder()).unwrap() {
        let from: PathBuf = entry.unwrap().path();
        let name = from.file_name().unwrap().to_string_lossy().into_owned();
        let to = if name.starts_with("libtbb") { &threading } else { &libraries };
        symlink(&from, to.join(name)).unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "libraries::child_of_the_archive_test", "--ignored"])
        .env(ARCHIVE, root.path())
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && talk.contains("1 passed"), "{talk}");
}

#[test]
#[ignore = "started by the archive test, in a process of its own"]
fn child_of_the_archive_test() {
    let folder = tempfile::tempdir().unwrap();
    let root = PathBuf::from(std::env::var_os(ARCHIVE).unwrap());
    let model = OpenVino.load(&request_with(folder.path(), &root)).unwrap();
    let mut session = model.session().unwrap();
    session.bind(&[tensor("x", &[1, 2], Elements::F32(vec![1.0, 1.0]))]).unwrap();
    session.infer().unwrap();
    let expected = Elements::F32(vec![4.0, 0.0]);
    assert_eq!(session.outputs().unwrap()[0].to_host().elements, expected);
}
