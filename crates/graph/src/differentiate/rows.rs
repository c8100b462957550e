//! Rows added to a table, several of them perhaps to the same row.
//!
//! `ScatterND` that adds would be the operator for it, but ONNX Runtime (seen in 1.31) runs it on several threads
//! without care for rows that come twice, and loses some. Products do it right, and faster than `ScatterElements`.

use super::emitter::Emitter;
use crate::{DataType, Tensor};

/// A table of at most so many rows is the product with one 1 a row.
const FEW_ROWS: usize = 1024;

/// Up to so many rows each is compared with each other: a square of this size is 64 MB.
const FEW_INDICES: usize = 4096;

/// Whether most rows of a small table may well be hit, so that a dense table is the better form.
pub(super) fn are_few(count: usize, rows: usize) -> bool {
    count >= rows && rows <= FEW_ROWS
}

/// A table `[rows, width]`: the base (or zeros) with `values` `[n, width]` added at `indices` `[n]`.
pub(super) fn add(
    out: &mut Emitter,
    base: Option<&str>,
    indices: &str,
    values: &str,
    rows: usize,
) -> String {
    let (count, width) = match out.dims(values)[..] {
        [count, width] => (count, width),
        _ => (0, 0),
    };
    if are_few(count, rows) {
        let depth = out.i64s(&[rows as i64]);
        let choice = out.constant(Tensor::from_f32s("", &[2], &[0.0, 1.0]));
        let marks = out.op("OneHot", &[indices, &depth, &choice], &[("axis", (-1).into())]);
        let sum = out.gemm(&marks, values, (true, false), 1.0);
        return match base {
            Some(base) => out.add(base, &sum),
            None => sum,
        };
    }
    if count > FEW_INDICES {
        let base = base.map_or_else(|| out.zeros(&[rows, width]), str::to_string);
        let column = out.reshape(indices, &[count, 1]);
        let places = out.expand(&column, &[count, width]);
        let attributes = [("axis", 0.into()), ("reduction", "add".into())];
        return out.op("ScatterElements", &[&base, &places, values], &attributes);
    }
    let mut sums = values.to_string();
    if count > 1 {
        // Every row gets the sum of all that go where it goes; put there, they are all the same.
        let (column, row) = (out.reshape(indices, &[count, 1]), out.reshape(indices, &[1, count]));
        let same = out.op("Equal", &[&column, &row], &[]);
        let same = out.cast(&same, DataType::Float);
        sums = out.op("MatMul", &[&same, values], &[]);
    }
    put(out, base, indices, &sums, rows)
}

/// As [`add`], where rows that come twice have the same values, which count once.
pub(super) fn put(
    out: &mut Emitter,
    base: Option<&str>,
    indices: &str,
    values: &str,
    rows: usize,
) -> String {
    let (count, width) = match out.dims(values)[..] {
        [count, width] => (count, width),
        _ => (0, 0),
    };
    let mut values = values.to_string();
    if let Some(base) = base {
        let old = out.op("Gather", &[base, indices], &[("axis", 0.into())]);
        values = out.add(&old, &values);
    }
    let base = base.map_or_else(|| out.zeros(&[rows, width]), str::to_string);
    let indices = out.reshape(indices, &[count, 1]);
    out.op("ScatterND", &[&base, &indices, &values], &[])
}
