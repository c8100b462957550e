//! Softmax and its logarithm, from what they gave.

use super::{
    reverse::{Outcome, Reverse},
    rules::Rule,
};
use crate::{Node, shapes::axis};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Softmax" => softmax,
        "LogSoftmax" => log_softmax,
        _ => return None,
    })
}

/// The axes that sum to one.
fn over(r: &Reverse<'_>, node: &Node) -> Vec<usize> {
    let rank = r.input_dims(node, 0).len();
    // Before operator set 13 everything from the axis on was one.
    let old = r.tape.opset < 13;
    let at = axis(node.int("axis").unwrap_or(if old { 1 } else { -1 }), rank).unwrap_or(0);
    if old { (at..rank).collect() } else { vec![at] }
}

/// y · (dy − Σ dy · y)
fn softmax(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, y) = (r.dy(node)?, r.y(node));
    let over = over(r, node);
    let product = r.out.mul(&dy, &y);
    let sum = r.out.sum(&product, &over);
    let shifted = r.out.sub(&dy, &sum);
    let dx = r.out.mul(&shifted, &y);
    r.give(node, 0, &dx);
    Ok(())
}

/// dy − exp(y) · Σ dy
fn log_softmax(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, y) = (r.dy(node)?, r.y(node));
    let over = over(r, node);
    let shares = r.out.map("Exp", &y);
    let sum = r.out.sum(&dy, &over);
    let spread = r.out.mul(&shares, &sum);
    let dx = r.out.sub(&dy, &spread);
    r.give(node, 0, &dx);
    Ok(())
}
