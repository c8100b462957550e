//! What lies beside a model and stays true of the changed one: its tokenizer, how its vectors are pooled, its licence.

use crate::Resolved;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use types::ModelSource;

/// Files and folders of one level that are copied where they are there.
pub(super) const FILES: [&str; 19] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "preprocessor_config.json",
    "generation_config.json",
    "LICENSE",
    "LICENSE.txt",
    "LICENSE.md",
];

/// Copies them; a configuration too where none was written.
pub(super) fn copy(resolved: &Resolved, folder: &Path, has_config: bool) -> io::Result<()> {
    let folders = folders(resolved);
    let config = (!has_config).then_some("config.json");
    for name in FILES.into_iter().chain(config) {
        let Some(from) = folders.iter().map(|f| f.join(name)).find(|path| path.is_file()) else {
            continue;
        };
        let to = folder.join(name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from, to)?;
    }
    Ok(())
}

/// Where such files may be: beside the model, and above an `onnx` folder.
fn folders(resolved: &Resolved) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    match &resolved.info.source {
        ModelSource::Folder { path } => folders.push(path.clone()),
        ModelSource::File { path } => folders.extend(path.parent().map(Path::to_owned)),
        _ => {}
    }
    folders.extend(resolved.tokenizer.as_ref().and_then(|path| path.parent()).map(Path::to_owned));
    for folder in folders.clone() {
        if folder.ends_with("onnx") {
            folders.extend(folder.parent().map(Path::to_owned));
        }
    }
    folders
}
