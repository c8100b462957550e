//! Convolutions: the input's gradient is a transposed convolution, the weight's a convolution of input and gradient.

use super::{
    reverse::{Outcome, Refusal, Reverse},
    sliding::Sliding,
};
use crate::{Attribute, Node};

fn group(node: &Node) -> usize {
    node.int("group").and_then(|group| usize::try_from(group).ok()).unwrap_or(1).max(1)
}

fn list(values: &[usize]) -> Attribute {
    Attribute::Ints(values.iter().map(|value| *value as i64).collect())
}

fn space(dims: &[usize]) -> Vec<usize> {
    dims.get(2..).unwrap_or_default().to_vec()
}

pub(super) fn conv(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (input, weight) = (r.input_dims(node, 0), r.input_dims(node, 1));
    let output = r.dims(&node.outputs[0]);
    let sliding = Sliding::of(node, space(&weight), &space(&input), &space(&output))?;
    let group = group(node);
    if r.wants_input(node, 0) {
        let w = r.x(node, 1);
        let dx = spread(r, &dy, &w, &sliding, group);
        r.give(node, 0, &dx);
    }
    if r.wants_input(node, 1) {
        let x = r.x(node, 0);
        let dw = weight_gradient(r, &x, &dy, &sliding, group);
        r.give(node, 1, &dw);
    }
    bias(r, node, &dy);
    Ok(())
}

/// The bias of each channel gets the sum of its channel.
fn bias(r: &mut Reverse<'_>, node: &Node, dy: &str) {
    if r.wants_input(node, 2) {
        let dims = r.out.dims(dy);
        let over: Vec<usize> = (0..dims.len()).filter(|at| *at != 1).collect();
        let sum = r.out.sum(dy, &over);
        let sum = r.out.reshape(&sum, &[dims[1]]);
        r.give(node, 2, &sum);
    }
}

/// Lays every element of `dy`, times the kernel, over the window it came from.
pub(super) fn spread(
    r: &mut Reverse<'_>,
    dy: &str,
    kernel: &str,
    sliding: &Sliding,
    group: usize,
) -> String {
    let rank = sliding.kernel.len();
    // A window that reaches beyond the padding (rounded up) is cut off as if the padding were larger.
    let behind: Vec<usize> = (0..rank).map(|at| sliding.room(at).1).collect();
    let rest: Vec<usize> = (0..rank)
        .map(|at| (sliding.input[at] + sliding.before[at] + behind[at]) - sliding.covered(at))
        .collect();
    let mut pads = sliding.before.clone();
    pads.extend(&behind);
    let mut attributes = vec![
        ("kernel_shape", list(&sliding.kernel)),
        ("strides", list(&sliding.strides)),
        ("dilations", list(&sliding.dilations)),
        ("pads", list(&pads)),
        ("group", Attribute::Int(group as i64)),
    ];
    if rest.iter().any(|rest| *rest > 0) {
        attributes.push(("output_padding", list(&rest)));
    }
    r.out.op("ConvTranspose", &[dy, kernel], &attributes)
}

