//! Language models that generate: with a cache, every engine says what it says without one.

use engine::{
    Host, LoadRequest, Places,
    conformance::{GeneratorSubject, check_generator},
};
use modelmeter::{Device, ENGINES, Engine, Folders, GenerationTests, Isolation, Profiler, Session};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use types::{DecoderDialect, DecoderShape, GenerationTest, HostTensor, Mode, Precision};

/// The families that generate, each with what makes it different: heads that share keys, biases, a window, a tied head.
fn configurations() -> Vec<Value> {
    let llama = json!({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 61, "hidden_size": 96,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 80,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": true
    });
    let with = |changes: Value| {
        let mut config = llama.clone();
        let (config_map, changes) = (config.as_object_mut().unwrap(), changes);
        config_map.extend(changes.as_object().unwrap().clone());
        config
    };
    vec![
        llama.clone(),
        with(
            json!({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": false}),
        ),
        with(
            json!({"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 4}),
        ),
        json!({
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 61, "n_embd": 64, "n_layer": 3,
            "n_head": 4, "n_positions": 64
        }),
        with(json!({
            "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "head_dim": 10, "sliding_window": 4,
            "query_pre_attn_scalar": 7, "final_logit_softcapping": 3.0,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]
        })),
    ]
}

/// A folder with such a model, its weights drawn.
pub(crate) fn folder(parent: &Path, config: &Value) -> PathBuf {
    let folder = parent.join(config["model_type"].as_str().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let blueprint = models::build(config).unwrap();
    let tensor = |weight: &models::Weight| {
        let mut dims = weight.dims.clone();
        if weight.layout == models::Layout::Transposed {
            dims.reverse();
        }
        let fill = match weight.init {
            models::Init::Normal { .. } => types::Fill::Normal { mean: 0.0, std: 0.2 },
            models::Init::Constant(value) => types::Fill::Constant { value: value.into() },
        };
        let spec = types::InputSpec {
            name: weight.checkpoint[0].clone(),
            dtype: types::ElementType::F32,
            dims,
            role: types::InputRole::Other,
            fill,
        };
        engine::draw(&spec, 5)
    };
    let tensors: Vec<HostTensor> = blueprint.weights.iter().map(tensor).collect();
    let views: Vec<_> = tensors.iter().map(engine::view_of).collect();
    engine::write_tensors(&folder.join("model.safetensors"), &views).unwrap();
    folder
}

fn places() -> Places {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    Places { python: Some(python), ..Places::default() }
}

#[test]
fn with_a_cache_every_engine_scores_as_without_one() {
    let home = TempDir::new().unwrap();
    let graph_engines: Vec<&dyn Engine> = ENGINES
        .iter()
        .copied()
        .filter(|engine| engine.generates() && engine.takes() == engine::Takes::Onnx)
        .collect();
    assert!(graph_engines.len() >= 3);
    for config in configurations() {
        let name = folder(home.path(), &config).to_string_lossy().into_owned();
        let request = models::Request {
            offline: true,
            ..models::Request::new(&name, home.path().join("cache"))
        };
        let whole = models::resolve(&request, &mut |_| {}).unwrap();
        let generating = models::Request { generates: true, ..request };
        let resolve = |dialect| {
            let request = models::Request { dialect, ..generating.clone() };
            models::resolve(&request, &mut |_| {}).unwrap()
        };
        let cached = resolve(DecoderDialect::Standard);
        let fused = resolve(DecoderDialect::Fused);
        // No fused attention normalises queries and keys head by head, as Gemma does.
        let is_fusible = config["model_type"] != "gemma3_text";
        assert_eq!(fused.decoder.as_ref().unwrap().reach, is_fusible.then_some(64));
        let attentions = fused.model.graph.nodes.iter().filter(|node| !node.is_standard());
        assert_eq!(attentions.count(), if is_fusible { 3 } else { 0 }, "one for each layer");
        assert_eq!(whole.info.fingerprint, cached.info.fingerprint);
        assert_eq!(whole.info.fingerprint, fused.info.fingerprint);
        assert_eq!(fused.info.parameters, cached.info.parameters);
        // Our graphs keep what is behind a window and hide it: they hold the cache of a model without one.
        let shape = &cached.decoder.as_ref().unwrap().shape;
        let shape = &DecoderShape { window: None, sliding_layers: 0, ..shape.clone() };
        for engine in &graph_engines {
            let Host::Worker(loader) = engine.host() else { continue };
            let load = |onnx: &Path| LoadRequest {
                places: places(),
                ..LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, 2)
            };
            let wanted = engine.decoder_dialect(Device::Cpu);
            for dialect in [DecoderDialect::Standard, DecoderDialect::Fused] {
                let cached = match dialect {
                    DecoderDialect::Standard => &cached,
                    // Nobody else is given such a graph.
                    DecoderDialect::Fused if wanted != dialect || !is_fusible => continue,
                    DecoderDialect::Fused => &fused,
                };
                let subject = GeneratorSubject {
                    loader,
                    cached: &load(&cached.onnx),
                    whole: &load(&whole.onnx),
                    dialect,
                    shape,
                    tolerance: 1e-4,
                };
                let broken = check_generator(&subject).map_err(|error| format!("{error:?}"));
                assert_eq!(broken, Ok(Vec::new()), "{} on {name}, {dialect:?}", engine.id());
            }
        }
    }
}

/// Small files of llama.cpp with weights in blocks.
fn files(folder: &Path) -> Vec<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = std::process::Command::new(places().python.unwrap())
        .arg(manifest.join("../models/tests/python/make_gguf.py"))
        .arg(folder)
        .args(["llama-Q4_1", "qwen2-Q8_0"])
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the Python script failed:\n{talk}");
    ["llama-Q4_1.gguf", "qwen2-Q8_0.gguf"].map(|name| folder.join(name)).to_vec()
}

#[test]
fn weights_in_blocks_generate_on_every_engine_that_has_the_operator() {
    let home = TempDir::new().unwrap();
    let mut count = 0;
    for file in files(home.path()) {
        let request = models::Request {
            offline: true,
            precision: Some(Precision::Stored),
            ..models::Request::new(file.to_string_lossy(), home.path().join("cache"))
        };
        let whole = models::resolve(&request, &mut |_| {}).unwrap();
        for engine in ENGINES.iter().filter(|engine| engine.takes() == engine::Takes::Onnx) {
            if !engine.precisions(&places(), Device::Cpu).contains(&Precision::Stored) {
                continue;
            }
            let Host::Worker(loader) = engine.host() else { continue };
            let dialect = engine.decoder_dialect(Device::Cpu);
            // As for an engine that wants more rows than the matrices have.
            let filled = models::Request { filled_rows: 96, ..request.clone() };
            let generating = models::Request { generates: true, dialect, ..filled };
            let cached = models::resolve(&generating, &mut |_| {}).unwrap();
            let load = |onnx: &Path| LoadRequest {
                places: places(),
                ..LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Stored, 2)
            };
            let subject = GeneratorSubject {
                loader,
                cached: &load(&cached.onnx),
                whole: &load(&whole.onnx),
                dialect,
                shape: &cached.decoder.as_ref().unwrap().shape,
                // Activations of one row are rounded to 8 bits, those of several are not.
                tolerance: 0.05,
            };
            let broken = check_generator(&subject).map_err(|error| format!("{error:?}"));
            assert_eq!(broken, Ok(Vec::new()), "{} on {}", engine.id(), file.display());
            count += 1;
        }
    }
    assert!(count >= 6, "{count}");
}

fn folders(home: &TempDir) -> Folders {
    Folders {
        cache: home.path().join("cache"),
        hub_cache: None,
        database: home.path().join("runs.db"),
        engines: home.path().join("engines"),
    }
}

#[test]
fn prefill_and_decode_are_runs_of_their_own_that_are_kept() {
    let home = TempDir::new().unwrap();
    let model = folder(home.path(), &configurations()[0]);
    let profiler = Profiler::new(model.to_string_lossy())
        .isolation(Isolation::None)
        .offline(true)
        .engine("rten")
        .folders(folders(&home))
        .warmup(1)
        .runs(24);
    let mut session = Session::with_store(&folders(&home).database).unwrap();
    let tests =
        GenerationTests::new(profiler).prompts([8]).tokens([12]).depths([0, 20]).batches([1, 2]);
    let found = tests.run(&mut session, &mut |_| {}).unwrap();
    assert_eq!(found.refused, Vec::new());
    let names: Vec<String> = found
        .runs
        .iter()
        .map(|run| format!("{} × {}", run.cell.generation.unwrap(), run.cell.batch_size))
        .collect();
    assert_eq!(
        names,
        [
            "pp8 × 1",
            "tg12 × 1",
            "pp8 @ d20 × 1",
            "tg12 @ d20 × 1",
            "pp8 × 2",
            "tg12 × 2",
            "pp8 @ d20 × 2",
            "tg12 @ d20 × 2"
        ]
    );
    for run in &found.runs {
        let generation = run.cell.generation.unwrap();
        assert_eq!(run.cell.mode, Mode::Generate);
        let report = run.generation.as_ref().unwrap();
        // Keys and values of 3 layers with 2 heads of 16 numbers of 4 bytes.
        assert_eq!(report.cache_per_token.0, 2 * 3 * 2 * 16 * 4);
        assert_eq!(report.cache_kept, "by the engine, appended in place");
        assert_eq!(report.growth, None, "12 steps say nothing of growth");
        let stored = session.store().unwrap().run(&run.id.0).unwrap();
        assert_eq!(stored.cell, run.cell);
        assert_eq!(stored.generation, run.generation);
        let tokens = run.metric(types::key::THROUGHPUT_TOKENS).unwrap().value.unwrap();
        let each = (run.cell.batch_size * generation.tokens_per_sample()) as f64;
        assert!((tokens * run.headline().unwrap().mean / each - 1.0).abs() < 1e-9);
        let first = run.metric(types::key::FIRST_TOKEN).and_then(|metric| metric.value);
        assert_eq!(first.is_some(), generation.test == GenerationTest::Prefill);
    }
}

#[test]
fn every_engine_with_instruments_tells_the_layers_of_a_step_and_of_a_prompt() {
    let home = TempDir::new().unwrap();
    let model = folder(home.path(), &configurations()[0]);
    // Not rten: its log is what it prints, which the harness of tests takes away. A test of the command has it.
    let engines = [("onnxruntime", None), ("onnxruntime", Some("standard")), ("openvino", None)];
    let mut expected: Vec<u64> = Vec::new();
    for (engine, dialect) in engines.into_iter().chain([("torch", None)]) {
        let mut profiler = Profiler::new(model.to_string_lossy())
            .isolation(Isolation::None)
            .places(places())
            .offline(true)
            .engine(engine)
            .folders(folders(&home))
            .inside(modelmeter::Inside { layers: true, ..modelmeter::Inside::default() })
            .warmup(1)
            .runs(24);
        if let Some(dialect) = dialect {
            let settings = [("decoder".to_owned(), dialect.to_owned())].into();
            profiler = profiler.options(types::EngineOptions { settings, ..Default::default() });
        }
        let tests = GenerationTests::new(profiler).prompts([4]).tokens([12]).depths([8]);
        let found = tests.run(&mut Session::without_store(), &mut |_| {}).unwrap();
        assert_eq!(found.runs.len(), 2, "{engine}: {:?}", found.refused);
        for run in &found.runs {
            let layers =
                run.layers.as_ref().unwrap_or_else(|| panic!("{engine}: {:?}", run.verdict));
            let has = |part: &str| layers.layers.iter().any(|layer| layer.path.contains(part));
            assert!(has("self_attn") && has("mlp"), "{engine}: {:?}", layers.layers);
            assert_eq!(
                run.steps().is_empty(),
                run.cell.generation.unwrap().test == GenerationTest::Prefill
            );
        }
        // Every dialect counts all of the work.
        let work = |run: &types::Run| {
            let layers = &run.layers.as_ref().unwrap().layers;
            let outermost = layers.iter().filter(|layer| layer.depth == 0);
            outermost.filter_map(|layer| layer.spent.flops).map(|flops| flops.0).sum::<u64>()
        };
        let counted: Vec<u64> = found.runs.iter().map(work).collect();
        if expected.is_empty() {
            expected.clone_from(&counted);
        }
        for (counted, expected) in counted.iter().zip(&expected) {
            assert!(*counted as f64 > 0.9 * *expected as f64, "{engine}: {counted} of {expected}");
        }
        // The first inference and one step of warm-up came before.
        assert_eq!(found.runs[1].steps()[0].0, 8 + 2, "{engine}");
    }
}

#[test]
fn what_cannot_be_generated_is_said_plainly() {
    let home = TempDir::new().unwrap();
    let model = folder(home.path(), &configurations()[3]);
    let profiler = |model: &str| {
        Profiler::new(model)
            .isolation(Isolation::None)
            .offline(true)
            .engine("rten")
            .folders(folders(&home))
            .runs(11)
    };
    let refused = |profiler: Profiler, tokens: usize| {
        let tests = GenerationTests::new(profiler).prompts([0]).tokens([tokens]);
        tests.run(&mut Session::without_store(), &mut |_| {}).unwrap_err().to_string()
    };
    let name = model.to_string_lossy().into_owned();
    let long = refused(profiler(&name), 65);
    assert_eq!(
        long,
        "`gpt2` takes 64 tokens, 65 were requested (depth and prompt or generated tokens together)"
    );
    let base = refused(profiler("feed-forward-baseline"), 4);
    assert!(base.contains("`feed-forward-baseline` does not generate text"), "{base}");
    let without = refused(profiler(&name).text(["hello"]), 4);
    assert!(without.contains("tokenizer"), "{without}");
}
