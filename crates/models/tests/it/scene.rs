//! Folders, checkpoints and graphs that the tests make for themselves.

use graph::{DataType, Dim, GraphBuilder, Model, Tensor};
use models::{Progress, Request, Resolved};
use safetensors::{Dtype, tensor::TensorView};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A folder with a cache and room for models; it goes away with the test.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A request that never leaves this machine.
    pub(crate) fn request(&self, name: impl AsRef<Path>) -> Request {
        Request {
            offline: true,
            hub_cache: Some(self.path("hub")),
            ..Request::new(name.as_ref().to_str().unwrap(), self.path("cache"))
        }
    }

    pub(crate) fn resolve(&self, name: impl AsRef<Path>) -> Result<Resolved, models::ModelError> {
        models::resolve(&self.request(name), &mut |_| {})
    }

    /// Resolves and counts the bytes that were prepared.
    pub(crate) fn resolve_counting(&self, name: impl AsRef<Path>) -> (Resolved, u64) {
        let mut prepared = 0;
        let resolved = models::resolve(&self.request(name), &mut |progress| {
            if let Progress::Preparing { done, .. } = progress {
                prepared = done;
            }
        });
        (resolved.unwrap(), prepared)
    }

    /// A small BERT with every weight counted up from its own place.
    pub(crate) fn bert(
        &self,
        folder: &str,
        dtype: Dtype,
    ) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
        self.write(&format!("{folder}/config.json"), TINY_BERT);
        let weights = checkpoint_of(TINY_BERT);
        self.write(&format!("{folder}/model.safetensors"), safetensors(&weights, dtype));
        weights
    }
}

pub(crate) const TINY_BERT: &str = r#"{
    "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 40, "hidden_size": 8,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16,
    "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12
}"#;

/// Weights as a checkpoint of this configuration keeps them: by name, with shape and values.
pub(crate) fn checkpoint_of(config: &str) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let blueprint = models::build(&serde_json::from_str(config).unwrap()).unwrap();
    blueprint
        .weights
        .iter()
        .enumerate()
        .map(|(index, weight)| {
            let mut dims = weight.dims.clone();
            if weight.layout == models::Layout::Transposed {
                dims.reverse();
            }
            let count: usize = dims.iter().product();
            // Exact in every float type.
            let values = (0..count).map(|place| ((index + place) % 64) as f32 / 64.0).collect();
            (weight.checkpoint[0].clone(), (dims, values))
        })
        .collect()
}

pub(crate) fn safetensors(
    weights: &BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    dtype: Dtype,
) -> Vec<u8> {
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = weights
        .iter()
        .map(|(name, (dims, values))| (name.clone(), dims.clone(), encode(values, dtype)))
        .collect();
    let views = bytes
        .iter()
        .map(|(name, dims, bytes)| (name, TensorView::new(dtype, dims.clone(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

fn encode(values: &[f32], dtype: Dtype) -> Vec<u8> {
    let value = |&value: &f32| match dtype {
        Dtype::F32 => value.to_le_bytes().to_vec(),
        Dtype::F64 => f64::from(value).to_le_bytes().to_vec(),
        Dtype::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
        Dtype::BF16 => half::bf16::from_f32(value).to_le_bytes().to_vec(),
        Dtype::I32 => (value as i32).to_le_bytes().to_vec(),
        other => panic!("no encoder for {other}"),
    };
    values.iter().flat_map(value).collect()
}

/// A dimension: a number, a name, or `?` for one that is not declared.
pub(crate) fn dim(text: &str) -> Dim {
    match text.parse() {
        Ok(size) => Dim::Fixed(size),
        Err(_) if text == "?" => Dim::Unknown,
        Err(_) => Dim::Symbol(text.to_owned()),
    }
}

/// A graph whose inputs all lead to an output of their own.
pub(crate) fn passing(inputs: &[(&str, DataType, &[&str])]) -> Model {
    let mut builder = GraphBuilder::new("passing");
    for (name, dtype, dims) in inputs {
        let dims: Vec<Dim> = dims.iter().map(|text| dim(text)).collect();
        let input = builder.input(name, *dtype, &dims);
        let output = builder.node("Identity", &[&input], &[]);
        builder.output(&format!("{name}_out"), &output, *dtype, &dims);
    }
    builder.finish_model()
}

/// A graph that looks token ids up in a table of 50 rows, the ids cast on the way.
pub(crate) fn embedding(dims: &[&str]) -> Model {
    let mut builder = GraphBuilder::new("embedding");
    let dims: Vec<Dim> = dims.iter().map(|text| dim(text)).collect();
    let ids = builder.input("input_ids", DataType::Int64, &dims);
    let mask = builder.input("attention_mask", DataType::Int64, &dims);
    let types = builder.input("token_type_ids", DataType::Int64, &dims);
    let table = builder.initializer(Tensor::from_f32s("table", &[50, 2], &[0.5; 100]));
    let cast = builder.node("Cast", &[&ids], &[("to", 6.into())]);
    let rows = builder.node("Gather", &[&table, &cast], &[("axis", 0.into())]);
    builder.output("last_hidden_state", &rows, DataType::Float, &[]);
    builder.output("mask", &mask, DataType::Int64, &dims);
    builder.output("types", &types, DataType::Int64, &dims);
    builder.finish_model()
}
