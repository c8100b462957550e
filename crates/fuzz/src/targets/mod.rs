//! The readers, by what they read.

pub(crate) mod config;
pub(crate) mod data;
pub(crate) mod exchange;
pub(crate) mod folder;
pub(crate) mod gguf;
pub(crate) mod gpu;
pub(crate) mod graph;
pub(crate) mod measurement;
pub(crate) mod media;
pub(crate) mod plan;
pub(crate) mod protocol;
pub(crate) mod store;
pub(crate) mod text;

#[path = "../../../exchange/tests/it/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that goes away; in memory where the system has such a place, so that a million files cost little.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    made.expect("a temporary folder can be made")
}

/// Writes a case into a file and gives its path.
fn put(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a case can be written");
    path
}

/// A choice that belongs to the bytes, so that a kept case makes it again.
fn choice(bytes: &[u8], among: usize) -> usize {
    let sum = bytes
        .iter()
        .fold(bytes.len() as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    (sum % among.max(1) as u64) as usize
}
