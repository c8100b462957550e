//! A small model of random weights, its loss as a function of them, and the comparison of slopes.

use modelmeter_graph::{
    Attribute, DataType, GradientForm, GraphBuilder, Loss, Model, Tensor as Weight, TrainingGraphs,
    TrainingPlan, analyse, differentiate,
};
use rten::Value;
use rten_tensor::{AsView, Layout, Tensor};
use std::collections::HashMap;

/// Which random numbers a weight gets.
#[derive(Clone, Copy)]
pub(crate) enum Numbers {
    /// Between −1 and 1.
    Around,
    /// Between 0.5 and 1.5.
    Positive,
    /// Between −1.2 and 1.2, but not near 0.
    OffZero,
    /// All different, 0.15 apart, in random order.
    Apart,
}

/// A source of random numbers that is the same everywhere.
pub(crate) struct Source(u64);

impl From<u64> for Source {
    fn from(seed: u64) -> Source {
        Source(seed)
    }
}

impl Source {
    pub(crate) fn next(&mut self) -> f32 {
        // Constants of Knuth's generator.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32) / (1u64 << 24) as f32
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() * limit as f32) as usize).min(limit.saturating_sub(1))
    }

    fn numbers(&mut self, count: usize, kind: Numbers) -> Vec<f32> {
        if let Numbers::Apart = kind {
            let mut order: Vec<usize> = (0..count).collect();
            for at in (1..count).rev() {
                order.swap(at, self.below(at + 1));
            }
            let middle = count as f32 / 2.0;
            return order.into_iter().map(|place| (place as f32 - middle) * 0.15 + 0.05).collect();
        }
        (0..count)
            .map(|_| match kind {
                Numbers::Positive => 0.5 + self.next(),
                Numbers::OffZero => {
                    let sign = if self.next() < 0.5 { -1.0 } else { 1.0 };
                    sign * (0.2 + self.next())
                }
                _ => self.next() * 2.0 - 1.0,
            })
            .collect()
    }
}

/// A model being built, with its weights' values.
pub(crate) struct Trial {
    pub(crate) graph: GraphBuilder,
    pub(crate) source: Source,
    weights: Vec<(String, Vec<usize>, Vec<f32>)>,
    inputs: HashMap<String, (Value, Vec<usize>)>,
}

impl Trial {
    pub(crate) fn new(seed: u64) -> Trial {
        Trial {
            graph: GraphBuilder::new("trial"),
            source: Source(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678),
            weights: Vec::new(),
            inputs: HashMap::new(),
        }
    }

    /// A weight that is trained.
    pub(crate) fn weight(&mut self, dims: &[usize], kind: Numbers) -> String {
        let name = format!("layer.{}.weight", self.weights.len());
        let values = self.source.numbers(dims.iter().product(), kind);
        self.graph.initializer(Weight::from_f32s(&name, dims, &values));
        self.weights.push((name.clone(), dims.to_vec(), values));
        name
    }

    /// An input of random numbers, which has no gradient.
    pub(crate) fn input(&mut self, dims: &[usize], kind: Numbers) -> String {
        let name = format!("input_{}", self.inputs.len());
        let values = self.source.numbers(dims.iter().product(), kind);
        let value = Value::from(Tensor::from_data(dims, values));
        self.graph.input(&name, DataType::Float, &fixed(dims));
        self.inputs.insert(name.clone(), (value, dims.to_vec()));
        name
    }

    /// An input of indices below `limit`; with `negative`, some count from the end.
    pub(crate) fn indices(&mut self, dims: &[usize], limit: usize, negative: bool) -> String {
        let name = format!("input_{}", self.inputs.len());
        let count = dims.iter().product();
        let values: Vec<i32> = (0..count)
            .map(|_| {
                let index = self.source.below(limit) as i32;
                let turn = negative && self.source.next() < 0.5;
                if turn { index - limit as i32 } else { index }
            })
            .collect();
        self.graph.input(&name, DataType::Int64, &fixed(dims));
        self.inputs
            .insert(name.clone(), (Value::from(Tensor::from_data(dims, values)), dims.to_vec()));
        name
    }

    pub(crate) fn op(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.graph.node(op, inputs, attributes)
    }

    /// Checks the gradients of all weights of the model that ends in `y`.
    pub(crate) fn check(self, y: &str) {
        self.check_with(y, &TrainingPlan { loss: Loss::MeanSquares, ..TrainingPlan::default() });
    }

