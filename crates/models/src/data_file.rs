//! The weights of a prepared model in one file: a valid safetensors file that engines map as ONNX external data.
//!
//! Its name ends in `.data` because engines accept external data with that ending only. Tensors lie in the graph's
//! layout, and where `arrangement` puts them.

use crate::{
    Blueprint, ModelError, Progress, Weight,
    arrangement::{Arrangement, Entry},
    prepare::failed,
    weights::{Source, Values, block_length},
};
use graph::{Tensor, TensorData};
use safetensors::Dtype;
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// The file's name, in the model's own folder.
pub(crate) const DATA_FILE: &str = "model.safetensors.data";

/// More threads than this only fight for the disk.
pub(crate) const MOST_THREADS: usize = 8;

/// Where every weight will lie.
pub(crate) struct DataFile {
    header: Vec<u8>,
    /// By weight: the first byte in the file.
    offsets: Vec<u64>,
    size: u64,
}

/// A stretch of one weight that is made and written at once.
struct Block {
    weight: usize,
    start: usize,
    length: usize,
}

impl DataFile {
    /// `None` if the sizes are beyond all numbers.
    pub(crate) fn plan(weights: &[Weight]) -> Option<DataFile> {
        let mut all = 0usize;
        for weight in weights {
            let bytes = weight
                .dims
                .iter()
                .try_fold(size_of::<f32>(), |product, &size| product.checked_mul(size))?;
            all = all.checked_add(bytes).filter(|&all| isize::try_from(all).is_ok())?;
        }
        let entry = |weight: &Weight| Entry {
            name: weight.name.clone(),
            dtype: Dtype::F32,
            dims: weight.dims.clone(),
            bytes: elements(weight) * size_of::<f32>(),
        };
        let Arrangement { header, offsets, size } =
            Arrangement::of(weights.iter().map(entry).collect());
        Some(DataFile { header, offsets, size })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The weights as the graph sees them: pointers into the file.
    pub(crate) fn tensors(&self, blueprint: &Blueprint) -> Vec<Tensor> {
        let place = |(weight, &offset): (&Weight, &u64)| Tensor {
            name: weight.name.clone(),
            dtype: blueprint.dtype,
            dims: weight.dims.clone(),
            data: TensorData::External {
                path: PathBuf::from(DATA_FILE),
                offset,
                length: byte_count(elements(weight)),
            },
        };
        blueprint.weights.iter().zip(&self.offsets).map(place).collect()
    }

    /// Writes the file, a few blocks at a time, and returns a hash over all values.
    pub(crate) fn write(
        &self,
        path: &Path,
        weights: &[Weight],
        values: Values<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<blake3::Hash, ModelError> {
        let sources =
            weights.iter().map(|weight| values.source(weight)).collect::<Result<Vec<_>, _>>()?;
        let failed = |source| failed(path.to_owned(), self.size, source);
        let file = File::create(path).map_err(failed)?;
        reserve(&file, self.size).map_err(failed)?;
        file.write_all_at(&self.header, 0).map_err(failed)?;
        let blocks = blocks(weights);
        let hashes = self
            .write_blocks(&file, weights, &sources, &blocks, &mut |done| {
                progress(Progress::Preparing { done, total: self.size });
            })
            .map_err(failed)?;
        let mut whole = blake3::Hasher::new();
        for hash in hashes {
            whole.update(hash.as_bytes());
        }
        Ok(whole.finalize())
    }

    fn write_blocks(
        &self,
        file: &File,
        weights: &[Weight],
        sources: &[Source<'_>],
        blocks: &[Block],
        done: &mut dyn FnMut(u64),
    ) -> io::Result<Vec<blake3::Hash>> {
        let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS));
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for started in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                let work = move || {
                    let mut buffer = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(block) = blocks.get(index) else { break };
                        buffer.resize(block.length, 0.0);
                        sources[block.weight].fill(
                            &weights[block.weight],
                            block.start,
                            &mut buffer,
                        );
                        let bytes = little_endian(&mut buffer);
                        let offset = self.offsets[block.weight] + byte_count(block.start);
                        let written = file.write_all_at(bytes, offset);
                        let hash = written.map(|()| match &sources[block.weight] {
                            // A drawn weight is known by its seed.
                            Source::Drawn { seed, .. } => blake3::hash(&seed.to_le_bytes()),
                            Source::Stored { .. } => blake3::hash(bytes),
                        });
                        if hash.is_err() {
                            // Nobody shall take another block.
                            next.store(blocks.len(), Ordering::Relaxed);
                        }
                        if sender.send((index, hash)).is_err() {
                            break;
                        }
                    }
                };
                // One thread is enough; where the system gives none, it says why.
                match thread::Builder::new().spawn_scoped(scope, work) {
                    Err(error) if started == 0 => return Err(error),
                    Err(_) => break,
                    Ok(_) => {}
                }
            }
            drop(sender);
            let mut hashes = vec![None; blocks.len()];
            let mut written = self.header.len() as u64;
            for (index, hash) in receiver {
                hashes[index] = Some(hash?);
                written += byte_count(blocks[index].length);
                done(written);
            }
            Ok(hashes.into_iter().map(|hash| hash.expect("every block was written")).collect())
        })
    }
}

fn elements(weight: &Weight) -> usize {
    weight.dims.iter().product()
}

fn byte_count(elements: usize) -> u64 {
    (elements * size_of::<f32>()) as u64
}

fn blocks(weights: &[Weight]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, weight) in weights.iter().enumerate() {
        let all = elements(weight);
        let step = block_length(weight);
        for start in (0..all).step_by(step) {
            blocks.push(Block { weight: index, start, length: step.min(all - start) });
        }
    }
    blocks
}

/// The values as the bytes of the file; costs nothing on the usual machines.
fn little_endian(values: &mut [f32]) -> &[u8] {
    if cfg!(target_endian = "big") {
        for value in values.iter_mut() {
            *value = f32::from_bits(value.to_bits().to_le());
        }
    }
    // SAFETY: any f32 is four valid bytes, and the slice covers exactly the same memory for the same lifetime.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Asks for the space at once, so that a full disk is known before the work and not in its middle.
pub(crate) fn reserve(file: &File, size: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let size = libc::off_t::try_from(size).unwrap_or(libc::off_t::MAX);
        // SAFETY: the descriptor is open for writing; the call has no memory arguments.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, size) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::StorageFull {
                return Err(error);
            }
            // Some filesystems cannot reserve; writing will tell.
        }
    }
    file.set_len(size)
}
