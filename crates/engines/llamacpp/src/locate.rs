//! Finds a libllama without loading it.

use crate::ID;
use engine::{
    Places,
    found::{self, Absent, Library, by_number, entries, file_name as name},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The variable that names a library.
pub(crate) const VARIABLE: &str = "LLAMA_CPP_LIB";

/// How to get a library that works.
const GET_ONE: &str = "`modelmeter engines install llamacpp` installs it; or set `LLAMA_CPP_LIB` to the path of a \
                       `libllama`";

/// The file in which a package of npm says what was built.
pub(crate) const DESCRIPTION: &str = "_nlcBuildMetadata.json";

fn absent(why: String) -> Absent {
    Absent { why, hint: GET_ONE.to_owned() }
}

/// The library to use: the named one, or the first that works of ours, Node's and the system's.
pub(crate) fn locate(places: &Places) -> Result<Library, Absent> {
    if let Some(path) = places.libraries.get(ID) {
        return named(path);
    }
    let own = found::installed_versions(places, ID);
    let files = own
        .iter()
        .filter_map(|folder| library_in(folder))
        .chain(of_node(places))
        .chain(places.system.iter().filter_map(|folder| library_in(folder)));
    found::first_usable(files.map(Ok), examine)
        .unwrap_or_else(|| Err(absent("no llama.cpp library was found".to_owned())))
}

/// A named library is the only one that is tried.
fn named(path: &Path) -> Result<Library, Absent> {
    let inside = ["", "lib", "bin"].into_iter().find_map(|part| library_in(&path.join(part)));
    let file = if path.is_file() { Some(path.to_owned()) } else { inside };
    let file = file.ok_or_else(|| {
        absent(format!("`{VARIABLE}` names `{}`, where no `libllama` is", path.display()))
    })?;
    examine(file)
}

/// The packages of `node-llama-cpp` for this machine.
fn of_node(places: &Places) -> impl Iterator<Item = PathBuf> {
    places.node_modules.iter().filter_map(|modules| {
        let part = part()?;
        library_in(&modules.join(SCOPE).join(part).join("bins").join(part))
    })
}

/// Whose packages they are.
pub(crate) const SCOPE: &str = "@node-llama-cpp";

/// The name of this machine's package in that scope.
pub(crate) fn part() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("linux-x64"),
        ("linux", "aarch64") => Some("linux-arm64"),
        ("macos", "x86_64") => Some("mac-x64"),
        ("macos", "aarch64") => Some("mac-arm64-metal"),
        _ => None,
    }
}

/// The newest library in a folder.
pub(crate) fn library_in(folder: &Path) -> Option<PathBuf> {
    let libraries = entries(folder).into_iter().filter(|path| is_library_name(name(path)));
    libraries.filter(|path| path.is_file()).max_by(|a, b| by_number(name(a), name(b)))
}

/// Whether a library can be used here, and its version.
fn examine(path: PathBuf) -> Result<Library, Absent> {
    if let Some(defect) = found::defect(&path) {
        return Err(absent(format!("`{}` {defect}", path.display())));
    }
    let version = version_of(&path);
    Ok(Library { path, version })
}

/// Whether a file's name is that of the library itself: `libllama.so`, `libllama.v0.5.0.so`, `libllama.so.0.0.8121`.
fn is_library_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libllama.") else { return false };
    let endings = ["so", "dylib"];
    endings.iter().any(|ending| {
        rest == *ending
            || rest.strip_suffix(ending).is_some_and(|version| version.ends_with('.'))
            || rest.strip_prefix(ending).is_some_and(|version| version.starts_with('.'))
    })
}

/// The version in a file's name.
fn version_in_name(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("libllama.")?;
    let rest = rest.strip_prefix("so.").or_else(|| rest.strip_suffix(".so")).or_else(|| {
        // `libllama.0.0.8121.dylib`
        rest.strip_suffix(".dylib")
    })?;
    let version = rest.strip_prefix('v').unwrap_or(rest);
    let is_version = version.contains('.') || version.starts_with('b');
    is_version.then_some(version)
}

/// The version in the name of the file or of what it links to, or in the package around it.
fn version_of(path: &Path) -> Option<String> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(version) = version_in_name(name(&real)) {
        return Some(version.to_owned());
    }
    let text = fs::read_to_string(real.parent()?.join(DESCRIPTION)).ok()?;
    let description: serde_json::Value = serde_json::from_str(&text).ok()?;
    let release = description.pointer("/buildOptions/llamaCpp/release")?.as_str()?;
    Some(release.strip_prefix('v').unwrap_or(release).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_told_from_what_lies_beside_it() {
        for library in
            ["libllama.so", "libllama.v0.5.0.so", "libllama.so.0.0.8121", "libllama.dylib"]
        {
            assert!(is_library_name(library), "{library}");
        }
        for other in
            ["libllama-common.so", "libggml.so", "libllama.so_", "libllama.txt", "llama.so"]
        {
            assert!(!is_library_name(other), "{other}");
        }
    }

    #[test]
    fn a_name_tells_the_version() {
        assert_eq!(version_in_name("libllama.v0.5.0.so"), Some("0.5.0"));
        assert_eq!(version_in_name("libllama.b8121.so"), Some("b8121"));
        assert_eq!(version_in_name("libllama.so.0.0.8121"), Some("0.0.8121"));
        assert_eq!(version_in_name("libllama.0.0.8121.dylib"), Some("0.0.8121"));
        assert_eq!(version_in_name("libllama.so"), None);
        assert_eq!(version_in_name("libllama.so.0"), None);
    }

    #[test]
    fn the_newest_of_ours_comes_before_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        let library = std::env::current_exe().unwrap();
        for place in
            ["own/llamacpp/3.9.0", "own/llamacpp/3.22.1", "own/llamacpp/.partial-x", "system"]
        {
            let place = folder.path().join(place);
            fs::create_dir_all(&place).unwrap();
            std::os::unix::fs::symlink(&library, place.join("libllama.so")).unwrap();
        }
        let system = vec![folder.path().join("system")];
        let mut places = Places { installed: Some(own.clone()), system, ..Places::default() };
        assert_eq!(locate(&places).unwrap().path, own.join("llamacpp/3.22.1/libllama.so"));
        places.installed = None;
        assert_eq!(locate(&places).unwrap().path, folder.path().join("system/libllama.so"));
        places.libraries.insert(ID.into(), own.join("llamacpp/3.9.0"));
        assert_eq!(locate(&places).unwrap().path, own.join("llamacpp/3.9.0/libllama.so"));
        places.libraries.insert(ID.into(), folder.path().join("nowhere"));
        assert!(locate(&places).unwrap_err().why.contains("where no `libllama` is"));
    }

    #[test]
    fn a_package_of_node_is_found() {
        let Some(part) = part() else { return };
        let modules = tempfile::tempdir().unwrap();
        let bins = modules.path().join(SCOPE).join(part).join("bins").join(part);
        fs::create_dir_all(&bins).unwrap();
        let library = bins.join("libllama.so");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &library).unwrap();
        let places = Places { node_modules: vec![modules.path().to_owned()], ..Places::default() };
        assert_eq!(locate(&places).unwrap().path, library);
    }
}
