use crate::bench::{Home, quick, told};
use serde_json::Value;
use std::{fs, process::Command};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn models_lists_every_preset_with_its_numbers() {
    let home = Home::new();
    let list = json(&home.fine(&["models", "--json"]).out);
    let models = list["models"].as_array().unwrap();
    let of = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    assert_eq!(of("bert-base-uncased")["parameters"], 109_482_240);
    assert_eq!(of("gpt2")["category"], "generation");
    assert!(models.iter().all(|model| model["flops"].as_u64().unwrap() > 0));
    let vision = home.fine(&["models", "--category", "vision"]).out;
    assert!(vision.contains("vit") && !vision.contains("gpt2"));
    home.refused(&["models", "--category", "smell"], 2, &["smell"]);
}

#[test]
fn devices_says_what_is_here_and_why_the_rest_is_not() {
    let home = Home::new();
    let text = home.fine(&["devices"]).out;
    for word in ["cpu", "cuda", "rten", "memory"] {
        assert!(text.contains(word), "{text}");
    }
    let list = json(&home.fine(&["devices", "--json"]).out);
    assert_eq!(list["devices"][0]["device"], "cpu");
    let engines = list["engines"].as_array().unwrap();
    let embedded = engines.iter().find(|engine| engine["id"] == "rten").unwrap();
    assert_eq!(embedded["availability"]["state"], "available");
    let unavailable = list["probes"].as_array().unwrap().iter().filter(|p| p["available"] == false);
    assert!(unavailable.clone().all(|probe| !probe["why"].as_str().unwrap().is_empty()));
}

#[test]
fn runs_are_listed_shown_tagged_and_deleted() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    home.fine(&quick("small-transformer", &[]));
    let list = json(&home.fine(&["runs", "list", "--json", "--model", "small"]).out);
    let id = list["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(list["runs"].as_array().unwrap().len(), 1);
    let short = &id[..6];
    let shown = json(&home.fine(&["runs", "show", short, "--json", "--samples"]).out);
    assert_eq!(shown["id"], id.as_str());
    assert_eq!(shown["samples_ns"]["inference"].as_array().unwrap().len(), 11);
    home.fine(&["runs", "tag", short, "keep"]);
    assert!(home.fine(&["runs", "list", "--tag", "keep"]).out.contains("small-transformer"));
    home.fine(&["runs", "tag", short, "keep", "--remove"]);
    home.refused(&["runs", "delete", short, "ffffffffff"], 2, &["ffffffffff"]);
    assert_eq!(home.stored(), 2, "a wrong name deletes nothing");
    home.fine(&["runs", "delete", short]);
    assert_eq!(home.stored(), 1);
    home.refused(&["runs", "show", short], 2, &[short]);
}

#[test]
fn the_database_is_made_described_and_compacted() {
    let home = Home::new();
    home.refused(&["db", "status"], 2, &["no database"]);
    home.fine(&["db", "init"]);
    assert!(home.database().exists());
    home.fine(&quick("feed-forward-baseline", &[]));
    let status = json(&home.fine(&["db", "status", "--json"]).out);
    assert_eq!(status["runs"], 1);
    assert!(home.fine(&["db", "path"]).out.trim().ends_with("runs.db"));
    home.fine(&["db", "vacuum"]);
    assert_eq!(home.stored(), 1);
}

#[test]
fn help_has_examples_and_the_version_is_the_packages() {
    let home = Home::new();
    assert!(home.fine(&["--version"]).out.contains(env!("CARGO_PKG_VERSION")));
    for command in ["profile", "calibrate", "models", "devices", "runs", "engines", "man"] {
        let help = home.fine(&[command, "--help"]).out;
        assert!(help.contains("Examples:"), "{help}");
    }
    let profile = home.fine(&["profile", "--help"]).out;
    for heading in ["Workload:", "Engine:", "Sampling:", "Output:", "Store:", "Gate:"] {
        assert_eq!(profile.matches(&format!("\n{heading}\n")).count(), 1, "{heading}\n{profile}");
    }
    assert_eq!(home.run(&["profil"]).status, Some(2));
}

#[test]
fn the_first_page_of_help_has_groups_of_commands() {
    let home = Home::new();
    let help = home.fine(&["--help"]).out;
    for heading in ["Measure:", "Understand:", "Decide:", "Guard:", "Optimise:", "Data:"] {
        assert!(help.contains(&format!("\n{heading}\n")), "{help}");
    }
    assert_eq!(help, home.fine(&["help"]).out);
    let none = home.run(&[]);
    assert_eq!((none.status, none.err.contains("Measure:")), (Some(2), true), "{}", none.err);
}

