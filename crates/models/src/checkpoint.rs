//! Trained weights in safetensors files, mapped and read in place.

use crate::ModelError;
use memmap2::Mmap;
use safetensors::{Dtype, tensor::Metadata};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use types::Precision;

/// Above this a header is damaged: the format's own limit.
const LONGEST_HEADER: u64 = 100_000_000;

/// One or several safetensors files that together hold a model.
pub(crate) struct Checkpoint {
    shards: Vec<Shard>,
    places: HashMap<String, Place>,
    /// The file or folder that errors name.
    path: PathBuf,
}

struct Shard {
    path: PathBuf,
    map: Mmap,
}

struct Place {
    shard: usize,
    dtype: Dtype,
    dims: Vec<usize>,
    begin: usize,
    end: usize,
}

impl Place {
    fn elements(&self) -> usize {
        self.dims.iter().product()
    }
}

/// One tensor, still in its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) path: &'a Path,
    pub(crate) dtype: Dtype,
    pub(crate) dims: &'a [usize],
    pub(crate) bytes: &'a [u8],
}

impl Checkpoint {
    /// Opens the files and checks that every one is as long as its header says.
    pub(crate) fn open(path: &Path, files: &[PathBuf]) -> Result<Checkpoint, ModelError> {
        let mut checkpoint =
            Checkpoint { shards: Vec::new(), places: HashMap::new(), path: path.to_owned() };
        for file in files {
            checkpoint.add(file)?;
        }
        Ok(checkpoint)
    }

    fn add(&mut self, path: &Path) -> Result<(), ModelError> {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let file = graph::open_regular(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => ModelError::MissingFile { path: path.to_owned() },
            _ => read(source),
        })?;
        let present = file.metadata().map_err(read)?.len();
        let truncated =
            |needed| Err(ModelError::Truncated { path: path.to_owned(), needed, present });
        let damaged = |why: String| ModelError::Header { path: path.to_owned(), why };
        if present < 8 {
            return truncated(8);
        }
        // SAFETY: the file is only read; a checkpoint that somebody rewrites while it is being read is broken anyway.
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        let (length, rest) = map.split_at(8);
        let header = u64::from_le_bytes(length.try_into().expect("split at 8 bytes"));
        if header > LONGEST_HEADER {
            return Err(damaged(format!("it claims to be {header} bytes long")));
        }
        if header > rest.len() as u64 {
            return truncated(8 + header);
        }
        let (header, data) = rest.split_at(header as usize);
        let metadata: Metadata =
            serde_json::from_slice(header).map_err(|error| damaged(error.to_string()))?;
        if metadata.data_len() > data.len() {
            return truncated((8 + header.len() + metadata.data_len()) as u64);
        }
        if metadata.data_len() < data.len() {
            let extra = data.len() - metadata.data_len();
            return Err(damaged(format!("{extra} bytes follow the last tensor")));
        }
        let start = 8 + header.len();
        let shard = self.shards.len();
        for (name, info) in metadata.tensors() {
            let (begin, end) = (start + info.data_offsets.0, start + info.data_offsets.1);
            let place = Place { shard, dtype: info.dtype, dims: info.shape.clone(), begin, end };
            self.places.insert(name, place);
        }
        self.shards.push(Shard { path: path.to_owned(), map });
        Ok(())
    }

    /// The tensor with the first of these names that is there.
    pub(crate) fn find(&self, names: &[String]) -> Option<Stored<'_>> {
        let place = names.iter().find_map(|name| self.places.get(name))?;
        let shard = &self.shards[place.shard];
        Some(Stored {
            path: &shard.path,
            dtype: place.dtype,
            dims: &place.dims,
            bytes: &shard.map[place.begin..place.end],
        })
    }

    /// The float format that most of its numbers are kept in; `None` where that is none that engines compute in.
    pub(crate) fn precision(&self) -> Option<Precision> {
        let of = |wanted: Dtype| -> usize {
            let kept = self.places.values().filter(|place| place.dtype == wanted);
            kept.map(Place::elements).sum()
        };
        let formats = [
            (Precision::Fp32, of(Dtype::F32) + of(Dtype::F64)),
            (Precision::Bf16, of(Dtype::BF16)),
            (Precision::Fp16, of(Dtype::F16)),
        ];
        let (precision, count) = formats.into_iter().rev().max_by_key(|(_, count)| *count)?;
        (count > 0).then_some(precision)
    }

    /// How many floating point numbers it holds.
    pub(crate) fn numbers(&self) -> u64 {
        let floats = [Dtype::F16, Dtype::BF16, Dtype::F32, Dtype::F64];
        let kept = self.places.values().filter(|place| floats.contains(&place.dtype));
        kept.map(|place| place.elements() as u64).sum()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The files, in the order they were opened.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(|shard| shard.path.as_path())
    }
}
