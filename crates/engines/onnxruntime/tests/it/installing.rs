//! Fetching a library, for real.

use crate::{cause, python};
use engine::{Availability, Engine, EngineErrorKind, Places};
use modelmeter_engine_onnxruntime::{OnnxRuntime, install};
use std::path::Path;

#[test]
fn a_library_is_fetched_once_and_then_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    let mut listen = |_: u64, _: Option<u64>, note: &str| notes.push(note.to_owned());
    let library = install(Some(&python()), folder.path(), Some("1.23.2"), &mut listen).unwrap();
    assert_eq!(
        library,
        folder.path().join("onnxruntime/1.23.2/libonnxruntime.so.1.23.2"),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note.contains("onnxruntime-1.23.2")), "{notes:?}");
    let mut kept: Vec<String> = std::fs::read_dir(library.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    let expected = [
        "LICENSE",
        "ThirdPartyNotices.txt",
        "libonnxruntime.so.1.23.2",
        "libonnxruntime_providers_shared.so",
    ];
    assert_eq!(kept, expected);
    // Nothing incomplete stays.
    assert_eq!(std::fs::read_dir(folder.path().join("onnxruntime")).unwrap().count(), 1);

    let places = Places { installed: Some(folder.path().to_owned()), ..Places::default() };
    let version = "1.23.2".to_owned();
    assert_eq!(OnnxRuntime.availability(&places), Availability::Available { version });
    // A second time nothing is fetched, so that no Python is needed.
    for version in [None, Some("1.23.2")] {
        let again = install(None, folder.path(), version, &mut |_, _, note| panic!("{note}"));
        assert_eq!(again.unwrap(), library);
    }
}

#[test]
fn what_cannot_be_fetched_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut quiet = |_: u64, _: Option<u64>, _: &str| {};
    let error = install(Some(&python()), folder.path(), Some("0.0.1"), &mut quiet).unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(cause(&error).contains("onnxruntime==0.0.1"), "{}", cause(&error));
    assert_eq!(std::fs::read_dir(folder.path().join("onnxruntime")).unwrap().count(), 0);

    let error = install(None, folder.path(), None, &mut quiet).unwrap_err();
    assert!(error.hint.unwrap().contains("--python"));
    let nobody = Path::new("/nowhere/python");
    let error = install(Some(nobody), folder.path(), None, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("/nowhere/python"), "{error}");
    let error = install(Some(nobody), folder.path(), Some("../1"), &mut quiet).unwrap_err();
    assert!(error.to_string().contains("is no version"), "{error}");
}
