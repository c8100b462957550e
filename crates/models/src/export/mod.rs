//! A changed model as a folder that other tools load: ONNX, and where it can be had the weights of `transformers`.
//!
//! ```text
//! DIR/config.json  DIR/model.safetensors     for transformers
//! DIR/onnx/model.onnx  …/model.safetensors.data   for every ONNX engine
//! DIR/tokenizer.json, …                      as they were
//! DIR/.modelmeter.json                       what of this is ours, and may be replaced; what it was made from
//! ```
//!
//! The folder is filled under another name beside its place and renamed when it is whole: whatever happens half-way,
//! nothing half-written stays.

mod config;
mod expand;
mod marker;
mod side_files;
mod transformers;

use crate::{
    ModelError, Progress, Resolved,
    precision::{WrittenGraph, write_plan},
    prepare::failed,
    unfinished::{self, Unfinished},
};
use graph::{Block, BlockKind, Converted, Plan};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};
use types::{Bytes, MadeFrom, Remark};

pub(crate) use marker::made_from;

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
    /// The model that all changes together began with, and whether they are a conversion.
    pub made_from: MadeFrom,
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
    /// What a reader must know of the weights for `transformers`.
    pub transformers_remark: Option<Remark>,
}

impl Export<'_> {
    /// Whether the place is free or may be replaced, before anything is computed.
    ///
    /// # Errors
    /// Where something is there that must not be replaced.
    pub fn check(folder: &Path, replace: bool) -> Result<(), ModelError> {
        let path = folder.to_owned();
        match fs::symlink_metadata(folder) {
            Ok(_) if !replace => Err(ModelError::FolderExists { path }),
            Ok(_) => replaceable(folder).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Writes the folder, whole or not at all.
    ///
    /// # Errors
    /// Where the place is taken, the disk is full or weights cannot be read.
    pub fn write(self, progress: &mut dyn FnMut(Progress)) -> Result<Exported, ModelError> {
        Export::check(self.folder, self.replace)?;
        let unfinished = beside(self.folder)?;
        let onnx = unfinished.path().join(ONNX_FOLDER);
        let disk = |source| failed(self.folder.to_owned(), 0, source);
        fs::create_dir(&onnx).map_err(disk)?;
        let name = self.resolved.info.name.clone();
        let read = |source| ModelError::Prune {
            model: name.clone(),
            source: Box::new(graph::PruneError::Convert(source)),
        };
        let WrittenGraph { graph_bytes, data_bytes, mut converted } =
            write_plan(self.plan, &onnx, &read, progress)?;
        let form = config::Form::of(self.resolved, self.blocks, self.uniform, &converted);
        let has_transformers = match &form {
            Some(form) => {
                transformers::write(form, &converted.model, &onnx, unfinished.path())?;
                true
            }
            None => false,
        };
        side_files::copy(self.resolved, unfinished.path(), has_transformers).map_err(disk)?;
        let size = Bytes(graph_bytes + data_bytes);
        marker::write(unfinished.path(), self.made_from, size).map_err(disk)?;
        let old = swap(unfinished.path(), self.folder, self.replace)?;
        unfinished.release();
        old.map_or(Ok(()), Old::remove)?;
        converted.model.folder = Some(self.folder.join(ONNX_FOLDER));
        Ok(Exported {
            folder: self.folder.to_owned(),
            converted,
            size,
            has_transformers,
            transformers_remark: form.as_ref().and_then(config::Form::remark),
        })
    }
}

/// Filled under another name in the folder that it will lie in.
fn beside(folder: &Path) -> Result<Unfinished, ModelError> {
    let failed = |source| failed(folder.to_owned(), 0, source);
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Unfinished::create(parent, &name).map_err(failed)
}

/// The files of a folder that we wrote and that nobody added to.
fn replaceable(folder: &Path) -> Result<BTreeSet<PathBuf>, ModelError> {
    let path = || folder.to_owned();
    match fs::symlink_metadata(folder) {
        Err(source) => Err(ModelError::Write { path: path(), source }),
        Ok(data) if !data.is_dir() => {
            Err(ModelError::NotOurs { path: path(), why: "it is not a folder".into() })
        }
        Ok(_) => {
            unfinished::clear(&folder.join(ONNX_FOLDER));
            marker::ours(folder).map_err(|why| ModelError::NotOurs { path: path(), why })
        }
    }
}

/// Gives a folder another's name. What had it goes only when the new one is there, and only if it is a folder of ours.
///
/// # Errors
/// Where the old folder holds what we did not write, or one of them cannot be renamed: the old one is then what it was.
pub fn replace_folder(from: &Path, folder: &Path) -> Result<(), ModelError> {
    swap(from, folder, true)?.map_or(Ok(()), Old::remove)
}

/// A folder of ours that was replaced.
struct Old {
    path: PathBuf,
    files: BTreeSet<PathBuf>,
}

impl Old {
    fn remove(self) -> Result<(), ModelError> {
        let Old { path, files } = self;
        marker::remove(&path, &files).map_err(|source| ModelError::Write { path, source })
    }
}

/// Puts a folder to its place; what was there comes back under another name, to be removed.
fn swap(from: &Path, folder: &Path, replace: bool) -> Result<Option<Old>, ModelError> {
    let failed = |source| failed(folder.to_owned(), 0, source);
    if !replace || fs::symlink_metadata(folder).is_err() {
        return fs::rename(from, folder).map(|()| None).map_err(failed);
    }
    let files = replaceable(folder)?;
    if exchange(from, folder).is_ok() {
        return Ok(Some(Old { path: from.to_owned(), files }));
    }
    // Under a name that is never cleared: a kill in the next moment would leave nothing but it.
    let mut name = OsString::from(".modelmeter-replaced-");
    name.push(from.file_name().unwrap_or_default());
    let path = from.with_file_name(name);
    fs::rename(folder, &path).map_err(failed)?;
    match fs::rename(from, folder) {
        Ok(()) => Ok(Some(Old { path, files })),
        Err(error) => {
            fs::rename(&path, folder).map_err(failed)?;
            Err(failed(error))
        }
    }
}

/// Lets two folders change places at once, so that a kill in between cannot cost either.
fn exchange(from: &Path, folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::{ffi::CString, os::unix::ffi::OsStrExt};
        let [from, folder] = [from, folder].map(|path| CString::new(path.as_os_str().as_bytes()));
        let (from, folder) = (from?, folder?);
        // SAFETY: both are strings that end in zero and outlive the call.
        let done = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                from.as_ptr(),
                libc::AT_FDCWD,
                folder.as_ptr(),
                libc::RENAME_EXCHANGE,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, folder);
        Err(io::ErrorKind::Unsupported.into())
    }
}
