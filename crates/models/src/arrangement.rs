//! Where the tensors of a safetensors file lie, decided before any of them is written.
//!
//! The header is padded so that they begin at a multiple of 64 bytes, and those whose size is a multiple of 64 come
//! first: the format allows no holes, and so all but a few odd ones at the end are aligned.

use safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};
use std::collections::HashMap;

/// Bytes to which tensors are aligned: one cache line, and what the widest loads want.
const ALIGNMENT: usize = 64;

/// A tensor of the file.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<usize>,
    pub(crate) bytes: usize,
}

/// Where every tensor will lie.
pub(crate) struct Arrangement {
    /// What the file begins with.
    pub(crate) header: Vec<u8>,
    /// By tensor: the first byte in the file.
    pub(crate) offsets: Vec<u64>,
    /// Bytes of the whole file.
    pub(crate) size: u64,
}

impl Arrangement {
    /// Finds a place for each entry; their bytes together fit an address.
    pub(crate) fn of(entries: Vec<Entry>) -> Arrangement {
        Arrangement::with_metadata(entries, None)
    }

    /// The same with free text by key in the header.
    pub(crate) fn with_metadata(
        entries: Vec<Entry>,
        metadata: Option<HashMap<String, String>>,
    ) -> Arrangement {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&index| !entries[index].bytes.is_multiple_of(ALIGNMENT));
        let mut offsets = vec![0; entries.len()];
        let mut infos = Vec::with_capacity(entries.len());
        let mut end = 0;
        for index in order {
            let Entry { name, dtype, dims, bytes } = &entries[index];
            let begin = end;
            end = begin + bytes;
            offsets[index] = begin as u64;
            let info =
                TensorInfo { dtype: *dtype, shape: dims.clone(), data_offsets: (begin, end) };
            infos.push((name.clone(), info));
        }
        let metadata =
            Metadata::new(metadata, infos).expect("tensors follow each other without holes");
        let mut json = serde_json::to_vec(&metadata).expect("names and numbers are valid JSON");
        let padded = (8 + json.len()).next_multiple_of(ALIGNMENT) - 8;
        json.resize(padded, b' ');
        let mut header = (json.len() as u64).to_le_bytes().to_vec();
        header.append(&mut json);
        for offset in &mut offsets {
            *offset += header.len() as u64;
        }
        let size = (header.len() + end) as u64;
        Arrangement { header, offsets, size }
    }
}
