//! One training step on `rten`: forward, loss and backward, with tensors passed by name.

use super::{ROUNDING, TOLERANCE};
use graph::{GradientForm, TrainingGraphs};
use rten::Value;
use rten_tensor::{AsView, Tensor};
use safetensors::{Dtype, SafeTensors};
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

/// Makes what the backward graph takes in another form.
fn prepare(graphs: &TrainingGraphs, values: &mut HashMap<String, Value>) {
    for value in &graphs.prepared {
        let tensor: Tensor<f32> = values[&value.of].clone().try_into().unwrap();
        let mut numbers = tensor.to_vec();
        if let (true, [rows, columns]) = (value.turned, value.dims.as_slice()) {
            let places = (0..rows * columns).map(|at| at / columns + at % columns * rows);
            numbers = places.map(|at| numbers[at]).collect();
        }
        let tensor = Tensor::from_data(value.dims.as_slice(), numbers);
        values.insert(value.name.clone(), Value::from(tensor));
    }
}

/// What PyTorch took and gave: inputs, weights, labels, the loss and the gradients.
pub(crate) struct Step {
    tensors: HashMap<String, Value>,
    expected: BTreeMap<String, Vec<f32>>,
    loss: f32,
}

/// What our graphs gave.
pub(crate) struct Found {
    gradients: BTreeMap<String, Vec<f32>>,
    loss: f32,
}

impl Step {
    /// What Python left beside the graphs.
    pub(crate) fn read(folder: &Path, target: &str) -> Step {
        let bytes = std::fs::read(folder.join(target).join("step.safetensors")).unwrap();
        let mut step = Step { tensors: HashMap::new(), expected: BTreeMap::new(), loss: f32::NAN };
        for (key, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
            let floats = || -> Vec<f32> {
                let (chunks, _) = view.data().as_chunks::<4>();
                chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
            };
            let (role, name) = key.split_once(':').unwrap();
            match role {
                "gradient" => drop(step.expected.insert(name.to_owned(), floats())),
                "loss" => step.loss = floats()[0],
                _ => {
                    let value = if view.dtype() == Dtype::I64 {
                        let (chunks, _) = view.data().as_chunks::<8>();
                        let numbers: Vec<i32> =
                            chunks.iter().map(|chunk| i64::from_le_bytes(*chunk) as i32).collect();
                        Value::from(Tensor::from_data(view.shape(), numbers))
                    } else {
                        Value::from(Tensor::from_data(view.shape(), floats()))
                    };
                    step.tensors.insert(name.to_owned(), value);
                }
            }
        }
        assert!(!step.expected.is_empty());
        step
    }

    pub(crate) fn run(&self, graphs: &TrainingGraphs, folder: &Path) -> Found {
        let mut values: HashMap<String, Value> = HashMap::new();
        for (name, value) in &self.tensors {
            values.insert(name.clone(), value.clone());
        }
        values.insert(graphs.loss_scale.clone(), Value::from(Tensor::from(1.0f32)));
        for name in ["forward", "loss", "backward"] {
            if name == "backward" {
                prepare(graphs, &mut values);
            }
            let model = rten::Model::load_file(folder.join(format!("{name}.onnx")))
                .unwrap_or_else(|error| panic!("{}: {name}: {error}", folder.display()));
            let ids = model.input_ids().iter();
            let inputs = ids
                .map(|id| {
                    let name = model.node_info(*id).unwrap().name().unwrap().to_owned();
                    let value = values.get(&name).unwrap_or_else(|| panic!("no `{name}`"));
                    (*id, value.clone().into())
                })
                .collect();
            let outputs = model
                .run(inputs, model.output_ids(), None)
                .unwrap_or_else(|error| panic!("{}: {name}: {error}", folder.display()));
            for (id, value) in model.output_ids().iter().zip(outputs) {
                values.insert(model.node_info(*id).unwrap().name().unwrap().to_owned(), value);
            }
        }
        let floats = |name: &str| -> Vec<f32> {
            let tensor: Tensor<f32> = values[name].clone().try_into().unwrap();
            tensor.to_vec()
        };
        let integers = |name: &str| -> Vec<i32> {
            let tensor: Tensor<i32> = values[name].clone().try_into().unwrap();
            tensor.to_vec()
        };
        let mut gradients = BTreeMap::new();
        for parameter in &graphs.parameters {
            let zeros = || vec![0.0; parameter.dims.iter().product()];
            let (mut gradient, rows) = match &parameter.gradient {
                GradientForm::Dense { gradient } => (floats(gradient), None),
                GradientForm::Rows { indices, values, .. } => (zeros(), Some((indices, values))),
                GradientForm::DenseAndRows { dense, indices, values, .. } => {
                    (floats(dense), Some((indices, values)))
                }
            };
            if let Some((indices, values)) = rows {
                let width = *parameter.dims.last().unwrap();
                for (row, values) in integers(indices).iter().zip(floats(values).chunks(width)) {
                    let start = usize::try_from(*row).unwrap() * width;
                    for (sum, value) in gradient[start..].iter_mut().zip(values) {
                        *sum += value;
                    }
                }
            }
            gradients.insert(parameter.name.clone(), gradient);
        }
        Found { gradients, loss: floats(&graphs.loss_value)[0] }
    }

    pub(crate) fn compare(&self, found: &Found, what: &str) {
        let off = (found.loss - self.loss).abs() / self.loss.abs();
        assert!(off <= 1e-5, "{what}: the loss is {} instead of {}", found.loss, self.loss);
        assert!(found.gradients.len() >= self.expected.len(), "{what}");
        let norm = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>();
        let all = norm(&mut self.expected.values().flatten().map(|x| f64::from(*x))).sqrt();
        for (name, expected) in &self.expected {
            let ours = &found.gradients[name];
            assert_eq!(ours.len(), expected.len(), "{what}: {name}");
            let pairs = ours.iter().zip(expected);
            let error = norm(&mut pairs.map(|(a, b)| f64::from(*a) - f64::from(*b))).sqrt();
            let size = norm(&mut expected.iter().map(|x| f64::from(*x))).sqrt();
            let close = error <= TOLERANCE * size || error <= ROUNDING * all;
            assert!(close, "{what}: the gradient of `{name}` ({size}) is off by {error}");
        }
    }
}
