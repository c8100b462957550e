//! What needs a process in which no library was loaded yet, or whose streams are looked at.

use crate::{cause, library, models, request};
use engine::{EngineErrorKind, LoadRequest, Loader, Places};
use modelmeter_engine_onnxruntime::OnnxRuntime;
use std::{collections::BTreeMap, env, path::PathBuf, process::Command};
use types::Elements;

/// Set in the process that does the work.
const MARK: &str = "MODELMETER_TEST_ALONE";

/// Runs a test in a process of its own and returns all that it printed.
fn alone(test: &str, work: impl FnOnce()) -> Option<String> {
    if env::var_os(MARK).is_some() {
        work();
        return None;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
    Some(printed)
}

fn from(library: PathBuf, onnx: PathBuf) -> LoadRequest {
    let libraries = BTreeMap::from([("onnxruntime".to_owned(), library)]);
    LoadRequest { places: Places { libraries, ..Places::default() }, ..request(onnx) }
}

#[test]
fn a_library_that_is_another_one_is_an_error_and_the_right_one_loads_after_it() {
    alone(
        "alone::a_library_that_is_another_one_is_an_error_and_the_right_one_loads_after_it",
        || {
            let folder = tempfile::tempdir().unwrap();
            let onnx = models::write(folder.path(), &models::dense("Identity"));
            // A sound library of this machine, but without the interface.
            let wrong = folder.path().join("libonnxruntime.so.1.31.1");
            let other = library().with_file_name("libonnxruntime_providers_shared.so");
            std::fs::copy(other, &wrong).unwrap();
            let error = OnnxRuntime.load(&from(wrong.clone(), onnx.clone())).err().unwrap();
            assert_eq!(error.kind, EngineErrorKind::Unavailable);
            assert!(error.to_string().contains(&wrong.display().to_string()), "{error}");
            assert!(!cause(&error).is_empty() && error.hint.is_some());
            OnnxRuntime.load(&from(library(), onnx)).unwrap();
        },
    );
}

#[test]
fn a_second_library_in_one_process_is_refused_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("Identity"));
    crate::load(&onnx);
    let version = library();
    let copy = folder.path().join(version.file_name().unwrap());
    std::fs::copy(&version, &copy).unwrap();
    let error = OnnxRuntime.load(&from(copy, onnx.clone())).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(error.hint.unwrap().contains("one process loads one ONNX Runtime"));
    // Another way to the same file is the same library.
    let link = folder.path().join("libonnxruntime.so");
    std::os::unix::fs::symlink(version, &link).unwrap();
    OnnxRuntime.load(&from(link, onnx)).unwrap();
}

#[test]
fn the_library_prints_nothing() {
    let printed = alone("alone::the_library_prints_nothing", || {
        let folder = tempfile::tempdir().unwrap();
        let bad = models::write(folder.path(), &models::dense("NoSuchOperator"));
        OnnxRuntime.load(&request(bad)).err().unwrap();
        // It complains in its log about nodes that fail.
        let model = crate::load(models::write(folder.path(), &models::dense("Transpose")));
        let mut session = model.session().unwrap();
        let three = crate::tensor("x", &[3, 2], Elements::F32(vec![1.0; 6]));
        session.bind(&[three]).unwrap();
        session.infer().unwrap_err();
        session.bind(&models::dense_input()).unwrap();
        session.infer().unwrap();
        session.node_profiler().unwrap().profile(1, engine::Detail::Times).unwrap();
    });
    if let Some(printed) = printed {
        let lines: Vec<&str> =
            printed.lines().filter(|line| line.contains("onnxruntime")).collect();
        assert_eq!(lines, Vec::<&str>::new());
    }
}
