//! The optimiser as a graph: every parameter with its gradient and states in, the new ones out. Formulas as in PyTorch.

use super::{
    GradientForm, OptimizerKind, OptimizerScalar, TrainedParameter,
    emitter::Emitter,
    loss::{IR_VERSION, OPSET},
    rows,
};
use crate::{DataType, Model};
use std::collections::{BTreeMap, HashSet};

/// The scalars that an optimiser takes.
pub(super) fn scalars(kind: OptimizerKind) -> Vec<OptimizerScalar> {
    use OptimizerScalar::{
        Beta1, Beta2, Correction1, Correction2, Epsilon, LearningRate, Momentum, WeightDecay,
    };
    match kind {
        OptimizerKind::Sgd => vec![LearningRate],
        OptimizerKind::Momentum => vec![LearningRate, Momentum],
        OptimizerKind::Adam => {
            vec![LearningRate, Beta1, Beta2, Epsilon, Correction1, Correction2]
        }
        OptimizerKind::AdamW => {
            vec![LearningRate, Beta1, Beta2, Epsilon, WeightDecay, Correction1, Correction2]
        }
    }
}

/// What the states of a parameter are called.
pub(super) fn state_names(kind: OptimizerKind, parameter: &str) -> Vec<String> {
    let suffixes: &[&str] = match kind {
        OptimizerKind::Sgd => &[],
        OptimizerKind::Momentum => &["momentum"],
        OptimizerKind::Adam | OptimizerKind::AdamW => &["mean", "mean_square"],
    };
    suffixes.iter().map(|suffix| format!("{parameter}.{suffix}")).collect()
}

/// Writes the optimiser graph.
pub(super) fn write(kind: OptimizerKind, parameters: &[TrainedParameter]) -> Model {
    let taken: HashSet<String> =
        parameters.iter().flat_map(|p| names(p).into_iter().map(str::to_string)).collect();
    let mut out = Emitter::new("optimizer", OPSET, taken);
    let mut step = Update { scalars: BTreeMap::new(), out: &mut out };
    step.prepare(kind);
    for parameter in parameters {
        step.parameter(kind, parameter);
    }
    out.finish(IR_VERSION, &BTreeMap::new())
}

fn names(parameter: &TrainedParameter) -> Vec<&str> {
    let mut names = vec![parameter.name.as_str(), parameter.updated.as_str()];
    for state in &parameter.states {
        names.extend([state.name.as_str(), state.updated.as_str()]);
    }
    names
}

struct Update<'e> {
    /// Scalars and what follows from them alone, computed once.
    scalars: BTreeMap<&'static str, String>,
    out: &'e mut Emitter,
}

