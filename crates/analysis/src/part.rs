//! The part of a tensor that another one has too, where batches or rows differ in size.

use types::{Elements, HostTensor};

/// The part that begins at this row and has these dimensions; `None` if the tensor does not reach so far.
#[must_use]
pub fn part(tensor: &HostTensor, row: usize, dims: &[usize]) -> Option<HostTensor> {
    let begins = |axis: usize| if axis == 0 { row } else { 0 };
    let reaches = |(axis, wanted): (usize, &usize)| begins(axis) + wanted <= tensor.dims[axis];
    if dims.len() != tensor.dims.len() || !dims.iter().enumerate().all(reaches) {
        return None;
    }
    let mut places = vec![0];
    for (axis, wanted) in dims.iter().enumerate() {
        let size = tensor.dims[axis];
        let along = begins(axis)..begins(axis) + wanted;
        places = places
            .iter()
            .flat_map(|place| along.clone().map(move |at| place * size + at))
            .collect();
    }
    let elements = match &tensor.elements {
        Elements::F32(all) => Elements::F32(pick(all, &places)),
        Elements::F64(all) => Elements::F64(pick(all, &places)),
        Elements::F16(all) => Elements::F16(pick(all, &places)),
        Elements::Bf16(all) => Elements::Bf16(pick(all, &places)),
        Elements::I64(all) => Elements::I64(pick(all, &places)),
        Elements::I32(all) => Elements::I32(pick(all, &places)),
        Elements::I16(all) => Elements::I16(pick(all, &places)),
        Elements::I8(all) => Elements::I8(pick(all, &places)),
        Elements::U8(all) => Elements::U8(pick(all, &places)),
        Elements::Bool(all) => Elements::Bool(pick(all, &places)),
    };
    Some(HostTensor { name: tensor.name.clone(), dims: dims.to_vec(), elements })
}

fn pick<T: Copy>(all: &[T], places: &[usize]) -> Vec<T> {
    places.iter().filter_map(|place| all.get(*place).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 × 2 × 4, counted from 0.
    fn tensor() -> HostTensor {
        let elements = Elements::F32((0..24u8).map(f32::from).collect());
        HostTensor { name: "y".into(), dims: vec![3, 2, 4], elements }
    }

    #[test]
    fn a_corner_and_later_rows_are_cut_out() {
        let corner = part(&tensor(), 0, &[2, 1, 3]).unwrap();
        assert_eq!(corner.elements, Elements::F32(vec![0.0, 1.0, 2.0, 8.0, 9.0, 10.0]));
        let later = part(&tensor(), 2, &[1, 2, 1]).unwrap();
        assert_eq!(later.elements, Elements::F32(vec![16.0, 20.0]));
        assert_eq!(part(&tensor(), 0, &[3, 2, 4]).unwrap(), tensor());
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        assert_eq!(part(&tensor(), 2, &[2, 2, 4]), None);
        assert_eq!(part(&tensor(), 0, &[3, 8]), None);
    }
}
