//! Arithmetic and functions of single elements. What broadcasting spread is summed where the gradient is given.

use super::{
    activation,
    emitter::Emitter,
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
};
use crate::{DataType, Node};
use std::f32::consts::FRAC_2_SQRT_PI;

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Add" => add,
        "Sub" => sub,
        "Mul" => mul,
        "Div" => div,
        "Pow" => pow,
        "Sum" | "Mean" => sum,
        "Max" | "Min" => extreme,
        "Where" => choose,
        "Identity" => pass,
        "Cast" | "CastLike" => cast,
        "Neg" => |r, n| of_x(r, n, |out, dy, _| out.map("Neg", dy)),
        "Sqrt" => |r, n| of_y(r, n, sqrt),
        "Exp" => |r, n| of_y(r, n, |out, dy, y| out.mul(dy, y)),
        "Log" => |r, n| of_x(r, n, |out, dy, x| out.div(dy, x)),
        "Reciprocal" => |r, n| of_y(r, n, reciprocal),
        "Abs" => |r, n| of_x(r, n, abs),
        "Erf" => |r, n| of_x(r, n, erf),
        "Sin" => |r, n| of_x(r, n, sin),
        "Cos" => |r, n| of_x(r, n, cos),
        "Sinh" => |r, n| of_x(r, n, |out, dy, x| times(out, dy, "Cosh", x)),
        "Cosh" => |r, n| of_x(r, n, |out, dy, x| times(out, dy, "Sinh", x)),
        "Atan" => |r, n| of_x(r, n, atan),
        _ => return activation::rule(op),
    })
}

/// A function of one argument whose gradient is told from that argument.
pub(super) fn of_x(
    r: &mut Reverse<'_>,
    node: &Node,
    gradient: impl FnOnce(&mut Emitter, &str, &str) -> String,
) -> Outcome {
    let dy = r.dy(node)?;
    // Nothing of the forward graph is kept where only the sign turns.
    let x = if node.op_type == "Neg" { String::new() } else { r.x(node, 0) };
    let dx = gradient(&mut r.out, &dy, &x);
    r.give(node, 0, &dx);
    Ok(())
}

/// A function of one argument whose gradient is told from its result.
pub(super) fn of_y(
    r: &mut Reverse<'_>,
    node: &Node,
    gradient: impl FnOnce(&mut Emitter, &str, &str) -> String,
) -> Outcome {
    let (dy, y) = (r.dy(node)?, r.y(node));
    let dx = gradient(&mut r.out, &dy, &y);
    r.give(node, 0, &dx);
    Ok(())
}

fn times(out: &mut Emitter, dy: &str, function: &str, x: &str) -> String {
    let slope = out.map(function, x);
    out.mul(dy, &slope)
}

fn pass(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    r.give(node, 0, &dy);
    Ok(())
}

fn cast(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let dx = r.out.cast(&dy, DataType::Float);
    r.give(node, 0, &dx);
    Ok(())
}

fn add(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    r.give(node, 0, &dy);
    r.give(node, 1, &dy);
    Ok(())
}

fn sub(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    r.give(node, 0, &dy);
    if r.wants_input(node, 1) {
        // Summed before it is turned: the sum may be much smaller.
        let dims = r.input_dims(node, 1);
        let summed = r.out.fit(&dy, &dims);
        let turned = r.out.map("Neg", &summed);
        r.give(node, 1, &turned);
    }
    Ok(())
}

fn mul(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    for (own, other) in [(0, 1), (1, 0)] {
        if r.wants_input(node, own) {
            let factor = r.x(node, other);
            let gradient = r.out.mul(&dy, &factor);
            r.give(node, own, &gradient);
        }
    }
    Ok(())
}

fn div(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let divisor = node.input(1).and_then(|name| r.tape.number(name));
    if let (Some(divisor), false) = (divisor, r.wants_input(node, 1)) {
        let da = r.out.scale(&dy, (1.0 / divisor) as f32);
        r.give(node, 0, &da);
        return Ok(());
    }
    let b = r.x(node, 1);
    let da = r.out.div(&dy, &b);
    r.give(node, 0, &da);
    if r.wants_input(node, 1) {
        let y = r.y(node);
        let product = r.out.mul(&da, &y);
        let dims = r.input_dims(node, 1);
        let summed = r.out.fit(&product, &dims);
        let db = r.out.map("Neg", &summed);
        r.give(node, 1, &db);
    }
    Ok(())
}

