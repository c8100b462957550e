//! Operators that pick, join or cut elements.

use super::{
    dims::{axes, axis, each, offset, sizes},
    value::{Call, Value},
};
use crate::DataType;

/// Outputs of a selecting operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    match call.node.op_type.as_str() {
        "Concat" => concat(call),
        "Gather" => gather(call),
        "GatherElements" => call.like(0, call.dims(1).map(<[usize]>::to_vec)),
        "GatherND" => call.like(0, gather_nd(call)),
        "Slice" => slice(call),
        "Split" => split(call),
        "Compress" => call.like(0, None),
        "TopK" => top_k(call),
        "NonZero" => non_zero(call),
        "Unique" => Some(vec![
            Value::unknown(call.dtype(0)),
            Value::unknown(DataType::Int64),
            Value::unknown(DataType::Int64),
            Value::unknown(DataType::Int64),
        ]),
        _ => None,
    }
}

fn concat(call: &Call<'_>) -> Option<Vec<Value>> {
    let dtype = call.dtype(0);
    let parts: Option<Vec<&[usize]>> = (0..call.inputs.len()).map(|i| call.dims(i)).collect();
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
        return Some(vec![Value::unknown(dtype)]);
    };
    let mut dims = parts[0].to_vec();
    let at = axis(call.int("axis", 0), dims.len())?;
    dims[at] = 0;
    for part in &parts {
        dims[at] = dims[at].checked_add(*part.get(at)?)?;
    }
    let sources: Option<Vec<&[f64]>> = (0..parts.len()).map(|i| call.numbers(i)).collect();
    let numbers = sources.and_then(|sources| {
        each(&dims, |index| {
            let mut index = index.to_vec();
            for (part, numbers) in parts.iter().zip(&sources) {
                if index[at] < part[at] {
                    return numbers.get(offset(part, &index)).copied();
                }
                index[at] -= part[at];
            }
            None
        })
    });
    Some(vec![Value { dtype, dims: Some(dims), numbers }])
}

fn gather(call: &Call<'_>) -> Option<Vec<Value>> {
    let (data, indices) = (call.dims(0)?, call.dims(1)?);
    let at = axis(call.int("axis", 0), data.len())?;
    let mut dims = data[..at].to_vec();
    dims.extend(indices);
    dims.extend(&data[at + 1..]);
    let numbers = call.numbers(0).zip(call.ints(1)).and_then(|(numbers, picks)| {
        each(&dims, |index| {
            let inner = &index[at..at + indices.len()];
            let pick = axis(*picks.get(offset(indices, inner))?, data[at])?;
            let mut source = index[..at].to_vec();
            source.push(pick);
            source.extend(&index[at + indices.len()..]);
            numbers.get(offset(data, &source)).copied()
        })
    });
    Some(vec![Value { dtype: call.dtype(0), dims: Some(dims), numbers }])
}

fn gather_nd(call: &Call<'_>) -> Option<Vec<usize>> {
    let (data, indices) = (call.dims(0)?, call.dims(1)?);
    let batch = usize::try_from(call.int("batch_dims", 0)).ok()?;
    let (depth, outer) = indices.split_last()?;
    let mut dims = outer.to_vec();
    dims.extend(data.get(batch.checked_add(*depth)?..)?);
    Some(dims)
}

/// One axis of a slice: where it starts, the step, how many.
struct Cut {
    start: i64,
    step: i64,
    count: usize,
}

fn cut(size: usize, start: i64, end: i64, step: i64) -> Option<Cut> {
    let size = i64::try_from(size).ok()?;
    let place = |value: i64| if value < 0 { value.saturating_add(size) } else { value };
    let (start, end) = match step {
        0 => return None,
        1.. => (place(start).clamp(0, size), place(end).clamp(0, size)),
        _ if size == 0 => (0, 0),
        _ => (place(start).clamp(0, size - 1), place(end).clamp(-1, size - 1)),
    };
    let distance = if step > 0 { end - start } else { start - end };
    let count =
        if distance <= 0 { 0 } else { distance.unsigned_abs().div_ceil(step.unsigned_abs()) };
    Some(Cut { start, step, count: usize::try_from(count).ok()? })
}

