//! Models in other number formats: against PyTorch's fp32 answers, on ONNX Runtime, OpenVINO and `rten`.

use crate::{
    parity::{Answers, blueprint, checkpoints, fill, models, python},
    scene::Scene,
};
use graph::{
    Attribute, ConvertOptions, Converted, DataType, GraphBuilder, Model, Tensor, TensorData,
    native_precision,
};
use models::{ModelError, Progress, Request, Resolved};
use safetensors::{Dtype, SafeTensors};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use types::{Precision, Remark, RemarkCode};

/// The smallest cosine allowed between an output and PyTorch's fp32 answer.
///
/// The weights are random and the models 32 wide, which is harder than a wide one: few rounding errors even out.
/// Measured over all 53 models: fp16 0.999998, int8 0.9982; over 11 of them: bf16 0.9991, int8 on OpenVINO 0.9982.
const SMALLEST: [(&str, f64); 4] =
    [("fp16", 0.99999), ("bf16", 0.998), ("int8", 0.997), ("int8 on openvino", 0.997)];

/// Gemma brings every block's sum to one size before it is added, and the rounding of small random blocks with it.
const SMALLEST_OF_GEMMA_IN_INT8: f64 = 0.99;

const CONVERTED: [Precision; 3] = [Precision::Fp16, Precision::Bf16, Precision::Int8];

/// What a model made of convolutions is refused, and why.
const REFUSED: [(&str, Precision, &str); 5] = [
    ("resnet", Precision::Bf16, FEW_BF16),
    ("resnet-basic", Precision::Bf16, FEW_BF16),
    ("resnet-classes", Precision::Bf16, FEW_BF16),
    ("resnet", Precision::Int8, NO_PRODUCT),
    ("resnet-basic", Precision::Int8, NO_PRODUCT),
];
const FEW_BF16: &str =
    "most of its weights stay as they are, because `Conv` has bf16 only from operator set 22 on";
const NO_PRODUCT: &str = "only matrix products are quantised, not `Conv`";

fn refusal(folder: &Path, to: Precision) -> Option<&'static str> {
    let is_it = |(name, precision, _): &&(&str, Precision, &str)| {
        folder.ends_with(name) && *precision == to
    };
    REFUSED.iter().find(is_it).map(|(.., why)| *why)
}

/// The model in a format, where it can have it; a refusal is the expected one.
fn convert(folder: &Path, model: &Model, to: Precision) -> Option<Converted> {
    // The models are tiny: everything is to be converted.
    let options = ConvertOptions { smallest_weight: 1, ..ConvertOptions::default() };
    match (graph::convert(model, to, &options), refusal(folder, to)) {
        (Ok(converted), None) => Some(converted),
        (Err(error), Some(why)) => {
            let expected = format!("nothing in it can be converted to {to}: {why}");
            assert_eq!(error.to_string(), expected, "{}", folder.display());
            None
        }
        (found, why) => panic!("{} in {to}: {:?} and {why:?}", folder.display(), found.err()),
    }
}

fn tiny_models() -> Vec<PathBuf> {
    models(&[""]).into_iter().filter(|folder| !folder.ends_with("minilm")).collect()
}

/// Those that can have this format.
fn able(precision: Precision) -> Vec<PathBuf> {
    let mut all = tiny_models();
    all.retain(|folder| refusal(folder, precision).is_none());
    all
}

/// All tiny models in every format, checked and run by Python once for all tests.
fn converted() -> &'static Path {
    static DONE: OnceLock<&Path> = OnceLock::new();
    DONE.get_or_init(|| {
        for folder in tiny_models() {
            let filled = fill(blueprint(&folder), &folder.join("model.safetensors"));
            for precision in CONVERTED {
                let Some(converted) = convert(&folder, &filled.model, precision) else { continue };
                let target = folder.join(precision.name());
                fs::create_dir_all(&target).unwrap();
                converted.model.write(target.join("model.onnx")).unwrap();
            }
        }
        python("check_precision.py", checkpoints());
        checkpoints()
    })
}

#[test]
fn every_format_of_every_model_is_valid_and_near_fp32() {
    let text = fs::read_to_string(converted().join("cosines.json")).unwrap();
    let cosines: BTreeMap<String, BTreeMap<String, f64>> = serde_json::from_str(&text).unwrap();
    assert_eq!(cosines.len(), tiny_models().len());
    let count = |name| cosines.values().filter(|found| found.contains_key(name)).count();
    assert_eq!((count("fp16"), count("int8"), count("bf16")), (56, 54, 11));
    for (model, found) in cosines {
        for (name, smallest) in SMALLEST {
            let is_gemma = model.starts_with("gemma") && name.starts_with("int8");
            let smallest = if is_gemma { SMALLEST_OF_GEMMA_IN_INT8 } else { smallest };
            let near = found.get(name).is_none_or(|cosine| *cosine >= smallest);
            assert!(near, "{model} in {name}: {found:?}");
        }
    }
}

