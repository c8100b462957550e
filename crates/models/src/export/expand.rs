//! A cut weight with its old size: zeros where something was.

use graph::TensorCut;

/// Puts what is left of a weight back to its places; `dims` are those of the bytes and become the old ones.
pub(super) fn expand(bytes: &[u8], dims: &mut [usize], width: usize, cut: &TensorCut) -> Vec<u8> {
    let inner = dims[cut.axis + 1..].iter().product::<usize>() * width;
    let (small, large) = (dims[cut.axis], cut.dims[cut.axis]);
    let outer: usize = dims[..cut.axis].iter().product();
    let mut whole = vec![0; outer * large * inner];
    for block in 0..outer {
        for (from, to) in cut.keep.iter().enumerate() {
            let (from, to) = ((block * small + from) * inner, (block * large + to) * inner);
            whole[to..to + inner].copy_from_slice(&bytes[from..from + inner]);
        }
    }
    dims[cut.axis] = large;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_back_to_its_place() {
        let cut = TensorCut { tensor: "w".into(), axis: 1, dims: vec![2, 3], keep: vec![0, 2] };
        let mut dims = vec![2, 2];
        assert_eq!(expand(&[1, 2, 3, 4], &mut dims, 1, &cut), [1, 0, 2, 3, 0, 4]);
        assert_eq!(dims, [2, 3]);
    }
}
