//! Every family that `models` builds, as PyTorch's module: the same answers as the graph gives, from the same weights.
//!
//! One Python process imports PyTorch and forks a worker for each job, which runs the very script of the engine: with
//! a start of its own for each of fifty models, importing would take minutes.

use crate::{
    text::minilm,
    worker::{job, places, run_script, script},
};
use engine::{
    LoadJob, OutputView, Request as Ask, Starter, draw, read_tensors, view_of, write_tensors,
};
use modelmeter_engine_torch::Torch;
use models::{Request, Resolved};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{HostTensor, InputSpec, Precision};

/// The folder with everything that is compared.
struct Scene {
    root: PathBuf,
    jobs: Vec<Value>,
}

/// What an answer is compared with, beside ONNX Runtime's.
struct Cases {
    path: PathBuf,
    index: usize,
}

impl Scene {
    fn new() -> Scene {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("torch-modules");
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Scene { root, jobs: Vec::new() }
    }

    fn resolve(&self, name: &Path) -> Resolved {
        let request = Request {
            offline: true,
            ..Request::new(name.to_str().unwrap(), self.root.join("cache"))
        };
        models::resolve(&request, &mut |_| {}).unwrap()
    }

    fn add(
        &mut self,
        name: &str,
        resolved: &Resolved,
        inputs: &[HostTensor],
        cases: Option<&Cases>,
        precision: Precision,
    ) {
        let name = format!("{name}-{precision}");
        let file = self.root.join(format!("{name}.inputs"));
        let views: Vec<OutputView<'_>> = inputs.iter().map(view_of).collect();
        write_tensors(&file, &views).unwrap();
        let specs = resolved.inputs(1, Some(1), &[]).unwrap();
        let spec = |spec: InputSpec| {
            let tensor = inputs.iter().find(|tensor| tensor.name == spec.name).unwrap();
            InputSpec { dims: tensor.dims.clone(), ..spec }
        };
        let mut load = LoadJob {
            inputs: specs.into_iter().map(spec).collect(),
            inputs_file: Some(file.clone()),
            ..job(resolved.module.clone())
        };
        load.request.precision = precision;
        self.jobs.push(json!({
            "name": name,
            "load": Ask::Load(Box::new(load)),
            "inputs": file,
            "onnx": resolved.onnx,
            "cases": cases.map(|cases| &cases.path),
            "case": cases.map_or(0, |cases| cases.index),
            "precision": precision,
        }));
    }

    /// Runs every job and compares; a failure of the script is a failure of the test.
    fn compare(self) {
        let command = Torch.command(&places()).unwrap();
        let arguments: Vec<&str> =
            command.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let all = json!({"arguments": arguments, "jobs": self.jobs});
        fs::write(self.root.join("jobs.json"), serde_json::to_vec(&all).unwrap()).unwrap();
        run_script(&script("compare.py"), &self.root);
    }
}

/// The inputs of the widest of a model's first cases: rows with padding behind and in front.
fn inputs_of(path: PathBuf) -> (Vec<HostTensor>, Cases) {
    let all = read_tensors(&path).unwrap();
    let has = |index: usize| all.iter().any(|tensor| tensor.name.starts_with(&format!("{index}.")));
    let index = (0..3).rev().find(|&index| has(index)).unwrap();
    let start = format!("{index}.in.");
    let inputs = all.into_iter().filter_map(|tensor| {
        Some(HostTensor { name: tensor.name.strip_prefix(&start)?.to_owned(), ..tensor })
    });
    (inputs.collect(), Cases { path, index })
}

fn edit(folder: &Path, copy: &Path, change: impl FnOnce(&mut Value)) {
    fs::create_dir_all(copy).unwrap();
    for name in ["model.safetensors", "cases.safetensors"] {
        fs::copy(folder.join(name), copy.join(name)).unwrap();
    }
    let mut config: Value =
        serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    change(&mut config);
    fs::write(copy.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn every_family_answers_as_its_graph_does() {
    let mut scene = Scene::new();
    let checkpoints = scene.root.join("checkpoints");
    fs::create_dir_all(&checkpoints).unwrap();
    let maker = "../../models/tests/python/make_checkpoint.py";
    run_script(&Path::new(env!("CARGO_MANIFEST_DIR")).join(maker), &checkpoints);

    // A configuration as older versions of `transformers` wrote them, and a head that nobody builds.
    edit(&checkpoints.join("llama"), &checkpoints.join("llama-older"), |config| {
        config.as_object_mut().unwrap().remove("rope_parameters");
        config["rope_theta"] = json!(10000.0);
        config["rope_scaling"] = json!(null);
        config["torch_dtype"] = json!("bfloat16");
        config["use_cache"] = json!(true);
        config["output_hidden_states"] = json!(true);
    });
    edit(&checkpoints.join("bert"), &checkpoints.join("bert-headless"), |config| {
        config["architectures"] = json!(["BertForPreTraining"]);
    });

    let mut folders: Vec<PathBuf> =
        fs::read_dir(&checkpoints).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut families = 0;
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let config = fs::read_to_string(folder.join("config.json")).unwrap_or_default();
        if !config.contains("model_type") {
            // Our own networks come from descriptions, below; the trained model lies elsewhere.
            continue;
        }
        families += 1;
        let resolved = scene.resolve(&folder);
        let (inputs, cases) = inputs_of(folder.join("cases.safetensors"));
        scene.add(&name, &resolved, &inputs, Some(&cases), Precision::Fp32);
        if ["bert", "gpt2", "llama", "t5", "vit", "clip-end"].contains(&name.as_str()) {
            for precision in [Precision::Fp16, Precision::Bf16, Precision::Int8] {
                scene.add(&name, &resolved, &inputs, Some(&cases), precision);
            }
        }
    }
    assert_eq!(families, 55);

    let trained = scene.resolve(&minilm());
    let (inputs, _) = inputs_of(checkpoints.join("minilm/cases.safetensors"));
    scene.add("minilm", &trained, &inputs, None, Precision::Fp32);

    let encoder = "vocab_size = 60\nd_model = 32\nnum_heads = 4\nnum_layers = 2\nd_ff = 48\n";
    let network = "input_size = 10\nhidden_layers = [24, 16]\noutput_size = 3\n";
    for (name, text) in [
        ("encoder-sinusoidal", encoder.to_owned()),
        ("encoder-learned", format!("{encoder}positional_encoding = \"learned\"\n")),
        ("feed-forward", network.to_owned()),
        ("one-layer", network.replace("24, 16", "")),
    ] {
        let path = scene.root.join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        let resolved = scene.resolve(&path);
        let specs = resolved.inputs(3, Some(9), &[]).unwrap();
        let inputs: Vec<HostTensor> = specs.iter().map(|spec| draw(spec, 7)).collect();
        for precision in Precision::ALL {
            scene.add(name, &resolved, &inputs, None, precision);
        }
    }
    scene.compare();
}
