//! A model of llama.cpp with its weights as the file has them: products take them in blocks, and nothing is rounded again.

use crate::{
    ModelError, Resolved,
    gguf::{self, BlockFormat, Codes, Found, Gguf, Groups, Rows},
};
use graph::{BlockMatrix, BlockPart, Plan, Repack, Tensor, TensorData};
use std::{collections::HashMap, path::PathBuf, sync::Arc};
use types::Precision;

/// Columns that are repacked at once.
const COLUMNS: usize = 64;

/// Plans the graph with the weights of its file, their columns filled up to a multiple of so many numbers.
pub(crate) fn plan(resolved: &Resolved, filled: usize) -> Result<Plan<'_>, ModelError> {
    let asked = Precision::Stored;
    let model = || resolved.info.name.clone();
    let Some(path) = &resolved.gguf else {
        return Err(ModelError::NotStored { model: model() });
    };
    let file = Gguf::open(path)?;
    let (family, _) = gguf::config(&file)?;
    let found = gguf::names(&file, family);
    let by_name: HashMap<&str, &Found> = found.iter().map(|one| (one.name.as_str(), one)).collect();
    let find = |weight: &Tensor| {
        let found = by_name.get(weight.name.as_str())?;
        matrix(path, &file, found)
    };
    graph::plan_blocks(&resolved.model, filled.max(1), &find)
        .map_err(|source| ModelError::Convert { model: model(), asked, source: Box::new(source) })
}

/// A matrix of the file; `None` for one of floats.
fn matrix(path: &std::path::Path, file: &Gguf, found: &Found) -> Option<BlockMatrix> {
    let tensor = &file.tensors()[found.tensor];
    let format = tensor.format.ok()?;
    let groups = format.groups()?;
    let &[columns, rows] = tensor.dims.as_slice() else { return None };
    if !rows.is_multiple_of(format.elements()) {
        return None;
    }
    let place = &tensor.place;
    let data = TensorData::External {
        path: PathBuf::from(path),
        offset: place.start as u64,
        length: place.len() as u64,
    };
    let source = Tensor {
        name: tensor.name.clone(),
        dtype: graph::DataType::Uint8,
        dims: vec![place.len()],
        data,
    };
    let repack = |what| -> Arc<dyn Repack> {
        Arc::new(Repacking { format, groups, rows, columns, order: found.rows, what })
    };
    let part = |what: fn(bool) -> What, is_high| BlockPart {
        codes: repack(what(is_high)),
        scales: repack(What::Scales { factor: if is_high { 16.0 } else { 1.0 } }),
    };
    let mut parts = vec![part(|high| What::Codes { high }, false)];
    if groups.is_wide {
        parts.push(part(|high| What::Codes { high }, true));
    }
    let rest = (!groups.is_centred).then(|| repack(What::Rest));
    Some(BlockMatrix { source, rows, columns, block: groups.size, parts, rest })
}

/// What is made of a matrix.
#[derive(Debug, Clone, Copy)]
enum What {
    /// Four bits of each code.
    Codes { high: bool },
    /// The scales.
    Scales { factor: f32 },
    /// What is left of each block, block by block.
    Rest,
}

#[derive(Debug)]
struct Repacking {
    format: BlockFormat,
    groups: Groups,
    rows: usize,
    columns: usize,
    order: Rows,
    what: What,
}

impl Repacking {
    /// Takes the blocks of one column apart.
    fn column(&self, bytes: &[u8], column: usize, mut each: impl FnMut(usize, &Codes)) {
        let size = self.format.bytes();
        let blocks = self.rows / self.format.elements();
        let begin = self.order.stored(column) * blocks * size;
        let mut codes = Codes::new();
        for (block, bytes) in bytes[begin..begin + blocks * size].chunks_exact(size).enumerate() {
            self.format.take_apart(bytes, &mut codes);
            each(block, &codes);
        }
    }
}

impl Repack for Repacking {
    fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
        let Repacking { format, groups, rows, columns, what, .. } = *self;
        let in_block = format.elements() / groups.size;
        if let What::Rest = what {
            // Blocks are rows here, and columns of the file are columns: all of it is turned at once, one number for each block.
            let mut rest = vec![0.0f32; rows / groups.size * columns];
            for column in 0..columns {
                self.column(bytes, column, |block, codes| {
                    for group in 0..in_block {
                        let scale = codes.scales[group];
                        let middle = if groups.is_wide { 136.0 } else { 8.0 };
                        let place = (block * in_block + group) * columns + column;
                        rest[place] = codes.least[group] + middle * scale;
                    }
                });
            }
            let bytes: Vec<u8> = rest.iter().flat_map(|value| value.to_le_bytes()).collect();
            sink(&bytes);
            return;
        }
        let mut out = Vec::new();
        for first in (0..columns).step_by(COLUMNS) {
            out.clear();
            for column in first..(first + COLUMNS).min(columns) {
                self.column(bytes, column, |_, codes| match what {
                    What::Codes { high } => {
                        let shift = if high { 4 } else { 0 };
                        let pairs = codes.codes[..format.elements()].chunks_exact(2);
                        out.extend(
                            pairs.map(|pair| pair[0] >> shift & 15 | (pair[1] >> shift & 15) << 4),
                        );
                    }
                    What::Scales { factor } => {
                        let scales = &codes.scales[..in_block];
                        out.extend(scales.iter().flat_map(|scale| (scale * factor).to_le_bytes()));
                    }
                    What::Rest => {}
                });
            }
            sink(&out);
        }
    }
}
