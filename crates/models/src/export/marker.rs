//! What we wrote into a folder, so that nothing else is ever replaced or deleted.
//!
//! A written folder lists its files in a marker. Whoever replaces it takes away these files and no others; a folder that
//! holds anything else is somebody's, whatever options say. The marker also says which model the folder was made from.

use super::{ONNX_FOLDER, side_files};
use crate::{data_file::DATA_FILE, folder::read_regular, prepare::GRAPH_FILE};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};
use types::{Bytes, MadeFrom};

/// The list of files, in the folder itself.
pub(super) const MARKER: &str = ".modelmeter.json";
const SCHEMA: &str = "modelmeter.model-folder/1";
/// A marker has a few hundred bytes.
const LARGEST: u64 = 1 << 20;
/// Folders in folders; ours have one level.
const DEPTH: u8 = 4;
/// Letters of a fingerprint: of a prepared model, and of files.
const FINGERPRINTS: [usize; 2] = [32, 64];

#[derive(Serialize, Deserialize)]
struct Marker {
    schema: String,
    /// Paths of the files, seen from the folder.
    files: BTreeSet<PathBuf>,
    /// What the model was made from; versions before did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

/// Where the model in the folder came from.
#[derive(Serialize, Deserialize)]
struct Origin {
    made_from: MadeFrom,
    /// Bytes of the graph and its weights. If somebody puts another model into the folder, they differ.
    size: Bytes,
}

/// Lists what lies in a folder that we have just filled, and says what its model of this size was made from.
pub(super) fn write(folder: &Path, made_from: MadeFrom, size: Bytes) -> io::Result<()> {
    let files = contents(folder)?.0;
    let origin = Some(Origin { made_from, size });
    let marker = Marker { schema: SCHEMA.into(), files, origin };
    let mut text = serde_json::to_vec_pretty(&marker)?;
    text.push(b'\n');
    fs::write(folder.join(MARKER), text)
}

/// The files of a folder that holds nothing but what we wrote; else why it must stay, as a clause.
pub(super) fn ours(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let (mut found, folders) = contents(folder).map_err(|error| error.to_string())?;
    if found.is_empty() && folders.is_empty() {
        return Ok(found);
    }
    let listed = match listed(folder) {
        Some(listed) => listed,
        None => earlier(&found).ok_or("Modelmeter did not write it")?,
    };
    let is_listed = |path: &&PathBuf| listed.contains(*path) || *path == Path::new(MARKER);
    if let Some(other) = found.iter().find(|path| !is_listed(path)) {
        return Err(format!("Modelmeter did not write `{}` in it", other.display()));
    }
    let is_needed = |folder: &&PathBuf| found.iter().any(|file| file.starts_with(folder));
    if let Some(other) = folders.iter().find(|folder| !is_needed(folder)) {
        return Err(format!("Modelmeter did not make the folder `{}` in it", other.display()));
    }
    found.retain(|path| path != Path::new(MARKER));
    Ok(found)
}

/// Deletes these files, the marker last, and the folders they lay in; what came in between stays, and is an error.
pub(super) fn remove(folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    for file in files.iter().map(PathBuf::as_path).chain([Path::new(MARKER)]) {
        match fs::remove_file(folder.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let below: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    // The deepest first; the last one is the folder itself.
    for inner in below.iter().rev().copied().filter(|inner| !inner.as_os_str().is_empty()) {
        fs::remove_dir(folder.join(inner))?;
    }
    fs::remove_dir(folder)
}

fn listed(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    read(folder).map(|marker| marker.files)
}

/// What a model of this size in a folder of ours was made from. A folder may come from anybody: what cannot be true is
/// left out.
pub(crate) fn made_from(folder: &Path, size: Bytes) -> Option<MadeFrom> {
    let Origin { made_from, size: written } = read(folder)?.origin?;
    let is_hex = made_from.fingerprint.bytes().all(|letter| letter.is_ascii_hexdigit());
    let is_fingerprint = is_hex && FINGERPRINTS.contains(&made_from.fingerprint.len());
    (is_fingerprint && written == size).then_some(made_from)
}

fn read(folder: &Path) -> Option<Marker> {
    let path = folder.join(MARKER);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let marker: Marker = serde_json::from_slice(&read_regular(&path, LARGEST).ok()?).ok()?;
    (marker.schema == SCHEMA).then_some(marker)
}

/// What a version before markers wrote: the graph with its weights under our name for them, and nothing unusual beside.
fn earlier(found: &BTreeSet<PathBuf>) -> Option<BTreeSet<PathBuf>> {
    let onnx = Path::new(ONNX_FOLDER);
    let needed = [onnx.join(GRAPH_FILE), onnx.join(DATA_FILE)];
    let usual = ["config.json", "model.safetensors"].into_iter().chain(side_files::FILES);
    let all: BTreeSet<PathBuf> = usual.map(PathBuf::from).chain(needed.clone()).collect();
    (needed.iter().all(|file| found.contains(file)) && found.is_subset(&all)).then_some(all)
}

/// Every file and every folder below a folder, seen from it; a link is a file.
fn contents(folder: &Path) -> io::Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>)> {
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((inner, depth)) = open.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                files.insert(path);
                continue;
            }
            folders.insert(path.clone());
            // What lies deeper is not ours, and the folder that it lies in is said.
            if depth < DEPTH {
                open.push((path, depth + 1));
            }
        }
    }
    Ok((files, folders))
}
