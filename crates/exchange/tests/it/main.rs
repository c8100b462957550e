//! Files of other tools come in, our own go out and come back.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test, which is what it is for")]

mod bounds;
mod broken;
mod foreign;
mod optimum;
mod ours;
mod properties;
mod python;
mod sample;

use modelmeter_exchange::{Imported, import};
use std::path::Path;
use types::{Import, Run};

/// The bytes of a fixture.
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// A fixture, read as what it looks like.
fn imported(name: &str) -> Imported {
    import(name, &fixture(name), None).unwrap()
}

/// The one run of a fixture.
fn only(name: &str) -> Run {
    let mut imported = imported(name);
    assert_eq!(imported.problems, []);
    assert_eq!(imported.runs.len(), 1);
    imported.runs.remove(0)
}

fn source(run: &Run) -> &Import {
    run.imported.as_deref().unwrap()
}

fn metric(run: &Run, key: &str) -> f64 {
    let metric = run.metric(key).unwrap_or_else(|| panic!("no {key}"));
    assert_eq!(metric.provenance, types::Provenance::Imported);
    metric.value.unwrap()
}

#[track_caller]
fn close(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-6 * right.abs(), "{left} is not {right}");
}

fn remarks(run: &Run) -> String {
    run.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("\n")
}
