//! The JSON Schema of every document: published as it is made, and true of real documents.

use crate::{
    advice, bout, ceilings, encoder, fit, fleet, gate, generation, gpu, imported, inside, lists,
    load, memory, prediction, proof, recommendations, sample, trend,
};
use jsonschema::Validator;
use modelmeter_report::{
    CeilingsView, DrawnPicture, DrawnPictures, Field, JsonOptions, SCHEMAS, advice_json,
    alert_json, analysis_json, answer_document, blind_alert_json, capacity_document,
    ceilings_document, comparison_json, comparisons_json, export_document, fit_document,
    gate_document, load_document, noise_document, optimize_document, pictures_document,
    proof_document, recommendations_document, run_json, runs_document, trend_json,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, env, fs, path::Path, time::Duration};
use types::{
    Against, AgainstCell, AgainstOutcome, AllowanceFrom, Attempt, AttemptRefusal,
    AttemptRefusalKind, Bytes, CapacityReport, ExportCheck, ExportReport, OptimizeReport,
    Precision, Remark, RemarkCode, Run, Target, TrendMetric, TrendStanding,
};

/// Set to anything, it lets the test below write the files.
const WRITE: &str = "MODELMETER_WRITE_SCHEMAS";

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for schema in &SCHEMAS {
        let (made, path) = (format!("{:#}\n", schema.json()), folder.join(schema.file_name()));
        if env::var_os(WRITE).is_some() {
            fs::write(&path, &made).expect("the file can be written");
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        let differs = format!(
            "{} is not what the types say; set {WRITE}=1 and run this test again",
            path.display()
        );
        assert!(published == made, "{differs}");
    }
}

fn validator(name: &str) -> Validator {
    let schema = SCHEMAS.iter().find(|schema| schema.name == name).expect("a known document");
    let schema = schema.json();
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}: the schema is no schema");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn name(document: &Value) -> &str {
    document["schema"].as_str().expect("a document names itself")
}

#[test]
fn every_document_keeps_its_schema() {
    let documents = documents();
    for document in &documents {
        let name = name(document);
        let wrong: Vec<String> = validator(name)
            .iter_errors(document)
            .map(|error| format!("{name}: {error} at {}", error.instance_path()))
            .collect();
        assert_eq!(wrong, [""; 0]);
    }
    let seen: BTreeSet<&str> = documents.iter().map(name).collect();
    let known: BTreeSet<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
    assert_eq!(seen, known, "a document without a sample, or without a schema");
}

#[test]
fn a_key_more_or_less_is_refused() {
    for document in documents() {
        let validator = validator(name(&document));
        let mut more = document.clone();
        more["unexpected"] = json!(1);
        assert!(!validator.is_valid(&more), "{}: another key", name(&document));
        for key in required(name(&document)) {
            let mut less = document.clone();
            less.as_object_mut().expect("an object").remove(&key);
            assert!(!validator.is_valid(&less), "{} without `{key}`", name(&document));
        }
    }
}

/// The keys that every document of this name has.
fn required(name: &str) -> BTreeSet<String> {
    let documents = documents();
    let same = documents.iter().filter(|document| document["schema"] == name);
    let keys = |document: &Value| -> BTreeSet<String> {
        document.as_object().expect("an object").keys().cloned().collect()
    };
    same.map(keys).reduce(|all, own| &all & &own).unwrap_or_default()
}

#[test]
fn no_object_of_a_schema_is_open() {
    fn look(name: &str, schema: &Value) {
        if schema["type"] == "object" && schema["properties"].is_object() {
            assert!(schema.get("additionalProperties").is_some(), "{name}: {schema}");
        }
        let parts = schema.as_object().into_iter().flat_map(|map| map.values());
        parts.chain(schema.as_array().into_iter().flatten()).for_each(|part| look(name, part));
    }
    SCHEMAS.iter().for_each(|schema| look(schema.name, &schema.json()));
}

fn pictures() -> DrawnPictures {
    let drawn = DrawnPicture {
        name: "latency".into(),
        shows: "how samples are distributed".into(),
        files: vec!["latency-light.svg".into()],
        ..DrawnPicture::default()
    };
    let absent = Some(("no run".into(), "modelmeter profile MODEL --train".into()));
    let missing = DrawnPicture { files: Vec::new(), absent, ..drawn.clone() };
    let pictures = vec![drawn, missing];
    DrawnPictures { folder: "shown".into(), pictures, ..DrawnPictures::default() }
}

/// At least one document of every name.
fn documents() -> Vec<Value> {
    let mut documents = runs();
    documents.push(runs_document(&lists::lines(), None).json);
    let mut layered = bout::three_engines();
    layered.layers = Some(bout::layers());
    let comparisons = [bout::three_engines(), bout::troubles(), bout::stored(), layered];
    documents.extend(comparisons.iter().map(comparison_json));
    documents.push(comparisons_json(&comparisons));
    documents.extend([advice::report(), advice::nothing()].iter().map(advice_json));
    let fits = [fit::found(), fit::nothing(), fit::doubtful()];
    documents.extend(fits.iter().map(|found| fit_document(found).json));
    documents.extend([proof::sparse(), proof::cut()].iter().map(|one| proof_document(one).json));
    documents.push(optimize_document(&search()).json);
    let whole = ExportReport { data: None, ..export() };
    documents.extend([export(), whole].iter().map(|one| export_document(one).json));
    let gates = [gate::slower(), gate::mixed(), gate::limits()];
    documents.extend(gates.iter().map(|report| gate_document(report).json));
    documents.push(generation::document().json);
    documents.extend([gpu::document(), gpu::advice_about_the_program()].map(|one| one.json));
    let loads = [load::run(4.0, Some(true)), load::run(8.0, None)];
    documents.push(load_document(&loads, Some(&load::search())).json);
    documents.push(load_document(&loads, None).json);
    let unproved = CapacityReport { proof: None, ..load::capacity() };
    documents.extend([load::capacity(), unproved].iter().map(|one| capacity_document(one).json));
    documents.extend(prediction::documents().into_iter().map(|one| one.json));
    documents.push(noise_document(&gate::noise(), &[]).json);
    documents.extend(ceilings());
    documents.push(analysis_json(&fleet::fleet(), None));
    documents.push(analysis_json(&fleet::troubles(), Some((&against(), "before.csv"))));
    documents.extend(histories());
    documents.push(recommendations_document(&recommendations::many()).json);
    documents.push(recommendations_document(&[fleet::advice(), fleet::nothing()]).json);
    documents.push(pictures_document(&pictures()).json);
    let row = vec![
        Field::Missing,
        Field::Whole(-7),
        Field::Real(0.5),
        Field::Real(f64::NAN),
        Field::Text("bert".into()),
        Field::Bytes(vec![0, 255]),
    ];
    let columns = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
    documents.push(answer_document(&columns, &[row], true).json);
    documents
}

