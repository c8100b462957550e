//! The gate as people and build servers run it. How busy the machine is decides what can be told, so what is asserted
//! is either far beyond noise or does not depend on time.

use crate::bench::{Home, Told, python, told};
use modelmeter::FORMATS;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

fn document(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn keeps_the_schema(document: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schema = fs::read_to_string(folder.join("modelmeter.check-1.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// A network with so wide a layer in the middle.
fn network(hidden: usize) -> String {
    format!("input_size = 256\nhidden_layers = [512, {hidden}]\noutput_size = 64\n")
}

fn write_network(home: &Home, name: &str, hidden: usize) -> String {
    let path = home.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, network(hidden)).unwrap();
    path.display().to_string()
}

const SHORT: [&str; 8] =
    ["--engine", "rten", "--processes", "6", "--sampling", "20ms", "--turn", "10ms"];

fn check(home: &Home, model: &str, more: &[&str]) -> Told {
    home.run(&[&["check", model][..], more, &SHORT].concat())
}

#[test]
fn limits_are_held_or_not_and_every_file_says_so() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 128);
    let [json, xml, markdown] =
        ["check.json", "check.xml", "check.md"].map(|name| home.path(name).display().to_string());
    let files = ["--output-ci", &json, "--junit", &xml, "--markdown", &markdown];
    let limits = ["--threshold", "latency:10min", "memory.peak:20GB", "--threshold", "load:1min"];
    let told = check(&home, &model, &[&limits[..], &files].concat());
    assert_eq!(told.status, Some(0), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("3 held"), "{}", told.out);
    let found = document(Path::new(&json));
    keeps_the_schema(&found);
    assert_eq!(found["ruling"], "held");
    assert_eq!(found["checks"].as_array().unwrap().len(), 3);
    assert_eq!(found["checks"][0]["question"], json!({"kind": "limit", "limit": 600.0}));
    assert!(fs::read_to_string(&xml).unwrap().contains("tests=\"3\""));
    assert!(fs::read_to_string(&markdown).unwrap().contains("| metric |"));
    assert_eq!(home.stored(), found["checks"][0]["runs"].as_array().unwrap().len());

    let folder = home.path("gate/results").display().to_string();
    let line = ["--threshold", "latency:10min", "--output-dir", &folder];
    assert_eq!(check(&home, &model, &line).status, Some(0));
    keeps_the_schema(&document(&Path::new(&folder).join("check.json")));
    let runs = fs::read_to_string(Path::new(&folder).join("check.jsonl")).unwrap();
    assert!(runs.lines().count() >= 3, "{runs}");
    for format in FORMATS {
        let file = Path::new(&folder).join(format!("check.{}", format.endings[0]));
        assert!(!fs::read_to_string(&file).unwrap().is_empty(), "{}", file.display());
    }

    let told = check(&home, &model, &["--threshold", "memory.peak:1MB", "--output-ci", &json]);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("FAILED") && told.out.contains("≤ 1.00 MB"), "{}", told.out);
    assert_eq!(document(Path::new(&json))["ruling"], "failed");
}

#[test]
fn a_percentile_without_its_samples_decides_nothing() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 128);
    // Nobody waits for a percentile that the longest sampling cannot reach.
    let limit = ["--threshold", "latency.p99.9:10min", "--output-ci", "-"];
    let told = check(&home, &model, &limit);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    let [check] = &found["checks"].as_array().unwrap()[..] else { panic!("{found:#}") };
    if check["ruling"] == "cannot-tell" {
        assert_eq!(told.status, Some(4));
        assert!(check["why"].as_str().unwrap().contains("needs 6636 samples"), "{check:#}");
    } else {
        assert_eq!(told.status, Some(0), "the floor was reached in every process");
    }
}

#[test]
fn a_planted_slow_down_is_caught_and_a_model_is_never_slower_than_itself() {
    let home = Home::calibrated();
    let before = write_network(&home, "before.toml", 512);
    let after = write_network(&home, "after.toml", 4096);
    let json = home.path("check.json").display().to_string();
    // How fast a kernel is, and how busy the machine, nobody knows here; what a wider layer takes in memory is certain.
    let against = ["--against", &before, "--output-ci", &json, "--metric", "memory.peak"];
    let told = check(&home, &after, &against);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("more") && told.out.contains("FAILED"), "{}", told.out);
    let found = document(Path::new(&json));
    keeps_the_schema(&found);
    assert!(found["checks"][0]["estimate"].as_f64().unwrap() > 1.03, "{found:#}");
    assert_eq!(found["checks"][0]["question"]["design"], "interleaved");

    // As fast as itself, or nobody knows: a false alarm has a chance below 1 %, and an alert at half as much again none.
    let same = ["--against", &before, "--metric", "latency.p50", "--regression-alert", "0.5"];
    let told = check(&home, &before, &same);
    assert!(matches!(told.status, Some(0 | 4)), "{}\n{}", told.out, told.err);
    let strict = check(&home, &before, &[&same[..], &["--strict"]].concat());
    assert!(matches!(strict.status, Some(0 | 1)), "{}\n{}", strict.out, strict.err);
}

