//! Shapes that the user gave, checked before anything is settled, and sizes checked before anything is made.

use crate::ModelError;
use graph::ValueInfo;
use types::{ElementType, InputShape};

/// Inputs larger than this together are a mistake: half of what signed 64-bit offsets reach, so that sums still fit.
const MOST_BYTES: u128 = (i64::MAX / 2) as u128;

/// Names must be inputs of the model, each once, with as many dimensions as the model says.
pub(crate) fn check_given(
    model: &str,
    inputs: &[ValueInfo],
    given: &[InputShape],
) -> Result<(), ModelError> {
    for (place, shape) in given.iter().enumerate() {
        let name = shape.name.clone();
        let Some(input) = inputs.iter().find(|input| input.name == shape.name) else {
            let known = inputs.iter().map(|input| input.name.clone()).collect();
            return Err(ModelError::UnknownInput { model: model.to_owned(), name, known });
        };
        if given[..place].iter().any(|earlier| earlier.name == shape.name) {
            return Err(ModelError::GivenTwice { input: name });
        }
        let asked = shape.dims.len();
        match input.shape.as_ref().map(Vec::len) {
            Some(rank) if rank != asked => {
                return Err(ModelError::Rank { input: name, rank, asked });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds an input's bytes to those of the inputs before it; sizes that no machine can address are refused.
pub(crate) fn check_size(
    input: &str,
    dims: &[usize],
    dtype: ElementType,
    bytes: &mut u128,
) -> Result<(), ModelError> {
    let mut sizes: Vec<u128> = dims.iter().map(|&size| size as u128).collect();
    // A zero first: nothing times anything is nothing, however large.
    sizes.sort_unstable();
    let size = sizes.iter().copied().fold(dtype.size() as u128, u128::saturating_mul);
    *bytes = bytes.saturating_add(size);
    // Engines multiply in the order of the dims: even beside a zero the others must fit into a number.
    let others = sizes.into_iter().map(|size| size.max(1));
    let fits = others.fold(dtype.size() as u128, u128::saturating_mul) <= i64::MAX as u128;
    if *bytes > MOST_BYTES || !fits {
        let (input, dims) = (input.to_owned(), dims.to_vec());
        return Err(ModelError::TooManyBytes { input, dims, bytes: size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_beyond_64_bits() {
        let refuse = |dims: &[usize]| check_size("x", dims, ElementType::F32, &mut 0).unwrap_err();
        let expected = "input `x` of shape 1099511627776x1099511627776 would need \
                        4835703278458516698824704 bytes";
        assert_eq!(refuse(&[1 << 40, 1 << 40]).to_string(), expected);
        refuse(&[usize::MAX; 8]);
        refuse(&[i64::MAX as usize]);
    }

    #[test]
    fn nothing_is_no_bytes_and_all_inputs_count_together() {
        let mut bytes = 0;
        check_size("x", &[1 << 30, 1 << 20, 0], ElementType::F64, &mut bytes).unwrap();
        assert_eq!(bytes, 0);
        // Whoever multiplies in order passes every number before it comes to the zero.
        check_size("x", &[usize::MAX, usize::MAX, 0], ElementType::F64, &mut bytes).unwrap_err();
        check_size("x", &[1 << 59], ElementType::F32, &mut bytes).unwrap();
        check_size("y", &[1 << 59], ElementType::F32, &mut bytes).unwrap_err();
    }
}
