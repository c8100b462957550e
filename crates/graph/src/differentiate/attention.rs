//! Attention as one operator. Scores are computed again: keeping them would cost a square of the length.

use super::{
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
};
use crate::{
    Attribute, DataType, Node, Tensor,
    shapes::{Call, Heads},
};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Attention" | "MultiHeadAttention" => attention,
        _ => return None,
    })
}

/// What an attention operator is asked to do.
struct Asked {
    heads: Heads,
    keys: usize,
    scale: f32,
    causal: bool,
    /// The input with the mask or bias on the scores.
    mask: usize,
    /// Whether queries, keys and values have an axis of heads already.
    split: bool,
}

fn asked(r: &Reverse<'_>, node: &Node) -> Result<Asked, Refusal> {
    let inputs = node.inputs.iter().map(|name| r.tape.values.get(name)).collect();
    let heads = Heads::of(&Call { node, inputs })
        .ok_or_else(|| Refusal("its heads cannot be told from its inputs".to_string()))?;
    let standard = node.is_standard();
    let allowed: &[usize] = if standard { &[0, 1, 2, 3] } else { &[0, 1, 2, 5] };
    let more = (0..node.inputs.len()).any(|at| node.input(at).is_some() && !allowed.contains(&at));
    let bent = node.float("softcap").unwrap_or(0.0) != 0.0;
    let split = r.input_dims(node, 0).len() == 4;
    let apart = (0..3).all(|at| r.input_dims(node, at).len() == if split { 4 } else { 3 });
    let (Some(keys), false, false, true) = (heads.keys, more, bent, apart) else {
        let plain = "only queries, keys, values and a mask of their own can be trained through";
        return Err(Refusal(plain.to_string()));
    };
    let default = 1.0 / (heads.size as f32).sqrt();
    let scale = node.float("scale").filter(|scale| standard || *scale != 0.0).unwrap_or(default);
    let flag = if standard { "is_causal" } else { "unidirectional" };
    let causal = node.int(flag).unwrap_or(0) != 0;
    Ok(Asked { heads, keys, scale, causal, mask: if standard { 3 } else { 5 }, split })
}

fn attention(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let asked = asked(r, node)?;
    let Asked { ref heads, keys, scale, .. } = asked;
    let (batch, shared, length) = (heads.batch, heads.key_heads, heads.queries);
    // Query heads that share a key head lie behind each other as more queries.
    let rows = heads.heads / shared * length;
    let dy = r.dy(node)?;
    let dy = split(r, &dy, &asked, heads.heads, length, heads.value_size);
    let dy = r.out.reshape(&dy, &[batch, shared, rows, heads.value_size]);
    let (q, k, v) = (r.x(node, 0), r.x(node, 1), r.x(node, 2));
    let q = split(r, &q, &asked, heads.heads, length, heads.size);
    let q = r.out.reshape(&q, &[batch, shared, rows, heads.size]);
    let k = split(r, &k, &asked, shared, keys, heads.size);
    let v = split(r, &v, &asked, shared, keys, heads.value_size);
    let shares = shares(r, node, &asked, &q, &k)?;
    let shares = r.out.reshape(&shares, &[batch, shared, rows, keys]);

    let turned = r.out.swap_last(&shares);
    let dv = r.out.op("MatMul", &[&turned, &dy], &[]);
    let turned = r.out.swap_last(&v);
    let dshares = r.out.op("MatMul", &[&dy, &turned], &[]);
    let product = r.out.mul(&dshares, &shares);
    let sum = r.out.sum(&product, &[3]);
    let shifted = r.out.sub(&dshares, &sum);
    let dscores = r.out.mul(&shifted, &shares);
    if r.wants_input(node, asked.mask) {
        let bias = r.out.reshape(&dscores, &[batch, heads.heads, length, keys]);
        r.give(node, asked.mask, &bias);
    }
    let dscores = r.out.scale(&dscores, scale);
    let dq = r.out.op("MatMul", &[&dscores, &k], &[]);
    let dq = r.out.reshape(&dq, &[batch, heads.heads, length, heads.size]);
    let turned = r.out.swap_last(&dscores);
    let dk = r.out.op("MatMul", &[&turned, &q], &[]);
    for (index, gradient) in [(0, dq), (1, dk), (2, dv)] {
        if r.wants_input(node, index) {
            let gradient = join(r, &gradient, &asked);
            r.give(node, index, &gradient);
        }
    }
    Ok(())
}

/// The softmax of the scores, `[batch, heads, queries, keys]`.
fn shares(
    r: &mut Reverse<'_>,
    node: &Node,
    asked: &Asked,
    q: &str,
    k: &str,
) -> Result<String, Refusal> {
    let Asked { heads, keys, .. } = asked;
    let turned = r.out.swap_last(k);
    let scores = r.out.op("MatMul", &[q, &turned], &[]);
    let scores = r.out.scale(&scores, asked.scale);
    let mut scores = r.out.reshape(&scores, &[heads.batch, heads.heads, heads.queries, *keys]);
    // Far below every score, and still a number: a row without any key must not become NaN.
    let hidden = r.out.scalar(f32::MIN);
    if node.input(asked.mask).is_some() {
        let mask = r.x(node, asked.mask);
        scores = match r.out.dtype(&mask) {
            DataType::Float => r.out.add(&scores, &mask),
            DataType::Bool => r.out.op("Where", &[&mask, &scores, &hidden], &[]),
            _ => return Err(Refusal("its mask must be floats or booleans".to_string())),
        };
    }
    if asked.causal {
        let shape = r.out.i64s(&[heads.queries as i64, *keys as i64]);
        let one = Attribute::Tensor(Tensor::from_f32s("", &[1], &[1.0]));
        let ones = r.out.op("ConstantOfShape", &[&shape], &[("value", one)]);
        let lower = r.out.op("Trilu", &[&ones], &[("upper", 0.into())]);
        let seen = r.out.cast(&lower, DataType::Bool);
        scores = r.out.op("Where", &[&seen, &scores, &hidden], &[]);
    }
    Ok(r.out.op("Softmax", &[&scores], &[("axis", (-1).into())]))
}

/// `[batch, length, heads × size]` as `[batch, heads, length, size]`.
fn split(
    r: &mut Reverse<'_>,
    value: &str,
    asked: &Asked,
    heads: usize,
    length: usize,
    size: usize,
) -> String {
    if asked.split {
        return value.to_string();
    }
    let apart = r.out.reshape(value, &[asked.heads.batch, length, heads, size]);
    r.out.transpose(&apart, &[0, 2, 1, 3])
}

/// The way back.
fn join(r: &mut Reverse<'_>, value: &str, asked: &Asked) -> String {
    if asked.split {
        return value.to_string();
    }
    // A value of other dims is no gradient, which is told where it is given.
    let [batch, heads, length, size] = r.out.dims(value)[..] else { return value.to_string() };
    let turned = r.out.transpose(value, &[0, 2, 1, 3]);
    r.out.reshape(&turned, &[batch, length, heads * size])
}
