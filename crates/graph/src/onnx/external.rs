//! Weights in other files: where they are, whether they may be there, and their bytes by memory map.

use super::{ReadError, proto::StringStringEntryProto, regular::open_regular};
use crate::{Model, Tensor, TensorData};
use bytes::Bytes;
use std::{
    fs::{self, File},
    path::{Component, Path, PathBuf},
};

/// The place that a tensor's entries describe; paths that leave the model's folder are refused.
pub(crate) fn location(
    name: &str,
    entries: &[StringStringEntryProto],
    size: u64,
) -> Result<TensorData, ReadError> {
    let entry = |key: &str| {
        let found = entries.iter().find(|entry| entry.key.as_deref() == Some(key));
        found.and_then(|entry| entry.value.as_deref())
    };
    let number = |key: &str, default: u64| match entry(key) {
        None | Some("") => Ok(default),
        Some(text) => text.trim().parse::<u64>().map_err(|_| ReadError::Tensor {
            name: name.to_string(),
            why: format!("its external `{key}` is `{text}`, not a number"),
        }),
    };
    let location = entry("location").unwrap_or_default();
    check_inside(name, location)?;
    let offset = number("offset", 0)?;
    let length = number("length", size)?;
    Ok(TensorData::External { path: PathBuf::from(location), offset, length })
}

/// Refuses a place whose name leaves the model's folder.
pub(crate) fn check_inside(name: &str, location: &str) -> Result<(), ReadError> {
    let inside = Path::new(location)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // A backslash path would leave the folder on another system.
    if location.is_empty() || !inside || location.contains("..\\") {
        let (name, location) = (name.to_string(), location.to_string());
        return Err(ReadError::Escapes { name, location });
    }
    Ok(())
}

/// Refuses a place that a link leads out of the model's folder; what is not there is told by whoever opens it.
///
/// The hub's cache keeps the files of a model as links into one folder. So what lies beside the model's own real file
/// is at home too.
pub(crate) fn check_home(name: &str, model: &Path, location: &str) -> Result<(), ReadError> {
    let folder = model.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let Ok(real) = fs::canonicalize(folder.join(location)) else { return Ok(()) };
    let beside = fs::canonicalize(model).ok().and_then(|real| real.parent().map(Path::to_owned));
    let mut homes = fs::canonicalize(folder).into_iter().chain(beside);
    match homes.any(|home| real.starts_with(home)) {
        true => Ok(()),
        false => {
            Err(ReadError::Leaves { name: name.to_string(), location: location.to_string(), real })
        }
    }
}

/// The entries that describe a place.
pub(crate) fn entries(path: &Path, offset: u64, length: u64) -> Vec<StringStringEntryProto> {
    // ONNX writes locations with forward slashes on every system.
    let parts: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let entry = |key: &str, value: String| StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value),
    };
    vec![
        entry("location", parts.join("/")),
        entry("offset", offset.to_string()),
        entry("length", length.to_string()),
    ]
}

impl Model {
    /// Where an external path really is.
    #[must_use]
    pub fn locate(&self, path: &Path) -> PathBuf {
        match &self.folder {
            Some(folder) if path.is_relative() => folder.join(path),
            _ => path.to_path_buf(),
        }
    }

    /// The bytes of a tensor: shared where they are inline, memory-mapped where they are in another file.
    pub fn bytes(&self, tensor: &Tensor) -> Result<Bytes, ReadError> {
        self.named_bytes(&tensor.name, &tensor.data)
    }

    /// The bytes behind `data`, as [`Model::bytes`].
    pub fn resolve(&self, data: &TensorData) -> Result<Bytes, ReadError> {
        self.named_bytes("", data)
    }

    fn named_bytes(&self, name: &str, data: &TensorData) -> Result<Bytes, ReadError> {
        match data {
            TensorData::Inline(bytes) => Ok(bytes.clone()),
            TensorData::Strings(_) => Err(ReadError::Strings),
            TensorData::External { path, offset, length } => {
                let path = self.locate(path);
                let file = check(name, &path, *offset, *length)?;
                map(&file, *offset, *length).map_err(|source| ReadError::External {
                    name: name.to_string(),
                    path,
                    source,
                })
            }
        }
    }
}

/// Opens a file of weights and makes sure that it is long enough.
pub(crate) fn check(name: &str, path: &Path, offset: u64, length: u64) -> Result<File, ReadError> {
    let failed =
        |source| ReadError::External { name: name.to_string(), path: path.to_path_buf(), source };
    let file = open_regular(path).map_err(failed)?;
    let present = file.metadata().map_err(failed)?.len();
    let needed = offset.saturating_add(length);
    if present < needed {
        let (name, path) = (name.to_string(), path.to_path_buf());
        return Err(ReadError::ExternalTooShort { name, path, needed, present });
    }
    Ok(file)
}

/// Maps a part of a file that is known to be long enough.
pub(crate) fn map(file: &File, offset: u64, length: u64) -> std::io::Result<Bytes> {
    let Ok(size) = usize::try_from(length) else {
        return Err(std::io::Error::other("the tensor is larger than this machine can address"));
    };
    if size == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private and read-only. Another process that shortens the file while it is mapped would make
    // reads fail with a signal; model files are replaced, not shortened, and every engine maps them the same way.
    let map = unsafe { memmap2::MmapOptions::new().offset(offset).len(size).map(file)? };
    Ok(Bytes::from_owner(map))
}