/// Engines round activations alike but for halves, so that single outputs may differ by a step.
#[test]
fn rten_and_onnx_runtime_agree_on_int8() {
    let folders: Vec<PathBuf> =
        able(Precision::Int8).iter().map(|folder| converted().join(folder).join("int8")).collect();
    assert_eq!(folders.len(), 54);
    for folder in folders {
        let model = rten::Model::load_file(folder.join("model.onnx")).unwrap();
        let answers = Answers::read(&folder.join("cases.safetensors"));
        let cosine = answers.smallest_cosine(&model);
        assert!(cosine > 0.9999, "{}: {cosine}", folder.display());
    }
}

#[test]
fn layers_of_a_converted_model_keep_their_paths() {
    for folder in tiny_models() {
        let filled = fill(blueprint(&folder), &folder.join("model.safetensors"));
        let paths = |model: &Model| -> BTreeSet<String> {
            let nodes = model.graph.nodes.iter();
            nodes.map(|node| graph::module_path(&node.name, &node.op_type)).collect()
        };
        for precision in CONVERTED {
            let Some(made) = convert(&folder, &filled.model, precision) else { continue };
            assert_eq!(
                paths(&made.model),
                paths(&filled.model),
                "{} {precision}",
                folder.display()
            );
        }
    }
}

/// A copy of a tiny model's folder without what other tests put into it.
fn copy(scene: &Scene, name: &str) -> PathBuf {
    for file in ["config.json", "model.safetensors"] {
        let bytes = fs::read(checkpoints().join(name).join(file)).unwrap();
        scene.write(&format!("{name}/{file}"), bytes);
    }
    scene.path(name)
}

fn resolve(scene: &Scene, name: impl AsRef<Path>, to: Precision) -> Result<Resolved, ModelError> {
    let request = Request { precision: Some(to), ..scene.request(name) };
    models::resolve(&request, &mut |_| {})
}

fn data_of(onnx: &Path) -> Vec<u8> {
    fs::read(onnx.with_file_name("model.safetensors.data")).unwrap()
}

/// Operations of all matrix products, without the additions of biases.
fn product_flops(resolved: &Resolved) -> u64 {
    let inputs = resolved.inputs(2, Some(7), &[]).unwrap();
    let inputs: Vec<_> = inputs.into_iter().map(|input| (input.name, input.dims)).collect();
    let shapes = graph::infer(&resolved.model, &inputs);
    let works = graph::analyse_shapes(&resolved.model, &shapes).nodes.into_iter();
    let products =
        works.filter(|work| matches!(&*work.op_type, "MatMul" | "Gemm" | "MatMulInteger"));
    let bias = |work: &graph::NodeWork| {
        let node = &resolved.model.graph.nodes[work.index];
        let has_bias = node.op_type == "Gemm" && node.inputs.len() > 2;
        let made = shapes.dims(&node.outputs[0]).unwrap().iter().product::<usize>() as u64;
        if has_bias { made } else { 0 }
    };
    products.map(|work| work.flops.unwrap().0 - bias(&work)).sum()
}

#[test]
fn every_family_is_prepared_in_every_format() {
    let scene = Scene::new();
    for name in ["bert-masked-lm", "gpt2", "llama", "t5", "vit-classes", "clip-end"] {
        let folder = copy(&scene, name);
        let plain = scene.resolve(&folder).unwrap();
        for precision in CONVERTED {
            let made = resolve(&scene, &folder, precision).unwrap();
            assert_eq!(native_precision(&made.model), precision, "{name}");
            assert_eq!(product_flops(&made), product_flops(&plain), "{name} {precision}");
            assert_eq!(made.info.parameters, plain.info.parameters);
            let counted = graph::count_weights(&made.model).parameters;
            assert_eq!(
                counted,
                graph::count_weights(&plain.model).parameters,
                "{name} {precision}"
            );
            assert!(made.info.size < plain.info.size, "{name} {precision}");
            assert_ne!(made.info.fingerprint, plain.info.fingerprint);
            assert_eq!(made.module, plain.module);
            let on_disk =
                fs::metadata(&made.onnx).unwrap().len() + data_of(&made.onnx).len() as u64;
            assert_eq!(made.info.size.0, on_disk);
        }
    }
}

