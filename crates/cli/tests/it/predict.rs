//! `predict --backtest`: what a stranger sees of a table, a broken one, and questions that cannot be answered.

use crate::{
    bench::Home,
    survey::{home_with, invalid, json, run},
};
use modelmeter::{Device, Run, Store};
use std::{fmt::Write as _, fs};
use types::{Bytes, Flops};

/// A table of llama-bench: so many processors, from this number on.
fn table(from: usize, processors: usize, backend: &str) -> String {
    let mut text = String::from(
        "vendor,instance,arch,cpu,cpus,threads_per_core,sockets,l2,l3,avx2,avx512,vnni,amx_int8,sve,read_1mb_mb_s,\
         read_ram_mb_s,backend,gpu,model,model_bytes,parameters,threads,n_prompt,n_gen,tokens_per_s,sd\n",
    );
    for processor in from..from + processors {
        let own = 1.0 + 0.02 * (processor * 7 % 11) as f64;
        for cpus in [4, 16] {
            let ram = 7000.0 * f64::from(cpus) * (1.0 + 0.05 * (processor * 5 % 7) as f64);
            for (model, bytes) in [("a.gguf", 2e9), ("b.gguf", 4e9)] {
                for (prompt, generated, rate) in
                    [(512, 0, 1e11 * f64::from(cpus) / (3.2 * bytes)), (0, 128, ram * 1e6 / bytes)]
                {
                    let rate = rate / own;
                    let _ = writeln!(
                        text,
                        "v,i{cpus},x86_64,Chip {processor},{cpus},2,1,{cpus}000000 ({cpus} instances),33554432 (1 \
                         instance),1,1,1,0,0,{},{ram},{backend},{},{model},{bytes},{},{cpus},{prompt},{generated},{rate},0",
                        ram * 10.0,
                        if backend == "CUDA" { "Tesla T4" } else { "" },
                        bytes * 1.6
                    );
                }
            }
        }
    }
    text
}

#[test]
fn a_backtest_says_error_coverage_and_width_in_every_format() {
    let home = Home::new();
    fs::write(home.path("known.csv"), table(0, 16, "CPU")).unwrap();
    fs::write(home.path("new.csv"), table(16, 6, "CPU")).unwrap();
    let told = home.fine(&[
        "predict",
        "--backtest",
        "known.csv",
        "--held-out",
        "new.csv",
        "--json",
        "b.json",
        "--csv",
        "b.csv",
    ]);
    for word in ["median error", "tg128", "pp512", "new machine", "Chip 17", "physics alone"] {
        assert!(told.out.contains(word), "{word}\n{}", told.out);
    }
    let found = json(&fs::read_to_string(home.path("b.json")).unwrap());
    assert_eq!(found["schema"], "modelmeter.backtest/1");
    assert_eq!(found["kind"], "held-out");
    assert_eq!(found["kinds"].as_array().unwrap().len(), 2);
    assert_eq!(found["machines"].as_array().unwrap().len(), 6);
    let score = &found["kinds"][0]["predicted"];
    assert!(score["median_error"].as_f64().unwrap() < 0.3, "{found}");
    let schema = home.fine(&["schema", "modelmeter.backtest/1"]).out;
    let schema = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &found));
    assert_eq!(fs::read_to_string(home.path("b.csv")).unwrap().lines().count(), 1 + 2 + 6);
}

#[test]
fn what_cannot_be_predicted_is_refused_with_the_reason() {
    let home = Home::new();
    fs::write(home.path("cpu.csv"), table(0, 6, "CPU")).unwrap();
    fs::write(home.path("gpu.csv"), table(0, 2, "CUDA")).unwrap();
    let told = home.run(&["predict", "--backtest", "cpu.csv", "--held-out", "gpu.csv"]);
    assert_eq!(told.status, Some(4), "{}{}", told.out, told.err);
    let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("nothing of the kind was learned"), "{}", told.out);
    home.refused(&["predict"], 2, &["MODEL"]);
    home.refused(&["predict", "--backtest", "no.csv"], 2, &["could not read `no.csv`"]);
    fs::write(home.path("other.csv"), "a,b\n1,2\n").unwrap();
    home.refused(
        &["predict", "--backtest", "other.csv"],
        2,
        &["could not understand `other.csv`", "hint: "],
    );
    fs::write(home.path("mine.toml"), "[[gpu]]\nname = \"X\"\nsingle = 1\nsource = \"me\"\n")
        .unwrap();
    home.refused(
        &["predict", "--backtest", "cpu.csv", "--hardware", "mine.toml"],
        2,
        &["`X` has no `bandwidth`"],
    );
}

