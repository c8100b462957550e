//! The loss: which output it reads, what it compares with, and its graph with the gradient of that output.

use super::{DifferentiateError, LabelSpec, Loss, TrainingPlan, emitter::Emitter};
use crate::{DataType, Model, Shapes};
use std::collections::{BTreeMap, HashSet};

/// The label of a place that does not count, as in PyTorch.
const IGNORED: i64 = -100;

/// Operator set and format version of the graphs that hold no node of the model.
pub(super) const OPSET: i64 = 17;
pub(super) const IR_VERSION: i64 = 8;

/// The output that the loss reads.
pub(super) fn choose_output(
    model: &Model,
    shapes: &Shapes,
    plan: &TrainingPlan,
) -> Result<String, DifferentiateError> {
    let outputs = &model.graph.outputs;
    let known = || outputs.iter().map(|output| output.name.clone()).collect::<Vec<_>>();
    let dtype = |name: &str, declared: DataType| shapes.dtype(name).unwrap_or(declared);
    let fits = |name: &str, declared: DataType| {
        let rank = shapes.dims(name).map_or(0, <[usize]>::len);
        dtype(name, declared).is_float() && (plan.loss == Loss::MeanSquares || rank >= 2)
    };
    let why = || match plan.loss {
        Loss::CrossEntropy => "cross-entropy needs floats with classes along the last axis".into(),
        Loss::MeanSquares => "mean squares need floats".into(),
    };
    if let Some(asked) = &plan.output {
        let Some(output) = outputs.iter().find(|output| output.name == *asked) else {
            let asked = asked.clone();
            return Err(DifferentiateError::UnknownOutput { asked, known: known() });
        };
        return if fits(asked, output.dtype) {
            Ok(asked.clone())
        } else {
            Err(DifferentiateError::NoOutput { why: why(), known: vec![asked.clone()] })
        };
    }
    match outputs.iter().find(|output| fits(&output.name, output.dtype)) {
        Some(output) => Ok(output.name.clone()),
        None => Err(DifferentiateError::NoOutput { why: why(), known: known() }),
    }
}

/// The loss graph and its names.
pub(super) struct LossGraph {
    pub(super) model: Model,
    pub(super) labels: LabelSpec,
    pub(super) gradient: String,
    pub(super) value: String,
    pub(super) scale: String,
}

/// Writes the loss graph of an output with these dims; its gradient gets the name `gradient`.
pub(super) fn write(loss: Loss, output: &str, dims: &[usize], gradient: &str) -> LossGraph {
    let taken = HashSet::from([gradient.to_string()]);
    let mut out = Emitter::new("loss", OPSET, taken);
    out.input(output, DataType::Float, dims);
    let name = out.fresh("labels");
    let scale = out.fresh("loss_scale");
    let (classes, label_dims, dtype) = match (loss, dims.split_last()) {
        (Loss::CrossEntropy, Some((classes, rest))) => {
            (Some(*classes), rest.to_vec(), DataType::Int64)
        }
        _ => (None, dims.to_vec(), DataType::Float),
    };
    out.input(&name, dtype, &label_dims);
    out.input(&scale, DataType::Float, &[]);
    out.enter("loss");
    let (value, slope) = match classes {
        Some(classes) => cross_entropy(&mut out, output, &name, &scale, classes),
        None => mean_squares(&mut out, output, &name, &scale),
    };
    let slope = out.reshape(&slope, dims);
    let value = out.output("loss", &value);
    let gradient = out.output_as(gradient, &slope);
    let labels = LabelSpec { name, dtype, dims: label_dims, classes };
    let model = out.finish(IR_VERSION, &BTreeMap::new());
    LossGraph { model, labels, gradient, value, scale }
}

/// The mean of −log softmax at the labels that count, and (softmax − one at the label) ÷ their number.
fn cross_entropy(
    out: &mut Emitter,
    output: &str,
    labels: &str,
    scale: &str,
    classes: usize,
) -> (String, String) {
    let count: usize = out.dims(labels).iter().product();
    let scores = out.reshape(output, &[count, classes]);
    let labels = out.reshape(labels, &[count, 1]);
    let (ignored, zero) = (out.integer(IGNORED), out.integer(0));
    let is_ignored = out.op("Equal", &[&labels, &ignored], &[]);
    let counts = out.map("Not", &is_ignored);
    let counts = out.cast(&counts, DataType::Float);
    let places = out.op("Where", &[&is_ignored, &zero, &labels], &[]);
    let logarithms = out.op("LogSoftmax", &[&scores], &[("axis", (-1).into())]);
    let axis = [("axis", 1.into())];
    let picked = out.op("GatherElements", &[&logarithms, &places], &axis);
    let picked = out.mul(&picked, &counts);
    let sum = out.sum(&picked, &[0, 1]);
    let number = out.sum(&counts, &[0, 1]);
    let mean = out.div(&sum, &number);
    let mean = out.map("Neg", &mean);
    let value = out.reshape(&mean, &[]);
    // Each place that counts gets its share of the whole.
    let weight = out.div(scale, &number);
    let weights = out.mul(&counts, &weight);
    let shares = out.map("Exp", &logarithms);
    let slope = out.mul(&shares, &weights);
    let minus = out.map("Neg", &weights);
    let attributes = [("axis", 1.into()), ("reduction", "add".into())];
    let slope = out.op("ScatterElements", &[&slope, &places, &minus], &attributes);
    (value, slope)
}

/// The mean of the squares, and twice the differences ÷ their number.
fn mean_squares(out: &mut Emitter, output: &str, labels: &str, scale: &str) -> (String, String) {
    let dims = out.dims(output);
    let share = 1.0 / dims.iter().product::<usize>() as f32;
    let difference = out.sub(output, labels);
    let square = out.mul(&difference, &difference);
    let axes: Vec<usize> = (0..dims.len()).collect();
    let sum = if axes.is_empty() { square } else { out.sum(&square, &axes) };
    let mean = out.scale(&sum, share);
    let value = out.reshape(&mean, &[]);
    let factor = out.scale(scale, 2.0 * share);
    let slope = out.mul(&difference, &factor);
    (value, slope)
}
