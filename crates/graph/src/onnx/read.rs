//! From a path to a model, by memory map.

use super::{
    ReadError, external, from_proto::model_from, proto::ModelProto, regular::open_regular, walk,
};
use crate::{Model, TensorData, order};
use bytes::Bytes;
use prost::Message;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

impl Model {
    /// Reads an ONNX file; weights stay in the file and are mapped, files with further weights are checked.
    pub fn read(path: impl AsRef<Path>) -> Result<Model, ReadError> {
        let path = path.as_ref();
        let open = |source| ReadError::Open { path: path.to_path_buf(), source };
        let file = open_regular(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        if metadata.len() == 0 {
            return Err(ReadError::Empty { path: path.to_path_buf() });
        }
        let bytes = external::map(&file, 0, metadata.len()).map_err(open)?;
        let (mut model, locations) = decode(path, bytes)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        model.folder = Some(folder.unwrap_or(Path::new(".")).to_path_buf());
        for (location, tensor) in &locations {
            external::check_home(tensor, path, location)?;
        }
        check_external(&model)?;
        Ok(model)
    }

    /// Reads a model from memory; it has no folder, so weights in other files are not checked.
    pub fn from_bytes(bytes: Bytes) -> Result<Model, ReadError> {
        let path = Path::new("<memory>");
        if bytes.is_empty() {
            return Err(ReadError::Empty { path: path.to_path_buf() });
        }
        Ok(decode(path, bytes)?.0)
    }
}

/// The model, and the other files that its tensors name.
fn decode(path: &Path, bytes: Bytes) -> Result<(Model, walk::Locations), ReadError> {
    let not_onnx = |why: &str| ReadError::NotOnnx { path: path.to_path_buf(), why: why.into() };
    if let Some(why) = known_stranger(&bytes) {
        return Err(not_onnx(why));
    }
    let locations = walk::check(&bytes)?;
    for (location, tensor) in &locations {
        external::check_inside(tensor, location)?;
    }
    let proto = ModelProto::decode(bytes)
        .map_err(|source| ReadError::Decode { path: path.to_path_buf(), source })?;
    let mut model = model_from(proto)?.ok_or_else(|| not_onnx("it has no graph"))?;
    order::sort(&mut model.graph).map_err(|node| ReadError::Cycle { node })?;
    Ok((model, locations))
}

/// What the file is instead, where its first bytes say so.
fn known_stranger(bytes: &[u8]) -> Option<&'static str> {
    const STRANGERS: [(&[u8], &str); 7] = [
        (b"version https://git-lfs", "it is a Git LFS pointer; run `git lfs pull` to get the file"),
        (b"PK\x03\x04", "it is a zip archive (a PyTorch checkpoint?); export the model to ONNX"),
        (b"GGUF", "it is a GGUF file"),
        (b"\x89HDF", "it is an HDF5 file"),
        (b"\x89PNG", "it is a picture"),
        (b"<", "it is text, perhaps a web page saved by a failed download"),
        (b"{", "it is JSON text"),
    ];
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some("it is a TensorFlow Lite model");
    }
    // A safetensors file is a length of 8 bytes and then JSON.
    if bytes.get(8) == Some(&b'{') && bytes.get(5..8) == Some(&[0, 0, 0]) {
        return Some("it is a safetensors file: weights without a graph");
    }
    if let Some((_, why)) = STRANGERS.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Some(why);
    }
    // Every writer begins with the format version (field 1) or at least with a field that a model has.
    let known = [1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25];
    let (field, wire_type) = bytes.first().map(|byte| (byte >> 3, byte & 7))?;
    let plausible = known.contains(&field) || bytes[0] & 0x80 != 0;
    (!plausible || !matches!(wire_type, 0 | 2)).then_some("its first bytes are not a model's")
}

/// Makes sure that every file with weights is there and long enough; each file is opened once.
fn check_external(model: &Model) -> Result<(), ReadError> {
    let mut needs: HashMap<&PathBuf, (&str, u64)> = HashMap::new();
    for tensor in model.graph.tensors() {
        if let TensorData::External { path, offset, length } = &tensor.data {
            let end = offset.saturating_add(*length);
            let need = needs.entry(path).or_insert((&tensor.name, end));
            if end > need.1 {
                *need = (&tensor.name, end);
            }
        }
    }
    let mut needs: Vec<_> = needs.into_iter().collect();
    needs.sort();
    for (path, (name, end)) in needs {
        external::check(name, &model.locate(path), 0, end)?;
    }
    Ok(())
}