fn slice(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let starts = call.list("starts", 1)??;
    let ends = call.list("ends", 2)??;
    let over = match call.list("axes", 3)? {
        Some(list) => axes(&list, data.len())?,
        None => (0..starts.len()).collect(),
    };
    let steps = if call.has(4) { call.ints(4)? } else { vec![1; starts.len()] };
    let mut cuts: Vec<Cut> =
        data.iter().map(|size| Cut { start: 0, step: 1, count: *size }).collect();
    for (index, at) in over.iter().enumerate() {
        let bounds = (*starts.get(index)?, *ends.get(index)?, *steps.get(index)?);
        *cuts.get_mut(*at)? = cut(*data.get(*at)?, bounds.0, bounds.1, bounds.2)?;
    }
    let dims: Vec<usize> = cuts.iter().map(|cut| cut.count).collect();
    let numbers = call.numbers(0).and_then(|numbers| {
        each(&dims, |index| {
            let source: Option<Vec<usize>> = index
                .iter()
                .zip(&cuts)
                .map(|(at, cut)| usize::try_from(cut.start + *at as i64 * cut.step).ok())
                .collect();
            numbers.get(offset(data, &source?)).copied()
        })
    });
    Some(vec![Value { dtype: call.dtype(0), dims: Some(dims), numbers }])
}

fn split(call: &Call<'_>) -> Option<Vec<Value>> {
    let data = call.dims(0)?;
    let at = axis(call.int("axis", 0), data.len())?;
    let parts = match call.list("split", 1)? {
        Some(list) => sizes(&list)?,
        None => {
            let count = call.node.outputs.len();
            let each = data[at].div_ceil(count.max(1));
            (0..count).map(|i| each.min(data[at].saturating_sub(each.saturating_mul(i)))).collect()
        }
    };
    let mut start = 0;
    let mut outputs = Vec::with_capacity(parts.len());
    for part in parts {
        let mut dims = data.to_vec();
        dims[at] = part;
        let numbers = call.numbers(0).and_then(|numbers| {
            each(&dims, |index| {
                let mut source = index.to_vec();
                source[at] = source[at].saturating_add(start);
                numbers.get(offset(data, &source)).copied()
            })
        });
        start = start.saturating_add(part);
        outputs.push(Value { dtype: call.dtype(0), dims: Some(dims), numbers });
    }
    Some(outputs)
}

fn top_k(call: &Call<'_>) -> Option<Vec<Value>> {
    let k = match call.node.int("k") {
        Some(k) => Some(k),
        None => call.ints(1).and_then(|list| list.first().copied()),
    };
    let dims = call.dims(0).zip(k).and_then(|(data, k)| {
        let mut dims = data.to_vec();
        let at = axis(call.int("axis", -1), dims.len())?;
        dims[at] = usize::try_from(k).ok()?;
        Some(dims)
    });
    let value = |dtype| Value { dtype, dims: dims.clone(), numbers: None };
    Some(vec![value(call.dtype(0)), value(DataType::Int64)])
}

/// How many are not zero is known where the elements are; exporters build ranges that way.
fn non_zero(call: &Call<'_>) -> Option<Vec<Value>> {
    let unknown = Some(vec![Value::unknown(DataType::Int64)]);
    let (Some(dims), Some(numbers)) = (call.dims(0), call.numbers(0)) else { return unknown };
    let found: Vec<f64> = (0..numbers.len())
        .filter(|index| numbers[*index] != 0.0)
        .map(|index| index as f64)
        .collect();
    if dims.len() != 1 {
        let value = Value::new(DataType::Int64, vec![dims.len(), found.len()]);
        return Some(vec![value]);
    }
    Some(vec![Value::known(DataType::Int64, vec![1, found.len()], found)])
}
