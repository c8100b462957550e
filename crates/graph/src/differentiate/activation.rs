//! Activation functions, single operators and those that were found in several nodes.

use super::{
    emitter::Emitter,
    pointwise::{known_number, of_x, of_y},
    reverse::{Outcome, Reverse},
    rules::Rule,
};
use crate::Node;
use std::f32::consts::{FRAC_1_SQRT_2, PI};

/// The cubic term's factor in the approximation of GELU by the hyperbolic tangent (Hendrycks and Gimpel, 2016).
const CUBIC: f32 = 0.044_715;

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Relu" => |r, n| of_y(r, n, relu),
        "Tanh" => |r, n| of_y(r, n, tanh),
        "Sigmoid" => |r, n| of_y(r, n, sigmoid),
        "Softplus" => |r, n| of_x(r, n, softplus),
        "Softsign" => |r, n| of_x(r, n, softsign),
        "LeakyRelu" => leaky_relu,
        "Elu" => elu,
        "HardSigmoid" => hard_sigmoid,
        "HardSwish" => |r, n| of_x(r, n, hard_swish),
        "Clip" => clip,
        "PRelu" => prelu,
        "Gelu" | "FastGelu" | "BiasGelu" => gelu,
        "Swish" | "QuickGelu" => swish,
        _ => return None,
    })
}

fn relu(out: &mut Emitter, dy: &str, y: &str) -> String {
    let zero = out.scalar(0.0);
    let open = out.op("Greater", &[y, &zero], &[]);
    out.keep(&open, dy)
}

/// 1 − y²
fn tanh(out: &mut Emitter, dy: &str, y: &str) -> String {
    let square = out.mul(y, y);
    let lost = out.mul(dy, &square);
    out.sub(dy, &lost)
}

/// y − y²
fn sigmoid(out: &mut Emitter, dy: &str, y: &str) -> String {
    let square = out.mul(y, y);
    let slope = out.sub(y, &square);
    out.mul(dy, &slope)
}

fn softplus(out: &mut Emitter, dy: &str, x: &str) -> String {
    let slope = out.map("Sigmoid", x);
    out.mul(dy, &slope)
}

/// 1 / (1 + |x|)²
fn softsign(out: &mut Emitter, dy: &str, x: &str) -> String {
    let size = out.map("Abs", x);
    let shifted = out.shift(&size, 1.0);
    let square = out.mul(&shifted, &shifted);
    out.div(dy, &square)
}

fn leaky_relu(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let slope = node.float("alpha").unwrap_or(0.01);
    of_x(r, node, |out, dy, x| {
        let zero = out.scalar(0.0);
        let open = out.op("Greater", &[x, &zero], &[]);
        let leak = out.scale(dy, slope);
        out.op("Where", &[&open, dy, &leak], &[])
    })
}

/// y + α below zero
fn elu(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let alpha = node.float("alpha").unwrap_or(1.0);
    of_x(r, node, |out, dy, x| {
        let zero = out.scalar(0.0);
        let open = out.op("Greater", &[x, &zero], &[]);
        // Above zero the exponential is not used; held at 1 there so that it cannot overflow.
        let below = out.op("Min", &[x, &zero], &[]);
        let exponential = out.map("Exp", &below);
        let slope = out.scale(&exponential, alpha);
        let bent = out.mul(dy, &slope);
        out.op("Where", &[&open, dy, &bent], &[])
    })
}

fn between(out: &mut Emitter, x: &str, low: Option<f32>, high: Option<f32>) -> Option<String> {
    let low = low.map(|low| {
        let low = out.scalar(low);
        out.op("GreaterOrEqual", &[x, &low], &[])
    });
    let high = high.map(|high| {
        let high = out.scalar(high);
        out.op("LessOrEqual", &[x, &high], &[])
    });
    match (low, high) {
        (Some(low), Some(high)) => Some(out.op("And", &[&low, &high], &[])),
        (low, high) => low.or(high),
    }
}

fn hard_sigmoid(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let alpha = node.float("alpha").unwrap_or(0.2);
    let beta = node.float("beta").unwrap_or(0.5);
    of_x(r, node, |out, dy, x| {
        let open = between(out, x, Some(-beta / alpha), Some((1.0 - beta) / alpha));
        let steep = out.scale(dy, alpha);
        open.map_or_else(|| steep.clone(), |open| out.keep(&open, &steep))
    })
}

