//! Normalisations. Engines keep no statistics for us, so they are computed again from the input, which is kept anyway.

use super::{
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
    training_form::batch_statistics,
};
use crate::{Node, shapes::axis};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "LayerNormalization" => layer_norm,
        "SimplifiedLayerNormalization" | "RMSNormalization" => rms_norm,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_norm,
        "InstanceNormalization" => instance_norm,
        "BatchNormalization" => batch_norm,
        "LpNormalization" => lp_norm,
        _ => return None,
    })
}

/// Rows to be normalised, and what their gradient needs.
struct Rows {
    /// `[rows, width]`.
    x: String,
    dy: String,
    /// `[width]`, or `None` if nothing is scaled.
    scale: Option<String>,
    epsilon: f32,
    /// Whether the mean is taken away.
    centred: bool,
}

/// The gradients: of the rows, and dy · normal, whose sum over rows is the scale's.
fn rows(r: &mut Reverse<'_>, rows: Rows) -> (String, String) {
    let dims = r.out.dims(&rows.x);
    let width = dims.last().copied().unwrap_or(1);
    let share = 1.0 / width as f32;
    let out = &mut r.out;
    let mut centered = rows.x;
    if rows.centred {
        let sum = out.sum(&centered, &[1]);
        let mean = out.scale(&sum, share);
        centered = out.sub(&centered, &mean);
    }
    let sum = out.sum_squares(&centered, &[1]);
    let variance = out.scale(&sum, share);
    let shifted = out.shift(&variance, rows.epsilon);
    let root = out.map("Sqrt", &shifted);
    let inverse = out.map("Reciprocal", &root);
    let normal = out.mul(&centered, &inverse);
    let product = out.mul(&rows.dy, &normal);
    // With g = dy · scale: (g − mean(g) − normal · mean(g · normal)) ÷ deviation. Each mean is a product with the scale.
    let (g, column) = match &rows.scale {
        Some(scale) => {
            let g = out.mul(&rows.dy, scale);
            (g, Some(out.reshape(scale, &[width, 1])))
        }
        None => (rows.dy.clone(), None),
    };
    let mut mean = |value: &str| {
        let sum = match &column {
            Some(column) => out.op("MatMul", &[value, column], &[]),
            None => out.sum(value, &[1]),
        };
        out.scale(&sum, share)
    };
    let along = mean(&product);
    let level = rows.centred.then(|| mean(&rows.dy));
    let along = out.mul(&normal, &along);
    let mut rest = out.sub(&g, &along);
    if let Some(level) = level {
        rest = out.sub(&rest, &level);
    }
    (out.mul(&rest, &inverse), product)
}

/// Input and gradient as rows; the scale as one row, spread where it was given narrower.
fn as_rows(r: &mut Reverse<'_>, node: &Node, x: &str, dy: &str, scale: usize) -> (Rows, usize) {
    let dims = r.out.dims(x);
    let at = axis(node.int("axis").unwrap_or(-1), dims.len()).unwrap_or(0);
    let width: usize = dims[at..].iter().product();
    let count: usize = dims[..at].iter().product();
    let scale = node.input(scale).map(|_| {
        let own = r.input_dims(node, scale);
        let scale = r.x(node, scale);
        let wide = if own.iter().product::<usize>() == width {
            scale
        } else {
            r.out.expand(&scale, &dims[at..])
        };
        r.out.reshape(&wide, &[width])
    });
    let (x, dy) = (r.out.reshape(x, &[count, width]), r.out.reshape(dy, &[count, width]));
    let epsilon = node.float("epsilon").unwrap_or(1e-5);
    (Rows { x, dy, scale, epsilon, centred: true }, width)
}

/// Gives the scale or bias at `index` the sum over all rows of `value`.
fn give_column(r: &mut Reverse<'_>, node: &Node, index: usize, value: &str, full: &[usize]) {
    if !r.wants_input(node, index) {
        return;
    }
    let own = r.input_dims(node, index);
    let width = r.out.dims(value).last().copied().unwrap_or(1);
    if own.iter().product::<usize>() == width {
        let sum = r.out.sum(value, &[0]);
        let sum = r.out.reshape(&sum, &own);
        r.give(node, index, &sum);
    } else {
        let value = r.out.reshape(value, full);
        r.give(node, index, &value);
    }
}

fn layer_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, x) = (r.dy(node)?, r.x(node, 0));
    let full = r.input_dims(node, 0);
    let (parts, _) = as_rows(r, node, &x, &dy, 1);
    let flat = parts.dy.clone();
    let (dx, product) = rows(r, parts);
    let dx = r.out.reshape(&dx, &full);
    r.give(node, 0, &dx);
    give_column(r, node, 1, &product, &full);
    give_column(r, node, 2, &flat, &full);
    Ok(())
}

fn rms_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, x) = (r.dy(node)?, r.x(node, 0));
    let full = r.input_dims(node, 0);
    let (parts, _) = as_rows(r, node, &x, &dy, 1);
    let (dx, product) = rows(r, Rows { centred: false, ..parts });
    let dx = r.out.reshape(&dx, &full);
    r.give(node, 0, &dx);
    give_column(r, node, 1, &product, &full);
    Ok(())
}

