//! Fetching a library, for real.

use crate::{engines, line};
use engine::EngineErrorKind;
use modelmeter_engine_llamacpp::{TRIED, install};
use std::path::Path;

#[test]
fn a_library_is_fetched_once_and_nothing_else_stays() {
    let folder = engines().join("llamacpp");
    let library = folder.join(TRIED).join("libllama.v0.5.0.so");
    assert!(library.is_file());
    let mut names: Vec<String> = std::fs::read_dir(library.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| !name.starts_with("libggml-cpu-"));
    names.sort();
    let expected = [
        "LICENSE",
        "_nlcBuildMetadata.json",
        "libggml-base.so",
        "libggml.v0.5.0.so",
        "libllama.v0.5.0.so",
        "package.json",
    ];
    assert_eq!(names, expected);
    // A second time nothing is fetched, so that no `npm` is needed.
    for version in [None, Some(TRIED)] {
        let again = install(Path::new("/nowhere/npm"), engines(), version, &mut |_, _, note| {
            panic!("{note}")
        });
        assert_eq!(again.unwrap(), library);
    }
}

#[test]
fn what_cannot_be_had_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    let mut listen = |_: u64, _: Option<u64>, note: &str| notes.push(note.to_owned());
    let error = install(Path::new("npm"), folder.path(), Some("0.0.1"), &mut listen).unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(line(&error).contains("@0.0.1"), "{}", line(&error));
    assert_eq!(std::fs::read_dir(folder.path().join("llamacpp")).unwrap().count(), 0);
    assert_eq!(notes.len(), 1);

    let nobody = Path::new("/nowhere/npm");
    let error = install(nobody, folder.path(), None, &mut |_, _, _| {}).unwrap_err();
    assert!(line(&error).starts_with("could not start `/nowhere/npm`"), "{}", line(&error));
    assert!(error.hint.unwrap().contains("Node.js"));
    assert_eq!(std::fs::read_dir(folder.path().join("llamacpp")).unwrap().count(), 0);
    let error = install(nobody, folder.path(), Some("../1"), &mut |_, _, _| {}).unwrap_err();
    assert!(error.to_string().contains("is not a version"), "{error}");
}