impl Update<'_> {
    fn prepare(&mut self, kind: OptimizerKind) {
        for scalar in scalars(kind) {
            self.out.input(scalar.name(), DataType::Float, &[]);
            self.scalars.insert(scalar.name(), scalar.name().to_string());
        }
        if matches!(kind, OptimizerKind::Adam | OptimizerKind::AdamW) {
            let one = self.out.scalar(1.0);
            let rest_1 = self.out.sub(&one, "beta_1");
            let rest_2 = self.out.sub(&one, "beta_2");
            let step = self.out.div("learning_rate", "correction_1");
            let root = self.out.map("Sqrt", "correction_2");
            self.scalars.extend([
                ("rest_1", rest_1),
                ("rest_2", rest_2),
                ("step", step),
                ("root", root),
            ]);
        }
        if kind == OptimizerKind::AdamW {
            let one = self.out.scalar(1.0);
            let decay = self.out.mul("learning_rate", "weight_decay");
            let kept = self.out.sub(&one, &decay);
            self.scalars.insert("kept", kept);
        }
    }

    fn scalar(&self, name: &str) -> String {
        self.scalars.get(name).cloned().unwrap_or_default()
    }

    fn parameter(&mut self, kind: OptimizerKind, parameter: &TrainedParameter) {
        let dims = &parameter.dims;
        let module = parameter.name.rsplit_once('.').map_or("", |(module, _)| module);
        self.out.enter(module);
        self.out.input(&parameter.name, DataType::Float, dims);
        let gradient = self.gradient(parameter);
        for state in &parameter.states {
            self.out.input(&state.name, DataType::Float, dims);
        }
        let states: Vec<&str> = parameter.states.iter().map(|state| state.name.as_str()).collect();
        let (updated, new_states) = match (kind, &states[..]) {
            (OptimizerKind::Momentum, [momentum]) => {
                let factor = self.scalar("momentum");
                let kept = self.out.mul(momentum, &factor);
                let sum = self.out.add(&kept, &gradient);
                (self.against(&parameter.name, &sum), vec![sum])
            }
            (OptimizerKind::Adam | OptimizerKind::AdamW, [mean, square]) => {
                self.adam(kind, &parameter.name, &gradient, mean, square)
            }
            _ => (self.against(&parameter.name, &gradient), Vec::new()),
        };
        self.out.output_as(&parameter.updated, &updated);
        for (state, value) in parameter.states.iter().zip(new_states) {
            self.out.output_as(&state.updated, &value);
        }
    }

    /// The gradient as one tensor of the parameter's dims.
    fn gradient(&mut self, parameter: &TrainedParameter) -> String {
        let dims = &parameter.dims;
        match &parameter.gradient {
            GradientForm::Dense { gradient } => {
                self.out.input(gradient, DataType::Float, dims);
                gradient.clone()
            }
            GradientForm::Rows { indices, values, count } => {
                self.rows(None, indices, values, *count, dims)
            }
            GradientForm::DenseAndRows { dense, indices, values, count } => {
                self.out.input(dense, DataType::Float, dims);
                self.rows(Some(dense), indices, values, *count, dims)
            }
        }
    }

    fn rows(
        &mut self,
        dense: Option<&str>,
        indices: &str,
        values: &str,
        count: usize,
        dims: &[usize],
    ) -> String {
        let (height, width) = (dims[0], dims[1]);
        self.out.input(indices, DataType::Int64, &[count]);
        self.out.input(values, DataType::Float, &[count, width]);
        rows::add(self.out, dense, indices, values, height)
    }

    /// parameter − learning rate · direction
    fn against(&mut self, parameter: &str, direction: &str) -> String {
        let step = self.out.mul(direction, "learning_rate");
        self.out.sub(parameter, &step)
    }

    fn adam(
        &mut self,
        kind: OptimizerKind,
        parameter: &str,
        gradient: &str,
        mean: &str,
        square: &str,
    ) -> (String, Vec<String>) {
        let scalar = |name: &str| self.scalars.get(name).cloned().unwrap_or_default();
        let (beta_1, beta_2) = (scalar("beta_1"), scalar("beta_2"));
        let (rest_1, rest_2) = (scalar("rest_1"), scalar("rest_2"));
        let (step, root, epsilon) = (scalar("step"), scalar("root"), scalar("epsilon"));
        let kept = scalar("kept");
        let out = &mut *self.out;
        let old = out.mul(mean, &beta_1);
        let new = out.mul(gradient, &rest_1);
        let mean = out.add(&old, &new);
        let old = out.mul(square, &beta_2);
        let new = out.mul(gradient, gradient);
        let new = out.mul(&new, &rest_2);
        let square = out.add(&old, &new);
        let deviation = out.map("Sqrt", &square);
        let deviation = out.div(&deviation, &root);
        let deviation = out.add(&deviation, &epsilon);
        let direction = out.div(&mean, &deviation);
        let moved = out.mul(&direction, &step);
        let from = if kind == OptimizerKind::AdamW {
            out.mul(parameter, &kept)
        } else {
            parameter.to_string()
        };
        (out.sub(&from, &moved), vec![mean, square])
    }
}
