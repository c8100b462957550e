//! The Hugging Face hub's cache on this machine.

use crate::folder::{MOST_INDEX, read_regular};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    time::Duration,
};

/// How long a name may take to become an address, and again how long the address may take to answer: twice this is
/// what an unreachable hub costs. Longer where nothing but the hub can help.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_millis(1200);
pub(crate) const LONG_PATIENCE: Duration = Duration::from_secs(5);

/// A model's files on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) folder: PathBuf,
    pub(crate) revision: String,
}

/// Looks for a complete model in the local cache (`models--org--name/snapshots/<commit>`).
pub(crate) fn find_local(hub: &Path, repository: &str, revision: &str) -> Option<Snapshot> {
    let folder = hub.join(format!("models--{}", repository.replace('/', "--")));
    let commit = match fs::read_to_string(folder.join("refs").join(revision)) {
        Ok(commit) => commit.trim().to_owned(),
        Err(_) => revision.to_owned(),
    };
    let snapshot = folder.join("snapshots").join(&commit);
    let names = |name: &str| snapshot.join(name).is_file();
    let weights = wanted_weights(names)?;
    let index = snapshot.join(INDEX_FILE);
    let complete = names("config.json")
        && (weights != INDEX_FILE
            || shards_of(&index).is_ok_and(|shards| shards.iter().all(|shard| names(shard))));
    complete.then_some(Snapshot { folder: snapshot, revision: commit })
}

pub(crate) const INDEX_FILE: &str = "model.safetensors.index.json";
pub(crate) const ONNX_FILE: &str = "onnx/model.onnx";

/// The first of the forms of weights that we can use.
pub(crate) fn wanted_weights(has: impl Fn(&str) -> bool) -> Option<&'static str> {
    ["model.safetensors", INDEX_FILE, ONNX_FILE].into_iter().find(|name| has(name))
}

/// The files that a sharded checkpoint's index names; a name that leaves the folder is refused.
pub(crate) fn shards_of(index: &Path) -> std::io::Result<BTreeSet<String>> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let index: Index = serde_json::from_slice(&read_regular(index, MOST_INDEX)?)?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    let inside = |name: &str| {
        !name.is_empty() && Path::new(name).components().all(|c| matches!(c, Component::Normal(_)))
    };
    match shards.iter().find(|name| !inside(name)) {
        Some(name) => {
            let why = format!("it names `{name}`, which is outside the model's folder");
            Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why))
        }
        None => Ok(shards),
    }
}