#[test]
fn the_second_time_nothing_is_converted() {
    let scene = Scene::new();
    let request = Request { precision: Some(Precision::Int8), ..scene.request("encoder-small") };
    let resolve = || {
        let mut written = 0;
        let resolved = models::resolve(&request, &mut |progress| {
            if let Progress::Preparing { done, .. } = progress {
                written = done;
            }
        });
        (resolved.unwrap(), written)
    };
    let (first, written) = resolve();
    assert_eq!(written, data_of(&first.onnx).len() as u64);
    let (second, again) = resolve();
    assert_eq!(again, 0);
    assert_eq!((&first.info, &first.onnx), (&second.info, &second.onnx));
    assert_eq!((first.remarks, first.model.graph), (second.remarks, second.model.graph));
    let folders = || fs::read_dir(scene.path("cache/models")).unwrap().count();
    assert_eq!(folders(), 2, "fp32 and int8, and nothing unfinished");
    let whole = data_of(&first.onnx);
    fs::write(first.onnx.with_file_name("model.safetensors.data"), &whole[1..]).unwrap();
    let (third, written) = resolve();
    assert!(written > 0);
    assert_eq!((data_of(&third.onnx), folders()), (whole, 2));
}

#[test]
fn two_at_once_convert_the_same_model() {
    let scene = Scene::new();
    let convert = || resolve(&scene, "encoder-small", Precision::Fp16).unwrap();
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(convert);
        (convert(), other.join().unwrap())
    });
    assert_eq!(first.onnx, second.onnx);
    assert_eq!(fs::read_dir(scene.path("cache/models")).unwrap().count(), 2);
}

#[test]
fn the_data_file_of_a_converted_model_is_safetensors_too() {
    let scene = Scene::new();
    for (precision, dtype) in [
        (Precision::Fp16, Dtype::F16),
        (Precision::Bf16, Dtype::BF16),
        (Precision::Int8, Dtype::I8),
    ] {
        let resolved = resolve(&scene, "encoder-small", precision).unwrap();
        let bytes = data_of(&resolved.onnx);
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let of_type = file.tensors().iter().filter(|(_, view)| view.dtype() == dtype).count();
        assert!(of_type > 5, "{of_type} of {}", file.len());
        let mut count = 0;
        for tensor in &resolved.model.graph.initializers {
            if let TensorData::External { .. } = tensor.data {
                let stored = file.tensor(&tensor.name).unwrap();
                assert_eq!(stored.shape(), tensor.dims);
                assert_eq!(*resolved.model.bytes(tensor).unwrap(), *stored.data());
                count += 1;
            }
        }
        assert_eq!(count, file.len());
    }
}

/// A product and a mask in a file of its own, with its weights inside the file.
fn file_with(scene: &Scene, dtype: DataType) -> PathBuf {
    let mut builder = GraphBuilder::new("file");
    let x = builder.input("x", dtype, &["batch".into(), 64.into()]);
    let bytes = vec![0; dtype.size(64 * 64) as usize];
    let weight = Attribute::Tensor(Tensor::from_bytes("", dtype, &[64, 64], bytes));
    let weight = builder.node("Constant", &[], &[("value", weight)]);
    let mut y = builder.node("MatMul", &[&x, &weight], &[]);
    if dtype == DataType::Float {
        let hidden = builder.scalar_f32(f32::MIN);
        y = builder.node("Max", &[&y, &hidden], &[]);
    }
    builder.output("y", &y, dtype, &["batch".into(), 64.into()]);
    let path = scene.path("file.onnx");
    builder.finish_model().write(&path).unwrap();
    path
}

