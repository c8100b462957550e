//! Inputs and what PyTorch answers to them.

use rten::Value;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::{collections::BTreeMap, path::Path};

/// Numbers with their dimensions.
#[derive(Debug, Clone)]
struct Array {
    dims: Vec<usize>,
    numbers: Vec<f32>,
}

/// One set of inputs with the outputs that belong to it.
#[derive(Debug, Default)]
struct Case {
    inputs: BTreeMap<String, Array>,
    /// Which inputs are whole numbers.
    integers: Vec<String>,
    outputs: BTreeMap<String, Array>,
    /// 1 at the leading places of an output that count.
    keep: BTreeMap<String, Array>,
}

/// All cases of one model.
pub(crate) struct Answers(BTreeMap<String, Case>);

impl Answers {
    pub(crate) fn read(path: &Path) -> Answers {
        let bytes = std::fs::read(path).unwrap();
        let mut cases: BTreeMap<String, Case> = BTreeMap::new();
        for (key, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
            let [case, role, name]: [&str; 3] =
                key.splitn(3, '.').collect::<Vec<_>>().try_into().unwrap();
            let case = cases.entry(case.to_owned()).or_default();
            let (name, array) = (name.to_owned(), Array::from(&view));
            match role {
                "in" => {
                    if view.dtype() == Dtype::I64 {
                        case.integers.push(name.clone());
                    }
                    case.inputs.insert(name, array)
                }
                "out" => case.outputs.insert(name, array),
                "keep" => case.keep.insert(name, array),
                other => panic!("{other}"),
            };
        }
        assert!(!cases.is_empty());
        Answers(cases)
    }

    /// The largest difference over all cases, outputs and places that count.
    pub(crate) fn largest_difference(&self, model: &rten::Model) -> f32 {
        let mut largest = 0.0_f32;
        for case in self.0.values() {
            assert_eq!(case.outputs.len(), model.output_ids().len(), "every output is compared");
            for (name, expected) in &case.outputs {
                let found = case.run(model, name, expected.dims.len());
                assert_eq!(found.dims, expected.dims, "{name}");
                let difference = expected.largest_difference(&found, case.keep.get(name));
                // `max` would pass over NaN.
                largest = if difference <= largest { largest } else { difference };
            }
        }
        largest
    }

    /// The smallest cosine over all cases and outputs, at the places that count.
    pub(crate) fn smallest_cosine(&self, model: &rten::Model) -> f64 {
        let mut smallest = 1.0_f64;
        for case in self.0.values() {
            for (name, expected) in &case.outputs {
                let found = case.run(model, name, expected.dims.len());
                assert_eq!(found.dims, expected.dims, "{name}");
                let cosine = expected.cosine(&found, case.keep.get(name));
                // `min` would pass over NaN.
                smallest = if cosine >= smallest { smallest } else { cosine };
            }
        }
        smallest
    }

    /// Cosines between our mean-pooled token vectors and the expected sentence vectors.
    pub(crate) fn sentence_cosines(&self, model: &rten::Model) -> Vec<f64> {
        let case = &self.0["0"];
        let hidden = case.run(model, "last_hidden_state", 3);
        let mask = &case.inputs["attention_mask"];
        let [_, length, width] = hidden.dims[..] else { panic!("{:?}", hidden.dims) };
        let expected = case.outputs["sentences"].numbers.chunks(width);
        expected
            .enumerate()
            .map(|(row, expected)| {
                let mut sum = vec![0.0_f64; width];
                for place in (0..length).filter(|place| mask.numbers[row * length + place] == 1.0) {
                    let start = (row * length + place) * width;
                    for (sum, x) in sum.iter_mut().zip(&hidden.numbers[start..start + width]) {
                        *sum += f64::from(*x);
                    }
                }
                let expected: Vec<f64> = expected.iter().map(|x| f64::from(*x)).collect();
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                dot(&sum, &expected) / (dot(&sum, &sum) * dot(&expected, &expected)).sqrt()
            })
            .collect()
    }
}

impl Case {
    fn run(&self, model: &rten::Model, output: &str, rank: usize) -> Array {
        let inputs = self
            .inputs
            .iter()
            .map(|(name, array)| {
                let value = if self.integers.contains(name) {
                    let integers: Vec<i32> = array.numbers.iter().map(|x| *x as i32).collect();
                    Value::from_shape(&array.dims, integers).unwrap()
                } else {
                    Value::from_shape(&array.dims, array.numbers.clone()).unwrap()
                };
                (model.node_id(name).unwrap(), value.into())
            })
            .collect();
        let output = model.node_id(output).unwrap();
        let [value] = model.run_n(inputs, [output], None).unwrap();
        Array::from_value(value, rank)
    }
}

impl Array {
    /// What a model gave, which must have `rank` dimensions.
    fn from_value(value: Value, rank: usize) -> Array {
        fn array<const N: usize>(value: Value) -> Array {
            let (dims, numbers) = value.into_shape_vec::<f32, N>().unwrap();
            Array { dims: dims.to_vec(), numbers }
        }
        match rank {
            2 => array::<2>(value),
            3 => array::<3>(value),
            4 => array::<4>(value),
            other => panic!("no output has {other} dimensions"),
        }
    }

    /// The cosine over the places that `keep` (over the leading dimensions) counts.
    fn cosine(&self, other: &Array, keep: Option<&Array>) -> f64 {
        let width = self.numbers.len() / keep.map_or(1, |keep| keep.numbers.len());
        let counts = |index: usize| keep.is_none_or(|keep| keep.numbers[index / width] != 0.0);
        let dot = |a: &Array, b: &Array| -> f64 {
            let pairs = a.numbers.iter().zip(&b.numbers).enumerate();
            let pairs = pairs.filter(|(index, _)| counts(*index));
            pairs.map(|(_, (a, b))| f64::from(*a) * f64::from(*b)).sum()
        };
        dot(self, other) / (dot(self, self) * dot(other, other)).sqrt()
    }

    /// The largest difference at the places that `keep` (over the leading dimensions) counts.
    fn largest_difference(&self, other: &Array, keep: Option<&Array>) -> f32 {
        let kept = keep.map_or(1, |keep| keep.numbers.len());
        let width = self.numbers.len() / kept;
        let places = self.numbers.chunks(width).zip(other.numbers.chunks(width));
        let mut largest = 0.0_f32;
        for (place, (ours, theirs)) in places.enumerate() {
            if keep.is_some_and(|keep| keep.numbers[place] == 0.0) {
                continue;
            }
            for (a, b) in ours.iter().zip(theirs) {
                let difference = (a - b).abs();
                largest = if difference <= largest { largest } else { difference };
            }
        }
        largest
    }
}

impl From<&TensorView<'_>> for Array {
    fn from(view: &TensorView) -> Array {
        let numbers = match view.dtype() {
            Dtype::F32 => {
                view.data().as_chunks::<4>().0.iter().map(|c| f32::from_le_bytes(*c)).collect()
            }
            Dtype::I64 => view
                .data()
                .as_chunks::<8>()
                .0
                .iter()
                .map(|c| i64::from_le_bytes(*c) as f32)
                .collect(),
            Dtype::U8 => view.data().iter().map(|byte| f32::from(*byte)).collect(),
            other => panic!("{other:?}"),
        };
        Array { dims: view.shape().to_vec(), numbers }
    }
}
