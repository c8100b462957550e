//! A prepared model on disk: graph and weights in one folder of the cache, written once and reused.
//!
//! The folder's name is a hash over everything that decides its content. It is written under another name and renamed
//! when complete, so two processes at once, or one that is killed, leave either a whole model or none.

use crate::{
    Blueprint, Decoder, DecoderBlueprint, ModelError, Progress,
    data_file::{DATA_FILE, DataFile},
    fingerprint::{FileStamp, hash_debug},
    unfinished::Unfinished,
    weights::Values,
};
use graph::{DataType, Model};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use types::{Precision, Remark};

/// Raised when the layout of prepared folders or the drawing of random weights changes.
const FORMAT: u32 = 1;

pub(crate) const GRAPH_FILE: &str = "model.onnx";
/// The same model drawn to generate, in standard operators and with fused attention.
pub(crate) const DECODER_FILES: [&str; 2] = ["generate.onnx", "generate-fused.onnx"];
const MANIFEST_FILE: &str = "prepared.json";

/// A model whose graph and weights are on disk.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) onnx: PathBuf,
    pub(crate) model: Model,
    pub(crate) size: u64,
    pub(crate) fingerprint: String,
    /// The graph that generates, with pointers into the same weights; on disk once somebody generates.
    pub(crate) decoder: Option<Decoder>,
}

/// What a complete folder says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) graph_bytes: u64,
    pub(crate) data_bytes: u64,
    pub(crate) fingerprint: String,
    /// A hash over graph and data as they were written; `None` in folders of versions that wrote none.
    #[serde(default)]
    pub(crate) content: Option<String>,
    /// What a reader of the results must know.
    #[serde(default)]
    pub(crate) remarks: Vec<Remark>,
}

/// The graph with its weights as pointers into the data file, before any of them is written.
pub(crate) fn attach(blueprint: &Blueprint) -> Result<(Model, DataFile), ModelError> {
    if blueprint.dtype != DataType::Float {
        let model = blueprint.architecture.clone();
        let (native, asked) = (graph::native_precision(&blueprint.model), Precision::Fp32);
        return Err(ModelError::Precision { model, native, asked });
    }
    let data = DataFile::plan(&blueprint.weights)
        .ok_or_else(|| ModelError::TooLarge { name: blueprint.architecture.clone() })?;
    let mut model = blueprint.model.clone();
    model.graph.initializers.extend(data.tensors(blueprint));
    Ok((model, data))
}

/// Writes graph and weights into the cache, or finds them there.
pub(crate) fn prepare(
    blueprint: &Blueprint,
    values: Values<'_>,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared, ModelError> {
    let (mut model, data) = attach(blueprint)?;
    let graph_hash = hash_debug(&(&model, &blueprint.weights));
    let key = key(graph_hash, values)?;
    let models = cache.join("models");
    let folder = models.join(&key);
    let manifest = match read_manifest(&folder) {
        Some(manifest) => manifest,
        None => {
            let write = |unfinished: &Path| {
                let values_hash =
                    data.write(&unfinished.join(DATA_FILE), &blueprint.weights, values, progress)?;
                model.folder = Some(unfinished.to_owned());
                let fingerprint = match values {
                    // Everything that decides drawn values is in the key already.
                    Values::Random(_) => key.clone(),
                    Values::Trained(_) => {
                        let mut whole = blake3::Hasher::new();
                        whole.update(graph_hash.as_bytes()).update(values_hash.as_bytes());
                        whole.finalize().to_hex().to_string()
                    }
                };
                let graph_bytes = write_graph(&model, unfinished)?;
                let data_bytes = data.size();
                let remarks = Vec::new();
                Ok(Manifest { graph_bytes, data_bytes, fingerprint, content: None, remarks })
            };
            write_folder(&models, &key, data.size(), write)?
        }
    };
    let decoder = blueprint.decoder.as_ref().map(|decoder| {
        let mut model = decoder.model.clone();
        model.graph.initializers.extend(data.tensors(blueprint));
        model.folder = Some(folder.clone());
        let DecoderBlueprint { inputs: kinds, shape, reach, .. } = decoder.as_ref().clone();
        let onnx = folder.join(DECODER_FILES[usize::from(reach.is_some())]);
        Decoder { onnx, model, kinds, shape, reach }
    });
    model.folder = Some(folder.clone());
    Ok(Prepared {
        decoder,
        onnx: folder.join(GRAPH_FILE),
        model,
        size: manifest.graph_bytes + manifest.data_bytes,
        fingerprint: manifest.fingerprint,
    })
}

/// Fills a folder under another name and gives it its own when it is complete; `size` is what will be needed at least.
pub(crate) fn write_folder(
    models: &Path,
    key: &str,
    size: u64,
    write: impl FnOnce(&Path) -> Result<Manifest, ModelError>,
) -> Result<Manifest, ModelError> {
    let failed = |source| failed(models.to_owned(), size, source);
    fs::create_dir_all(models).map_err(failed)?;
    let unfinished = Unfinished::create(models, key).map_err(failed)?;
    let mut manifest = write(unfinished.path())?;
    manifest.content = Some(content_hash(unfinished.path()).map_err(failed)?);
    write_manifest(unfinished.path(), &manifest).map_err(failed)?;
    let is_whole = |folder: &Path| read_manifest(folder).is_some();
    unfinished.finish(&models.join(key), is_whole).map_err(failed)?;
    Ok(manifest)
}

