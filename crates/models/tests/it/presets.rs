//! Presets and descriptions: the published numbers, random weights, the cache.

use crate::scene::Scene;
use models::{ModelError, PRESETS};
use std::fs;
use types::{Category, ModelSource, Weights};

#[test]
fn parameters_are_the_published_ones() {
    // Counted by `sum(p.numel() for p in model.parameters())` on the class that the preset builds.
    let published = [
        ("bert-base-uncased", 109_482_240),
        ("distilbert-base-uncased", 66_362_880),
        ("microsoft/MiniLM-L12-H384-uncased", 33_360_000),
        ("sentence-transformers/all-MiniLM-L6-v2", 22_713_216),
        ("roberta-base", 124_645_632),
        ("gpt2", 124_439_808),
        ("t5-small", 60_506_624),
        ("google/vit-base-patch16-224", 86_567_656),
        ("openai/clip-vit-base-patch32", 151_277_313),
        ("microsoft/resnet-50", 25_557_032),
        ("hustvl/yolos-tiny", 6_488_736),
        ("openai/whisper-tiny", 8_208_384),
        // Without the vector that hides moments in pre-training.
        ("facebook/wav2vec2-base", 94_370_944),
        ("HuggingFaceTB/SmolLM2-135M", 134_515_008),
        (
            "feed-forward-baseline",
            512 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 512 + 512,
        ),
    ];
    let summaries = models::preset_summaries().unwrap();
    assert_eq!(summaries.len(), PRESETS.len());
    for (name, parameters) in published {
        let summary = summaries.iter().find(|summary| summary.preset.name == name).unwrap();
        assert_eq!(summary.parameters, parameters, "{name}");
    }
    for summary in &summaries {
        assert!(
            summary.work.flops.0 > summary.parameters / 4,
            "{}: {:?}",
            summary.preset.name,
            summary.work
        );
    }
    let flops =
        |name| summaries.iter().find(|summary| summary.preset.name == name).unwrap().work.flops.0;
    // Products of the linear layers alone: 2 × rows × width × width'.
    assert!(
        flops("feed-forward-baseline") >= 2 * (512 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 512)
    );
    let layers = 12 * (4 * 768 * 768 + 2 * 768 * 3072);
    assert!(flops("bert-base-uncased") >= 2 * 128 * layers);
    assert!(flops("bert-base-uncased") <= 3 * 128 * layers);
}

#[test]
fn a_reference_model_runs_on_random_weights_and_says_so() {
    let scene = Scene::new();
    let resolved = scene.resolve("encoder-small").unwrap();
    assert_eq!(resolved.info.weights, Weights::Random { seed: 0 });
    assert_eq!(resolved.info.source, ModelSource::Preset);
    assert_eq!(resolved.info.category, Category::Reference);
    assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);
    assert_eq!((resolved.max_length, resolved.default_length), (Some(256), Some(128)));
    let size = fs::metadata(resolved.onnx.with_file_name("model.safetensors.data")).unwrap().len();
    assert!(size >= 4 * resolved.info.parameters && size <= resolved.info.size.0);
    assert!(resolved.inputs(2, None, &[]).unwrap().iter().all(|input| input.dims == [2, 128]));
}

