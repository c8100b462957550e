//! The same elements in another shape or order: the gradient goes the way back.

use super::{
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
};
use crate::{
    DataType, Node,
    shapes::{axes, axis},
};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" => reshape,
        "Transpose" => transpose,
        "Expand" => expand,
        "Tile" => tile,
        "Concat" => concat,
        "Split" => split,
        "Slice" => slice,
        "Pad" => pad,
        "Trilu" => trilu,
        "CumSum" => cum_sum,
        "DepthToSpace" | "SpaceToDepth" => depth_space,
        _ => return None,
    })
}

fn reshape(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    let dx = r.out.reshape(&dy, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

fn transpose(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let rank = r.input_dims(node, 0).len();
    let order = match node.ints("perm") {
        Some(order) => axes(order, rank).unwrap_or_default(),
        None => (0..rank).rev().collect(),
    };
    let mut back = vec![0; order.len()];
    for (at, from) in order.iter().enumerate() {
        back[*from] = at;
    }
    let dx = r.out.transpose(&dy, &back);
    r.give(node, 0, &dx);
    Ok(())
}

fn expand(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    r.give(node, 0, &dy);
    Ok(())
}

fn tile(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (dims, tiled) = (r.input_dims(node, 0), r.dims(&node.outputs[0]));
    let mut apart = Vec::new();
    for (dim, all) in dims.iter().zip(&tiled) {
        apart.extend([all.checked_div(*dim).unwrap_or(0), *dim]);
    }
    let copies: Vec<usize> = (0..dims.len()).map(|at| 2 * at).collect();
    let dy = r.out.reshape(&dy, &apart);
    let summed = r.out.sum(&dy, &copies);
    let dx = r.out.reshape(&summed, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

fn concat(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let rank = r.dims(&node.outputs[0]).len();
    let at = axis(node.int("axis").unwrap_or(0), rank).unwrap_or(0);
    let mut start = 0;
    for index in 0..node.inputs.len() {
        let size = r.input_dims(node, index)[at];
        if r.wants_input(node, index) {
            let part = r.out.slice(&dy, at, start, start + size);
            r.give(node, index, &part);
        }
        start += size;
    }
    Ok(())
}

/// The gradients of the parts lie beside each other in that of the whole; a part that nobody used leaves a gap.
fn split(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let rank = r.input_dims(node, 0).len();
    let at = axis(node.int("axis").unwrap_or(0), rank).unwrap_or(0);
    let mut start = 0;
    for name in &node.outputs {
        let size = r.dims(name).get(at).copied().unwrap_or(0);
        if let Some(part) = r.gradient(name) {
            r.give_piece(node, 0, at, start, &part);
        }
        start += size;
    }
    Ok(())
}

/// One axis of a slice.
struct Cut {
    axis: usize,
    start: i64,
    step: i64,
}

fn cuts(r: &Reverse<'_>, node: &Node) -> Result<Vec<Cut>, Refusal> {
    let dims = r.input_dims(node, 0);
    let list = |name: &str, index: usize| {
        let given = node.input(index).map(|input| r.tape.numbers(input));
        match (node.ints(name), given) {
            (Some(list), _) => Ok(Some(list.to_vec())),
            (None, None) => Ok(None),
            (None, Some(Some(numbers))) => Ok(Some(numbers.iter().map(|x| *x as i64).collect())),
            (None, Some(None)) => Err(Refusal(format!("make its `{name}` constant"))),
        }
    };
    let starts = list("starts", 1)?.unwrap_or_default();
    let over = match list("axes", 3)? {
        Some(over) => axes(&over, dims.len()).unwrap_or_default(),
        None => (0..starts.len()).collect(),
    };
    let steps = list("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let cuts = over.iter().zip(starts).zip(steps).map(|((at, start), step)| {
        let size = dims[*at] as i64;
        let start = if start < 0 { start.saturating_add(size) } else { start };
        let last = if step > 0 { size } else { size - 1 };
        Cut { axis: *at, start: start.clamp(0, last), step }
    });
    Ok(cuts.collect())
}

fn slice(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let mut dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    let cuts = cuts(r, node)?;
    let made = r.dims(&node.outputs[0]);
    if made.contains(&0) {
        let nothing = r.out.zeros(&dims);
        r.give(node, 0, &nothing);
        return Ok(());
    }
    let changed = |cut: &&Cut| cut.step != 1 || made[cut.axis] != dims[cut.axis];
    let changed: Vec<&Cut> = cuts.iter().filter(changed).collect();
    if let [Cut { axis, start, step: 1 }] = changed[..] {
        r.give_piece(node, 0, *axis, *start as usize, &dy);
        return Ok(());
    }
    for cut in changed {
        let (mut start, mut step) = (cut.start, cut.step);
        let count = made[cut.axis];
        if step < 0 {
            // Backwards is forwards from the other end.
            start += (count as i64 - 1) * step;
            step = -step;
            dy = r.out.slice_steps(&dy, &[cut.axis], &[-1], &[-1 - count as i64], &[-1]);
        }
        dy = dilate(r, &dy, cut.axis, count, step as usize);
        let length = r.out.dims(&dy)[cut.axis];
        let room = dims[cut.axis] - start as usize;
        dy = r.out.slice(&dy, cut.axis, 0, length.min(room));
        let (mut before, mut behind) = (vec![0; dims.len()], vec![0; dims.len()]);
        before[cut.axis] = start as usize;
        behind[cut.axis] = room - length.min(room);
        dy = r.out.pad(&dy, &before, &behind, 0.0);
    }
    r.give(node, 0, &dy);
    Ok(())
}

/// Puts `step` − 1 zeros behind each element of an axis.
fn dilate(r: &mut Reverse<'_>, value: &str, at: usize, count: usize, step: usize) -> String {
    if step == 1 {
        return value.to_string();
    }
    let dims = r.out.dims(value);
    let mut apart = dims.clone();
    apart.insert(at + 1, 1);
    let value = r.out.reshape(value, &apart);
    let before = vec![0; apart.len()];
    let mut behind = before.clone();
    behind[at + 1] = step - 1;
    let value = r.out.pad(&value, &before, &behind, 0.0);
    let mut joined = dims;
    joined[at] = count * step;
    r.out.reshape(&value, &joined)
}

fn pad(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    if node.text("mode").unwrap_or("constant") != "constant" {
        return Err(Refusal("only padding with a constant can be trained through".to_string()));
    }
    let mut dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    let numbers = |index: usize| node.input(index).and_then(|name| r.tape.numbers(name));
    let pads: Option<Vec<i64>> = match node.ints("pads") {
        Some(pads) => Some(pads.to_vec()),
        None => numbers(1).map(|list| list.iter().map(|x| *x as i64).collect()),
    };
    let over = match numbers(3) {
        Some(list) => {
            let list: Vec<i64> = list.iter().map(|x| *x as i64).collect();
            axes(&list, dims.len()).unwrap_or_default()
        }
        None => (0..dims.len()).collect(),
    };
    let pads = pads.ok_or_else(|| Refusal("make its `pads` constant".to_string()))?;
    for (index, at) in over.iter().enumerate() {
        let (before, behind) = (pads[index], pads[index + over.len()]);
        let (mut more, mut rest) = (vec![0; dims.len()], vec![0; dims.len()]);
        // What was cut off gets zeros back.
        more[*at] = usize::try_from(-before).unwrap_or(0);
        rest[*at] = usize::try_from(-behind).unwrap_or(0);
        dy = r.out.pad(&dy, &more, &rest, 0.0);
        let start = usize::try_from(before).unwrap_or(0);
        dy = r.out.slice(&dy, *at, start, start + dims[*at]);
    }
    r.give(node, 0, &dy);
    Ok(())
}

fn trilu(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let upper = node.int("upper").unwrap_or(1);
    let diagonal = node.input(1).map(|_| r.x(node, 1));
    let mut inputs = vec![dy.as_str()];
    inputs.extend(diagonal.as_deref());
    let dx = r.out.op("Trilu", &inputs, &[("upper", upper.into())]);
    r.give(node, 0, &dx);
    Ok(())
}

/// A sum from the front is a sum from the back on the way back.
fn cum_sum(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, axis) = (r.dy(node)?, r.x(node, 1));
    let reverse = i64::from(node.int("reverse").unwrap_or(0) == 0);
    let exclusive = node.int("exclusive").unwrap_or(0);
    let attributes = [("reverse", reverse.into()), ("exclusive", exclusive.into())];
    let dx = r.out.op("CumSum", &[&dy, &axis], &attributes);
    r.give(node, 0, &dx);
    Ok(())
}

/// Blocks of channels and blocks of pixels change places; the gradient changes them back.
fn depth_space(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let dims = r.input_dims(node, 0);
    let made = r.dims(&node.outputs[0]);
    let block = node.int("blocksize").and_then(|size| usize::try_from(size).ok()).unwrap_or(1);
    let ([batch, _, height, width], [_, channels, tall, wide]) = (&dims[..], &made[..]) else {
        return Err(Refusal("it needs four dims".to_string()));
    };
    let dx = if node.op_type == "DepthToSpace" {
        let dy = r.out.reshape(&dy, &[*batch, *channels, *height, block, *width, block]);
        let rows_first = node.text("mode") != Some("CRD");
        let order = if rows_first { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
        r.out.transpose(&dy, &order)
    } else {
        let dy = r.out.reshape(&dy, &[*batch, block, block, dims[1], *tall, *wide]);
        r.out.transpose(&dy, &[0, 3, 4, 1, 5, 2])
    };
    let dx = r.out.reshape(&dx, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

/// Whether integers are wanted where a rule needs 64 bits.
pub(super) fn as_i64(r: &mut Reverse<'_>, value: &str) -> String {
    r.out.cast(value, DataType::Int64)
}