    pub(crate) fn check_with(mut self, y: &str, plan: &TrainingPlan) {
        self.graph.output("y", y, DataType::Float, &[]);
        let model = self.graph.finish_model();
        let dims: Vec<(String, Vec<usize>)> =
            self.inputs.iter().map(|(name, (_, dims))| (name.clone(), dims.clone())).collect();
        let graphs = differentiate(&model, &dims, plan).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(graphs.untrained, [""; 0]);
        assert_eq!(graphs.parameters.len(), self.weights.len());
        let mut run = Run::new(graphs);
        run.values.extend(self.inputs.into_iter().map(|(name, (value, _))| (name, value)));
        run.draw_masks(&mut self.source);
        for (name, dims, values) in &self.weights {
            run.set(name, dims, values);
        }
        let out: usize = run.graphs.output.dims.iter().product();
        assert!(out > 0, "an empty output has no slope");
        run.labels = self.source.numbers(out, Numbers::Around);
        run.slopes_match(&self.weights, &mut self.source);
    }
}

pub(crate) fn fixed(dims: &[usize]) -> Vec<modelmeter_graph::Dim> {
    dims.iter().map(|dim| (*dim).into()).collect()
}

/// A model on `rten`.
pub(crate) struct Engine(rten::Model);

impl Engine {
    pub(crate) fn load(model: &Model) -> Engine {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model.onnx");
        model.write(&path).expect("the graph is written");
        Engine(rten::Model::load_file(&path).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Runs the model on what it asks for and puts what it gives among the values.
    pub(crate) fn run(&self, values: &mut HashMap<String, Value>) {
        let name = |id| {
            let info = self.0.node_info(id).expect("a known value");
            info.name().expect("a name").to_string()
        };
        let inputs = self.0.input_ids().iter().map(|id| {
            let name = name(*id);
            let value = values.get(&name).unwrap_or_else(|| panic!("no `{name}`"));
            (*id, value.clone().into())
        });
        let outputs = self.0.run(inputs.collect(), self.0.output_ids(), None);
        let outputs = outputs.unwrap_or_else(|error| panic!("{error}"));
        for (id, value) in self.0.output_ids().iter().zip(outputs) {
            values.insert(name(*id), value);
        }
    }
}

pub(crate) fn floats(value: &Value) -> Vec<f32> {
    let tensor: Tensor<f32> = value.clone().try_into().expect("floats");
    tensor.to_vec()
}

/// The graphs of one training step, loaded, with all values.
pub(crate) struct Run {
    pub(crate) graphs: TrainingGraphs,
    forward: Engine,
    loss: Engine,
    backward: Engine,
    pub(crate) values: HashMap<String, Value>,
    pub(crate) labels: Vec<f32>,
}

impl Run {
    pub(crate) fn new(graphs: TrainingGraphs) -> Run {
        for graph in [&graphs.forward, &graphs.loss, &graphs.backward, &graphs.optimizer] {
            let uncovered = analyse(graph, &[]).uncovered;
            assert!(uncovered.is_empty(), "not counted: {uncovered:?}");
        }
        Run {
            forward: Engine::load(&graphs.forward),
            loss: Engine::load(&graphs.loss),
            backward: Engine::load(&graphs.backward),
            values: HashMap::new(),
            labels: Vec::new(),
            graphs,
        }
    }

    pub(crate) fn set(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let tensor = Tensor::from_data(dims, values.to_vec());
        self.values.insert(name.to_string(), Value::from(tensor));
    }

    fn draw_masks(&mut self, source: &mut Source) {
        for mask in self.graphs.masks.clone() {
            let count: usize = mask.dims.iter().product();
            let kept = 1.0 / (1.0 - mask.ratio);
            let draw = |_| if source.next() < mask.ratio { 0.0 } else { kept };
            let numbers: Vec<f32> = (0..count).map(draw).collect();
            self.set(&mask.name, &mask.dims, &numbers);
        }
    }

    /// The mean square, in 64 bits.
    fn mean_square(&mut self) -> f64 {
        self.forward.run(&mut self.values);
        let output = floats(&self.values[&self.graphs.output.name]);
        let squares =
            output.iter().zip(&self.labels).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
        squares.sum::<f64>() / output.len() as f64
    }

    /// The gradient of every parameter.
    pub(crate) fn gradients(&mut self) -> HashMap<String, Vec<f32>> {
        self.forward.run(&mut self.values);
        let dims = self.graphs.labels.dims.clone();
        let name = self.graphs.labels.name.clone();
        let labels = self.labels.clone();
        match self.graphs.labels.classes {
            None => self.set(&name, &dims, &labels),
            Some(_) => {
                let labels: Vec<i32> = labels.iter().map(|label| *label as i32).collect();
                self.values.insert(name, Value::from(Tensor::from_data(&dims[..], labels)));
            }
        }
        let scale = self.graphs.loss_scale.clone();
        self.set(&scale, &[], &[1.0]);
        self.loss.run(&mut self.values);
        self.prepare();
        self.backward.run(&mut self.values);
        for saved in &self.graphs.saved {
            assert_eq!(shape(&self.values[&saved.name]), saved.dims, "{}", saved.name);
        }
        let parameters = self.graphs.parameters.iter();
        parameters.map(|p| (p.name.clone(), self.dense(&p.gradient, &p.dims))).collect()
    }

    /// Makes what the backward graph takes in another form.
    fn prepare(&mut self) {
        for value in self.graphs.prepared.clone() {
            let mut numbers = floats(&self.values[&value.of]);
            if let (true, [rows, columns]) = (value.turned, value.dims.as_slice()) {
                let turned = (0..rows * columns).map(|at| at / columns + at % columns * rows);
                numbers = turned.map(|at| numbers[at]).collect();
            }
            self.set(&value.name, &value.dims, &numbers);
        }
    }

    fn dense(&self, form: &GradientForm, dims: &[usize]) -> Vec<f32> {
        let zeros = || vec![0.0; dims.iter().product()];
        let (mut sum, indices, values) = match form {
            GradientForm::Dense { gradient } => {
                assert_eq!(shape(&self.values[gradient]), dims);
                return floats(&self.values[gradient]);
            }
            GradientForm::Rows { indices, values, .. } => (zeros(), indices, values),
            GradientForm::DenseAndRows { dense, indices, values, .. } => {
                (floats(&self.values[dense]), indices, values)
            }
        };
        let rows: Tensor<i32> = self.values[indices].clone().try_into().expect("integers");
        let width = dims[1];
        for (row, values) in rows.to_vec().iter().zip(floats(&self.values[values]).chunks(width)) {
            let start = usize::try_from(*row).expect("rows count from 0") * width;
            for (sum, value) in sum[start..].iter_mut().zip(values) {
                *sum += value;
            }
        }
        sum
    }

    pub(crate) fn loss_value(&self) -> f32 {
        floats(&self.values[&self.graphs.loss_value])[0]
    }

    /// Along a random direction of each weight by itself, the loss changes as its gradient says.
    fn slopes_match(&mut self, weights: &[(String, Vec<usize>, Vec<f32>)], source: &mut Source) {
        let gradients = self.gradients();
        for (name, dims, values) in weights {
            let gradient = &gradients[name];
            let mut direction = source.numbers(values.len(), Numbers::OffZero);
            let length = direction.iter().map(|x| x * x).sum::<f32>().sqrt();
            direction.iter_mut().for_each(|x| *x /= length);
            let mut at = |step: f32| {
                let moved: Vec<f32> =
                    values.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                self.set(name, dims, &moved);
                self.mean_square()
            };
            // Two step widths, so that the third derivative falls out.
            let mut slope = |step: f32| (at(step) - at(-step)) / (2.0 * f64::from(step));
            let (wide, narrow) = (slope(0.04), slope(0.02));
            let measured = (4.0 * narrow - wide) / 3.0;
            let pairs = gradient.iter().zip(&direction);
            let told: f64 = pairs.map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            let allowed = 2e-3 * (measured.abs() + size) + 2e-5;
            assert!(
                (measured - told).abs() <= allowed,
                "{name} {dims:?}: the loss rises by {measured}, the gradient says {told} (length {size})"
            );
            self.set(name, dims, values);
        }
    }
}

fn shape(value: &Value) -> Vec<usize> {
    match value.clone() {
        Value::FloatTensor(tensor) => tensor.shape().to_vec(),
        Value::Int32Tensor(tensor) => tensor.shape().to_vec(),
        _ => panic!("neither floats nor integers"),
    }
}
