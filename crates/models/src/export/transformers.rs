//! `config.json` and `model.safetensors` as `transformers` reads them: its names, its layout.
//!
//! The weights are read back from the data file that was just written, one at a time and not mapped, so that never
//! more than one of them is in memory beside the original.

use super::{config::Form, expand::expand};
use crate::{
    ModelError,
    arrangement::{Arrangement, Entry},
    data_file::{DATA_FILE, MOST_THREADS, reserve},
    precision::dtype,
    prepare::failed,
};
use graph::{Model, Tensor, TensorData};
use safetensors::Dtype;
use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use types::ModuleTensor;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 22;
/// Side of the square that is turned at once; two of them fit the first-level cache.
const TILE: usize = 32;

/// Writes both files into a folder; `onnx` is where the weights lie in the graph's layout.
pub(super) fn write(
    form: &Form<'_>,
    model: &Model,
    onnx: &Path,
    folder: &Path,
) -> Result<(), ModelError> {
    let path = folder.join("config.json");
    let text = serde_json::to_string_pretty(&form.config).expect("a value is valid JSON");
    fs::write(&path, text + "\n").map_err(|source| failed(path, 0, source))?;
    let path = folder.join("model.safetensors");
    let disk = |source| failed(path.clone(), 0, source);
    let weights = weights(form, model);
    let entry = |one: &Weight<'_>| {
        let dims = one.written();
        let bytes = dims.iter().product::<usize>() * one.width;
        Entry { name: one.stored.stored.clone(), dtype: one.dtype, dims, bytes }
    };
    // `transformers` asks for the format.
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let arrangement =
        Arrangement::with_metadata(weights.iter().map(entry).collect(), Some(metadata));
    let file = File::create(&path).map_err(disk)?;
    reserve(&file, arrangement.size).map_err(disk)?;
    file.write_all_at(&arrangement.header, 0).map_err(disk)?;
    let data = File::open(onnx.join(DATA_FILE)).map_err(disk)?;
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(weight) = weights.get(place) else { return Ok(()) };
            weight.write(form, &data, &file, arrangement.offsets[place])?;
        }
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS));
    let written: io::Result<()> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let each = handles.into_iter().map(|handle| handle.join().expect("writing does not panic"));
        each.collect()
    });
    written.map_err(disk)
}

struct Weight<'a> {
    stored: &'a ModuleTensor,
    tensor: &'a Tensor,
    dtype: Dtype,
    width: usize,
    /// Its dimensions in the graph's layout, with the places of what is gone where the configuration wants them.
    dims: Vec<usize>,
}

fn weights<'a>(form: &Form<'a>, model: &'a Model) -> Vec<Weight<'a>> {
    let tensors: HashMap<&str, &Tensor> =
        model.graph.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    let weight = |stored: &'a ModuleTensor| {
        let tensor = *tensors.get(stored.stored.as_str())?;
        let dtype = dtype(tensor.dtype)?;
        let mut dims = tensor.dims.clone();
        for cut in form.zeroed.iter().filter(|cut| cut.tensor == stored.stored) {
            dims[cut.axis] = cut.dims[cut.axis];
        }
        let width = usize::try_from(tensor.dtype.size(1)).ok()?;
        Some(Weight { stored, tensor, dtype, width, dims })
    };
    form.tensors.iter().filter_map(weight).collect()
}

impl Weight<'_> {
    /// The dimensions in the file.
    fn written(&self) -> Vec<usize> {
        let mut dims = self.dims.clone();
        if self.stored.transposed {
            dims.reverse();
        }
        dims
    }

    fn write(&self, form: &Form<'_>, data: &File, file: &File, offset: u64) -> io::Result<()> {
        let is_expanded = self.dims != self.tensor.dims;
        if let TensorData::External { offset: from, length, .. } = &self.tensor.data
            && !is_expanded
            && !self.stored.transposed
        {
            return copy(data, *from, *length, file, offset);
        }
        let mut bytes = match &self.tensor.data {
            TensorData::Inline(bytes) => bytes.to_vec(),
            TensorData::External { offset, length, .. } => {
                let mut bytes = vec![0; usize::try_from(*length).map_err(io::Error::other)?];
                data.read_exact_at(&mut bytes, *offset)?;
                bytes
            }
            TensorData::Strings(_) => return Ok(()),
        };
        let mut dims = self.tensor.dims.clone();
        for cut in form.zeroed.iter().filter(|cut| cut.tensor == self.stored.stored) {
            bytes = expand(&bytes, &mut dims, self.width, cut);
        }
        if let (true, &[rows, columns]) = (self.stored.transposed, dims.as_slice()) {
            bytes = turn(&bytes, rows, columns, self.width);
        }
        file.write_all_at(&bytes, offset)
    }
}

fn copy(from: &File, mut start: u64, length: u64, to: &File, mut offset: u64) -> io::Result<()> {
    let end = start + length;
    let mut piece = vec![0; PIECE];
    while start < end {
        let size = PIECE.min(usize::try_from(end - start).unwrap_or(PIECE));
        from.read_exact_at(&mut piece[..size], start)?;
        to.write_all_at(&piece[..size], offset)?;
        start += size as u64;
        offset += size as u64;
    }
    Ok(())
}

/// A matrix with its rows as columns.
fn turn(bytes: &[u8], rows: usize, columns: usize, width: usize) -> Vec<u8> {
    fn tiles<const N: usize>(bytes: &[u8], rows: usize, columns: usize) -> Vec<u8> {
        let from = bytes.as_chunks::<N>().0;
        let mut made = vec![[0u8; N]; from.len()];
        for top in (0..rows).step_by(TILE) {
            for left in (0..columns).step_by(TILE) {
                for row in top..rows.min(top + TILE) {
                    for column in left..columns.min(left + TILE) {
                        made[column * rows + row] = from[row * columns + column];
                    }
                }
            }
        }
        made.into_flattened()
    }
    match width {
        2 => tiles::<2>(bytes, rows, columns),
        4 => tiles::<4>(bytes, rows, columns),
        8 => tiles::<8>(bytes, rows, columns),
        _ => tiles::<1>(bytes, rows, columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_turned_whatever_its_width() {
        assert_eq!(turn(&[1, 2, 3, 4, 5, 6], 2, 3, 1), [1, 4, 2, 5, 3, 6]);
        assert_eq!(turn(&[1, 0, 2, 0, 3, 0, 4, 0], 2, 2, 2), [1, 0, 3, 0, 2, 0, 4, 0]);
    }
}
