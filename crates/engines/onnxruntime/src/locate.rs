//! Finds an ONNX Runtime library without loading it.

use crate::{ID, version};
use engine::{
    Places,
    found::{self, Absent, Library, entries, file_name as name},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How to get a library that works.
const GET_ONE: &str = "`modelmeter engines install onnxruntime` installs it; `pip install onnxruntime` works too, or \
                       `ORT_DYLIB_PATH` with the path of a library";

fn absent(why: String) -> Absent {
    Absent { why, hint: GET_ONE.to_owned() }
}

/// The library to use: the configured one, or the first that works of ours, Python's, Node's and the system's.
pub(crate) fn locate(places: &Places) -> Result<Library, Absent> {
    if let Some(path) = places.libraries.get(ID) {
        return configured_library(path);
    }
    let own = found::installed_versions(places, ID);
    let files = own
        .iter()
        .filter_map(|folder| newest_in(folder))
        .map(Ok)
        .chain(of_python(places))
        .chain(of_node(places))
        .chain(places.system.iter().filter_map(|folder| newest_in(folder)).map(Ok));
    found::first_usable(files, examine)
        .unwrap_or_else(|| Err(absent("no ONNX Runtime library was found".to_owned())))
}

/// A configured library is the only one that is tried.
fn configured_library(path: &Path) -> Result<Library, Absent> {
    let inside = ["", "lib", "capi"].into_iter().find_map(|part| newest_in(&path.join(part)));
    let file = if path.is_file() { Some(path.to_owned()) } else { inside };
    let file = file.ok_or_else(|| {
        let why = format!("`ORT_DYLIB_PATH` names `{}`, where no library is", path.display());
        absent(why)
    })?;
    examine(file)
}

/// The wheels `onnxruntime`, `onnxruntime-gpu` and `onnxruntime-openvino` all unpack into the same folder.
fn of_python(places: &Places) -> impl Iterator<Item = Result<PathBuf, Absent>> {
    let folders = places.python.as_deref().map(found::package_folders).unwrap_or_default();
    folders.into_iter().filter_map(|packages| {
        let capi = packages.join(ID).join("capi");
        if !capi.is_dir() {
            return None;
        }
        Some(newest_in(&capi).ok_or_else(|| {
            absent(format!(
                "the package `onnxruntime` in `{}` has no shared library, as before 1.19",
                packages.display()
            ))
        }))
    })
}

fn of_node(places: &Places) -> impl Iterator<Item = Result<PathBuf, Absent>> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    places.node_modules.iter().flat_map(move |modules| {
        let mut interfaces = entries(&modules.join("onnxruntime-node").join("bin"));
        interfaces.sort();
        let libraries = interfaces.into_iter().rev();
        libraries.filter_map(move |folder| newest_in(&folder.join(system).join(machine))).map(Ok)
    })
}

/// The newest library in a folder; of several names for one, the longest.
fn newest_in(folder: &Path) -> Option<PathBuf> {
    let libraries = entries(folder).into_iter().filter(|path| version::is_library_name(name(path)));
    libraries.filter(|path| path.is_file()).max_by_key(|path| {
        let version = version::of_name(name(path)).unwrap_or_default();
        (version::numbers(version), name(path).len())
    })
}

/// Whether a library can be used here, and its version.
fn examine(path: PathBuf) -> Result<Library, Absent> {
    let version = version_of(&path);
    if let Some(defect) = found::defect(&path) {
        return Err(absent(format!("`{}` {defect}", path.display())));
    }
    match version {
        Some(version) if !version::is_new_enough(&version) => {
            let [major, minor] = version::OLDEST;
            Err(absent(format!(
                "`{}` is version {version}; {major}.{minor} or newer is needed",
                path.display()
            )))
        }
        version => Ok(Library { path, version }),
    }
}

/// The version in the name of the file or of what it links to, or that of the package around it.
fn version_of(path: &Path) -> Option<String> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let in_name = version::of_name(name(&real)).filter(|version| version.contains('.'));
    in_name.map(str::to_owned).or_else(|| real.ancestors().skip(1).take(6).find_map(of_package))
}

/// The version that a folder tells: a release's own file, an npm package, or a wheel beside it.
fn of_package(folder: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    if let Ok(text) = fs::read_to_string(folder.join("VERSION_NUMBER")) {
        return Some(text.trim().to_owned());
    }
    if let Ok(text) = fs::read_to_string(folder.join("package.json")) {
        let package: Package = serde_json::from_str(&text).ok()?;
        return (package.name == "onnxruntime-node").then_some(package.version);
    }
    let names = entries(folder).into_iter().filter_map(|path| {
        let stem = name(&path).strip_suffix(".dist-info")?;
        let (package, version) = stem.split_once('-')?;
        (package == ID || package.starts_with("onnxruntime_")).then(|| version.to_owned())
    });
    names.max_by_key(|version| version::numbers(version))
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
