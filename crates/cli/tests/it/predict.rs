//! `predict --backtest`: what a stranger sees of a table, a broken one, and questions that cannot be answered.

use crate::{bench::Home, survey::json};
use std::{fmt::Write as _, fs};

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
    home.refused(&["predict"], 2, &["--backtest"]);
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
