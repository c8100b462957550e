//! A weight with some of its rows, columns or the like left out.

use std::{borrow::Cow, sync::Arc};

/// What stays of a weight, axis by axis.
#[derive(Debug, Clone)]
pub(crate) struct Cutting {
    /// The dimensions of the original.
    pub(crate) dims: Vec<usize>,
    /// Bytes of one element.
    pub(crate) width: usize,
    /// By axis: the indices that stay, in order.
    pub(crate) keep: Vec<(usize, Arc<[usize]>)>,
}

impl Cutting {
    /// Hands over the bytes that stay.
    pub(crate) fn run<E>(
        &self,
        bytes: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut dims = self.dims.clone();
        let mut rest = Cow::Borrowed(bytes);
        for (axis, keep) in &self.keep {
            rest = Cow::Owned(cut(&rest, &dims, self.width, *axis, keep));
            dims[*axis] = keep.len();
        }
        sink(&rest)
    }

    /// The dimensions of what stays.
    pub(crate) fn made(&self) -> Vec<usize> {
        let mut dims = self.dims.clone();
        for (axis, keep) in &self.keep {
            dims[*axis] = keep.len();
        }
        dims
    }
}

fn cut(bytes: &[u8], dims: &[usize], width: usize, axis: usize, keep: &[usize]) -> Vec<u8> {
    let inner = dims[axis + 1..].iter().product::<usize>() * width;
    let outer = dims[axis] * inner;
    let mut made = Vec::with_capacity(bytes.len() / dims[axis].max(1) * keep.len());
    for block in bytes.chunks_exact(outer.max(1)) {
        for index in keep {
            made.extend_from_slice(&block[index * inner..(index + 1) * inner]);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_axes_of_a_matrix_are_cut() {
        let cutting =
            Cutting { dims: vec![2, 3], width: 1, keep: vec![(1, [0, 2].into()), (0, [1].into())] };
        let mut made = Vec::new();
        cutting
            .run::<()>(&[1, 2, 3, 4, 5, 6], &mut |piece| {
                made.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        assert_eq!((made, cutting.made()), (vec![4, 6], vec![1, 2]));
    }
}
