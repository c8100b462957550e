//! Arithmetic on dims that every family shares: axes, broadcasting, moving known numbers along.

use super::value::{MOST_NUMBERS, elements};

/// An axis counted from the front; `None` if there is none.
pub(crate) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let from_front = if axis < 0 { axis + rank } else { axis };
    (0..rank).contains(&from_front).then_some(from_front as usize)
}

/// Several axes counted from the front.
pub(crate) fn axes(list: &[i64], rank: usize) -> Option<Vec<usize>> {
    list.iter().map(|value| axis(*value, rank)).collect()
}

/// The dims of two values spread over each other; `None` if they do not fit.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    (0..rank)
        .map(|i| {
            let from = |dims: &[usize]| match (i + dims.len()).checked_sub(rank) {
                Some(at) => dims[at],
                None => 1,
            };
            match (from(a), from(b)) {
                (1, other) | (other, 1) => Some(other),
                (one, other) => (one == other).then_some(one),
            }
        })
        .collect()
}

/// Sizes as dims; `None` if one is negative.
pub(crate) fn sizes(list: &[i64]) -> Option<Vec<usize>> {
    list.iter().map(|value| usize::try_from(*value).ok()).collect()
}

/// The place of an index in row-major order.
pub(crate) fn offset(dims: &[usize], index: &[usize]) -> usize {
    dims.iter().zip(index).fold(0, |sum, (dim, at)| sum * dim + at)
}

/// The place in `source` of an index into dims it was spread to.
pub(crate) fn spread_offset(source: &[usize], index: &[usize]) -> usize {
    let skip = index.len().saturating_sub(source.len());
    source
        .iter()
        .zip(&index[skip..])
        .fold(0, |sum, (dim, at)| sum * dim + if *dim == 1 { 0 } else { *at })
}

/// The elements of a small value of these dims, each from its index; `None` if it is large or one is unknown.
pub(crate) fn each(
    dims: &[usize],
    mut element: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Vec<f64>> {
    let count = elements(dims).filter(|count| *count <= MOST_NUMBERS)?;
    let mut index = vec![0usize; dims.len()];
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        numbers.push(element(&index)?);
        for at in (0..dims.len()).rev() {
            index[at] += 1;
            if index[at] < dims[at] {
                break;
            }
            index[at] = 0;
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_the_rules() {
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), Some(vec![2, 4, 3]));
        assert_eq!(broadcast(&[], &[5]), Some(vec![5]));
        assert_eq!(broadcast(&[0], &[1]), Some(vec![0]));
        assert_eq!(broadcast(&[2], &[3]), None);
    }

    #[test]
    fn axes_count_from_both_ends() {
        assert_eq!(axis(-1, 3), Some(2));
        assert_eq!(axis(3, 3), None);
        assert_eq!(axes(&[0, -2], 3), Some(vec![0, 1]));
    }

    #[test]
    fn spread_elements_repeat() {
        assert_eq!(
            each(&[2, 2], |index| Some([7.0, 8.0][spread_offset(&[2], index)])),
            Some(vec![7.0, 8.0, 7.0, 8.0])
        );
    }
}