/// A hash over graph and data of a folder; what was just written is read from memory.
fn content_hash(folder: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for name in [GRAPH_FILE, DATA_FILE] {
        let mut file = graph::open_regular(&folder.join(name))?;
        hasher.update(&file.metadata()?.len().to_le_bytes());
        let mut piece = vec![0; 1 << 20];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                count => hasher.update(&piece[..count]),
            };
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Makes sure that a prepared model is still what was written; a graph that we did not prepare has nothing to compare
/// with.
///
/// It reads all weights (0.1 s for 265 MB), so only whoever compares outputs asks. What was seen to be whole is not read
/// again in this process.
///
/// # Errors
/// Where bytes have changed, or cannot be read.
pub fn verify_prepared(onnx: &Path) -> Result<(), ModelError> {
    static WHOLE: Mutex<Vec<FileStamp>> = Mutex::new(Vec::new());
    let is_ours = onnx.ends_with(GRAPH_FILE) || is_decoder(onnx);
    let Some(folder) = onnx.parent().filter(|_| is_ours) else { return Ok(()) };
    let Some(written) = read_manifest(folder).and_then(|manifest| manifest.content) else {
        return Ok(());
    };
    let (onnx, data) = (&folder.join(GRAPH_FILE), folder.join(DATA_FILE));
    let stamps = [FileStamp::of(onnx)?, FileStamp::of(&data)?];
    let known = || WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    if stamps.iter().all(|stamp| known().contains(stamp)) {
        return Ok(());
    }
    let found =
        content_hash(folder).map_err(|source| ModelError::Read { path: data.clone(), source })?;
    if found != written {
        return Err(ModelError::Damaged { path: data, folder: folder.to_owned() });
    }
    known().extend(stamps);
    Ok(())
}

/// Whether this is a graph that generates, beside the weights of the other one.
pub(crate) fn is_decoder(onnx: &Path) -> bool {
    DECODER_FILES.iter().any(|name| onnx.ends_with(name))
}

/// Writes the graph that generates beside the weights, unless it is there. Two at once write the same, each under a name of its
/// own, so that nobody reads a half.
pub(crate) fn write_decoder(decoder: &Decoder) -> Result<(), ModelError> {
    let path = &decoder.onnx;
    let unfinished = path.with_extension(format!("{}", std::process::id()));
    decoder.model.write(&unfinished).map_err(|source| graph_failed(&unfinished, source))?;
    fs::rename(&unfinished, path).map_err(|source| failed(path.clone(), 0, source))
}

/// Writes the graph into a folder and gives its size.
pub(crate) fn write_graph(model: &Model, folder: &Path) -> Result<u64, ModelError> {
    let path = folder.join(GRAPH_FILE);
    model.write(&path).map_err(|source| graph_failed(&path, source))?;
    let data = fs::metadata(&path);
    data.map(|data| data.len()).map_err(|source| ModelError::Read { path, source })
}

fn key(graph: blake3::Hash, values: Values<'_>) -> Result<String, ModelError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&FORMAT.to_le_bytes()).update(graph.as_bytes());
    match values {
        Values::Random(seed) => {
            hasher.update(b"random").update(&seed.to_le_bytes());
        }
        Values::Trained(checkpoint) => {
            hasher.update(b"trained");
            for file in checkpoint.files() {
                FileStamp::of(file)?.update(&mut hasher);
            }
        }
    }
    // 128 bits: no two models of one cache will ever meet.
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}

pub(crate) fn read_manifest(folder: &Path) -> Option<Manifest> {
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(folder.join(MANIFEST_FILE)).ok()?).ok()?;
    let length = |name| fs::metadata(folder.join(name)).ok().map(|data| data.len());
    let complete = length(GRAPH_FILE) == Some(manifest.graph_bytes)
        && length(DATA_FILE) == Some(manifest.data_bytes);
    complete.then_some(manifest)
}

fn write_manifest(folder: &Path, manifest: &Manifest) -> io::Result<()> {
    fs::write(folder.join(MANIFEST_FILE), serde_json::to_vec(manifest)?)
}

fn graph_failed(path: &Path, source: graph::WriteError) -> ModelError {
    let path = path.to_owned();
    match source {
        graph::WriteError::Write { source, .. } => failed(path, 0, source),
        other => ModelError::Write { path, source: io::Error::other(other) },
    }
}

/// A full disk is told apart from all else that can go wrong while writing.
pub(crate) fn failed(path: PathBuf, needed: u64, source: io::Error) -> ModelError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ModelError::DiskFull { path, needed, source }
        }
        _ => ModelError::Write { path, source },
    }
}