fn runs() -> Vec<Value> {
    let runs = run_samples();
    let of = |samples| move |run: &Run| run_json(run, JsonOptions { samples });
    runs.iter().map(of(false)).chain(runs.iter().map(of(true))).collect()
}

fn run_samples() -> Vec<Run> {
    let mut runs: Vec<Run> = vec![
        sample::text_run(),
        sample::tokenised_run(),
        sample::vision_run(),
        sample::invalid_run(),
        sample::bare_run("a", 0.1, 20),
        imported::imported_run(),
        load::run(4.0, Some(false)),
    ];
    for report in [memory::encoder(), memory::silent()] {
        runs.push(Run { memory: Some(Box::new(report)), ..sample::text_run() });
    }
    for report in [inside::encoder(), encoder::layers(3)] {
        runs.push(Run { layers: Some(Box::new(report)), ..sample::text_run() });
    }
    runs
}

fn search() -> OptimizeReport {
    let attempt = |command: &str, refused: Option<&str>| Attempt {
        command: command.into(),
        proof: Some(Box::new(proof::cut())),
        gain: Some(1.38),
        sure_gain: Some(1.31),
        refused: refused.map(|why| AttemptRefusal::new(AttemptRefusalKind::Failed, why)),
        is_open: false,
    };
    let failed = Attempt { proof: None, gain: None, ..attempt("quantize --to bf16", Some("no")) };
    OptimizeReport {
        started_at: 1_750_000_000_000_000,
        elapsed: Duration::from_secs(400),
        model: sample::text_run().model,
        target: Target::Latency,
        max_drift: 0.01,
        engine: "rten".into(),
        attempts: vec![attempt("prune --method structured", None), failed],
        folder: Some("best".into()),
        remarks: vec![Remark::new(RemarkCode::AssumedInput, "drawn inputs")],
    }
}

fn export() -> ExportReport {
    let check = |parity, failed: Option<&str>| ExportCheck {
        engine: "rten".into(),
        version: "0.27.0".into(),
        parity,
        failed: failed.map(str::to_owned),
    };
    let mut parity = bout::three_engines().parity;
    parity.extend(bout::troubles().parity);
    ExportReport {
        model: sample::text_run().model,
        path: "bert.onnx".into(),
        data: Some("bert.onnx.data".into()),
        size: Bytes(438_000_000),
        opset: 17,
        native_opset: 14,
        precision: Precision::Fp32,
        nodes: 412,
        reference: "the graph".into(),
        checks: parity
            .into_iter()
            .map(|parity| check(Some(parity), None))
            .chain([check(None, Some("no such operator"))])
            .collect(),
        remarks: Vec::new(),
    }
}

fn ceilings() -> Vec<Value> {
    let (machine, standing) = (ceilings::machine(), ceilings::processors());
    let page = CeilingsView {
        machine: &machine,
        standing: &standing,
        measured: Some(&standing),
        stored: Some(Path::new("runs.db")),
    };
    let bare = types::Ceilings { tf32: standing.bandwidth, threads: 0, ..standing.clone() };
    let alone = CeilingsView { standing: &bare, measured: None, stored: None, ..page };
    [page, alone].iter().map(|page| ceilings_document(page).json).collect()
}

fn against() -> Against {
    let fleet = fleet::fleet();
    let cell = &fleet.cells[0].cell;
    let one = AgainstCell {
        key: cell.key.clone(),
        file: cell.latency,
        file_runs: 3,
        now: cell.latency,
        now_runs: 4,
        ratio: fleet::pooled(1.2, 1.1, 1.3),
        allowance: 0.05,
        allowance_from: AllowanceFrom::Runs,
        outcome: AgainstOutcome::Worse,
    };
    Against {
        cells: vec![one],
        accepted: 0.1,
        only_now: vec![fleet.cells[1].cell.key.clone()],
        only_file: 1,
        other_machines: 2,
    }
}

fn histories() -> Vec<Value> {
    let found = trend::history("bert");
    let why = "too few points".to_owned();
    let standings = [TrendStanding::Held, TrendStanding::Worse, TrendStanding::CannotTell { why }];
    let mut documents: Vec<Value> =
        standings.map(|one| trend_json(&found, Some(&[one]))).into_iter().collect();
    documents.push(trend_json(&found, None));
    documents.push(trend_json(&types::Trend::default(), None));
    documents.push(alert_json("bert is slower", "nightly", &found, &found.series[0]));
    let reasons = fleet::not_valid(4);
    documents.push(blind_alert_json("nothing", "nightly", TrendMetric::Median, 2, &reasons));
    documents
}