fn pow(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let x = r.x(node, 0);
    if r.wants_input(node, 0) {
        let slope = match node.input(1).and_then(|name| r.tape.number(name)) {
            Some(2.0) => r.out.scale(&x, 2.0),
            Some(3.0) => {
                let square = r.out.mul(&x, &x);
                r.out.scale(&square, 3.0)
            }
            Some(exponent) => {
                let lower = r.out.scalar((exponent - 1.0) as f32);
                let power = r.out.op("Pow", &[&x, &lower], &[]);
                r.out.scale(&power, exponent as f32)
            }
            None => {
                let exponent = r.x(node, 1);
                let lower = r.out.shift(&exponent, -1.0);
                let power = r.out.op("Pow", &[&x, &lower], &[]);
                r.out.mul(&power, &exponent)
            }
        };
        let dx = r.out.mul(&dy, &slope);
        r.give(node, 0, &dx);
    }
    if r.wants_input(node, 1) {
        let y = r.y(node);
        let logarithm = r.out.map("Log", &x);
        let slope = r.out.mul(&y, &logarithm);
        let de = r.out.mul(&dy, &slope);
        r.give(node, 1, &de);
    }
    Ok(())
}

fn sum(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let mut dy = r.dy(node)?;
    if node.op_type == "Mean" {
        dy = r.out.scale(&dy, 1.0 / node.inputs.len() as f32);
    }
    for index in 0..node.inputs.len() {
        r.give(node, index, &dy);
    }
    Ok(())
}

/// The first of the arguments that is the result gets the whole gradient.
fn extreme(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (mut rest, y) = (r.dy(node)?, r.y(node));
    for index in 0..node.inputs.len() {
        let x = r.x(node, index);
        let is_it = r.out.op("Equal", &[&x, &y], &[]);
        if r.wants_input(node, index) {
            let dx = r.out.keep(&is_it, &rest);
            r.give(node, index, &dx);
        }
        if index + 1 < node.inputs.len() {
            let not_it = r.out.map("Not", &is_it);
            rest = r.out.keep(&not_it, &rest);
        }
    }
    Ok(())
}

fn choose(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, condition) = (r.dy(node)?, r.x(node, 0));
    if r.wants_input(node, 1) {
        let dx = r.out.keep(&condition, &dy);
        r.give(node, 1, &dx);
    }
    if r.wants_input(node, 2) {
        let zero = r.out.scalar(0.0);
        let dx = r.out.op("Where", &[&condition, &zero, &dy], &[]);
        r.give(node, 2, &dx);
    }
    Ok(())
}

fn sqrt(out: &mut Emitter, dy: &str, y: &str) -> String {
    let half = out.scale(dy, 0.5);
    out.div(&half, y)
}

fn reciprocal(out: &mut Emitter, dy: &str, y: &str) -> String {
    let square = out.mul(y, y);
    let slope = out.map("Neg", &square);
    out.mul(dy, &slope)
}

fn abs(out: &mut Emitter, dy: &str, x: &str) -> String {
    times(out, dy, "Sign", x)
}

/// 2/√π · exp(−x²)
fn erf(out: &mut Emitter, dy: &str, x: &str) -> String {
    let square = out.mul(x, x);
    let turned = out.map("Neg", &square);
    let bell = out.map("Exp", &turned);
    let slope = out.scale(&bell, FRAC_2_SQRT_PI);
    out.mul(dy, &slope)
}

fn sin(out: &mut Emitter, dy: &str, x: &str) -> String {
    times(out, dy, "Cos", x)
}

fn cos(out: &mut Emitter, dy: &str, x: &str) -> String {
    let turned = out.map("Neg", dy);
    times(out, &turned, "Sin", x)
}

/// 1 / (1 + x²)
fn atan(out: &mut Emitter, dy: &str, x: &str) -> String {
    let square = out.mul(x, x);
    let shifted = out.shift(&square, 1.0);
    out.div(dy, &shifted)
}

/// Refuses what only later inputs would make right.
pub(super) fn known_number(
    r: &Reverse<'_>,
    node: &Node,
    index: usize,
) -> Result<Option<f32>, Refusal> {
    match node.input(index) {
        None => Ok(None),
        Some(name) => match r.tape.number(name) {
            Some(number) => Ok(Some(number as f32)),
            None => Err(Refusal(format!("make its input {index} a constant"))),
        },
    }
}
