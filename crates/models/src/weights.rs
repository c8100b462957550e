//! One weight at a time, in the graph's layout: converted and turned from a checkpoint, or drawn from a seed.

use crate::{
    Init, Layout, ModelError, Weight,
    checkpoint::{Checkpoint, Format, Stored},
    gguf::{BlockFormat, LARGEST_BLOCK, Rows},
    random::fill_normal,
};
use half::{bf16, f16};
use safetensors::Dtype;
use stats::Generator;

/// Elements written at once: 4 MiB, large enough to stream, small enough to stay in the cache's reach.
pub(crate) const BLOCK: usize = 1 << 20;

/// Side of the square that is turned at once; two of them fit the first-level cache.
const TILE: usize = 32;

/// Where the values come from.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a> {
    /// Random values from a seed.
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
        let layout = match tensor.format {
            Format::Blocks { rows: Rows::Turned, .. } => weight.layout.turned(),
            _ => weight.layout,
        };
        let mut expected = weight.dims.clone();
        if layout == Layout::Transposed {
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
        let dtype = match tensor.format {
            Format::Plain(Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64)
            | Format::Blocks { .. } => return Ok(Source::Stored { tensor, layout }),
            Format::Plain(dtype) => dtype.to_string(),
            Format::Unknown(number) => {
                format!("type {number} of llama.cpp ({} are read)", BlockFormat::NAMES)
            }
        };
        let (path, name) = (tensor.path.to_owned(), first.clone());
        Err(ModelError::TensorType { path, name, dtype })
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
                fill_normal(&mut Generator::new(seed), values, *std);
            }
            Source::Stored { tensor, layout } => match tensor.format {
                Format::Plain(Dtype::F32) => {
                    convert::<4>(tensor, *layout, start, values, f32::from_le_bytes)
                }
                Format::Plain(Dtype::F64) => {
                    convert::<8>(tensor, *layout, start, values, |b| f64::from_le_bytes(b) as f32);
                }
                Format::Plain(Dtype::F16) => {
                    convert::<2>(tensor, *layout, start, values, |b| {
                        f16::from_le_bytes(b).to_f32()
                    });
                }
                Format::Plain(Dtype::BF16) => {
                    convert::<2>(tensor, *layout, start, values, |b| {
                        bf16::from_le_bytes(b).to_f32()
                    });
                }
                Format::Blocks { format, rows } => {
                    from_blocks(tensor, format, rows, *layout, start, values);
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

/// Numbers out of blocks. Rows are whole numbers of blocks, but a stretch of them may begin inside one.
fn from_blocks(
    tensor: &Stored<'_>,
    format: BlockFormat,
    rows: Rows,
    layout: Layout,
    start: usize,
    values: &mut [f32],
) {
    let columns = tensor.dims.last().copied().unwrap_or(1);
    let read = |row: usize, first: usize, values: &mut [f32]| {
        let begin = rows.stored(row) * columns + first;
        read_from(tensor.bytes, format, begin, values);
        if rows == Rows::AboveOne {
            values.iter_mut().for_each(|value| *value -= 1.0);
        }
    };
    match (layout, tensor.dims) {
        (Layout::Transposed, &[rows, _]) if rows > 0 => {
            // Stored [rows, columns]; wanted [columns, rows], from the middle of a line perhaps.
            let first = start / rows;
            let lines = (start + values.len()).div_ceil(rows) - first;
            let mut tile = vec![0.0; TILE * lines];
            for row in (0..rows).step_by(TILE) {
                let height = TILE.min(rows - row);
                for (below, part) in tile.chunks_exact_mut(lines).take(height).enumerate() {
                    read(row + below, first, part);
                }
                for line in 0..lines {
                    for below in 0..height {
                        let wanted = ((first + line) * rows + row + below).checked_sub(start);
                        if let Some(value) = wanted.and_then(|wanted| values.get_mut(wanted)) {
                            *value = tile[below * lines + line];
                        }
                    }
                }
            }
        }
        _ => {
            let (mut at, mut rest) = (start, values);
            while !rest.is_empty() {
                let inside = at % columns;
                let (part, more) = rest.split_at_mut((columns - inside).min(rest.len()));
                read(at / columns, inside, part);
                at += part.len();
                rest = more;
            }
        }
    }
}

/// The numbers from element `begin` on.
fn read_from(bytes: &[u8], format: BlockFormat, begin: usize, values: &mut [f32]) {
    let (width, size) = (format.elements(), format.bytes());
    let block = |index: usize| &bytes[index * size..(index + 1) * size];
    let mut one = [0.0; LARGEST_BLOCK];
    let one = &mut one[..width];
    let (mut at, mut rest) = (begin, values);
    while !rest.is_empty() {
        let whole = rest.len() / width;
        if at.is_multiple_of(width) && whole > 0 {
            let (part, more) = rest.split_at_mut(whole * width);
            let first = at / width;
            format.read(&bytes[first * size..(first + whole) * size], part);
            at += part.len();
            rest = more;
            continue;
        }
        format.read(block(at / width), one);
        let inside = &one[at % width..];
        let (part, more) = rest.split_at_mut(inside.len().min(rest.len()));
        part.copy_from_slice(&inside[..part.len()]);
        at += part.len();
        rest = more;
    }
}