/// ONNX Runtime's sum of two (and a bias) with its norm; its last output is that sum.
fn skip_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let simple = node.op_type.starts_with("SkipSimplified");
    let dy = r.dy(node)?;
    let bias = if simple { 3 } else { 4 };
    let (x, skip) = (r.x(node, 0), r.x(node, 1));
    let mut sum = r.out.add(&x, &skip);
    if node.input(bias).is_some() {
        let bias = r.x(node, bias);
        sum = r.out.add(&sum, &bias);
    }
    let full = r.out.dims(&sum);
    let (parts, _) = as_rows(r, node, &sum, &dy, 2);
    let flat = parts.dy.clone();
    let (dx, product) = rows(r, Rows { centred: !simple, ..parts });
    let mut dx = r.out.reshape(&dx, &full);
    if let Some(more) = node.outputs.get(3).and_then(|name| r.gradient(name)) {
        dx = r.out.add(&dx, &more);
    }
    r.give(node, 0, &dx);
    r.give(node, 1, &dx);
    r.give(node, bias, &dx);
    give_column(r, node, 2, &product, &full);
    if !simple {
        give_column(r, node, 3, &flat, &full);
    }
    Ok(())
}

/// Each channel of each sample is one row.
fn instance_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, x) = (r.dy(node)?, r.x(node, 0));
    let dims = r.input_dims(node, 0);
    let &[batch, channels, ..] = &dims[..] else {
        return Err(Refusal("it needs a batch and channels".to_string()));
    };
    let width: usize = dims[2..].iter().product();
    let scale = r.x(node, 1);
    let column = r.out.reshape(&scale, &[1, channels, 1]);
    let dy = r.out.reshape(&dy, &[batch, channels, width]);
    let g = r.out.mul(&dy, &column);
    let flat = [batch * channels, width];
    let (x, g) = (r.out.reshape(&x, &flat), r.out.reshape(&g, &flat));
    let epsilon = node.float("epsilon").unwrap_or(1e-5);
    let parts = Rows { x, dy: g, scale: None, epsilon, centred: true };
    let (dx, product) = rows(r, parts);
    let dx = r.out.reshape(&dx, &dims);
    r.give(node, 0, &dx);
    if r.wants_input(node, 1) {
        // The product holds the scale once; divided out after the sum it would be lost where it is 0.
        let _ = product;
        let normal = normal_rows(r, node, &dims, epsilon);
        let normal = r.out.reshape(&normal, &[batch, channels, width]);
        let product = r.out.mul(&dy, &normal);
        let sum = r.out.sum(&product, &[0, 2]);
        let sum = r.out.reshape(&sum, &[channels]);
        r.give(node, 1, &sum);
    }
    if r.wants_input(node, 2) {
        let sum = r.out.sum(&dy, &[0, 2]);
        let sum = r.out.reshape(&sum, &[channels]);
        r.give(node, 2, &sum);
    }
    Ok(())
}

/// The rows of an instance normalisation before they are scaled.
fn normal_rows(r: &mut Reverse<'_>, node: &Node, dims: &[usize], epsilon: f32) -> String {
    let (x, channels) = (r.x(node, 0), dims[1]);
    let ones = r.out.constant(crate::Tensor::from_f32s("", &[channels], &vec![1.0; channels]));
    let zeros = r.out.constant(crate::Tensor::from_f32s("", &[channels], &vec![0.0; channels]));
    let attributes = [("epsilon", epsilon.into())];
    r.out.op("InstanceNormalization", &[&x, &ones, &zeros], &attributes)
}

/// In training form: scale ÷ deviation · (dy − mean(dy) − normal · mean(dy · normal)).
fn batch_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    if dims.len() < 2 {
        return Err(Refusal("it needs a batch and channels".to_string()));
    }
    let channels = dims[1];
    let over: Vec<usize> = (0..dims.len()).filter(|at| *at != 1).collect();
    let count: usize = over.iter().map(|at| dims[*at]).product();
    let mut narrow = vec![1; dims.len()];
    narrow[1] = channels;
    let (centered, inverse) = batch_statistics(&node.outputs[0]);
    let (centered, inverse) = (r.read(&centered), r.read(&inverse));
    let product = r.out.mul(&dy, &centered);
    let along = r.out.sum(&product, &over);
    let dscale = r.out.mul(&along, &inverse);
    let dbias = r.out.sum(&dy, &over);
    if r.wants_input(node, 0) {
        let scale = r.x(node, 1);
        let scale = r.out.reshape(&scale, &narrow);
        let share = 1.0 / count as f32;
        let factor = r.out.mul(&dscale, &inverse);
        let factor = r.out.scale(&factor, share);
        let level = r.out.scale(&dbias, share);
        let along = r.out.mul(&centered, &factor);
        let rest = r.out.sub(&dy, &along);
        let rest = r.out.sub(&rest, &level);
        let steep = r.out.mul(&scale, &inverse);
        let dx = r.out.mul(&rest, &steep);
        r.give(node, 0, &dx);
    }
    for (index, gradient) in [(1, dscale), (2, dbias)] {
        if r.wants_input(node, index) {
            let gradient = r.out.reshape(&gradient, &[channels]);
            r.give(node, index, &gradient);
        }
    }
    Ok(())
}

/// x ÷ ‖x‖₂: (dy − y · Σ dy · y) ÷ ‖x‖₂
fn lp_norm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    if node.int("p").unwrap_or(2) != 2 {
        return Err(Refusal("only the norm of order 2 can be trained through".to_string()));
    }
    let (dy, x, y) = (r.dy(node)?, r.x(node, 0), r.y(node));
    let rank = r.input_dims(node, 0).len();
    let at = axis(node.int("axis").unwrap_or(-1), rank).unwrap_or(0);
    let sum = r.out.sum_squares(&x, &[at]);
    let length = r.out.map("Sqrt", &sum);
    let product = r.out.mul(&dy, &y);
    let along = r.out.sum(&product, &[at]);
    let along = r.out.mul(&y, &along);
    let rest = r.out.sub(&dy, &along);
    let dx = r.out.div(&rest, &length);
    r.give(node, 0, &dx);
    Ok(())
}
