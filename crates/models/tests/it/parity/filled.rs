//! A blueprint with the weights of a checkpoint put in.

use graph::{DataType, Model, Tensor};
use modelmeter_models::{Blueprint, Layout, Weight};
use safetensors::{SafeTensors, tensor::TensorView};
use std::{collections::BTreeSet, path::Path};

/// A graph with its weights.
pub(crate) struct Filled {
    pub(crate) model: Model,
    /// Tensors of the checkpoint that no weight asked for.
    pub(crate) unused: Vec<String>,
}

/// Puts a checkpoint's weights into a blueprint.
pub(crate) fn fill(blueprint: Blueprint, checkpoint: &Path) -> Filled {
    let bytes = std::fs::read(checkpoint).unwrap();
    let checkpoint = SafeTensors::deserialize(&bytes).unwrap();
    let mut unused: BTreeSet<String> = checkpoint.names().iter().map(ToString::to_string).collect();
    let mut model = blueprint.model;
    for weight in &blueprint.weights {
        let (name, view) = weight
            .checkpoint
            .iter()
            .find_map(|name| checkpoint.tensor(name).ok().map(|view| (name, view)))
            .unwrap_or_else(|| panic!("`{}` is not in the checkpoint", weight.name));
        unused.remove(name);
        model.graph.initializers.push(tensor(weight, &view));
    }
    Filled { model, unused: unused.into_iter().collect() }
}

fn tensor(weight: &Weight, view: &TensorView) -> Tensor {
    let stored = view.shape();
    let bytes = match weight.layout {
        Layout::AsStored => {
            assert_eq!(stored, weight.dims, "{}", weight.name);
            view.data().to_vec()
        }
        Layout::Transposed => {
            let [columns, rows] = weight.dims[..] else { panic!("{} is no matrix", weight.name) };
            assert_eq!(stored, [rows, columns], "{}", weight.name);
            let (elements, _) = view.data().as_chunks::<4>();
            (0..columns)
                .flat_map(|column| (0..rows).map(move |row| row * columns + column))
                .flat_map(|place| elements[place])
                .collect()
        }
    };
    Tensor::from_bytes(&weight.name, DataType::Float, &weight.dims, bytes)
}

impl Filled {
    /// The model on `rten`, by way of an ONNX file.
    pub(crate) fn load(&self, name: &str) -> rten::Model {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        self.model.write(&path).unwrap();
        rten::Model::load_file(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
