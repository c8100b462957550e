//! Trained weights in safetensors or GGUF files, mapped and read in place.

use crate::{
    ModelError,
    gguf::{BlockFormat, Found, Gguf, Rows},
};
use memmap2::Mmap;
use safetensors::{Dtype, tensor::Metadata};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};
use types::Precision;

/// Above this a header is damaged: the format's own limit.
const LONGEST_HEADER: u64 = 100_000_000;

/// One or several files that together hold a model.
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
    format: Format,
    dims: Vec<usize>,
    begin: usize,
    end: usize,
}

/// How the numbers of a tensor are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One after the other.
    Plain(Dtype),
    /// As llama.cpp keeps them.
    Blocks { format: BlockFormat, rows: Rows },
    /// A format of llama.cpp that is not read, by its number.
    Unknown(u32),
}

impl Format {
    /// The float format it is, if it is one.
    fn precision(self) -> Option<Precision> {
        match self {
            Format::Plain(Dtype::F32 | Dtype::F64) => Some(Precision::Fp32),
            Format::Plain(Dtype::F16) => Some(Precision::Fp16),
            Format::Plain(Dtype::BF16) => Some(Precision::Bf16),
            Format::Blocks { format, .. } => format.precision(),
            Format::Plain(_) | Format::Unknown(_) => None,
        }
    }

    /// Whether it has fewer bits than any float.
    fn is_quantised(self) -> bool {
        matches!(self, Format::Blocks { format, .. } if format.precision().is_none())
    }
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
    pub(crate) format: Format,
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
            let format = Format::Plain(info.dtype);
            let place = Place { shard, format, dims: info.shape.clone(), begin, end };
            self.places.insert(name, place);
        }
        self.shards.push(Shard { path: path.to_owned(), map });
        Ok(())
    }

    /// The tensors of a GGUF file under these names.
    pub(crate) fn of_gguf(path: &Path, gguf: Gguf, names: Vec<Found>) -> Checkpoint {
        let place = |found: Found| {
            let tensor = &gguf.tensors()[found.tensor];
            let format = match tensor.format {
                Ok(format) => Format::Blocks { format, rows: found.rows },
                Err(number) => Format::Unknown(number),
            };
            let (begin, end) = (tensor.place.start, tensor.place.end);
            (found.name, Place { shard: 0, format, dims: tensor.dims.clone(), begin, end })
        };
        let places = names.into_iter().map(place).collect();
        let shard = Shard { path: path.to_owned(), map: gguf.into_map() };
        Checkpoint { shards: vec![shard], places, path: path.to_owned() }
    }

    /// The tensor with the first of these names that is there.
    pub(crate) fn find(&self, names: &[String]) -> Option<Stored<'_>> {
        let place = names.iter().find_map(|name| self.places.get(name))?;
        let shard = &self.shards[place.shard];
        Some(Stored {
            path: &shard.path,
            format: place.format,
            dims: &place.dims,
            bytes: &shard.map[place.begin..place.end],
        })
    }

    /// The float format that most of its numbers are kept in; `None` if that is none that engines compute in.
    pub(crate) fn precision(&self) -> Option<Precision> {
        let count = |is_meant: &dyn Fn(Format) -> bool| -> usize {
            let meant = self.places.values().filter(|place| is_meant(place.format));
            meant.map(Place::elements).sum()
        };
        let of = |wanted| count(&|format| format.precision() == Some(wanted));
        let formats = [Precision::Fp32, Precision::Bf16, Precision::Fp16].map(|one| (one, of(one)));
        let (precision, most) = formats.into_iter().rev().max_by_key(|(_, count)| *count)?;
        (most > count(&Format::is_quantised)).then_some(precision)
    }

    /// The block formats of its quantised tensors, those with most numbers first.
    pub(crate) fn quantised(&self) -> Vec<BlockFormat> {
        let mut counts: BTreeMap<BlockFormat, usize> = BTreeMap::new();
        for place in self.places.values() {
            if let Format::Blocks { format, .. } = place.format
                && place.format.is_quantised()
            {
                *counts.entry(format).or_default() += place.elements();
            }
        }
        let mut formats: Vec<BlockFormat> = counts.keys().copied().collect();
        formats.sort_by_key(|format| std::cmp::Reverse(counts[format]));
        formats
    }

    /// How many floating point numbers it holds.
    pub(crate) fn numbers(&self) -> u64 {
        let is_number = |place: &&Place| match place.format {
            Format::Plain(dtype) => {
                matches!(dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64)
            }
            Format::Blocks { .. } | Format::Unknown(_) => true,
        };
        self.places.values().filter(is_number).map(|place| place.elements() as u64).sum()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The files, in the order they were opened.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(|shard| shard.path.as_path())
    }
}
