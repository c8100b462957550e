//! How small the files of a graph become when they are sent or archived.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
};
use types::Bytes;

/// What people compress with when they do not think about it.
const LEVEL: i32 = 3;

/// A graph and the files that its weights lie in.
pub(super) fn files(onnx: &Path, model: &graph::Model) -> Vec<PathBuf> {
    let mut files = vec![onnx.to_owned()];
    for tensor in model.graph.tensors() {
        if let graph::TensorData::External { path, .. } = &tensor.data {
            let path = model.locate(path);
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    files
}

/// The sizes of several sets of files, compressed with zstd, each on a thread of its own.
pub(super) fn compressed<const N: usize>(sets: [Vec<PathBuf>; N]) -> [Option<Bytes>; N] {
    thread::scope(|scope| {
        let handles = sets.map(|set| {
            scope.spawn(move || {
                set.iter().map(|path| compressed_size(path).ok()).sum::<Option<u64>>()
            })
        });
        handles.map(|handle| handle.join().ok().flatten().map(Bytes))
    })
}

fn compressed_size(path: &Path) -> io::Result<u64> {
    let mut encoder = zstd::Encoder::new(Count(0), LEVEL)?;
    io::copy(&mut File::open(path)?, &mut encoder)?;
    Ok(encoder.finish()?.0)
}

/// Counts what is written and keeps nothing.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_become_small_and_a_missing_file_is_no_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeros");
        std::fs::write(&path, vec![0u8; 1 << 20]).unwrap();
        let [zeros, missing] = compressed([vec![path], vec![folder.path().join("missing")]]);
        assert!(zeros.unwrap().0 < 1000);
        assert_eq!(missing, None);
    }
}
