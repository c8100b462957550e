//! What `--force` may replace: folders that we wrote, and nothing else.

use crate::scene::Scene;
use graph::ConvertOptions;
use models::{Export, ModelError, Resolved, replace_folder};
use std::{fs, path::Path};
use types::{MadeFrom, Precision};

fn export(scene: &Scene, folder: &Path, replace: bool) -> Result<(), ModelError> {
    let resolved = &scene.resolve("feed-forward-baseline").unwrap();
    let options = ConvertOptions::default();
    let plan = graph::plan_conversion(&resolved.model, Precision::Fp16, &options).unwrap();
    let made_from = made_from(resolved);
    Export { resolved, plan, blocks: &[], uniform: &[], made_from, folder, replace }
        .write(&mut |_| {})
        .map(|_| ())
}

fn made_from(resolved: &Resolved) -> MadeFrom {
    let fingerprint = resolved.info.fingerprint.clone();
    MadeFrom { fingerprint, converted_to: Some(Precision::Fp16) }
}

/// Why a folder is not replaced, and that it is what it was.
fn refused(scene: &Scene, folder: &Path) -> String {
    let error = export(scene, folder, true).unwrap_err();
    assert!(matches!(error, ModelError::NotOurs { .. }), "{error}");
    assert!(error.hint().unwrap().contains("`mv "), "{:?}", error.hint());
    let new = scene.path("new");
    fs::create_dir_all(&new).unwrap();
    replace_folder(&new, folder).unwrap_err();
    assert!(Export::check(folder, true).is_err(), "it is said before anything is computed");
    error.to_string()
}

#[test]
fn only_what_we_wrote_is_replaced() {
    let scene = Scene::new();
    let out = scene.path("out/model");
    export(&scene, &out, false).unwrap();
    let before = fs::metadata(&out).unwrap().modified().unwrap();
    export(&scene, &out, true).unwrap();
    assert_ne!(fs::metadata(&out).unwrap().modified().unwrap(), before);
    // An empty folder loses nothing.
    fs::create_dir(scene.path("out/empty")).unwrap();
    export(&scene, &scene.path("out/empty"), true).unwrap();
    // Nothing is left beside them.
    assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 2);

    for added in ["notes.txt", "onnx/notes.txt", "tokenizer.json", "more/notes.txt"] {
        let path = scene.write(&format!("out/model/{added}"), "mine");
        let said = refused(&scene, &out);
        assert!(said.contains(&format!("did not write `{added}`")), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        fs::remove_file(&path).unwrap();
    }
    let said = refused(&scene, &out);
    assert!(said.contains("did not make the folder `more`"), "{said}");
    fs::remove_dir(out.join("more")).unwrap();
    export(&scene, &out, true).unwrap();
}

#[test]
fn what_is_not_ours_stays_whatever_it_is() {
    let scene = Scene::new();
    // A folder of documents, a file, a model of somebody else, and a link to one of ours.
    scene.write("documents/thesis.tex", "mine");
    scene.write("file", "mine");
    scene.write("downloaded/config.json", "{}");
    scene.write("downloaded/onnx/model.onnx", "theirs");
    let ours = scene.path("ours");
    export(&scene, &ours, false).unwrap();
    std::os::unix::fs::symlink(&ours, scene.path("link")).unwrap();
    assert!(refused(&scene, &scene.path("documents")).contains("Modelmeter did not write it"));
    assert!(refused(&scene, &scene.path("downloaded")).contains("Modelmeter did not write it"));
    assert!(refused(&scene, &scene.path("file")).contains("it is not a folder"));
    assert!(refused(&scene, &scene.path("link")).contains("it is not a folder"));
    assert_eq!(fs::read_to_string(scene.path("documents/thesis.tex")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(scene.path("file")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(scene.path("downloaded/onnx/model.onnx")).unwrap(), "theirs");
    assert!(ours.join("onnx/model.onnx").is_file());
}

#[test]
fn a_folder_of_an_earlier_version_is_known_by_its_files() {
    let scene = Scene::new();
    let out = scene.path("out");
    export(&scene, &out, false).unwrap();
    fs::remove_file(out.join(".modelmeter.json")).unwrap();
    scene.write("out/tokenizer.json", "as it was copied then");
    export(&scene, &out, true).unwrap();
    assert!(!out.join("tokenizer.json").exists());
    fs::remove_file(out.join(".modelmeter.json")).unwrap();
    scene.write("out/notes.txt", "mine");
    assert!(refused(&scene, &out).contains("Modelmeter did not write it"));
    // A marker of something else is none.
    fs::remove_file(out.join("notes.txt")).unwrap();
    scene.write("out/.modelmeter.json", "{\"schema\": \"other\", \"files\": []}");
    assert!(refused(&scene, &out).contains("Modelmeter did not write it"));
}

#[test]
fn a_written_folder_knows_what_it_was_made_from_and_nobody_elses_word_is_taken() {
    let scene = Scene::new();
    let out = scene.path("out");
    export(&scene, &out, false).unwrap();
    let source = scene.resolve("feed-forward-baseline").unwrap();
    assert_eq!(source.info.made_from, None);
    let expected = Some(made_from(&source));
    let known = |path: &Path| scene.resolve(path).unwrap().info.made_from;
    let onnx = out.join("onnx/model.onnx");
    assert_eq!((known(&out), known(&onnx)), (expected.clone(), expected.clone()));

    let marker = out.join(".modelmeter.json");
    let text = fs::read_to_string(&marker).unwrap();
    let with = |text: &str| {
        fs::write(&marker, text).unwrap();
        known(&out)
    };
    let fingerprint = &source.info.fingerprint;
    assert_eq!(with(&text.replace(fingerprint.as_str(), "x\u{1b}[2J")), None);
    assert_eq!(with(&text.replace("\"fp16\"", "\"fp12\"")), None);
    assert_eq!(with("{"), None);
    assert_eq!(with(&format!("{text}{}", " ".repeat(2 << 20))), None, "too long to be ours");
    // What versions before wrote; it is still ours.
    let mut earlier: serde_json::Value = serde_json::from_str(&text).unwrap();
    earlier.as_object_mut().unwrap().remove("origin").unwrap();
    assert_eq!(with(&earlier.to_string()), None);
    Export::check(&out, true).unwrap();
    assert_eq!(with(&text), expected);
    // Another model in our folder was not made by us.
    let mut other = fs::read(&onnx).unwrap();
    other.extend_from_slice(b"\x12\x01x");
    fs::write(&onnx, other).unwrap();
    assert_eq!(known(&out), None);
}
