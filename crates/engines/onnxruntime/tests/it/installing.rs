//! Fetching a library, for real.

use crate::{cause, library, python};
use engine::{Availability, Engine, EngineErrorKind, Places};
use modelmeter_engine_onnxruntime::{OnnxRuntime, install};
use std::path::Path;

#[test]
fn a_library_is_fetched_once_and_then_found() {
    // The version that the environment has, because its interpreter can have that one.
    let file = library().file_name().unwrap().to_string_lossy().into_owned();
    let version = file.strip_prefix("libonnxruntime.so.").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    let mut listen = |_: u64, _: Option<u64>, note: &str| notes.push(note.to_owned());
    let library = install(Some(&python()), folder.path(), Some(version), &mut listen).unwrap();
    let expected = folder.path().join("onnxruntime").join(version).join(&file);
    assert_eq!(library, expected, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains(&format!("onnxruntime-{version}"))), "{notes:?}");
    let mut kept: Vec<String> = std::fs::read_dir(library.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    let expected =
        ["LICENSE", "ThirdPartyNotices.txt", &file, "libonnxruntime_providers_shared.so"];
    assert_eq!(kept, expected);
    // Nothing incomplete stays.
    assert_eq!(std::fs::read_dir(folder.path().join("onnxruntime")).unwrap().count(), 1);

    let places = Places { installed: Some(folder.path().to_owned()), ..Places::default() };
    let available = Availability::Available { version: version.to_owned() };
    assert_eq!(OnnxRuntime.availability(&places), available);
    // A second time nothing is fetched, so that no Python is needed.
    for version in [None, Some(version)] {
        let again = install(None, folder.path(), version, &mut |_, _, note| panic!("{note}"));
        assert_eq!(again.unwrap(), library);
    }
}

#[test]
fn what_cannot_be_had_leaves_nothing_behind() {
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
    assert!(error.to_string().contains("is not a version"), "{error}");
}
