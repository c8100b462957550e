//! How many numbers of a weight are not zero.

use super::parameters::parameter_test;
use crate::{DataType, Model, TensorData, precision::with_constants_as_weights};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// How many elements of little-endian `bytes` are not zero; elements narrower than a byte are counted by bytes.
#[must_use]
pub fn count_nonzeros(dtype: DataType, bytes: &[u8]) -> u64 {
    // The sign of a float is no number: minus zero is zero.
    let sign = |wide: u64| if dtype.is_float() { wide } else { 0 };
    match dtype.size(8) / 8 {
        8 => {
            let mask = !sign(1 << 63);
            count(bytes.as_chunks::<8>().0, |c| u64::from_le_bytes(*c) & mask != 0)
        }
        4 => {
            let mask = !(sign(1 << 31) as u32);
            count(bytes.as_chunks::<4>().0, |c| u32::from_le_bytes(*c) & mask != 0)
        }
        2 => {
            let mask = !(sign(1 << 15) as u16);
            count(bytes.as_chunks::<2>().0, |c| u16::from_le_bytes(*c) & mask != 0)
        }
        _ => count(bytes, |c| *c != 0),
    }
}

fn count<T>(elements: &[T], is_there: impl Fn(&T) -> bool) -> u64 {
    // Small counters in blocks, so that the loop is one of vectors.
    let block = |block: &[T]| u64::from(block.iter().map(|e| u32::from(is_there(e))).sum::<u32>());
    elements.chunks(1 << 16).map(block).sum()
}

/// The parameters among a model's initialisers, each with how many of its numbers are not zero.
///
/// What cannot be read is left out; a tensor that is shared counts once, under the first of its names.
#[must_use]
pub fn nonzero_weights(model: &Model) -> HashMap<String, u64> {
    // Exporters keep weights in `Constant` nodes too.
    let model = &with_constants_as_weights(model);
    let is_parameter = parameter_test(model);
    let mut places = std::collections::HashSet::new();
    let tensors: Vec<_> = model
        .graph
        .initializers
        .iter()
        .filter(|tensor| is_parameter(&tensor.name, tensor))
        .filter(|tensor| match &tensor.data {
            TensorData::External { path, offset, .. } => places.insert((path.clone(), *offset)),
            TensorData::Inline(_) => true,
            TensorData::Strings(_) => false,
        })
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut counted = Vec::new();
        while let Some(tensor) = tensors.get(next.fetch_add(1, Ordering::Relaxed)) {
            let bytes = model.bytes(tensor);
            let count = bytes.map(|bytes| count_nonzeros(tensor.dtype, &bytes));
            counted.extend(count.ok().map(|count| (tensor.name.clone(), count)));
        }
        counted
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(8));
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let counted = handles.into_iter().flat_map(|handle| handle.join().unwrap_or_default());
        counted.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_zero_is_zero_and_every_width_is_counted() {
        let floats: Vec<u8> =
            [0.0f32, -0.0, 1.0, -1e-40].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(count_nonzeros(DataType::Float, &floats), 2);
        assert_eq!(count_nonzeros(DataType::Float16, &[0, 0x80, 0, 0x3c, 0, 0]), 1);
        assert_eq!(count_nonzeros(DataType::Int8, &[0, 0x80, 3]), 2);
        assert_eq!(count_nonzeros(DataType::Int64, &1i64.to_le_bytes()), 1);
    }
}