/// Cells of seven models on two engines here, as if they had been measured; one is the real `feed-forward-baseline`.
fn measured_here() -> Vec<Run> {
    measured_as(1.0)
}

/// The same, so many times as slow: other runs of the same names.
fn measured_as(slowness: f64) -> Vec<Run> {
    let machine = hardware::machine();
    let mut all = Vec::new();
    for model in 0..7u64 {
        for (engine, rate) in [("rten", 2e10), ("onnxruntime", 4e10)] {
            for batch in [1, 4, 16] {
                let number = all.len() as u64 + 100;
                let mut one = run(number, Device::Cpu, batch, 1.0, 60.0);
                let samples = batch as f64 * (1.0 + model as f64 * 0.5);
                let was = one.work.flops.0 as f64 / QUICK_BATCH;
                let flops = was * samples;
                let milliseconds = slowness * 1e3 * (flops / rate + 1e-5);
                one = run(number, Device::Cpu, batch, milliseconds, 60.0 + samples);
                one.work.flops = Flops(flops as u64);
                one.work.bytes_read = Bytes((flops / 10.0) as u64);
                one.environment.machine = machine.clone();
                one.model.name = match model {
                    0 => "feed-forward-baseline".into(),
                    _ => format!("net-{model}"),
                };
                one.model.architecture = format!("net-{model}");
                one.model.fingerprint = format!("{model}");
                one.cell.model.clone_from(&one.model.name);
                one.cell.engine = engine.into();
                one.engine.id = engine.into();
                all.push(one);
            }
        }
    }
    all
}

/// Samples in one inference of the run that others are copies of.
const QUICK_BATCH: f64 = 4.0;

#[test]
fn a_cell_that_was_not_measured_is_predicted_with_an_interval_and_says_so() {
    let home = home_with(&measured_here());
    let ask = ["predict", "feed-forward-baseline", "--engine", "rten", "--next", "--batch-size"];
    let told = home.fine(&[&ask[..], &["8", "--json", "p.json", "--csv", "p.csv"]].concat());
    for word in [
        "predicted, not measured",
        "90 %",
        "physics alone",
        "rests on",
        "backtest",
        "modelmeter profile",
    ] {
        assert!(told.out.contains(word), "{word}\n{}", told.out);
    }
    let found = json(&fs::read_to_string(home.path("p.json")).unwrap());
    let schema = home.fine(&["schema", "modelmeter.prediction/1"]).out;
    assert!(jsonschema::is_valid(&serde_json::from_str(&schema).unwrap(), &found), "{found}");
    let answer = &found["answers"][0];
    assert_eq!((&found["label"], &answer["status"]), (&"predicted".into(), &"predicted".into()));
    let seconds = &answer["seconds"];
    let number = |key: &str| seconds[key].as_f64().unwrap();
    assert!(number("low") < number("value") && number("value") < number("high"), "{answer}");
    assert!(answer["rests_on"].as_array().is_some_and(|runs| !runs.is_empty()), "{answer}");
    assert!(fs::read_to_string(home.path("p.csv")).unwrap().starts_with("label,status,model"));
    // What is measured is no prediction, and what is predicted is no run.
    let measured = json(&home.fine(&[&ask[..], &["4", "--json"]].concat()).out);
    assert_eq!(measured["answers"][0]["status"], "measured");
    let runs = json(&home.fine(&["runs", "list", "--json"]).out);
    assert_eq!(runs["runs"].as_array().unwrap().len(), measured_here().len());
}

