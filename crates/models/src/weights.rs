//! One weight at a time, in the graph's layout: converted and turned from a checkpoint, or drawn from a seed.

use crate::{
    Init, Layout, ModelError, Weight,
    checkpoint::{Checkpoint, Stored},
    random::Random,
};
use half::{bf16, f16};
use safetensors::Dtype;

/// Elements written at once: 4 MiB, large enough to stream, small enough to stay in the cache's reach.
pub(crate) const BLOCK: usize = 1 << 20;

/// Side of the square that is turned at once; two of them fit the first-level cache.
const TILE: usize = 32;

/// Where the values come from.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a> {
    /// Drawn from a seed.
    Random(u64),
    /// Trained.
    Trained(&'a Checkpoint),
}

/// A weight together with the place its values come from.
pub(crate) enum Source<'a> {
    Drawn { seed: u64, init: Init },
    Stored { tensor: Stored<'a>, layout: Layout },
}

impl<'a> Values<'a> {
    /// Finds a weight's values and checks their type and shape.
    pub(crate) fn source(self, weight: &Weight) -> Result<Source<'a>, ModelError> {
        let drawn =
            |seed| Source::Drawn { seed: weight_seed(seed, &weight.name), init: weight.init };
        let checkpoint = match self {
            Values::Random(seed) => return Ok(drawn(seed)),
            Values::Trained(checkpoint) => checkpoint,
        };
        let first = weight.checkpoint.first().unwrap_or(&weight.name);
        let Some(tensor) = find(checkpoint, weight) else {
            if may_be_missing(weight) {
                return Ok(drawn(0));
            }
            return Err(ModelError::MissingTensor {
                path: checkpoint.path().to_owned(),
                name: first.clone(),
            });
        };
        let mut expected = weight.dims.clone();
        if weight.layout == Layout::Transposed {
            expected.reverse();
        }
        if tensor.dims != expected {
            return Err(ModelError::TensorShape {
                path: tensor.path.to_owned(),
                name: first.clone(),
                expected,
                found: tensor.dims.to_vec(),
            });
        }
        if !matches!(tensor.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64) {
            return Err(ModelError::TensorType {
                path: tensor.path.to_owned(),
                name: first.clone(),
                dtype: tensor.dtype.to_string(),
            });
        }
        Ok(Source::Stored { tensor, layout: weight.layout })
    }
}

fn find<'a>(checkpoint: &'a Checkpoint, weight: &Weight) -> Option<Stored<'a>> {
    checkpoint
        .find(&weight.checkpoint)
        .or_else(|| checkpoint.find(std::slice::from_ref(&weight.name)))
}

/// Checkpoints of models with another head were saved without the pooler; `transformers` draws it then, and so do we.
fn may_be_missing(weight: &Weight) -> bool {
    weight.name.split('.').any(|module| module == "pooler")
}

/// The weights that a checkpoint lacks and that will be drawn.
pub(crate) fn drawn_names<'a>(checkpoint: &Checkpoint, weights: &'a [Weight]) -> Vec<&'a str> {
    let missing = |weight: &&Weight| may_be_missing(weight) && find(checkpoint, weight).is_none();
    weights.iter().filter(missing).map(|weight| weight.name.as_str()).collect()
}

/// A weight's own seed, so that neither order nor neighbours change its values.
fn weight_seed(seed: u64, name: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(name.as_bytes());
    let hash = hasher.finalize();
    let (head, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
    u64::from_le_bytes(*head)
}

/// How many elements a block of this weight has; blocks of a turned matrix are whole rows.
pub(crate) fn block_length(weight: &Weight) -> usize {
    match (weight.layout, weight.dims.as_slice()) {
        (Layout::Transposed, &[_, columns]) if columns > 0 => (BLOCK / columns).max(1) * columns,
        _ => BLOCK,
    }
}

impl Source<'_> {
    /// Writes the values from element `start` on; `start` is the beginning of a block.
    pub(crate) fn fill(&self, weight: &Weight, start: usize, values: &mut [f32]) {
        match self {
            Source::Drawn { init: Init::Constant(value), .. } => values.fill(*value),
            Source::Drawn { seed, init: Init::Normal { std } } => {
                let block = (start / block_length(weight)) as u64;
                let seed = seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Random::new(seed).fill_normal(values, *std);
            }
            Source::Stored { tensor, layout } => match tensor.dtype {
                Dtype::F32 => convert::<4>(tensor, *layout, start, values, f32::from_le_bytes),
                Dtype::F64 => {
                    convert::<8>(tensor, *layout, start, values, |b| f64::from_le_bytes(b) as f32);
                }
                Dtype::F16 => {
                    convert::<2>(tensor, *layout, start, values, |b| {
                        f16::from_le_bytes(b).to_f32()
                    });
                }
                Dtype::BF16 => {
                    convert::<2>(tensor, *layout, start, values, |b| {
                        bf16::from_le_bytes(b).to_f32()
                    });
                }
                _ => unreachable!("`Values::source` lets only floats pass"),
            },
        }
    }
}

fn convert<const SIZE: usize>(
    tensor: &Stored<'_>,
    layout: Layout,
    start: usize,
    values: &mut [f32],
    read: impl Fn([u8; SIZE]) -> f32,
) {
    let (elements, _) = tensor.bytes.as_chunks::<SIZE>();
    match (layout, tensor.dims) {
        (Layout::Transposed, &[rows, columns]) if rows > 0 => {
            // Stored [rows, columns]; wanted [columns, rows], from line `first` on.
            let first = start / rows;
            let lines = values.len() / rows;
            for line in (0..lines).step_by(TILE) {
                for row in (0..rows).step_by(TILE) {
                    for y in line..(line + TILE).min(lines) {
                        for x in row..(row + TILE).min(rows) {
                            values[y * rows + x] = read(elements[x * columns + first + y]);
                        }
                    }
                }
            }
        }
        _ => {
            let stored = &elements[start..start + values.len()];
            for (value, element) in values.iter_mut().zip(stored) {
                *value = read(*element);
            }
        }
    }
}