#[test]
fn a_file_is_converted_into_the_cache_and_stays_as_it_is() {
    let scene = Scene::new();
    let path = file_with(&scene, DataType::Float);
    let before = fs::read(&path).unwrap();
    let plain = scene.resolve(&path).unwrap();
    let half = resolve(&scene, &path, Precision::Fp16).unwrap();
    assert!(half.onnx.starts_with(scene.path("cache/models")), "{}", half.onnx.display());
    let expected = "1 value outside the range of fp16 was clamped";
    assert_eq!(half.remarks, [Remark::new(RemarkCode::ValuesClamped, expected)]);
    assert_eq!(half.info.parameters, plain.info.parameters);
    assert_eq!(half.info.source, plain.info.source);
    let rounded = resolve(&scene, &path, Precision::Int8).unwrap();
    assert_eq!(rounded.info.parameters, plain.info.parameters);
    assert_ne!(rounded.onnx, half.onnx);
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(resolve(&scene, &path, Precision::Fp32).unwrap().onnx, plain.onnx);
    // A model with its weights in another file is converted all the same, and into the same numbers.
    let external = scene.path("elsewhere/file.onnx");
    fs::create_dir_all(external.parent().unwrap()).unwrap();
    fs::copy(data_path(&scene), external.with_file_name("model.safetensors.data")).unwrap();
    let prepared = scene.resolve("encoder-small").unwrap();
    fs::copy(&prepared.onnx, &external).unwrap();
    let from_file = resolve(&scene, &external, Precision::Int8).unwrap();
    let from_preset = resolve(&scene, "encoder-small", Precision::Int8).unwrap();
    assert_ne!(from_file.onnx, from_preset.onnx);
    assert_eq!(data_of(&from_file.onnx), data_of(&from_preset.onnx));
}

fn data_path(scene: &Scene) -> PathBuf {
    scene.resolve("encoder-small").unwrap().onnx.with_file_name("model.safetensors.data")
}

#[test]
fn a_format_that_a_model_has_or_cannot_have() {
    let scene = Scene::new();
    let path = file_with(&scene, DataType::Float16);
    let plain = scene.resolve(&path).unwrap();
    let same = resolve(&scene, &path, Precision::Fp16).unwrap();
    assert_eq!((same.onnx, same.info), (plain.onnx, plain.info));
    for asked in [Precision::Fp32, Precision::Bf16, Precision::Int8] {
        let error = resolve(&scene, &path, asked).unwrap_err();
        let expected = format!("`file` computes in fp16 and cannot be converted to {asked}");
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.hint().unwrap(), "omit `--precision` to run it in fp16");
    }
    let net = scene.write("net.toml", "input_size = 4\nhidden_layers = [8]\noutput_size = 2\n");
    let error = resolve(&scene, &net, Precision::Int8).unwrap_err();
    assert_eq!(error.to_string(), "could not convert `net` to int8");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("fewer than 1024 weights"), "{cause}");
    assert!(
        !scene
            .path("cache/models")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|entry| { entry.file_name().to_string_lossy().starts_with('.') })
    );
    let program = scene.write("program.pt", "a program");
    let error = resolve(&scene, &program, Precision::Int8).unwrap_err();
    assert!(matches!(error, ModelError::NoGraph { .. }), "{error}");
}

#[test]
fn a_trained_model_keeps_its_sentence_vectors_in_int8() {
    let folder = checkpoints().join("minilm");
    let text = fs::read_to_string(folder.join("source.json")).unwrap();
    let source: PathBuf = serde_json::from_str::<String>(&text).unwrap().into();
    let scene = Scene::new();
    let resolved = resolve(&scene, &source, Precision::Int8).unwrap();
    let answers = Answers::read(&folder.join("cases.safetensors"));
    let cosines = answers.sentence_cosines(&rten::Model::load_file(&resolved.onnx).unwrap());
    assert_eq!(cosines.len(), 5);
    // Measured: 0.991, 0.991, 0.996, 0.962, 0.993; ONNX Runtime's own quantiser gives 0.991, 0.991, 0.996, 0.958, 0.993
    // (by channel) and 0.964, 0.956, 0.980, 0.831, 0.960 (by tensor). The fourth is one word of two tokens.
    let mean = cosines.iter().sum::<f64>() / 5.0;
    assert!(mean > 0.98 && cosines.iter().all(|cosine| *cosine > 0.95), "{cosines:?}");
    assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);
}

/// Memory of this process that is not a mapped file, in bytes.
fn own_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    number.parse::<u64>().unwrap() * 1024
}

/// Alone in its process, or the other tests' memory is counted too.
#[test]
#[ignore = "writes 900 MB"]
fn converting_holds_pieces_of_weights_only() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scene = Scene::new();
    scene.resolve("bert-base-uncased").unwrap();
    for precision in CONVERTED {
        let (before, done) = (own_memory(), AtomicBool::new(false));
        let most = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut most = before;
                while !done.load(Ordering::Relaxed) {
                    most = most.max(own_memory());
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                most
            });
            let resolved = resolve(&scene, "bert-base-uncased", precision).unwrap();
            assert!(resolved.info.size.0 > 100_000_000);
            done.store(true, Ordering::Relaxed);
            watch.join().unwrap()
        });
        let rise = most - before;
        println!("{precision}: {} MiB more", rise >> 20);
        assert!(rise < 64 << 20, "{precision}: {rise} bytes more");
    }
}