#[test]
fn another_build_of_the_program_measures_the_baseline() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 256);
    let other = home.path("modelmeter-of-main");
    fs::copy(env!("CARGO_BIN_EXE_modelmeter"), &other).unwrap();
    let other = other.display().to_string();
    let more = ["--against", &other, "--regression-alert", "0.5", "--output-ci", "-"];
    let told = check(&home, &model, &more);
    assert!(matches!(told.status, Some(0 | 4)), "{}\n{}", told.out, told.err);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    assert!(found["baseline"].as_str().unwrap().ends_with("modelmeter-of-main"));
    assert_eq!(found["checks"].as_array().unwrap().len(), 2, "latency and memory");
    // A program that is no worker is told apart from a model that is slower.
    let told = check(&home, &model, &["--against", "/bin/true"]);
    assert!(matches!(told.status, Some(3 | 70)), "{}\n{}", told.out, told.err);
    assert!(!told.err.contains("panicked"), "{}", told.err);
}

#[test]
fn stored_runs_are_a_baseline_by_file_run_tag_and_branch() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 256);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(home.path("")).env("HOME", home.path("")).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "speed"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]);
    let file = home.path("base.jsonl").display().to_string();
    let save = ["--threshold", "memory.peak:20GB", "--save-baseline", &file, "--tag", "good"];
    let told = check(&home, &model, &save);
    assert_eq!(told.status, Some(0), "{}\n{}", told.out, told.err);
    for baseline in [file.as_str(), "good", "tag:good", "speed", "branch:speed", "latest"] {
        let more = ["--baseline", baseline, "--metric", "memory.peak", "--regression-alert", "0.5"];
        let told = check(&home, &model, &more);
        assert_eq!(told.status, Some(0), "{baseline}\n{}\n{}", told.out, told.err);
        assert!(told.out.contains("against"), "{}", told.out);
    }
    let other = write_network(&home, "other.toml", 64);
    let told = check(&home, &other, &["--baseline", "good", "--metric", "memory.peak"]);
    assert_eq!(told.status, Some(4), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("the baseline has no run of it"), "{}", told.out);
    let told = home.refused(&["check", &model, "--baseline", "nobody"], 2, &["no file, run, tag"]);
    assert!(told.err.contains("runs list"), "{}", told.err);
}

#[test]
fn a_baseline_that_was_saved_is_read_back_and_the_alert_means_what_it_says() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 256);
    for file in ["base.jsonl", "base.json", "base"] {
        let path = home.path(file).display().to_string();
        // Nothing has to hold for a baseline to be measured.
        let told = check(&home, &model, &["--save-baseline", &path]);
        assert_eq!(told.status, Some(0), "{}\n{}", told.out, told.err);
        assert!(told.err.contains("wrote 3 runs to"), "{}", told.err);
        let is_warned = told.err.contains("of 3 runs are not valid");
        let runs = fs::read_to_string(&path).unwrap();
        let is_valid = |line: &str| {
            let run: Value = serde_json::from_str(line).unwrap();
            run["run"]["verdict"]["valid"] == true
        };
        assert!(!(is_warned && runs.lines().all(is_valid)), "{}", told.err);
        let back = ["--baseline", &path, "--regression-alert", "0.1", "--output-ci", "-"];
        let told = check(&home, &model, &back);
        assert!(matches!(told.status, Some(0 | 1 | 4)), "{}\n{}", told.out, told.err);
        let found: Value = serde_json::from_str(&told.out).unwrap();
        for one in found["checks"].as_array().unwrap() {
            let why = one["why"].as_str().unwrap_or_default();
            // Beside other work no time of it counts, and whoever saved it was told.
            let is_unfit = why.contains("no run of the baseline is valid") && is_warned;
            let is_read = is_unfit || one["baseline"].as_f64().unwrap() > 0.0;
            assert!(is_read, "it was read back: {one:#}");
            assert_eq!(one["question"]["alert"], 0.1, "{one:#}");
            assert_eq!(one["question"]["effective_alert"], 0.1, "asked was 10 %: {one:#}");
        }
    }
}

