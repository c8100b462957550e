//! A changed model as a folder that other tools load: ONNX, and where it can be had the weights of `transformers`.
//!
//! ```text
//! DIR/config.json  DIR/model.safetensors     for transformers
//! DIR/onnx/model.onnx  …/model.safetensors.data   for every ONNX engine
//! DIR/tokenizer.json, …                      as they were
//! ```
//!
//! The folder is filled under another name beside its place and renamed when it is whole: whatever happens half-way,
//! nothing half-written stays.

mod config;
mod expand;
mod side_files;
mod transformers;

use crate::{
    ModelError, Progress, Resolved,
    precision::{WrittenGraph, write_plan},
    prepare::failed,
};
use graph::{Block, BlockKind, Converted, Plan};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use types::Bytes;

const ONNX_FOLDER: &str = "onnx";

/// A changed model that is to be written.
#[derive(Debug)]
pub struct Export<'a> {
    /// The model before.
    pub resolved: &'a Resolved,
    /// The new graph and how its weights are made.
    pub plan: Plan<'a>,
    /// Heads and neurons that were cut away.
    pub blocks: &'a [Block],
    /// What every block loses, and all alike.
    pub uniform: &'a [BlockKind],
    /// Where to.
    pub folder: &'a Path,
    /// Whether a folder that is there is replaced.
    pub replace: bool,
}

/// A folder that was written.
#[derive(Debug)]
pub struct Exported {
    /// The folder.
    pub folder: PathBuf,
    /// The new graph, whose weights lie in the folder.
    pub converted: Converted,
    /// Bytes of the graph and its weights.
    pub size: Bytes,
    /// Whether the weights are there for `transformers` too.
    pub has_transformers: bool,
    /// What a reader must know of the folder.
    pub remarks: Vec<String>,
}

impl Export<'_> {
    /// Whether the place is free, before anything is computed.
    ///
    /// # Errors
    /// Where something is there that must not be replaced.
    pub fn check(folder: &Path, replace: bool) -> Result<(), ModelError> {
        let path = folder.to_owned();
        match fs::symlink_metadata(folder) {
            Ok(_) if !replace => Err(ModelError::FolderExists { path }),
            Ok(data) if !data.is_dir() => {
                let source = io::Error::other("it is not a folder");
                Err(ModelError::Write { path, source })
            }
            _ => Ok(()),
        }
    }

    /// Writes the folder, whole or not at all.
    ///
    /// # Errors
    /// Where the place is taken, the disk is full or weights cannot be read.
    pub fn write(self, progress: &mut dyn FnMut(Progress)) -> Result<Exported, ModelError> {
        Export::check(self.folder, self.replace)?;
        let unfinished = Unfinished::beside(self.folder)?;
        let onnx = unfinished.path.join(ONNX_FOLDER);
        let disk = |source| failed(self.folder.to_owned(), 0, source);
        fs::create_dir(&onnx).map_err(disk)?;
        let name = self.resolved.info.name.clone();
        let read = |source| ModelError::Prune {
            model: name.clone(),
            source: Box::new(graph::PruneError::Convert(source)),
        };
        let WrittenGraph { graph_bytes, data_bytes, mut converted } =
            write_plan(self.plan, &onnx, &read, progress)?;
        let mut remarks = Vec::new();
        let form = config::Form::of(self.resolved, self.blocks, self.uniform, &converted);
        let has_transformers = match &form {
            Some(form) => {
                transformers::write(form, &converted.model, &onnx, &unfinished.path)?;
                remarks.extend(form.remark());
                true
            }
            None => false,
        };
        side_files::copy(self.resolved, &unfinished.path, has_transformers).map_err(disk)?;
        unfinished.finish(self.folder, self.replace).map_err(disk)?;
        converted.model.folder = Some(self.folder.join(ONNX_FOLDER));
        Ok(Exported {
            folder: self.folder.to_owned(),
            converted,
            size: Bytes(graph_bytes + data_bytes),
            has_transformers,
            remarks,
        })
    }
}

/// A folder that goes away unless it is finished.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn beside(folder: &Path) -> Result<Unfinished, ModelError> {
        let failed = |source| failed(folder.to_owned(), 0, source);
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(failed)?;
        let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let path = parent.join(format!(".{name}.{}.unfinished", std::process::id()));
        // What a process of the same number left behind long ago.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(failed)?;
        Ok(Unfinished { path })
    }

    /// Gives the folder its name; what it replaces goes only when it is there.
    fn finish(self, folder: &Path, replace: bool) -> io::Result<()> {
        match replace {
            true => replace_folder(&self.path, folder),
            false => fs::rename(&self.path, folder),
        }
    }
}

/// Gives a folder another's name; what had it goes only when the new one is there.
///
/// # Errors
/// Where one of them cannot be renamed: the old folder is then what it was.
pub fn replace_folder(from: &Path, folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return fs::rename(from, folder);
    }
    let mut old = from.to_owned().into_os_string();
    old.push(".old");
    fs::rename(folder, &old)?;
    match fs::rename(from, folder) {
        Ok(()) => fs::remove_dir_all(&old),
        Err(error) => {
            fs::rename(&old, folder)?;
            Err(error)
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Gone already when it was renamed.
        let _ = fs::remove_dir_all(&self.path);
    }
}
