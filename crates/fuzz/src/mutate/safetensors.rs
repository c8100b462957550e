//! Damage to safetensors files: types, shapes and offsets of the header, and its length.

use super::{begin, bytes, json};
use crate::Random;

/// A file whose header, or seldom its bytes, were changed; mostly the header's length fits again.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut file = begin(random, seeds);
    let length = file.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize);
    let Some((header, data)) = file.get(8..).and_then(|rest| rest.split_at_checked(length)) else {
        return bytes::mutate(random, seeds);
    };
    if random.percent(15) {
        bytes::change(random, &mut file, seeds);
        return file;
    }
    let headers: Vec<Vec<u8>> = vec![typed(random, header)];
    let header = json::mutate(random, &headers);
    let mut data = data.to_vec();
    if random.percent(10) {
        data.truncate(random.below(data.len()));
    }
    let length = match random.percent(5) {
        true => random.edge() as u64,
        false => header.len() as u64,
    };
    [&length.to_le_bytes()[..], &header, &data].concat()
}

/// The header, seldom with another type for all its tensors.
fn typed(random: &mut Random, header: &[u8]) -> Vec<u8> {
    const TYPES: [&str; 12] =
        ["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", "F8_E4M3", "U64"];
    if !random.percent(20) {
        return header.to_vec();
    }
    let name = TYPES[random.below(TYPES.len())];
    String::from_utf8_lossy(header).replace("\"F32\"", &format!("\"{name}\"")).into_bytes()
}