/// What a shell is offered for the last of these words; fish asks in the simplest way.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let all: Vec<&str> = ["--", "modelmeter"].iter().chain(words).copied().collect();
    let mut command = home.command(&all);
    let answer = told(command.env("MODELMETER_COMPLETE", "fish").output().unwrap());
    assert_eq!((answer.status, answer.err.as_str()), (Some(0), ""));
    let first = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    answer.out.lines().map(first).collect()
}

#[test]
fn completions_know_engines_devices_models_and_runs() {
    let home = Home::new();
    let engines = offered(&home, &["profile", "--engine", ""]);
    assert_eq!(engines, modelmeter::Engines::default().ids());
    assert_eq!(offered(&home, &["compare", "m", "--engines", "rten,on"]), ["rten,onnxruntime"]);
    assert!(offered(&home, &["fit", "--device", "cu"]).contains(&"cuda".to_owned()));
    assert_eq!(offered(&home, &["profile", "distilb"]), ["distilbert-base-uncased"]);
    assert!(offered(&home, &["prof"]).contains(&"profile".to_owned()));
    assert!(offered(&home, &["runs", "show", ""]).iter().all(|run| run.starts_with("--")));
    assert!(!home.database().exists(), "a TAB makes no database");
    home.fine(&quick("feed-forward-baseline", &[]));
    let list = json(&home.fine(&["runs", "list", "--json"]).out);
    let id = list["runs"][0]["id"].as_str().unwrap();
    let runs = offered(&home, &["runs", "show", ""]);
    assert!(runs.contains(&"latest".to_owned()), "{runs:?}");
    assert!(runs.iter().any(|run| run.len() >= 8 && id.starts_with(run.as_str())), "{runs:?}");
    home.fine(&["runs", "show", runs.iter().find(|run| id.starts_with(run.as_str())).unwrap()]);
}

#[test]
fn bash_completes_with_the_script_it_is_given() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.fine(&["completions", shell]).out.contains("MODELMETER_COMPLETE"), "{shell}");
    }
    let program = env!("CARGO_BIN_EXE_modelmeter");
    let script = format!(
        "source <('{program}' completions bash)\n\
         COMP_WORDS=(modelmeter profile --engine r); COMP_CWORD=3; COMP_TYPE=9\n\
         complete -p modelmeter >&2; _clap_complete_modelmeter modelmeter r --engine\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let answer = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
    let answer = told(answer);
    assert_eq!(answer.out.trim(), "rten", "{}", answer.err);
}

#[test]
fn man_pages_are_written_for_every_command() {
    let home = Home::new();
    assert!(home.fine(&["man"]).out.contains(".TH modelmeter 1"));
    let told = home.fine(&["man", "pages"]);
    assert!(told.err.contains("man pages into pages"), "{}", told.err);
    for page in ["modelmeter", "modelmeter-profile", "modelmeter-db-export"] {
        let text = std::fs::read_to_string(home.path("pages").join(format!("{page}.1"))).unwrap();
        assert!(text.contains("SYNOPSIS"), "{page}");
    }
    assert!(!home.path("pages/modelmeter-__host.1").exists());
}

#[test]
fn habits_of_other_tools_work_or_are_put_right() {
    let home = Home::new();
    let run =
        quick("feed-forward-baseline", &["--dtype", "fp32", "--format", "json", "--no-color"]);
    let run: Vec<&str> =
        run.iter().map(|word| if *word == "--runs" { "--iters" } else { word }).collect();
    assert_eq!(json(&home.fine(&run).out)["precision"], "fp32");
    home.refused(
        &["profile", "gpt2", "-b", "1,4"],
        2,
        &["--batch-size", "hint: `modelmeter bench gpt2 --batch-sizes 1,4`"],
    );
    let told =
        home.fine(&["bench", "feed-forward-baseline", "-b", "1,4", "-e", "rten", "--dry-run"]);
    assert!(
        told.out.contains("feed-forward-baseline") || told.err.contains("feed-forward-baseline")
    );
    home.fine(&quick("feed-forward-baseline", &["--export-markdown", "a.md"]));
    let text = fs::read_to_string(home.path("a.md")).unwrap();
    assert!(text.starts_with("# feed-forward-baseline"), "{text}");
}
