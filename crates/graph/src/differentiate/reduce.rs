//! Reductions: the gradient of each result is spread over what it was made from.

use super::{
    emitter::Emitter,
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
};
use crate::{Node, shapes::axes};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "ReduceSum" => |r, n| reduce(r, n, |_, _| None),
        "ReduceMean" => mean,
        "ReduceSumSquare" => |r, n| reduce(r, n, |out, part| Some(out.scale(&part.x, 2.0))),
        "ReduceL1" => |r, n| reduce(r, n, |out, part| Some(out.map("Sign", &part.x))),
        "ReduceL2" => |r, n| reduce(r, n, |out, part| Some(out.div(&part.x, &part.y))),
        "ReduceLogSumExp" => |r, n| reduce(r, n, shares),
        "ReduceMax" | "ReduceMin" => |r, n| reduce(r, n, winners),
        _ => return None,
    })
}

/// A reduction as its gradient sees it.
struct Part {
    x: String,
    /// The result, with the reduced axes of size 1.
    y: String,
    over: Vec<usize>,
}

/// The axes that a node reduces.
fn over(r: &Reverse<'_>, node: &Node) -> Result<Vec<usize>, Refusal> {
    let rank = r.input_dims(node, 0).len();
    let given = match (node.ints("axes"), node.input(1)) {
        (Some(list), _) => list.to_vec(),
        (None, None) => Vec::new(),
        (None, Some(name)) => match r.tape.numbers(name) {
            Some(numbers) => numbers.iter().map(|number| *number as i64).collect(),
            None => return Err(Refusal("make its axes a constant".to_string())),
        },
    };
    if !given.is_empty() {
        let mut over =
            axes(&given, rank).ok_or_else(|| Refusal("its axes are out of range".to_string()))?;
        // An axis that is named twice is one axis.
        over.sort_unstable();
        over.dedup();
        return Ok(over);
    }
    let nothing = node.int("noop_with_empty_axes").unwrap_or(0) != 0;
    Ok(if nothing { Vec::new() } else { (0..rank).collect() })
}

/// The gradient: that of the result, spread, times the slope of each element where it is not 1.
fn reduce(
    r: &mut Reverse<'_>,
    node: &Node,
    slope: fn(&mut Emitter, &Part) -> Option<String>,
) -> Outcome {
    let dy = r.dy(node)?;
    let over = over(r, node)?;
    let dims = r.input_dims(node, 0);
    let mut narrow = dims.clone();
    for at in &over {
        narrow[*at] = 1;
    }
    let dy = r.out.reshape(&dy, &narrow);
    if node.op_type == "ReduceSum" {
        r.give(node, 0, &dy);
        return Ok(());
    }
    let (x, y) = (r.x(node, 0), r.y(node));
    let y = r.out.reshape(&y, &narrow);
    let dx = match slope(&mut r.out, &Part { x, y, over }) {
        Some(slope) => r.out.mul(&dy, &slope),
        None => dy,
    };
    r.give(node, 0, &dx);
    Ok(())
}

fn mean(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let over = over(r, node)?;
    let mut narrow = r.input_dims(node, 0);
    let count: usize = over.iter().map(|at| narrow[*at]).product();
    for at in &over {
        narrow[*at] = 1;
    }
    let dy = r.out.reshape(&dy, &narrow);
    let dx = r.out.scale(&dy, 1.0 / count as f32);
    r.give(node, 0, &dx);
    Ok(())
}

/// exp(x − y)
fn shares(out: &mut Emitter, part: &Part) -> Option<String> {
    let shifted = out.sub(&part.x, &part.y);
    Some(out.map("Exp", &shifted))
}

/// 1 at the extreme; several that are equal share it, as in PyTorch.
fn winners(out: &mut Emitter, part: &Part) -> Option<String> {
    let equal = out.op("Equal", &[&part.x, &part.y], &[]);
    let marks = out.cast(&equal, crate::DataType::Float);
    let count = out.sum(&marks, &part.over);
    Some(out.div(&marks, &count))
}
