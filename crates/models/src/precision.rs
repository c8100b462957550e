//! A model in another number format: converted once, kept in the cache beside the others.
//!
//! Whatever a model comes from, it is made ready in fp32 first and converted from there, so the same weights are under
//! every format. The folder has the same files as any prepared one.

use crate::{
    ModelError, Progress, Resolved,
    arrangement::{Arrangement, Entry},
    data_file::{DATA_FILE, MOST_THREADS, reserve},
    prepare::{GRAPH_FILE, Manifest, failed, is_decoder, read_manifest, write_folder, write_graph},
    stored,
};
use graph::{
    ConvertError, ConvertOptions, Converted, DataType, Model, Plan, PlannedWeight, Tally,
    TensorData,
};
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
use types::{Bytes, Precision, RemarkCode};

/// Raised when a conversion gives another graph or other weights than before.
const FORMAT: u32 = 1;

/// Raised when the same weights in blocks are laid out in another way.
const BLOCKS: u32 = 2;

/// The fingerprint that a model with this one has after its conversion.
#[must_use]
pub fn converted_fingerprint(fingerprint: &str, asked: Precision) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"converted").update(&FORMAT.to_le_bytes()).update(asked.name().as_bytes());
    hasher.update(fingerprint.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// The same model in the format asked for; nothing happens where it has that format already.
pub(crate) fn convert(
    mut resolved: Resolved,
    asked: Precision,
    filled_rows: usize,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    let name = resolved.info.name.clone();
    if resolved.is_program() {
        return Err(ModelError::NoGraph { model: name, asked });
    }
    let native = graph::native_precision(&resolved.model);
    if asked == Precision::Stored {
        // They run as they are.
        resolved.remarks.retain(|remark| remark.code != RemarkCode::QuantisedWeights);
    }
    if native == asked {
        return Ok(resolved);
    }
    if native != Precision::Fp32 {
        return Err(ModelError::Precision { model: name, native, asked });
    }
    let fingerprint = converted_fingerprint(&resolved.info.fingerprint, asked);
    // The graph that generates lies beside the other one.
    let folder_name = match resolved.onnx.file_name().filter(|_| is_decoder(&resolved.onnx)) {
        Some(name) => {
            let name = name.to_string_lossy();
            let of_file = name.strip_suffix(".onnx").unwrap_or(&name);
            converted_fingerprint(&format!("{of_file} {fingerprint}"), asked)
        }
        None => fingerprint.clone(),
    };
    let folder_name = match asked {
        // The same weights, laid out as an engine wants them.
        Precision::Stored => {
            converted_fingerprint(&format!("{folder_name} {BLOCKS} {filled_rows}"), asked)
        }
        _ => folder_name,
    };
    let key = &folder_name[..32];
    let models = cache.join("models");
    let folder = models.join(key);
    let manifest = match read_manifest(&folder) {
        Some(manifest) => manifest,
        None => {
            let convert = |source| {
                let source = Box::new(source);
                ModelError::Convert { model: name.clone(), asked, source }
            };
            let options = ConvertOptions::default();
            let plan = match asked {
                Precision::Stored => stored::plan(&resolved, filled_rows)?,
                _ => graph::plan_conversion(&resolved.model, asked, &options).map_err(convert)?,
            };
            let size = plan.weights().iter().map(PlannedWeight::size).sum();
            let write = |unfinished: &Path| {
                write_converted(plan, unfinished, fingerprint.clone(), &convert, progress)
            };
            write_folder(&models, key, size, write)?
        }
    };
    resolved.onnx = folder.join(GRAPH_FILE);
    resolved.model = Model::read(&resolved.onnx).map_err(|source| ModelError::Onnx {
        path: resolved.onnx.clone(),
        source: source.into(),
    })?;
    resolved.info.size = Bytes(manifest.graph_bytes + manifest.data_bytes);
    resolved.info.fingerprint = manifest.fingerprint;
    resolved.remarks.extend(manifest.remarks);
    Ok(resolved)
}

fn write_converted(
    plan: Plan<'_>,
    folder: &Path,
    fingerprint: String,
    convert: &dyn Fn(ConvertError) -> ModelError,
    progress: &mut dyn FnMut(Progress),
) -> Result<Manifest, ModelError> {
    let written = write_plan(plan, folder, convert, progress)?;
    let WrittenGraph { graph_bytes, data_bytes, converted } = written;
    let remarks = converted.report.remarks();
    Ok(Manifest { graph_bytes, data_bytes, fingerprint, content: None, remarks })
}

/// A graph whose weights were made and that lies in a folder beside them.
pub(crate) struct WrittenGraph {
    pub(crate) graph_bytes: u64,
    pub(crate) data_bytes: u64,
    pub(crate) converted: Converted,
}

/// Makes the weights of a plan and writes them with the graph into a folder.
pub(crate) fn write_plan(
    plan: Plan<'_>,
    folder: &Path,
    convert: &dyn Fn(ConvertError) -> ModelError,
    progress: &mut dyn FnMut(Progress),
) -> Result<WrittenGraph, ModelError> {
    let path = folder.join(DATA_FILE);
    let arrangement = arrange(plan.weights());
    let data_bytes = arrangement.size;
    let disk = |source| failed(path.clone(), data_bytes, source);
    let file = File::create(&path).map_err(disk)?;
    reserve(&file, data_bytes).map_err(disk)?;
    file.write_all_at(&arrangement.header, 0).map_err(disk)?;
    let tallies = write_weights(&plan, &file, &arrangement, &mut |done| {
        progress(Progress::Preparing { done, total: data_bytes });
    });
    let tallies = tallies.map_err(|error| match error {
        ConvertError::Write { source, .. } => disk(source),
        other => convert(other),
    })?;
    let placed = |((weight, offset), tally): ((&PlannedWeight, &u64), Tally)| {
        let (path, length) = (PathBuf::from(DATA_FILE), weight.size());
        (TensorData::External { path, offset: *offset, length }, tally)
    };
    let made = plan.weights().iter().zip(&arrangement.offsets).zip(tallies).map(placed).collect();
    let mut converted = plan.finish(made);
    converted.model.folder = Some(folder.to_owned());
    let graph_bytes = write_graph(&converted.model, folder)?;
    Ok(WrittenGraph { graph_bytes, data_bytes, converted })
}

fn arrange(weights: &[PlannedWeight]) -> Arrangement {
    let entry = |weight: &PlannedWeight| {
        let bytes = usize::try_from(weight.size()).expect("the original fits an address");
        match dtype(weight.dtype) {
            Some(dtype) => {
                Entry { name: weight.name.clone(), dtype, dims: weight.dims.clone(), bytes }
            }
            // What the format has no name for lies in the file as bytes; the graph knows what it is.
            None => Entry { name: weight.name.clone(), dtype: Dtype::U8, dims: vec![bytes], bytes },
        }
    };
    Arrangement::of(weights.iter().map(entry).collect())
}

pub(crate) fn dtype(dtype: DataType) -> Option<Dtype> {
    Some(match dtype {
        DataType::Float => Dtype::F32,
        DataType::Float16 => Dtype::F16,
        DataType::Bfloat16 => Dtype::BF16,
        DataType::Double => Dtype::F64,
        DataType::Int8 => Dtype::I8,
        DataType::Uint8 => Dtype::U8,
        DataType::Int16 => Dtype::I16,
        DataType::Uint16 => Dtype::U16,
        DataType::Int32 => Dtype::I32,
        DataType::Uint32 => Dtype::U32,
        DataType::Int64 => Dtype::I64,
        DataType::Uint64 => Dtype::U64,
        DataType::Bool => Dtype::BOOL,
        _ => return None,
    })
}

/// Makes the weights, a few at a time, each in pieces, and writes them to their places.
fn write_weights(
    plan: &Plan<'_>,
    file: &File,
    arrangement: &Arrangement,
    done: &mut dyn FnMut(u64),
) -> Result<Vec<Tally>, ConvertError> {
    let count = plan.weights().len();
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS));
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for started in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            let work = move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&offset) = arrangement.offsets.get(index) else { break };
                    let tally = write_weight(plan, index, file, offset);
                    if tally.is_err() {
                        // Nobody shall take another weight.
                        next.store(count, Ordering::Relaxed);
                    }
                    if sender.send((index, tally)).is_err() {
                        break;
                    }
                }
            };
            // One thread is enough; where the system gives none, it says why.
            match thread::Builder::new().spawn_scoped(scope, work) {
                Err(source) if started == 0 => {
                    let first = plan.weights().first().map(|weight| weight.name.clone());
                    return Err(ConvertError::Write { name: first.unwrap_or_default(), source });
                }
                Err(_) => break,
                Ok(_) => {}
            }
        }
        drop(sender);
        let mut tallies = vec![Tally::default(); count];
        let mut written = arrangement.header.len() as u64;
        for (index, tally) in receiver {
            tallies[index] = tally?;
            written += plan.weights()[index].size();
            done(written);
        }
        Ok(tallies)
    })
}

fn write_weight(
    plan: &Plan<'_>,
    index: usize,
    file: &File,
    offset: u64,
) -> Result<Tally, ConvertError> {
    let (mut place, end) = (offset, offset + plan.weights()[index].size());
    let tally = plan.write(index, &mut |piece| {
        file.write_all_at(piece, place)?;
        place += piece.len() as u64;
        Ok(())
    })?;
    if place != end {
        let source = io::Error::other(format!("{place} bytes instead of {end} were made"));
        return Err(ConvertError::Write { name: plan.weights()[index].name.clone(), source });
    }
    Ok(tally)
}