#[test]
fn what_cannot_be_meant_is_said_before_anything_runs() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 64);
    let model = model.as_str();
    for (arguments, says) in [
        (vec!["check", model], "needs a threshold or a baseline"),
        (vec!["check", model, "--threshold", "latency:fast"], "METRIC:LIMIT"),
        (vec!["check", model, "--threshold", "latency:100"], "given in ns, us, ms"),
        (vec!["check", model, "--threshold", "speed:1ms"], "is not a metric"),
        (vec!["check", model, "--regression-alert", "0.1"], "--against"),
        (vec!["check", model, "--threshold", "load:1s", "--metric", "load"], "--against"),
        (vec!["check", model, "--threshold", "load:1s", "--processes", "2"], "at least 3"),
        (vec!["check", model, "--against", model, "--turns", "0"], "turns must be"),
        (vec!["check", "no-such-model", "--threshold", "load:1s"], "no-such-model"),
        (vec!["check", model, "--threshold", "load:1s", "--junit", "no/x.xml"], "no folder"),
    ] {
        let told = home.run(&arguments);
        assert_eq!(told.status, Some(2), "{arguments:?}\n{}\n{}", told.out, told.err);
        assert!(told.err.contains(says), "{arguments:?}\n{}", told.err);
        assert!(!told.err.contains("panicked"), "{}", told.err);
    }
    assert_eq!(home.stored(), 0);
    fs::write(home.path("torn.jsonl"), "{\"schema\": \"modelmeter.whole-run/1\"").unwrap();
    let torn = home.path("torn.jsonl").display().to_string();
    home.refused(&["check", model, "--baseline", &torn], 2, &["torn.jsonl"]);
}

#[test]
fn a_machine_is_held_against_itself_and_remembers() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 256);
    let arguments = ["noise", &model, "--engine", "rten", "--processes", "3"];
    let told = home.run(&arguments);
    if told.status == Some(4) {
        // Beside other work a machine learns nothing of itself, and says so.
        assert!(told.err.contains("too busy") && told.err.contains("hint:"), "{}", told.err);
        return;
    }
    for word in ["jitter", "itself", "floor"] {
        assert!(told.out.contains(word), "{}\n{}", told.out, told.err);
    }
    let told = home.run(&[&arguments[..], &["--json", "-"]].concat());
    if told.status == Some(4) {
        return;
    }
    let found: Value = serde_json::from_str(&told.out).unwrap();
    assert!(found["itself"]["floor"].as_f64().unwrap() > 0.0, "{found:#}");
    let told = home.run(&arguments);
    assert!(told.status == Some(4) || told.out.contains("earlier"), "{}\n{}", told.out, told.err);
}

