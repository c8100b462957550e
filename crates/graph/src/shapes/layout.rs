//! Operators that give the same elements another shape or order.

use super::{
    dims::{axes, axis, broadcast, each, offset, sizes, spread_offset},
    value::{Call, Value, elements},
};
use crate::DataType;

/// Outputs of a layout operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let dims = match call.node.op_type.as_str() {
        "Reshape" => reshape(call),
        "Squeeze" => squeeze(call),
        "Unsqueeze" => unsqueeze(call),
        "Flatten" => flatten(call),
        "Transpose" => return transpose(call),
        "Expand" => return expand(call),
        "Tile" => return tile(call),
        "Pad" => return pad(call),
        "DepthToSpace" | "SpaceToDepth" => return call.like(0, depth_space(call)),
        "Shape" => return shape(call),
        "Size" => {
            let count = elements(call.dims(0)?)?;
            return Some(vec![Value::known(DataType::Int64, vec![], vec![count as f64])]);
        }
        _ => return None,
    };
    // The elements stay in their order.
    let numbers = dims.as_ref().and_then(|_| call.numbers(0)).map(<[f64]>::to_vec);
    Some(vec![Value { dtype: call.dtype(0), dims, numbers }])
}

fn reshape(call: &Call<'_>) -> Option<Vec<usize>> {
    let target = call.list("shape", 1)??;
    let data = call.dims(0);
    let keep_zero = call.int("allowzero", 0) == 0;
    let mut dims = Vec::with_capacity(target.len());
    let mut open = None;
    for (index, size) in target.iter().enumerate() {
        match *size {
            0 if keep_zero => dims.push(*data?.get(index)?),
            -1 if open.is_none() => {
                open = Some(index);
                dims.push(1);
            }
            size => dims.push(usize::try_from(size).ok()?),
        }
    }
    if let Some(open) = open {
        let rest = elements(&dims)?;
        let all = elements(data?)?;
        dims[open] = all.checked_div(rest).unwrap_or(0);
        (dims[open].checked_mul(rest) == Some(all)).then_some(())?;
    }
    Some(dims)
}

fn squeeze(call: &Call<'_>) -> Option<Vec<usize>> {
    let data = call.dims(0)?;
    let dropped = match call.list("axes", 1)? {
        Some(list) => axes(&list, data.len())?,
        None => (0..data.len()).filter(|at| data[*at] == 1).collect(),
    };
    Some((0..data.len()).filter(|at| !dropped.contains(at)).map(|at| data[at]).collect())
}

fn unsqueeze(call: &Call<'_>) -> Option<Vec<usize>> {
    let data = call.dims(0)?;
    let list = call.list("axes", 1)??;
    let new = axes(&list, data.len() + list.len())?;
    let mut rest = data.iter();
    (0..data.len() + new.len())
        .map(|at| if new.contains(&at) { Some(1) } else { rest.next().copied() })
        .collect()
}

fn flatten(call: &Call<'_>) -> Option<Vec<usize>> {
    let data = call.dims(0)?;
    let at = match call.int("axis", 1) {
        end if usize::try_from(end) == Ok(data.len()) => data.len(),
        other => axis(other, data.len())?,
    };
    Some(vec![elements(&data[..at])?, elements(&data[at..])?])
}

fn transpose(call: &Call<'_>) -> Option<Vec<Value>> {
    let dtype = call.dtype(0);
    let Some(data) = call.dims(0) else { return Some(vec![Value::unknown(dtype)]) };
    let order = match call.node.ints("perm") {
        Some(order) => axes(order, data.len()).filter(|order| order.len() == data.len())?,
        None => (0..data.len()).rev().collect(),
    };
    let dims: Vec<usize> = order.iter().map(|at| data[*at]).collect();
    let numbers = call.numbers(0).and_then(|numbers| {
        each(&dims, |index| {
            let mut source = vec![0; data.len()];
            for (at, from) in index.iter().zip(&order) {
                source[*from] = *at;
            }
            numbers.get(offset(data, &source)).copied()
        })
    });
    Some(vec![Value { dtype, dims: Some(dims), numbers }])
}

fn expand(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let dims = broadcast(data, &sizes(&call.ints(1)?)?)?;
    let numbers = call
        .numbers(0)
        .and_then(|numbers| each(&dims, |index| numbers.get(spread_offset(data, index)).copied()));
    Some(vec![Value { dtype: call.dtype(0), dims: Some(dims), numbers }])
}

fn tile(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let repeats = sizes(&call.ints(1)?)?;
    let dims: Option<Vec<usize>> =
        data.iter().zip(&repeats).map(|(dim, times)| dim.checked_mul(*times)).collect();
    let dims = dims.filter(|dims| dims.len() == data.len() && repeats.len() == data.len())?;
    let numbers = call.numbers(0).and_then(|numbers| {
        each(&dims, |index| {
            let source: Vec<usize> = index.iter().zip(data).map(|(at, dim)| at % dim).collect();
            numbers.get(offset(data, &source)).copied()
        })
    });
    Some(vec![Value { dtype: call.dtype(0), dims: Some(dims), numbers }])
}

fn pad(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let pads = call.list("pads", 1)??;
    let over = match call.ints(3) {
        Some(list) => axes(&list, data.len())?,
        None if call.has(3) => return None,
        None => (0..data.len()).collect(),
    };
    if pads.len() != over.len() * 2 {
        return None;
    }
    let mut dims: Vec<i64> = data.iter().map(|dim| *dim as i64).collect();
    for (index, at) in over.iter().enumerate() {
        let both = pads[index].checked_add(pads[index + over.len()])?;
        dims[*at] = dims[*at].checked_add(both)?;
    }
    call.like(0, Some(sizes(&dims)?))
}

fn depth_space(call: &Call<'_>) -> Option<Vec<usize>> {
    let &[batch, channels, height, width] = call.dims(0)? else { return None };
    let block = usize::try_from(call.int("blocksize", 0)).ok().filter(|block| *block > 0)?;
    let area = block.checked_mul(block)?;
    if call.node.op_type == "DepthToSpace" {
        return Some(vec![
            batch,
            channels / area,
            height.checked_mul(block)?,
            width.checked_mul(block)?,
        ]);
    }
    Some(vec![batch, channels.checked_mul(area)?, height / block, width / block])
}

fn shape(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let rank = data.len() as i64;
    let place = |value: i64| (if value < 0 { value + rank } else { value }).clamp(0, rank) as usize;
    let start = place(call.int("start", 0));
    let end = place(call.int("end", rank)).max(start);
    let numbers: Vec<f64> = data[start..end].iter().map(|dim| *dim as f64).collect();
    Some(vec![Value::known(DataType::Int64, vec![numbers.len()], numbers)])
}
