//! Picking and putting: what was picked gets its gradient back where it was.
//!
//! Looking up rows of a weight leaves those rows, not a table as large as the weight.

use super::{
    layout::as_i64,
    reverse::{LookedUp, Outcome, Refusal, Reverse},
    rows,
    rules::Rule,
};
use crate::{Node, shapes::axis};

pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Gather" => gather,
        "GatherElements" => gather_elements,
        "GatherND" => gather_nd,
        "ScatterElements" | "Scatter" => scatter_elements,
        "ScatterND" => scatter_nd,
        _ => return None,
    })
}

/// Indices from 0: those below count from the end.
fn from_front(r: &mut Reverse<'_>, indices: &str, size: usize) -> String {
    let size = r.out.integer(size as i64);
    r.out.op("Mod", &[indices, &size], &[])
}

fn gather(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (dims, picks) = (r.input_dims(node, 0), r.input_dims(node, 1));
    let at = axis(node.int("axis").unwrap_or(0), dims.len()).unwrap_or(0);
    let count: usize = picks.iter().product();
    let table = node.input(0).unwrap_or_default().to_string();
    let known = node.input(1).and_then(|name| r.tape.number(name));
    let is_row = at == 0 && dims.len() == 2 && r.tape.parameters.of(&table).is_some();
    if let (Some(place), false) = (known, is_row) {
        // One place: a piece of the axis.
        let place = place as i64;
        let place = if place < 0 { place + dims[at] as i64 } else { place };
        let mut piece = dims.clone();
        piece[at] = 1;
        let dy = r.out.reshape(&dy, &piece);
        r.give_piece(node, 0, at, usize::try_from(place).unwrap_or(0), &dy);
        return Ok(());
    }
    let indices = r.x(node, 1);
    let indices = as_i64(r, &indices);
    let indices = from_front(r, &indices, dims[at]);
    if is_row {
        let indices = r.out.reshape(&indices, &[count]);
        let values = r.out.reshape(&dy, &[count, dims[1]]);
        if rows::are_few(count, dims[0]) {
            let dense = rows::add(&mut r.out, None, &indices, &values, dims[0]);
            r.give(node, 0, &dense);
        } else {
            r.give_rows(&table, LookedUp { indices, values });
        }
        return Ok(());
    }
    // The picked axis comes first, then slices of it are added up.
    let (before, behind): (usize, usize) =
        (dims[..at].iter().product(), dims[at + 1..].iter().product());
    let dy = r.out.reshape(&dy, &[before, count, behind]);
    let dy = r.out.transpose(&dy, &[1, 0, 2]);
    let dy = r.out.reshape(&dy, &[count, before * behind]);
    let indices = r.out.reshape(&indices, &[count]);
    let sum = rows::add(&mut r.out, None, &indices, &dy, dims[at]);
    let sum = r.out.reshape(&sum, &[dims[at], before, behind]);
    let sum = r.out.transpose(&sum, &[1, 0, 2]);
    let dx = r.out.reshape(&sum, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

fn gather_elements(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, indices) = (r.dy(node)?, r.x(node, 1));
    let zeros = {
        let dims = r.input_dims(node, 0);
        r.out.zeros(&dims)
    };
    let axis = node.int("axis").unwrap_or(0);
    let attributes = [("axis", axis.into()), ("reduction", "add".into())];
    let dx = r.out.op("ScatterElements", &[&zeros, &indices, &dy], &attributes);
    r.give(node, 0, &dx);
    Ok(())
}

/// Slices by tuples of indices: each tuple becomes the number of its slice.
fn gather_nd(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let dy = r.dy(node)?;
    let (dims, picks) = (r.input_dims(node, 0), r.input_dims(node, 1));
    let batch = node.int("batch_dims").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let Some((depth, outer)) = picks.split_last() else {
        return Err(Refusal("its indices need an axis".to_string()));
    };
    let (count, slices): (usize, usize) =
        (outer.iter().product(), dims[..batch + depth].iter().product());
    let width: usize = dims[batch + depth..].iter().product();
    let indices = r.x(node, 1);
    let indices = as_i64(r, &indices);
    let indexed: Vec<i64> = dims[batch..batch + depth].iter().map(|dim| *dim as i64).collect();
    let sizes = r.out.i64s(&indexed);
    let indices = r.out.op("Mod", &[&indices, &sizes], &[]);
    // How many slices one step along each indexed axis passes.
    let mut steps = vec![1i64; *depth];
    for at in (0..depth.saturating_sub(1)).rev() {
        steps[at] = steps[at + 1] * indexed[at + 1];
    }
    let steps = r.out.i64s(&steps);
    let passed = r.out.mul(&indices, &steps);
    let rank = r.out.dims(&passed).len();
    let mut place = r.out.sum(&passed, &[rank - 1]);
    let batches: usize = dims[..batch].iter().product();
    if batches > 1 {
        let each = slices / batches;
        let starts: Vec<i64> = (0..batches).map(|batch| (batch * each) as i64).collect();
        let starts = r.out.i64s(&starts);
        let starts = r.out.reshape(&starts, &[batches, 1]);
        place = r.out.reshape(&place, &[batches, count / batches]);
        place = r.out.add(&place, &starts);
    }
    let place = r.out.reshape(&place, &[count]);
    let dy = r.out.reshape(&dy, &[count, width]);
    // One pick a batch never meets another.
    let sum = if batches == count {
        rows::put(&mut r.out, None, &place, &dy, slices)
    } else {
        rows::add(&mut r.out, None, &place, &dy, slices)
    };
    let dx = r.out.reshape(&sum, &dims);
    r.give(node, 0, &dx);
    Ok(())
}

/// Whether updates are put in place of what was there or added to it.
fn replaces(node: &Node) -> Result<bool, Refusal> {
    match node.text("reduction").unwrap_or("none") {
        "none" => Ok(true),
        "add" => Ok(false),
        _ => Err(Refusal("only plain and adding updates can be trained through".to_string())),
    }
}

fn scatter_elements(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, indices) = (r.dy(node)?, r.x(node, 1));
    let axis = node.int("axis").unwrap_or(0);
    let axis = [("axis", axis.into())];
    if r.wants_input(node, 0) {
        let mut dx = dy.clone();
        if replaces(node)? {
            let dims = r.input_dims(node, 2);
            let zeros = r.out.zeros(&dims);
            dx = r.out.op("ScatterElements", &[&dy, &indices, &zeros], &axis);
        }
        r.give(node, 0, &dx);
    }
    replaces(node)?;
    if r.wants_input(node, 2) {
        let updates = r.out.op("GatherElements", &[&dy, &indices], &axis);
        r.give(node, 2, &updates);
    }
    Ok(())
}

fn scatter_nd(r: &mut Reverse<'_>, node: &Node) -> Outcome {
    let (dy, indices) = (r.dy(node)?, r.x(node, 1));
    let replaces = replaces(node)?;
    if r.wants_input(node, 0) {
        let mut dx = dy.clone();
        if replaces {
            let dims = r.input_dims(node, 2);
            let zeros = r.out.zeros(&dims);
            dx = r.out.op("ScatterND", &[&dy, &indices, &zeros], &[]);
        }
        r.give(node, 0, &dx);
    }
    if r.wants_input(node, 2) {
        let updates = r.out.op("GatherND", &[&dy, &indices], &[]);
        r.give(node, 2, &updates);
    }
    Ok(())
}
