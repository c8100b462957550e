//! Where engines are looked for: arguments first, then the active environment, then the system.
//!
//! An engine is code that runs with the user's rights. So only places count that the user named or that the system owns;
//! the current folder and those above it are where downloads lie.

use crate::{arguments::Global, command};
use engine::Places;
use modelmeter::ENGINES;
use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

/// Where libraries of the system lie.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/usr/local/lib",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/opt/homebrew/lib",
];

/// Where engines are looked for.
pub(crate) fn places(global: &Global) -> Places {
    let mut libraries = BTreeMap::new();
    for engine in ENGINES {
        let named = engine.library_variables().iter().find_map(|name| command::path_of(name));
        libraries.extend(named.map(|path| (engine.id().to_owned(), path)));
    }
    Places {
        python: python(global),
        libraries,
        installed: command::folders(global).ok().map(|folders| folders.engines),
        node_modules: node_modules(),
        system: system_folders(),
        page: None,
    }
}

/// The interpreter given, else the active environment's, else the first on the path.
fn python(global: &Global) -> Option<PathBuf> {
    if let Some(python) = global.python.clone().or_else(|| command::path_of("MODELMETER_PYTHON")) {
        // A folder is an environment.
        let inside = python.join("bin").join("python");
        return Some(if inside.is_file() { inside } else { on_path(&python).unwrap_or(python) });
    }
    ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(command::path_of)
        .map(|folder| folder.join("bin").join("python"))
        .find(|python| python.is_file())
        .or_else(|| ["python3", "python"].iter().find_map(|name| on_path(Path::new(name))))
}

/// A bare name as the shell would find it; anything with a folder stays.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return None;
    }
    folders_of("PATH").map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The folders that a variable lists; an empty or relative entry means the current folder and does not count.
fn folders_of(variable: &str) -> impl Iterator<Item = PathBuf> {
    let folders: Vec<PathBuf> = env::var_os(variable).iter().flat_map(env::split_paths).collect();
    folders.into_iter().filter(|folder| folder.is_absolute())
}

/// Packages of Node that the user named; those of the current folder are not looked at.
fn node_modules() -> Vec<PathBuf> {
    folders_of("NODE_PATH").filter(|folder| folder.is_dir()).collect()
}

fn system_folders() -> Vec<PathBuf> {
    folders_of("LD_LIBRARY_PATH")
        .chain(SYSTEM_FOLDERS.into_iter().map(PathBuf::from))
        .chain(ENGINES.iter().flat_map(|engine| engine.system_folders()).map(PathBuf::from))
        .filter(|folder| folder.is_dir())
        .collect()
}