/// Slope x/3 + 1/2 between −3 and 3, 0 below, 1 above.
fn hard_swish(out: &mut Emitter, dy: &str, x: &str) -> String {
    let third = out.scale(x, 1.0 / 3.0);
    let slope = out.shift(&third, 0.5);
    let (low, high) = (out.scalar(-3.0), out.scalar(3.0));
    let above = out.op("Greater", &[x, &high], &[]);
    let open = out.op("Greater", &[x, &low], &[]);
    let bent = out.mul(dy, &slope);
    let bent = out.keep(&open, &bent);
    out.op("Where", &[&above, dy, &bent], &[])
}

fn clip(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let low = known_number(r, node, 1)?.or_else(|| node.float("min"));
    let high = known_number(r, node, 2)?.or_else(|| node.float("max"));
    of_x(r, node, |out, dy, x| match between(out, x, low, high) {
        Some(open) => out.keep(&open, dy),
        None => dy.to_string(),
    })
}

fn prelu(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, x) = (r.dy(node)?, r.x(node, 0));
    let zero = r.out.scalar(0.0);
    let open = r.out.op("Greater", &[&x, &zero], &[]);
    if r.wants_input(node, 0) {
        let slope = r.x(node, 1);
        let leak = r.out.mul(&dy, &slope);
        let dx = r.out.op("Where", &[&open, &dy, &leak], &[]);
        r.give(node, 0, &dx);
    }
    if r.wants_input(node, 1) {
        let product = r.out.mul(&dy, &x);
        let below = r.out.op("Where", &[&open, &zero, &product], &[]);
        r.give(node, 1, &below);
    }
    Ok(())
}

/// GELU in all its forms: `approximate` says which, `FastGelu` and `BiasGelu` may add a bias first.
fn gelu(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, mut x) = (r.dy(node)?, r.x(node, 0));
    if node.input(1).is_some() {
        let bias = r.x(node, 1);
        x = r.out.add(&x, &bias);
    }
    let by_tanh = node.op_type == "FastGelu" || node.text("approximate") == Some("tanh");
    let slope = if by_tanh { gelu_tanh(&mut r.out, &x) } else { gelu_erf(&mut r.out, &x) };
    let dx = r.out.mul(&dy, &slope);
    r.give(node, 0, &dx);
    r.give(node, 1, &dx);
    Ok(())
}

/// Φ(x) + x · φ(x) = ½ + ½ · erf(x/√2) + x · exp(−x²/2 − ln √(2π))
fn gelu_erf(out: &mut Emitter, x: &str) -> String {
    let scaled = out.scale(x, FRAC_1_SQRT_2);
    let erf = out.map("Erf", &scaled);
    // ½ + ½ · erf in one pass: nothing is cut off, for erf lies between −1 and 1.
    let share = out.op("HardSigmoid", &[&erf], &[("alpha", 0.5.into()), ("beta", 0.5.into())]);
    let square = out.mul(&scaled, &scaled);
    // The factor of the bell curve stands in the exponent: one pass over the tensor less.
    let level = out.scalar(-0.5 * (2.0 * PI).ln());
    let exponent = out.sub(&level, &square);
    let bell = out.map("Exp", &exponent);
    let bell = out.mul(x, &bell);
    out.add(&share, &bell)
}

/// ½ · (1 + t) + ½ · x · (1 − t²) · √(2/π) · (1 + 3 · 0.044715 · x²), where t = tanh(√(2/π) · (x + 0.044715 · x³))
fn gelu_tanh(out: &mut Emitter, x: &str) -> String {
    let root = (2.0 / PI).sqrt();
    let square = out.mul(x, x);
    let cubic = out.scale(&square, root * CUBIC);
    let factor = out.shift(&cubic, root);
    let inner = out.mul(x, &factor);
    let t = out.map("Tanh", &inner);
    // s = ½ · (1 + t), so that ½ · (1 − t²) = 2 · s · (1 − s).
    let half = out.scale(&t, 0.5);
    let share = out.shift(&half, 0.5);
    let product = out.mul(&share, &share);
    let rest = out.sub(&share, &product);
    let steep = out.scale(&square, 6.0 * root * CUBIC);
    let steep = out.shift(&steep, 2.0 * root);
    let steep = out.mul(x, &steep);
    let bent = out.mul(&rest, &steep);
    out.add(&share, &bent)
}

/// x · σ(αx): σ + αx · σ · (1 − σ)
fn swish(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let default = if node.op_type == "QuickGelu" { 1.702 } else { 1.0 };
    let alpha = node.float("alpha").unwrap_or(default);
    of_x(r, node, |out, dy, x| {
        let scaled = out.scale(x, alpha);
        let gate = out.map("Sigmoid", &scaled);
        let square = out.mul(&gate, &gate);
        let rest = out.sub(&gate, &square);
        let bent = out.mul(&scaled, &rest);
        let slope = out.add(&gate, &bent);
        out.mul(dy, &slope)
    })
}
