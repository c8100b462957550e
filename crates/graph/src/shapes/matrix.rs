//! Matrix products.

use super::{
    dims::broadcast,
    value::{Call, Value},
};
use crate::DataType;

/// Outputs of a matrix product; `None` if it is not one.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let flag = |name: &str| call.int(name, 0) != 0;
    match call.node.op_type.as_str() {
        "MatMul" => call.like(0, product(call.dims(0)?, call.dims(1)?)),
        "FusedMatMul" | "TransposeMatMul" => {
            let (a, b) = (call.dims(0)?, call.dims(1)?);
            call.like(0, product(&turned(a, flag("transA")), &turned(b, flag("transB"))))
        }
        "Gemm" | "FusedGemm" => {
            let (a, b) = (call.dims(0)?, call.dims(1)?);
            let (a, b) = (turned(a, flag("transA")), turned(b, flag("transB")));
            let (&[rows, inner], &[other, columns]) = (&a[..], &b[..]) else { return None };
            (inner == other).then_some(())?;
            call.like(0, Some(vec![rows, columns]))
        }
        "MatMulInteger" => {
            Some(vec![Value::new(DataType::Int32, product(call.dims(0)?, call.dims(1)?)?)])
        }
        "DynamicQuantizeMatMul" | "MatMulIntegerToFloat" => {
            Some(vec![Value::new(DataType::Float, product(call.dims(0)?, call.dims(1)?)?)])
        }
        "MatMulNBits" | "MatMulBnb4" | "MatMulFpQ4" => {
            let (_, rows) = call.dims(0)?.split_last()?;
            let mut dims = rows.to_vec();
            dims.push(usize::try_from(call.node.int("N")?).ok()?);
            call.like(0, Some(dims))
        }
        "Einsum" => einsum(call).map(|(dims, _)| vec![Value::new(call.dtype(0), dims)]),
        "Det" => {
            let dims = call.dims(0)?;
            call.like(0, Some(dims.get(..dims.len().checked_sub(2)?)?.to_vec()))
        }
        _ => None,
    }
}

/// Dims with the last two swapped, where asked.
pub(crate) fn turned(dims: &[usize], swap: bool) -> Vec<usize> {
    let mut dims = dims.to_vec();
    let rank = dims.len();
    if swap && rank >= 2 {
        dims.swap(rank - 1, rank - 2);
    }
    dims
}

/// The dims of a product as numpy's `matmul` has them.
pub(crate) fn product(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let left = if a.len() == 1 { vec![1, a[0]] } else { a.to_vec() };
    let right = if b.len() == 1 { vec![b[0], 1] } else { b.to_vec() };
    let (left_outer, &[rows, inner]) = left.split_last_chunk::<2>()?;
    let (right_outer, &[other, columns]) = right.split_last_chunk::<2>()?;
    (inner == other).then_some(())?;
    let mut dims = broadcast(left_outer, right_outer)?;
    if a.len() > 1 {
        dims.push(rows);
    }
    if b.len() > 1 {
        dims.push(columns);
    }
    Some(dims)
}

/// The output dims of an `Einsum` and the size of every label it runs over.
pub(crate) fn einsum(call: &Call<'_>) -> Option<(Vec<usize>, Vec<usize>)> {
    let equation: String =
        call.node.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (terms, output) = match equation.split_once("->") {
        Some((terms, output)) => (terms, Some(output)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = terms.split(',').collect();
    // The dims behind `...` are labels too; their names are numbers from the right.
    let mut sizes: Vec<(String, usize)> = Vec::new();
    let mut uses: Vec<(String, usize)> = Vec::new();
    let mut ellipsis = 0;
    for (index, term) in terms.iter().enumerate() {
        let dims = call.dims(index)?;
        let labels = labels(term, dims.len())?;
        (labels.len() == dims.len()).then_some(())?;
        ellipsis = ellipsis.max(labels.iter().filter(|label| label.len() > 1).count());
        for (label, size) in labels.into_iter().zip(dims) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if *known == 1 => *known = *size,
                Some((_, known)) => (*known == *size || *size == 1).then_some(())?,
                None => sizes.push((label.clone(), *size)),
            }
            match uses.iter_mut().find(|(known, _)| *known == label) {
                Some((_, count)) => *count += 1,
                None => uses.push((label, 1)),
            }
        }
    }
    let wanted: Vec<String> = match output {
        Some(text) => labels(text, ellipsis + text.replace("...", "").len())?,
        None => {
            let mut once: Vec<String> = uses
                .into_iter()
                .filter(|(label, count)| *count == 1 || label.len() > 1)
                .map(|(label, _)| label)
                .collect();
            // The dims behind `...` come first, the letters in alphabetical order.
            once.sort_by(|a, b| (a.len() == 1, a).cmp(&(b.len() == 1, b)));
            once
        }
    };
    let size = |label: &String| sizes.iter().find(|(known, _)| known == label).map(|(_, s)| *s);
    let dims = wanted.iter().map(size).collect::<Option<Vec<usize>>>()?;
    Some((dims, sizes.into_iter().map(|(_, size)| size).collect()))
}

/// The labels of a term for a value of this rank.
fn labels(term: &str, rank: usize) -> Option<Vec<String>> {
    let letter = |c: char| c.to_string();
    let Some((before, after)) = term.split_once("...") else {
        return Some(term.chars().map(letter).collect());
    };
    let hidden = rank.checked_sub(before.len() + after.len())?;
    let mut labels: Vec<String> = before.chars().map(letter).collect();
    labels.extend((0..hidden).rev().map(|place| format!("...{:03}", 999 - place.min(999))));
    labels.extend(after.chars().map(letter));
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_follow_numpy() {
        assert_eq!(product(&[2, 3], &[3, 4]), Some(vec![2, 4]));
        assert_eq!(product(&[5, 1, 2, 3], &[7, 3, 4]), Some(vec![5, 7, 2, 4]));
        assert_eq!(product(&[3], &[3, 4]), Some(vec![4]));
        assert_eq!(product(&[3], &[3]), Some(vec![]));
        assert_eq!(product(&[2, 3], &[2, 3]), None);
        assert_eq!(product(&[], &[3]), None);
    }
}
