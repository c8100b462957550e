//! Windows that slide over space: convolutions, pools, repeated pixels.

use super::{
    convolution,
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
    sliding::Sliding,
};
use crate::{DataType, Node, Tensor};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Conv" => convolution::conv,
        "ConvTranspose" => convolution::conv_transpose,
        "AveragePool" => average_pool,
        "MaxPool" => max_pool,
        "GlobalAveragePool" => global_average,
        "GlobalMaxPool" => global_max,
        "Resize" | "Upsample" => repeat,
        _ => return None,
    })
}

/// The most places inside the window of a pooling: its gradient has a plane for each.
const MOST_POOLED: usize = 1 << 10;

/// The most windows that are counted one by one.
const MOST_WINDOWS: usize = 1 << 22;

fn space(dims: &[usize]) -> Vec<usize> {
    dims.get(2..).unwrap_or_default().to_vec()
}

fn pooled(r: &Reverse<'_>, node: &Node) -> Result<Sliding, Refusal> {
    let kernel = node.ints("kernel_shape").unwrap_or_default();
    let kernel: Vec<usize> = kernel.iter().map(|k| usize::try_from(*k).unwrap_or(1)).collect();
    let places = kernel.iter().try_fold(1_usize, |places, size| places.checked_mul(*size));
    if places.is_none_or(|places| places > MOST_POOLED) {
        return Err(Refusal("its window has too many places".to_string()));
    }
    Sliding::of(node, kernel, &space(&r.input_dims(node, 0)), &space(&r.dims(&node.outputs[0])))
}

/// Each window's gradient, divided by how many elements it counted, is laid over the window.
fn average_pool(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    let sliding = pooled(r, node)?;
    if sliding.output.iter().product::<usize>() > MOST_WINDOWS {
        return Err(Refusal("it has too many windows".to_string()));
    }
    let planes = dims[0] * dims[1];
    let includes_padding = node.int("count_include_pad").unwrap_or(0) != 0;
    let shares: Vec<f32> =
        sliding.counts(includes_padding).into_iter().map(|count| 1.0 / count as f32).collect();
    let mut wide = vec![1, 1];
    wide.extend(&sliding.output);
    let shares = if shares.iter().all(|share| *share == shares[0]) {
        r.out.scalar(shares[0])
    } else {
        r.out.constant(Tensor::from_f32s("", &wide, &shares))
    };
    let dy = r.out.mul(&dy, &shares);
    wide[0] = planes;
    let dy = r.out.reshape(&dy, &wide);
    let mut kernel = vec![1, 1];
    kernel.extend(&sliding.kernel);
    let ones = vec![1.0; kernel.iter().product()];
    let ones = r.out.constant(Tensor::from_f32s("", &kernel, &ones));
    let dx = convolution::spread(r, &dy, &ones, &sliding, 1);
    let dx = r.out.reshape(&dx, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

/// The first largest element of each window gets the window's gradient.
///
/// For every place of the kernel there is a plane with the gradients of the windows whose largest element is there; a
/// transposed convolution lays all planes where they belong. (Scattering by index would be shorter, and on ONNX Runtime
/// several times slower.)
fn max_pool(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (mut rest, x, y) = (r.dy(node)?, r.x(node, 0), r.y(node));
    let dims = r.input_dims(node, 0);
    let sliding = pooled(r, node)?;
    let rank = sliding.kernel.len();
    let (mut before, mut behind) = (vec![0; 2], vec![0; 2]);
    for at in 0..rank {
        let (low, high) = sliding.room(at);
        before.push(low);
        behind.push(high);
    }
    let padded = r.out.pad(&x, &before, &behind, f32::MIN);
    let over: Vec<usize> = (2..dims.len()).collect();
    let mut plane = vec![dims[0] * dims[1], 1];
    plane.extend(&sliding.output);
    let offsets = sliding.offsets();
    let zero = r.out.scalar(0.0);
    let mut planes = Vec::new();
    for (index, offset) in offsets.iter().enumerate() {
        let (mut starts, mut ends, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for (at, offset) in offset.iter().enumerate() {
            let start = offset * sliding.dilations[at];
            starts.push(start as i64);
            ends.push((start + (sliding.output[at] - 1) * sliding.strides[at] + 1) as i64);
            steps.push(sliding.strides[at] as i64);
        }
        let seen = r.out.slice_steps(&padded, &over, &starts, &ends, &steps);
        let is_largest = r.out.op("Equal", &[&seen, &y], &[]);
        let here = r.out.keep(&is_largest, &rest);
        planes.push(r.out.reshape(&here, &plane));
        if index + 1 < offsets.len() {
            // Of several equal ones only the first gets something.
            rest = r.out.op("Where", &[&is_largest, &zero, &rest], &[]);
        }
    }
    let planes = r.out.concat(&planes, 1);
    let count = offsets.len();
    let mut kernel = vec![count, 1];
    kernel.extend(&sliding.kernel);
    let mut one_each = vec![0.0; count * count];
    (0..count).for_each(|at| one_each[at * count + at] = 1.0);
    let one_each = r.out.constant(Tensor::from_f32s("", &kernel, &one_each));
    let dx = convolution::spread(r, &planes, &one_each, &sliding, 1);
    let dx = r.out.reshape(&dx, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

fn global_average(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let size: usize = space(&r.input_dims(node, 0)).iter().product();
    let share = r.out.scale(&dy, 1.0 / size as f32);
    r.give(node, 0, &share);
    Ok(())
}

fn global_max(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, x, y) = (r.dy(node)?, r.x(node, 0), r.y(node));
    let over: Vec<usize> = (2..r.input_dims(node, 0).len()).collect();
    let equal = r.out.op("Equal", &[&x, &y], &[]);
    let marks = r.out.cast(&equal, DataType::Float);
    let count = r.out.sum(&marks, &over);
    let share = r.out.div(&dy, &count);
    let dx = r.out.mul(&marks, &share);
    r.give(node, 0, &dx);
    Ok(())
}

/// Each pixel repeated a whole number of times: the gradients of its copies add up.
fn repeat(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (dims, made) = (r.input_dims(node, 0), r.dims(&node.outputs[0]));
    let nearest = node.text("mode").unwrap_or("nearest") == "nearest";
    let whole = dims.iter().zip(&made).all(|(dim, size)| *dim > 0 && size % dim == 0);
    let way = node.text("coordinate_transformation_mode").unwrap_or("half_pixel");
    let rounding = node.text("nearest_mode").unwrap_or("round_prefer_floor");
    let plain = match way {
        "asymmetric" => rounding == "floor",
        "half_pixel" | "pytorch_half_pixel" => rounding.starts_with("round"),
        _ => false,
    };
    if !nearest || !whole || !(plain || node.op_type == "Upsample") {
        return Err(Refusal("only whole repeats of pixels can be trained through".to_string()));
    }
    let mut apart = Vec::new();
    for (dim, size) in dims.iter().zip(&made) {
        apart.extend([*dim, size / dim]);
    }
    let copies: Vec<usize> = (0..dims.len()).map(|at| 2 * at + 1).collect();
    let dy = r.out.reshape(&dy, &apart);
    let summed = r.out.sum(&dy, &copies);
    let dx = r.out.reshape(&summed, &dims);
    r.give(node, 0, &dx);
    Ok(())
}
