//! From a model to a path. Files appear whole or not at all.

use super::{ReadError, WriteError, encode::Encoded};
use crate::{Model, Tensor, TensorData};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Component, Path, PathBuf},
};

/// Protobuf's limit for one message, and so for one ONNX file.
const LARGEST_FILE: u64 = i32::MAX as u64;

/// Weights smaller than this stay inline even where the others move out: they are shapes and scalars.
const SMALLEST_MOVED: u64 = 1024;

/// Weights in a data file begin at multiples of this, so that they can be mapped.
const ALIGNMENT: u64 = 4096;

impl Model {
    /// Writes an ONNX file.
    ///
    /// Inline tensors stay inline and references to files in the target's folder stay references. Where the file would
    /// pass 2 GB, or a reference leads out of the folder, weights go to `<stem>.onnx.data` next to it.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        self.write_within(path.as_ref(), LARGEST_FILE)
    }

    /// Writes an ONNX file with its weights in `<stem>.onnx.data` next to it; shapes and scalars stay inline.
    pub fn write_beside_weights(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        self.write_within(path.as_ref(), 0)
    }

    /// The same model with all weights inside, mapped from where they lie: it can be written anywhere.
    pub fn with_weights_inside(&self) -> Result<Model, ReadError> {
        let mut model = self.clone();
        for tensor in &mut model.graph.initializers {
            if matches!(tensor.data, TensorData::External { .. }) {
                tensor.data = TensorData::Inline(self.bytes(tensor)?);
            }
        }
        model.folder = None;
        Ok(model)
    }

    /// Writes as [`Model::write`], with weights inline only up to a file of this size.
    fn write_within(&self, path: &Path, largest: u64) -> Result<(), WriteError> {
        let (Some(name), Some(stem)) = (path.file_name(), path.file_stem()) else {
            return Err(WriteError::NotAFile { path: path.to_path_buf() });
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut weights = self.referenced_from(folder);
        let data_name = free_data_name(&stem.to_string_lossy(), &weights);
        let mut encoded = Encoded::new(self, &weights);
        let too_large = encoded.len() > largest;
        let moved: Vec<usize> = (0..weights.len())
            .filter(|index| match &weights[*index].data {
                TensorData::Inline(bytes) => too_large && bytes.len() as u64 >= SMALLEST_MOVED,
                // Still absolute: it could not be said relative to the folder.
                TensorData::External { path, .. } => path.is_absolute(),
                TensorData::Strings(_) => false,
            })
            .collect();
        let data_path = folder.join(&data_name);
        let mut data_file = None;
        if !moved.is_empty() {
            let mut file = Pending::create(&data_path)?;
            let mut offset = 0u64;
            for index in moved {
                let source = &self.graph.initializers[index];
                offset = offset.next_multiple_of(ALIGNMENT);
                let bytes = self.bytes(source).map_err(|error| WriteError::Weights {
                    name: source.name.clone(),
                    source: Box::new(error),
                })?;
                file.append(offset, &bytes)?;
                let length = bytes.len() as u64;
                weights[index].data =
                    TensorData::External { path: PathBuf::from(&data_name), offset, length };
                offset += length;
            }
            data_file = Some(file);
            encoded = Encoded::new(self, &weights);
        }
        if encoded.len() > LARGEST_FILE {
            return Err(WriteError::TooLarge { size: encoded.len() });
        }
        let mut file = Pending::create(&folder.join(name))?;
        file.fill(|out| encoded.write(out))?;
        // The data first: a model must never point at a file that is not there.
        if let Some(data_file) = data_file {
            data_file.finish()?;
        }
        file.finish()
    }

    /// The weights with their references seen from `folder`; those that cannot be are absolute.
    fn referenced_from(&self, folder: &Path) -> Vec<Tensor> {
        let target = absolute(folder);
        self.graph
            .initializers
            .iter()
            .map(|tensor| {
                let mut tensor = tensor.clone();
                if let TensorData::External { path, .. } = &mut tensor.data {
                    let full = absolute(&self.locate(path));
                    *path = match full.strip_prefix(&target) {
                        Ok(relative) => relative.to_path_buf(),
                        Err(_) => full,
                    };
                }
                tensor
            })
            .collect()
    }
}

/// A name for the data file that no kept reference uses: those files must stay as they are.
fn free_data_name(stem: &str, weights: &[Tensor]) -> String {
    let used = |name: &str| {
        weights.iter().any(|tensor| match &tensor.data {
            TensorData::External { path, .. } => path == Path::new(name),
            TensorData::Inline(_) | TensorData::Strings(_) => false,
        })
    };
    let mut name = format!("{stem}.onnx.data");
    let mut number = 1;
    while used(&name) {
        name = format!("{stem}-{number}.onnx.data");
        number += 1;
    }
    name
}

/// An absolute path without `.` and `..`; symbolic links stay as they are named.
fn absolute(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut clean = PathBuf::new();
    for part in full.components() {
        if part == Component::ParentDir {
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    clean
}

/// A file under a temporary name next to its place; dropped, it is gone.
struct Pending {
    target: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
    written: u64,
}

impl Pending {
    fn create(target: &Path) -> Result<Pending, WriteError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&temporary)
            .map_err(|source| WriteError::Write { path: temporary.clone(), source })?;
        let file = Some(BufWriter::new(file));
        Ok(Pending { target: target.to_path_buf(), temporary, file, written: 0 })
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Write { path: self.target.clone(), source }
    }

    fn fill(
        &mut self,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let result = match &mut self.file {
            Some(file) => write(file),
            None => Ok(()),
        };
        result.map_err(|source| self.failed(source))
    }

    /// Writes `bytes` at `offset`, which is not before the end.
    fn append(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let gap = vec![0u8; usize::try_from(offset - self.written).unwrap_or(0)];
        self.fill(|out| out.write_all(&gap).and_then(|()| out.write_all(bytes)))?;
        self.written = offset + bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> Result<(), WriteError> {
        if let Some(file) = self.file.take() {
            let file = file.into_inner().map_err(|error| self.failed(error.into_error()))?;
            file.sync_all().map_err(|source| self.failed(source))?;
        }
        fs::rename(&self.temporary, &self.target).map_err(|source| self.failed(source))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After `finish` the temporary name is gone already.
        let _ = fs::remove_file(&self.temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, GraphBuilder};

    #[test]
    fn weights_that_would_pass_the_limit_move_to_a_data_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.onnx");
        let mut builder = GraphBuilder::new("g");
        builder.initializer(Tensor::from_f32s("a", &[1000], &[1.0; 1000]));
        builder.initializer(Tensor::from_i64s("shape", &[1], &[7]));
        builder.initializer(Tensor::from_f32s("b", &[1000], &[2.0; 1000]));
        let model = builder.finish_model();
        model.write_within(&path, 7000).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 1000);
        let back = Model::read(&path).unwrap();
        assert_eq!(back.graph.initializers[1].i64s(), Some(vec![7]));
        let weight = &back.graph.initializers[2];
        let place =
            TensorData::External { path: "large.onnx.data".into(), offset: 4096, length: 4000 };
        assert_eq!(weight.data, place);
        let bytes = back.bytes(weight).unwrap();
        assert_eq!(crate::tensor::numbers(DataType::Float, &bytes, 1000), Some(vec![2.0; 1000]));
        model.write_within(&path, 9000).unwrap();
        assert_eq!(Model::read(&path).unwrap().graph, model.graph);
    }
}