#[test]
fn questions_outside_of_what_was_measured_are_refused_with_the_nearest_one() {
    let mut runs = measured_here();
    runs.push(invalid(run(900, Device::Cpu, 2, 5.0, 60.0)));
    let home = home_with(&runs);
    let gpu =
        home.run(&["predict", "feed-forward-baseline", "--on", "RTX 4090", "--json", "p.json"]);
    assert_eq!(gpu.status, Some(4), "{}{}", gpu.out, gpu.err);
    let words = gpu.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("say nothing of a GPU") && words.contains("--on here"), "{words}");
    let found = json(&fs::read_to_string(home.path("p.json")).unwrap());
    assert_eq!(found["answers"][0]["status"], "refused");
    let other =
        home.run(&["predict", "feed-forward-baseline", "--engine", "rten", "--on", "EPYC 9654"]);
    assert_eq!(other.status, Some(4), "one machine alone says nothing of another: {}", other.out);
    home.refused(
        &["predict", "feed-forward-baseline", "--on", "RTX 4091"],
        2,
        &["RTX 4091", "RTX 4090"],
    );
    let trained = home.fine(&["predict", "--train", "--matrix", "m.svg", "--json"]);
    let trained = json(&trained.out);
    assert_eq!(trained["kind"], "trained");
    assert!(trained["left_out"].as_object().is_some_and(|why| !why.is_empty()), "{trained}");
    assert!(fs::read_to_string(home.path("m.svg")).unwrap().contains("feed-forward-baseline"));
    assert!(home.fine(&["predict", "--catalogue"]).out.contains("GeForce RTX 5090"));
    home_with(&[]).refused(&["predict", "--train"], 4, &["no valid run", "hint: "]);
    let busy = home_with(&[invalid(run(900, Device::Cpu, 2, 5.0, 60.0))]);
    let counted = "1 not valid: 1 × ";
    busy.refused(&["predict", "--train"], 4, &["no valid run", counted]);
    let model = run(900, Device::Cpu, 2, 5.0, 60.0).model.name;
    let capacity = ["capacity", &model, "--rate", "1/s", "--slo", "p99:1s"];
    busy.refused(&capacity, 4, &["no valid stored run", counted]);
    let told = home.fine(&["predict", "--train"]).out;
    assert!(told.contains(counted) && told.contains("1 cell: no run"), "{told}");
}

