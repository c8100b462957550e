//! Matrix products.
//!
//! A product with one matrix folds the leading dims and uses `Gemm`, whose transposed forms cost engines nothing;
//! products of many matrices turn their arguments.

use super::{
    reverse::{Outcome, Refusal, Reverse},
    rules::Rule,
};
use crate::Node;

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMul" => matmul,
        "Gemm" => gemm,
        "Einsum" => einsum,
        _ => return None,
    })
}

fn matmul(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (a_dims, b_dims) = (r.input_dims(node, 0), r.input_dims(node, 1));
    // A vector counts as a matrix of one row on the left, of one column on the right.
    let a_wide = if a_dims.len() == 1 { vec![1, a_dims[0]] } else { a_dims.clone() };
    let b_wide = if b_dims.len() == 1 { vec![b_dims[0], 1] } else { b_dims.clone() };
    let (Some([rows, inner]), Some([_, columns])) = (last_two(&a_wide), last_two(&b_wide)) else {
        return Err(Refusal("a product needs at least vectors".to_string()));
    };
    if b_wide.len() == 2 {
        let count = a_wide[..a_wide.len() - 1].iter().product();
        let dy = r.out.reshape(&dy, &[count, columns]);
        if r.wants_input(node, 0) {
            let b = r.x(node, 1);
            let b = r.out.reshape(&b, &b_wide);
            let da = r.out.gemm(&dy, &b, (false, true), 1.0);
            let da = r.out.reshape(&da, &a_dims);
            r.give(node, 0, &da);
        }
        if r.wants_input(node, 1) {
            let a = r.x(node, 0);
            let a = r.out.reshape(&a, &[count, inner]);
            let db = r.out.gemm(&a, &dy, (true, false), 1.0);
            let db = r.out.reshape(&db, &b_dims);
            r.give(node, 1, &db);
        }
        return Ok(());
    }
    let mut y_wide = r.dims(&node.outputs[0]);
    if a_dims.len() == 1 {
        y_wide.insert(y_wide.len() - 1, rows);
    }
    let dy = r.out.reshape(&dy, &y_wide);
    if r.wants_input(node, 0) {
        let b = r.x(node, 1);
        let turned = r.out.swap_last(&b);
        let da = r.out.op("MatMul", &[&dy, &turned], &[]);
        let da = r.out.fit(&da, &a_wide);
        let da = r.out.reshape(&da, &a_dims);
        r.give(node, 0, &da);
    }
    if r.wants_input(node, 1) {
        let a = r.x(node, 0);
        let a = r.out.reshape(&a, &a_wide);
        let turned = r.out.swap_last(&a);
        let db = r.out.op("MatMul", &[&turned, &dy], &[]);
        r.give(node, 1, &db);
    }
    Ok(())
}

fn last_two(dims: &[usize]) -> Option<[usize; 2]> {
    dims.last_chunk::<2>().copied()
}

fn gemm(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let turned = |name| node.int(name).unwrap_or(0) != 0;
    let (turn_a, turn_b) = (turned("transA"), turned("transB"));
    let alpha = node.float("alpha").unwrap_or(1.0);
    if r.wants_input(node, 0) {
        let b = r.x(node, 1);
        let da = if turn_a {
            r.out.gemm(&b, &dy, (turn_b, true), alpha)
        } else {
            r.out.gemm(&dy, &b, (false, !turn_b), alpha)
        };
        r.give(node, 0, &da);
    }
    if r.wants_input(node, 1) {
        let a = r.x(node, 0);
        let db = if turn_b {
            r.out.gemm(&dy, &a, (true, turn_a), alpha)
        } else {
            r.out.gemm(&a, &dy, (!turn_a, false), alpha)
        };
        r.give(node, 1, &db);
    }
    if r.wants_input(node, 2) {
        let dims = r.input_dims(node, 2);
        let summed = r.out.fit(&dy, &dims);
        let dc = r.out.scale(&summed, node.float("beta").unwrap_or(1.0));
        r.give(node, 2, &dc);
    }
    Ok(())
}

/// A sum of products over labels: the gradient of one operand is such a sum of the others and the output's gradient.
fn einsum(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let plain = || Refusal("write the sum without `...` and with `->`".to_string());
    let equation: String =
        node.text("equation").unwrap_or_default().chars().filter(|c| *c != ' ').collect();
    let (left, output) = equation.split_once("->").ok_or_else(plain)?;
    let terms: Vec<&str> = left.split(',').collect();
    if equation.contains('.') || terms.len() != node.inputs.len() {
        return Err(plain());
    }
    let dy = r.dy(node)?;
    for (index, term) in terms.iter().enumerate() {
        if !r.wants_input(node, index) {
            continue;
        }
        let others: Vec<usize> = (0..terms.len()).filter(|other| *other != index).collect();
        let mut known: String = output.to_string();
        known.extend(others.iter().map(|other| terms[*other]));
        let repeats = term.chars().enumerate().any(|(at, c)| term[..at].contains(c));
        if repeats || term.chars().any(|label| !known.contains(label)) {
            return Err(Refusal("write the sum so that each label is in two terms".to_string()));
        }
        let mut inputs = vec![dy.clone()];
        inputs.extend(others.iter().map(|other| r.x(node, *other)));
        let mut labels = vec![output];
        labels.extend(others.iter().map(|other| terms[*other]));
        let equation = format!("{}->{term}", labels.join(","));
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let gradient = r.out.op("Einsum", &inputs, &[("equation", equation.as_str().into())]);
        r.give(node, index, &gradient);
    }
    Ok(())
}
