//! Every document of the command line has a published schema and keeps it.

use crate::bench::{Home, quick};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

fn file_name(document: &str) -> String {
    format!("{}.schema.json", document.replace('/', "-"))
}

#[test]
fn the_published_schemas_are_those_of_the_program() {
    let home = Home::new();
    let names = home.fine(&["schema"]).out;
    let list = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut files = BTreeSet::new();
    for name in names.lines() {
        let (printed, path) = (home.fine(&["schema", name]).out, folder().join(file_name(name)));
        assert!(fs::read_to_string(&path).unwrap() == printed, "{}", path.display());
        assert!(list.contains(&format!("| [`{name}`]({}) |", file_name(name))), "{name}: README");
        files.insert(file_name(name));
    }
    let found = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let found: BTreeSet<String> = found
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    assert_eq!(found, files, "a file without a document");
    home.refused(&["schema", "modelmeter.nothing/1"], 2, &["modelmeter.nothing/1", "lists"]);
}

#[test]
fn a_real_run_keeps_the_published_schema() {
    let home = Home::new();
    let told = home.fine(&quick("small-transformer", &["--json", "-", "--samples"]));
    keeps_the_schema(&told.out);
}

#[test]
fn documents_that_the_command_line_makes_keep_their_schemas() {
    let home = Home::new();
    let plan = "models = [\"feed-forward-baseline\"]\nengines = [\"rten\", \"torch\"]\nprocesses = 1\n\
                runs = 11\nwarmup = 1\nrepeats = 0\n";
    fs::write(home.path("nightly.toml"), plan).unwrap();
    let measured = home.fine(&["bench", "nightly.toml", "--json", "-"]).out;
    home.fine(&["db", "export", "all.jsonl"]);
    let line = fs::read_to_string(home.path("all.jsonl")).unwrap();
    let query = "select 1, 1.5, null, 'a'";
    for text in [
        measured,
        line.lines().next().unwrap().to_owned(),
        home.fine(&["models", "--json"]).out,
        home.fine(&["devices", "--json"]).out,
        home.fine(&["engines", "list", "--json"]).out,
        home.fine(&["db", "status", "--json"]).out,
        home.fine(&["db", "import", "all.jsonl", "--db", "other.db", "--json"]).out,
        home.fine(&["db", "query", query, "--json"]).out,
        home.fine(&["runs", "list", "--json"]).out,
    ] {
        keeps_the_schema(&text);
        let document: Value = serde_json::from_str(&text).unwrap();
        let mut more = document.clone();
        more["unexpected"] = json!(1);
        assert_ne!(complaints(&more), [""; 0], "{}: another key", document["schema"]);
        for key in document.as_object().unwrap().keys() {
            let mut less = document.clone();
            less.as_object_mut().unwrap().remove(key);
            less["schema"] = document["schema"].clone();
            let is_refused = key == "schema" || !complaints(&less).is_empty();
            assert!(is_refused, "{} without `{key}`", document["schema"]);
        }
    }
}

/// What the published schema of a document has against it.
fn complaints(document: &Value) -> Vec<String> {
    let path = folder().join(file_name(document["schema"].as_str().unwrap()));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let told =
        |error: jsonschema::ValidationError<'_>| format!("{error} at {}", error.instance_path());
    schema.iter_errors(document).map(told).collect()
}

/// Fails where the text is no document of its published schema.
pub(crate) fn keeps_the_schema(text: &str) {
    assert_eq!(complaints(&serde_json::from_str(text).unwrap()), [""; 0]);
}