#[test]
fn a_plan_is_checked_cell_by_cell() {
    let home = Home::calibrated();
    let model = write_network(&home, "net.toml", 128);
    let plan = home.path("plan.toml");
    let text = format!("models = [\"{model}\"]\nengines = [\"rten\"]\nbatch-sizes = [1, 8]\n");
    fs::write(&plan, text).unwrap();
    let plan = plan.display().to_string();
    let more = ["--threshold", "memory.peak:20GB", "--output-ci", "-", "--processes", "3"];
    let told = home.run(&[&["check", &plan][..], &more, &["--sampling", "20ms"]].concat());
    assert_eq!(told.status, Some(0), "{}\n{}", told.out, told.err);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    let batches: Vec<u64> = found["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["cell"]["batch_size"].as_u64().unwrap())
        .collect();
    assert_eq!(batches, [1, 8]);
}

/// The steps of the action and of the example in the documentation, as a YAML reader sees them.
fn steps() -> Value {
    let script = "
import json, re, sys, yaml
action = yaml.safe_load(open(sys.argv[1]))
examples = dict(re.findall(r'<!-- example: (\\w+) -->\\n```yaml\\n(.*?)```', open(sys.argv[2]).read(), re.S))
github = yaml.safe_load(examples['github'])
gitlab = yaml.safe_load(examples['gitlab'])
print(json.dumps({
    'defaults': {name: str(entry.get('default', '')) for name, entry in action['inputs'].items()},
    'action': action['runs']['steps'],
    'job': github['jobs']['check']['steps'],
    'gitlab': gitlab['performance'],
}))
";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(python())
        .args(["-c", script])
        .args([root.join("action.yml"), root.join("docs/CI.md")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A repository whose branch `change` made its network slower than `main` has it.
fn repository(home: &Home, hidden: usize) {
    let origin = home.path("origin");
    let work = home.path("work");
    let run = |folder: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(folder).env("HOME", home.path("")).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
        ]);
        let output = git.args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?} {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    fs::create_dir_all(origin.join("models")).unwrap();
    run(&origin, &["init", "--quiet", "--initial-branch", "main"]);
    fs::write(origin.join("models/encoder.toml"), network(512)).unwrap();
    run(&origin, &["add", "."]);
    run(&origin, &["commit", "--quiet", "-m", "the model"]);
    run(home.path("").as_path(), &["clone", "--quiet", origin.to_str().unwrap(), "work"]);
    run(&work, &["checkout", "--quiet", "-b", "change"]);
    fs::write(work.join("models/encoder.toml"), network(hidden)).unwrap();
    run(&work, &["commit", "--quiet", "--allow-empty", "-am", "a change"]);
}

/// Runs one shell step as a runner would.
fn step(home: &Home, script: &str, variables: &[(String, String)]) -> Told {
    let modelmeter = Path::new(env!("CARGO_BIN_EXE_modelmeter")).parent().unwrap().to_owned();
    let path = format!("{}:{}", modelmeter.display(), std::env::var("PATH").unwrap());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut bash = home.command(&[]);
    let own: Vec<_> = bash
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    bash = Command::new("bash");
    bash.env_clear()
        .envs(own)
        .env("PATH", path)
        .env("GITHUB_ACTION_PATH", root)
        .env("GITHUB_BASE_REF", "main")
        .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
        .env("RUNNER_TEMP", home.path("temp"))
        .env("CI_BUILDS_DIR", home.path("temp"))
        .env("GITHUB_STEP_SUMMARY", home.path("summary.md"))
        .env("GITHUB_OUTPUT", home.path("output"))
        .env("GITHUB_PATH", home.path("github-path"))
        .envs(variables.iter().cloned())
        .current_dir(home.path("work"))
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
    told(bash.output().unwrap())
}

/// Every shell step of the example workflow, the action's own among them; what the last one said.
fn workflow(home: &Home, steps: &Value) -> Told {
    fs::create_dir_all(home.path("temp")).unwrap();
    let mut last = None;
    for job in steps["job"].as_array().unwrap() {
        if let Some(script) = job["run"].as_str() {
            let told = step(home, script, &[]);
            assert_eq!(told.status, Some(0), "{}", told.err);
        }
        if !job["uses"].as_str().is_some_and(|uses| uses.contains("modelmeter")) {
            continue;
        }
        let temp = home.path("temp").display().to_string();
        let input = |name: &str| {
            let given = job["with"][name].as_str();
            let value = given.unwrap_or(steps["defaults"][name].as_str().unwrap());
            value.replace("${{ runner.temp }}", &temp)
        };
        for own in steps["action"].as_array().unwrap() {
            let variables: Vec<(String, String)> = own["env"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(variable, value)| {
                    let name = value.as_str().unwrap().trim_start_matches("${{ inputs.");
                    (variable.clone(), input(name.trim_end_matches(" }}")))
                })
                .collect();
            last = Some(step(home, own["run"].as_str().unwrap(), &variables));
        }
    }
    last.unwrap()
}

#[test]
fn the_action_catches_a_planted_regression_and_lets_a_harmless_change_pass() {
    let steps = steps();
    let home = Home::calibrated();
    repository(&home, 4096);
    let told = workflow(&home, &steps);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    assert!(told.err.contains("::error title=Modelmeter::"), "{}", told.err);
    let summary = fs::read_to_string(home.path("summary.md")).unwrap();
    assert!(summary.contains("❌") && summary.contains("latency.p50"), "{summary}");
    assert!(fs::read_to_string(home.path("output")).unwrap().contains("ruling=failed"));
    let found = document(&home.path("work/modelmeter-check/check.json"));
    keeps_the_schema(&found);
    assert_eq!(found["revision"]["branch"], "change");
    assert!(home.path("work/modelmeter-check/check.xml").is_file());

    let script: Vec<&str> =
        steps["gitlab"]["script"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    fs::remove_dir_all(home.path("temp")).unwrap();
    let prune = step(&home, "git worktree prune", &[]);
    assert_eq!(prune.status, Some(0), "{}", prune.err);
    fs::create_dir_all(home.path("temp")).unwrap();
    let told = step(&home, &script.join("\n"), &[]);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);

    // The same network: a job that may be held or undecided, but is not red. Not even fewer neurons are harmless: on some
    // processors 504 are slower than 512.
    let home = Home::calibrated();
    repository(&home, 512);
    let told = workflow(&home, &steps);
    assert_eq!(told.status, Some(0), "{}\n{}", told.out, told.err);
    let output = fs::read_to_string(home.path("output")).unwrap();
    assert!(output.contains("ruling=held") || output.contains("ruling=cannot-tell"), "{output}");
}
