//! Other people's readers read what we write: Python's `csv`, pyarrow and pandas; and we read what they write.

use crate::sample;
use modelmeter_exchange::{Format, import, write};
use std::{fs, path::Path, process::Command};
use types::{Phase, Run};

fn python(script: &str, folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    let script = root.join("tests/python").join(script);
    let output = Command::new(python).arg(script).arg(folder).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the Python script failed:\n{talk}");
}

#[test]
fn python_reads_our_tables_and_we_read_pythons() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Run> = (0..20)
        .map(|n| {
            let mut run = sample::run(n);
            run.model.name = format!("=HYPERLINK(\"x\", {n}), \"ä\"\n");
            run
        })
        .collect();
    for format in Format::OURS {
        let file = fs::File::create(folder.path().join(format!("x.{format}"))).unwrap();
        write(format, &all, file).unwrap();
    }
    python("read_exports.py", folder.path());
    let bytes = fs::read(folder.path().join("back.parquet")).unwrap();
    let back = import("back.parquet", &bytes, None).unwrap();
    assert_eq!(back.problems, []);
    assert_eq!(back.runs.len(), all.len());
    for (back, run) in back.runs.iter().zip(&all) {
        assert_eq!((&back.id, &back.cell.model), (&run.id, &run.model.name));
        let median = run.summaries[&Phase::Total].median;
        assert_eq!(back.stated(Phase::Inference).unwrap().median, Some(median));
    }
}