#[test]
fn an_answer_follows_from_the_runs_that_are_stored_now_and_from_no_earlier_fit() {
    let home = home_with(&measured_here());
    let asked = |more: &[&str]| {
        let ask = ["predict", "feed-forward-baseline", "--engine", "rten", "--batch-size", "8"];
        let told = home.fine(&[&ask[..], more, &["--json"]].concat()).out;
        json(&told)["answers"][0]["seconds"]["value"].as_f64().unwrap()
    };
    let first = asked(&[]);
    let kept = || {
        let folder = home.path(".local/share/modelmeter/predictions");
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    assert_eq!(kept().len(), 1, "{:?}", kept());
    assert_eq!(asked(&[]), first, "what was kept says the same");
    // A fit with other peaks is no fit of this database.
    let cpu = hardware::machine().cpu.model;
    let own = format!(
        "[[processor]]\nname = \"{cpu}\"\nsingle = 0.05\nbandwidth = 3\nsource = \"a test\"\n"
    );
    fs::write(home.path("own.toml"), own).unwrap();
    asked(&["--hardware", "own.toml"]);
    assert_eq!(asked(&[]), first);
    // As many runs with the same names, each three times as slow.
    let store = Store::open(home.database()).unwrap();
    let slow = measured_as(3.0);
    store.delete(&slow.iter().map(|run| run.id.clone()).collect::<Vec<_>>()).unwrap();
    store.insert_runs(&slow).unwrap();
    drop(store);
    let ratio = asked(&[]) / first;
    assert!((2.7..3.3).contains(&ratio), "{ratio}");
    // A kept file that is cut off or changed is no answer either.
    let file = kept().remove(0);
    let bytes = fs::read(&file).unwrap();
    let now = asked(&[]);
    for broken in [&bytes[..bytes.len() - 3], &bytes[..bytes.len() / 2], b"\n\n"] {
        fs::write(&file, broken).unwrap();
        assert_eq!(asked(&[]), now);
    }
}

/// A table of timm on one card: every model has an efficiency of its own, the same on all cards.
fn pictures(peak: f64, bandwidth: f64) -> String {
    let mut text = String::from(
        "model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,infer_gmacs,infer_macts,param_count\n",
    );
    for number in 0..120u32 {
        let family = ["resnet", "vit_", "swin_", "convnext"][number as usize % 4];
        let macs = 1.0 + f64::from(number * 7 % 31);
        let activations = 5.0 + f64::from(number * 11 % 29);
        let own = 1.0 + 0.02 * f64::from(number * 5 % 13);
        let seconds =
            own * (2.0 * macs * 1e9 / (0.6 * peak) + 6.0 * activations * 1e6 / (0.8 * bandwidth));
        let _ = writeln!(
            text,
            "{family}{number},224,256,{},{},{macs},{activations},{}",
            1.0 / seconds,
            256.0 * seconds * 1e3,
            macs * 6.0
        );
    }
    text
}

#[test]
fn tables_of_two_cards_answer_for_a_card_like_them_and_say_what_they_rest_on() {
    let home = Home::new();
    let table = |card: &str| format!("benchmark-infer-amp-nchw-pt240-cu124-{card}.csv");
    fs::write(home.path(&table("rtx3090")), pictures(71e12, 936e9)).unwrap();
    fs::write(home.path(&table("rtx4090")), pictures(165.2e12, 1008e9)).unwrap();
    let (one, other) = (table("rtx3090"), table("rtx4090"));
    let ask = |on: &str, more: &[&str]| {
        let all = [&["predict", "resnet0", "--on", on], more, &["--json", "p.json"]].concat();
        home.run(&[&all[..], &["--learn-from", &one, &other]].concat())
    };
    let told = ask("RTX 5090", &["--batch-size", "64"]);
    assert_eq!(told.status, Some(0), "{}{}", told.out, told.err);
    let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("2 machines: GeForce RTX 3090, GeForce RTX 4090"), "{}", told.out);
    let found = json(&fs::read_to_string(home.path("p.json")).unwrap());
    let answer = &found["answers"][0];
    assert_eq!(answer["precision"], "amp");
    assert_eq!(answer["batch_size"], 64.0);
    assert_eq!(answer["rests_on"], serde_json::json!(["GeForce RTX 3090", "GeForce RTX 4090"]));
    let number = |key: &str| answer["throughput"][key].as_f64().unwrap();
    assert!(number("high") / number("low") > 1.5, "{answer}");
    for far in ["Tesla K80", "P100", "MI300X", "Arc A770", "B200"] {
        let told = ask(far, &[]);
        assert_eq!(told.status, Some(4), "{far}: {}{}", told.out, told.err);
        assert!(told.out.contains("can be answered"), "{far}: {}", told.out);
    }
    for precision in ["int8", "fp32", "bf16"] {
        let told = ask("RTX 5090", &["--precision", precision]);
        assert_eq!(told.status, Some(4), "{precision}: {}{}", told.out, told.err);
    }
}

#[test]
fn a_gpu_of_imported_runs_is_asked_by_its_name_and_a_new_import_is_learned_from() {
    let home = Home::new();
    let table = "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv";
    fs::write(home.path(table), pictures(165.2e12, 1008e9)).unwrap();
    home.fine(&["db", "import", table]);
    let cells = || json(&home.fine(&["predict", "--train", "--json"]).out)["cells"].clone();
    let learned = |home: &Home| {
        home.run(&["predict", "feed-forward-baseline", "--on", "RTX 4090", "--json", "p.json"]);
        json(&fs::read_to_string(home.path("p.json")).unwrap())
    };
    let found = learned(&home);
    assert_eq!(found["cells"], cells(), "{found}");
    let answer = &found["answers"][0];
    // The machine of the runs, not one that was never seen.
    assert_ne!(answer["situation"], "new machine", "{found}");
    assert!(!answer["refused"].as_str().unwrap_or_default().contains("new machine"), "{found}");
    // The question is of another machine: that nothing here runs 16 bits is no reason not to answer.
    let half = ["predict", "feed-forward-baseline", "--on", "RTX 4090", "--precision", "fp16"];
    let told = home.run(&[&half[..], &["--json", "p.json"]].concat());
    assert!([Some(0), Some(4)].contains(&told.status), "{}{}", told.out, told.err);
    let found = json(&fs::read_to_string(home.path("p.json")).unwrap());
    assert_eq!(found["answers"][0]["precision"], "fp16", "{found}");
    let newer = "benchmark-infer-amp-nhwc-pt210-cu121-rtx3090.csv";
    fs::write(home.path(newer), pictures(71e12, 936e9)).unwrap();
    home.fine(&["db", "import", newer]);
    assert_eq!(learned(&home)["cells"], 240);
}
