//! Where engines are looked for; only the command line reads arguments and environment, so it is handed in.
//!
//! The current folder is never among them: opening a model in a downloaded folder must not run that folder's code.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// Where engines are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Places {
    /// The Python interpreter whose packages count: the one given, the active environment's, or the first on the path.
    pub python: Option<PathBuf>,
    /// Libraries named outright, by engine: `onnxruntime` from `ORT_DYLIB_PATH`.
    pub libraries: BTreeMap<String, PathBuf>,
    /// Our own folder of installed engines, one folder an engine.
    pub installed: Option<PathBuf>,
    /// `node_modules` folders that the user named (`NODE_PATH`).
    pub node_modules: Vec<PathBuf>,
    /// Folders of the system's libraries.
    pub system: Vec<PathBuf>,
}
