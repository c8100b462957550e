//! The published schema judges real documents, and refuses wrong ones.

use crate::imported::imported_run;
use crate::sample::{bare_run, invalid_run, text_run, tokenised_run, vision_run};
use jsonschema::Validator;
use modelmeter_report::{JsonOptions, run_json};
use serde_json::{Value, json};
use types::{Bytes, Device, Metric, Phase, Ratio, Run, Weights};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.run-1.schema.json");

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "the schema is no schema");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn complaints(document: &Value) -> Vec<String> {
    validator().iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

fn document(run: &Run) -> Value {
    run_json(run, JsonOptions::default())
}

#[test]
fn what_nobody_could_count_is_null_with_a_reason_and_never_zero() {
    let mut run = text_run();
    let paths = ["work.flops", "work.coverage", "work.bytes", "model.parameters", "model.size"];
    for path in paths.into_iter().chain(["work.activation_peak"]) {
        run.unknown.insert(path.into(), "it branches on a value".into());
    }
    (run.model.parameters, run.work.activation_peak) = (0, None);
    let document = document(&run);
    let names = ["flops", "coverage", "bytes_read", "bytes_written", "parameters", "model_size"];
    for name in names {
        assert!(document["compute"][name].is_null(), "{name}: {}", document["compute"]);
        assert_eq!(document["compute"]["why"][name], "it branches on a value", "{name}");
    }
    assert!(document["memory"]["activation"].is_null());
    assert_eq!(document["memory"]["why"]["activation"], "it branches on a value");
    assert_eq!(complaints(&document), [""; 0]);
}

#[test]
fn documents_of_every_kind_of_run_are_valid() {
    for run in [text_run(), tokenised_run(), vision_run(), invalid_run(), imported_run()] {
        for samples in [false, true] {
            let document = run_json(&run, JsonOptions { samples });
            assert_eq!(complaints(&document), Vec::<String>::new(), "{}", run.model.name);
        }
    }
}

#[test]
fn only_an_imported_run_may_leave_out_what_every_run_of_ours_tells() {
    let mut document = document(&text_run());
    document["load"] = Value::Null;
    assert_ne!(complaints(&document), Vec::<String>::new());
}

#[test]
fn a_run_with_everything_missing_is_still_a_valid_document() {
    let mut run = bare_run("unknown", 0.01, 1);
    run.metrics.clear();
    run.probes.clear();
    run.work.activation_peak = None;
    run.work.coverage = Ratio(f64::NAN);
    run.cell.sequence_length = None;
    run.cell.device = Device::Mps;
    run.model.weights = Weights::Real;
    run.environment.smt = None;
    run.environment.load_average = None;
    run.environment.steal = None;
    run.environment.memory_available = None;
    run.environment.machine.cpu.cache = None;
    run.environment.machine.hypervisor = None;
    run.environment.cgroup.version = None;
    let summary = run.summaries.get_mut(&Phase::Inference).expect("the run has this phase");
    summary.std = f64::NAN;
    summary.ci95_median.low = f64::NEG_INFINITY;
    let document = document(&run);
    assert_eq!(complaints(&document), Vec::<String>::new());
    assert_eq!(document["latency"]["std"], Value::Null);
    for (group, key) in [
        ("throughput", "samples_per_second"),
        ("memory", "peak"),
        ("memory", "activation"),
        ("compute", "coverage"),
        ("compute", "ceiling_share"),
    ] {
        assert_eq!(document[group][key], Value::Null, "{group}.{key}");
        assert!(document[group]["why"][key].is_string(), "{group}.{key} has no reason");
    }
    assert_eq!(document["energy"]["value"], Value::Null);
    assert!(document["energy"]["why"].is_string());
}

#[test]
fn a_run_without_samples_is_a_valid_document() {
    let mut run = text_run();
    run.summaries.clear();
    let document = document(&run);
    assert_eq!(complaints(&document), Vec::<String>::new());
    assert_eq!(document["latency"], Value::Null);
}

#[test]
fn a_metric_that_is_no_number_becomes_null_with_a_reason() {
    let mut run = text_run();
    let peak = run.metrics.iter_mut().find(|metric| metric.key == "memory.peak");
    peak.expect("the run has this metric").value = Some(f64::INFINITY);
    let document = document(&run);
    assert_eq!(complaints(&document), Vec::<String>::new());
    assert_eq!(document["memory"]["peak"], Value::Null);
    assert_eq!(document["memory"]["why"]["peak"], "the value is not a finite number");
}

#[test]
fn wrong_documents_are_refused() {
    type Spoil = fn(&mut Value);
    let spoils: [(&str, Spoil); 14] = [
        ("another version", |doc| doc["schema"] = json!("modelmeter.run/2")),
        ("an unknown key", |doc| doc["speed"] = json!(1)),
        ("latency in seconds", |doc| doc["latency"]["unit"] = json!("s")),
        ("a text for a number", |doc| doc["latency"]["median"] = json!("245 ms")),
        ("a missing percentile", |doc| {
            doc["latency"].as_object_mut().expect("an object").remove("p99");
        }),
        ("a missing verdict", |doc| {
            doc.as_object_mut().expect("an object").remove("verdict");
        }),
        ("a null without a reason", |doc| doc["memory"]["peak"] = Value::Null),
        ("a reason without a null", |doc| doc["memory"]["why"]["peak"] = json!("no")),
        ("energy without number and reason", |doc| doc["energy"]["why"] = Value::Null),
        ("a metric without number and reason", |doc| doc["metrics"][0]["value"] = Value::Null),
        ("a wish for a device", |doc| doc["device"] = json!("auto")),
        ("an empty batch", |doc| doc["batch_size"] = json!(0)),
        ("an unknown reason", |doc| doc["verdict"]["reasons"][0]["code"] = json!("bad-mood")),
        ("a negative time", |doc| doc["load"]["value"] = json!(-1.0)),
    ];
    let validator = validator();
    for (what, spoil) in spoils {
        let mut document = document(&text_run());
        assert!(validator.is_valid(&document));
        spoil(&mut document);
        assert!(!validator.is_valid(&document), "{what} was let through");
    }
}

#[test]
fn every_enumerated_name_in_types_is_known_to_the_schema() {
    use types::{Category, Direction, Mode, ModelSource, Precision, StopReason, Unit};
    let validator = validator();
    let mut run = text_run();
    let check = |run: &Run, what: &str| {
        let document = run_json(run, JsonOptions::default());
        assert!(validator.is_valid(&document), "the schema does not know {what}");
    };
    for category in [
        Category::Text,
        Category::Generation,
        Category::Vision,
        Category::Audio,
        Category::Multimodal,
        Category::Reference,
        Category::Other,
    ] {
        run.model.category = category;
        check(&run, category.name());
    }
    for precision in Precision::ALL {
        run.cell.precision = precision;
        check(&run, precision.name());
    }
    for device in [
        Device::Cpu,
        Device::Cuda(11),
        Device::Rocm(0),
        Device::Mps,
        Device::Webgpu,
        Device::Webnn,
        Device::Wasm,
    ] {
        run.cell.device = device;
        check(&run, &device.to_string());
    }
    for stop in
        [StopReason::Settled, StopReason::RunsDone, StopReason::DurationCap, StopReason::RunsCap]
    {
        run.stop = stop;
        check(&run, &format!("{stop:?}"));
    }
    for mode in [Mode::Inference, Mode::Training] {
        run.cell.mode = mode;
        check(&run, mode.name());
    }
    let path = std::path::PathBuf::from("model.onnx");
    for source in [
        ModelSource::File { path: path.clone() },
        ModelSource::Folder { path: path.clone() },
        ModelSource::Hub { revision: "main".into() },
        ModelSource::Preset,
        ModelSource::Description { path },
    ] {
        run.model.source = source.clone();
        check(&run, &format!("{source:?}"));
    }
    for unit in [
        Unit::Seconds,
        Unit::Bytes,
        Unit::BytesPerSecond,
        Unit::Flops,
        Unit::FlopsPerSecond,
        Unit::Joules,
        Unit::Watts,
        Unit::Hertz,
        Unit::Celsius,
        Unit::Ratio,
        Unit::Count,
        Unit::PerSecond,
    ] {
        run.metrics.push(Metric::measured("x.y", unit, Direction::Neutral, 1.0));
        check(&run, &format!("{unit:?}"));
    }
    run.model.size = Bytes(u64::MAX);
    check(&run, "the largest count of bytes");
}