#[test]
fn the_data_file_is_safetensors_in_the_graphs_layout_and_aligned() {
    let scene = Scene::new();
    let resolved = scene.resolve("encoder-small").unwrap();
    let bytes = fs::read(resolved.onnx.with_file_name("model.safetensors.data")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let weights = resolved
        .model
        .graph
        .initializers
        .iter()
        .filter(|tensor| matches!(tensor.data, graph::TensorData::External { .. }));
    let mut count = 0;
    for tensor in weights {
        let stored = file.tensor(&tensor.name).unwrap();
        assert_eq!(stored.shape(), tensor.dims);
        assert_eq!(*resolved.model.bytes(tensor).unwrap(), *stored.data());
        let offset = stored.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert!(
            offset.is_multiple_of(64) || tensor.dims.iter().product::<usize>() % 16 != 0,
            "{offset}"
        );
        count += 1;
    }
    assert_eq!(count, file.len());
    let read = graph::Model::read(&resolved.onnx).unwrap();
    assert_eq!(read.graph.nodes.len(), resolved.model.graph.nodes.len());
    assert_eq!(read.graph.initializers.len(), resolved.model.graph.initializers.len());
}

#[test]
fn the_second_time_nothing_is_written() {
    let scene = Scene::new();
    let (first, written) = scene.resolve_counting("encoder-small");
    let (second, again) = scene.resolve_counting("encoder-small");
    assert!(written > 0);
    assert_eq!(again, 0);
    assert_eq!(first.info, second.info);
    assert_eq!(first.onnx, second.onnx);
}

#[test]
fn a_damaged_prepared_model_is_made_again() {
    let scene = Scene::new();
    let (first, _) = scene.resolve_counting("encoder-small");
    let data = first.onnx.with_file_name("model.safetensors.data");
    let whole = fs::read(&data).unwrap();
    fs::write(&data, &whole[..whole.len() - 1]).unwrap();
    let (second, written) = scene.resolve_counting("encoder-small");
    assert!(written > 0);
    assert_eq!(second.onnx, first.onnx);
    assert_eq!(fs::read(&data).unwrap(), whole);
}

#[test]
fn the_seed_decides_the_weights() {
    let scene = Scene::new();
    let mut request = scene.request("feed-forward-baseline");
    let first = models::resolve(&request, &mut |_| {}).unwrap();
    request.seed = 1;
    let second = models::resolve(&request, &mut |_| {}).unwrap();
    assert_ne!(first.info.fingerprint, second.info.fingerprint);
    let data =
        |onnx: &std::path::Path| fs::read(onnx.with_file_name("model.safetensors.data")).unwrap();
    assert_ne!(data(&first.onnx), data(&second.onnx));
    let elsewhere = Scene::new().resolve("feed-forward-baseline").unwrap();
    assert_eq!(first.info.fingerprint, elsewhere.info.fingerprint);
}

#[test]
fn two_at_once_prepare_the_same_model() {
    let scene = Scene::new();
    let request = scene.request("encoder-small");
    let prepare = || models::resolve(&request, &mut |_| {}).unwrap();
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(prepare);
        (prepare(), other.join().unwrap())
    });
    assert_eq!(first.onnx, second.onnx);
    let names: Vec<_> = fs::read_dir(scene.path("cache/models")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "something unfinished was left behind");
    graph::Model::read(&first.onnx).unwrap();
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let scene = Scene::new();
    scene.write("cache", "a file where a folder should be");
    let error = scene.resolve("encoder-small").unwrap_err();
    assert!(matches!(error, ModelError::Write { .. }), "{error}");
    assert!(error.to_string().contains("cache"), "{error}");
}

#[test]
fn a_preset_that_is_nowhere_to_be_found_says_why() {
    let scene = Scene::new();
    let resolved = scene.resolve("minilm").unwrap();
    assert_eq!(resolved.info.name, "sentence-transformers/all-MiniLM-L6-v2");
    assert!(resolved.remarks[0].text.contains("offline"), "{:?}", resolved.remarks);
    assert!(resolved.tokenizer.is_none());
    assert_eq!(resolved.postprocess, types::Postprocess::MeanPool);
}

#[test]
fn a_description_becomes_a_model() {
    let scene = Scene::new();
    let path = scene.write("net.toml", "input_size = 4\nhidden_layers = [8]\noutput_size = 2\n");
    let resolved = scene.resolve(&path).unwrap();
    assert_eq!(
        (resolved.info.name.as_str(), resolved.info.parameters),
        ("net", 4 * 8 + 8 + 8 * 2 + 2)
    );
    assert_eq!(resolved.default_length, None);
    assert_eq!(resolved.inputs(3, None, &[]).unwrap()[0].dims, [3, 4]);
    assert!(matches!(resolved.info.source, ModelSource::Description { .. }));
    let path = scene.write("typo.toml", "input_size = 4\nhidden_layer = [8]\noutput_size = 2\n");
    let error = scene.resolve(&path).unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean `hidden_layers`?");
}

#[test]
fn a_length_above_the_maximum_and_zero_are_refused() {
    let scene = Scene::new();
    let resolved = scene.resolve("encoder-small").unwrap();
    assert!(resolved.inputs(1, Some(256), &[]).is_ok());
    let error = resolved.inputs(1, Some(257), &[]).unwrap_err();
    assert_eq!(error.to_string(), "a length of 257 is above the 256 that `encoder-small` allows");
    assert_eq!(error.hint().unwrap(), "use `--sequence-length 256` or less");
    assert!(matches!(resolved.inputs(0, None, &[]), Err(ModelError::ZeroBatch)));
    assert!(matches!(resolved.inputs(1, Some(0), &[]), Err(ModelError::ZeroLength)));
}