/// The gradient of a convolution's weight `[outputs, inputs ÷ group, kernel…]`.
fn weight_gradient(
    r: &mut Reverse<'_>,
    x: &str,
    dy: &str,
    sliding: &Sliding,
    group: usize,
) -> String {
    if group == 1 && sliding.is_tiling() {
        return by_patches(r, x, dy, sliding);
    }
    let (input, output) = (r.out.dims(x), r.out.dims(dy));
    let (batch, channels) = (input[0], input[1] / group);
    let rank = sliding.kernel.len();
    // Samples become the summed channels, channels become samples; each group stays by itself.
    let mut apart = vec![batch, group, channels];
    apart.extend(&sliding.input);
    let x = r.out.reshape(x, &apart);
    let mut order = vec![2, 1, 0];
    order.extend(3..3 + rank);
    let x = r.out.transpose(&x, &order);
    let mut joined = vec![channels, group * batch];
    joined.extend(&sliding.input);
    let x = r.out.reshape(&x, &joined);
    let mut order = vec![1, 0];
    order.extend(2..2 + rank);
    let dy = r.out.transpose(dy, &order);
    let mut pads = sliding.before.clone();
    pads.extend(&sliding.behind);
    // Stepping over the input and stepping inside the kernel change places.
    let attributes = [
        ("kernel_shape", list(&sliding.output)),
        ("strides", list(&sliding.dilations)),
        ("dilations", list(&sliding.strides)),
        ("pads", list(&pads)),
        ("group", Attribute::Int(group as i64)),
    ];
    let mut dw = r.out.op("Conv", &[&x, &dy], &attributes);
    for at in 0..rank {
        dw = r.out.slice(&dw, 2 + at, 0, sliding.kernel[at]);
    }
    let mut order = vec![1, 0];
    order.extend(2..2 + rank);
    let dw = r.out.transpose(&dw, &order);
    let mut dims = vec![output[1], channels];
    dims.extend(&sliding.kernel);
    r.out.reshape(&dw, &dims)
}

/// Windows beside each other are rows of a matrix: one product.
fn by_patches(r: &mut Reverse<'_>, x: &str, dy: &str, sliding: &Sliding) -> String {
    let (input, output) = (r.out.dims(x), r.out.dims(dy));
    let (batch, channels, outputs) = (input[0], input[1], output[1]);
    let rank = sliding.kernel.len();
    let mut apart = vec![batch, channels];
    for at in 0..rank {
        apart.extend([sliding.output[at], sliding.kernel[at]]);
    }
    let mut order = vec![0];
    order.extend((0..rank).map(|at| 2 + 2 * at));
    order.push(1);
    order.extend((0..rank).map(|at| 3 + 2 * at));
    let rows = batch * sliding.output.iter().product::<usize>();
    let columns = channels * sliding.kernel.iter().product::<usize>();
    let x = r.out.reshape(x, &apart);
    let x = r.out.transpose(&x, &order);
    let x = r.out.reshape(&x, &[rows, columns]);
    let mut order = vec![0];
    order.extend(2..2 + rank);
    order.push(1);
    let dy = r.out.transpose(dy, &order);
    let dy = r.out.reshape(&dy, &[rows, outputs]);
    let dw = r.out.gemm(&dy, &x, (true, false), 1.0);
    let mut dims = vec![outputs, channels];
    dims.extend(&sliding.kernel);
    r.out.reshape(&dw, &dims)
}

/// A transposed convolution is a convolution seen from the other end.
pub(super) fn conv_transpose(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (input, weight) = (r.input_dims(node, 0), r.input_dims(node, 1));
    let output = r.dims(&node.outputs[0]);
    if node.text("auto_pad").unwrap_or("NOTSET") != "NOTSET" || node.ints("output_shape").is_some()
    {
        return Err(Refusal("write its padding as numbers".to_string()));
    }
    let sliding = Sliding::of(node, space(&weight), &space(&output), &space(&input))?;
    let group = group(node);
    if r.wants_input(node, 0) {
        let w = r.x(node, 1);
        let mut pads = sliding.before.clone();
        pads.extend(&sliding.behind);
        let attributes = [
            ("kernel_shape", list(&sliding.kernel)),
            ("strides", list(&sliding.strides)),
            ("dilations", list(&sliding.dilations)),
            ("pads", list(&pads)),
            ("group", Attribute::Int(group as i64)),
        ];
        let dx = r.out.op("Conv", &[&dy, &w], &attributes);
        r.give(node, 0, &dx);
    }
    if r.wants_input(node, 1) {
        let x = r.x(node, 0);
        let dw = weight_gradient(r, &dy, &x, &sliding, group);
        r.give(node, 1, &dw);
    }
    bias(r, node, &dy);
    Ok(())
}
