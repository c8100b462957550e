//! Finds OpenVINO's C library by looking at files; nothing is opened.
//!
//! In this order: the configured place, our own folder of installed engines, the Python environment, the system.

use crate::version;
use engine::{
    Places,
    found::{self, Absent, Defect, Library, entries, file_name},
};
use std::{
    env::consts::ARCH,
    path::{Path, PathBuf},
};

/// Where the library lies below a folder: the folder itself, a wheel, an archive of Intel's, a prefix.
const BELOW: [&str; 8] = [
    "",
    "openvino/libs",
    "libs",
    "runtime/lib/intel64",
    "runtime/lib/aarch64",
    "runtime/lib/arm64",
    "lib/intel64",
    "lib",
];

const INSTALL: &str = "`pip install openvino`";

/// The first library that may be opened here, or what is wrong with the first that may not.
pub(crate) fn find(places: &Places) -> Result<Library, Absent> {
    if let Some(path) = places.libraries.get("openvino") {
        // Who names a place means it: nothing else is taken instead.
        return configured_library(path).map_or_else(
            || {
                Err(Absent {
                    why: format!("`{}` contains no `libopenvino_c`", path.display()),
                    hint: "give the path of the library, of its folder or of OpenVINO's folder"
                        .into(),
                })
            },
            examine,
        );
    }
    found::first_usable(candidates(places).map(Ok), examine).unwrap_or_else(|| {
        Err(Absent {
            why: match &places.python {
                Some(python) => {
                    format!("OpenVINO is not among the packages of `{}`", python.display())
                }
                None => "OpenVINO is not installed".into(),
            },
            hint: INSTALL.into(),
        })
    })
}

/// Every library in the order of the places; the interpreter is started only when nothing nearer is there.
fn candidates(places: &Places) -> impl Iterator<Item = PathBuf> + '_ {
    let installed = found::installed_versions(places, "openvino").into_iter();
    let beside = places.python.iter().flat_map(|python| found::folders_beside(python));
    let all = places.python.iter().flat_map(|python| found::package_folders(python));
    let packages = beside.chain(all).map(|folder| folder.join("openvino/libs"));
    let folders = installed.flat_map(|folder| BELOW.map(|below| folder.join(below)));
    let system = places.system.iter().cloned();
    folders.chain(packages).chain(system).filter_map(|folder| library_in(&folder))
}

fn configured_library(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    BELOW.iter().find_map(|below| library_in(&path.join(below)))
}

/// The newest C library directly in a folder.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let libraries = entries(folder).into_iter().filter(|path| {
        let name = file_name(path);
        let is_library = name.starts_with("libopenvino_c.so")
            || (name.starts_with("libopenvino_c.") && name.ends_with(".dylib"));
        is_library && path.is_file()
    });
    libraries.max_by_key(|path| {
        let version = version::of_library(path).unwrap_or_default();
        (version::numbers(&version), path.clone())
    })
}

fn examine(path: PathBuf) -> Result<Library, Absent> {
    if let Some(defect) = found::defect(&path) {
        return Err(Absent {
            why: explain(&path, &defect),
            hint: format!("{INSTALL} with a Python made for this machine"),
        });
    }
    let version = version::of_library(&path);
    if let Some(version) = version.as_deref().filter(|version| version::is_too_old(version)) {
        let [year, release] = version::OLDEST;
        return Err(Absent {
            why: format!("`{}` is OpenVINO {version}, which is too old", path.display()),
            hint: format!("`pip install --upgrade openvino`; {year}.{release} or newer runs"),
        });
    }
    Ok(Library { path, version })
}

fn explain(library: &Path, defect: &Defect) -> String {
    let name = library.display();
    match defect {
        Defect::Unreadable(_) => format!("`{name}` cannot be opened"),
        Defect::NoLibrary => format!("`{name}` is not a library"),
        Defect::OtherMachine(machine) => {
            format!("`{name}` is for {machine}, this machine is {ARCH}")
        }
        Defect::UnknownMachine(number) => {
            format!("`{name}` is for ELF machine {number}, this machine is {ARCH}")
        }
        Defect::CutOff => format!("`{name}` is truncated"),
        Defect::OtherSystem(_) => format!("`{name}` {defect}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, fs};

    /// A file that looks like a library of this machine.
    fn library(folder: &Path, name: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        path
    }

    fn foreign(folder: &Path, name: &str) -> PathBuf {
        let path = library(folder, name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
        fs::write(&path, bytes).unwrap();
        path
    }

    fn places_with(path: &Path) -> Places {
        let libraries = BTreeMap::from([("openvino".to_string(), path.to_owned())]);
        Places { libraries, ..Places::default() }
    }

    /// A virtual environment whose packages lie in the folder returned.
    fn environment(root: &Path) -> (PathBuf, PathBuf) {
        let packages = root.join("lib/python3.11/site-packages");
        fs::create_dir_all(packages.join("openvino_telemetry-2025.2.0.dist-info")).unwrap();
        fs::write(root.join("pyvenv.cfg"), "include-system-site-packages = false\n").unwrap();
        (root.join("bin/python"), packages)
    }

    #[test]
    fn nothing_anywhere_says_what_to_install() {
        let missing = find(&Places::default()).unwrap_err();
        assert!(missing.hint.contains("pip install openvino"));
        let root = tempfile::tempdir().unwrap();
        let (python, _) = environment(root.path());
        let missing = find(&Places { python: Some(python), ..Places::default() }).unwrap_err();
        assert!(missing.why.contains("bin/python"), "{missing:?}");
    }

    #[test]
    fn a_named_place_may_be_a_file_a_folder_or_an_archive_of_intels() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("runtime/lib/intel64");
        let path = library(&folder, "libopenvino_c.so.2026.4.1");
        for place in [&path, &folder, &root.path().to_owned()] {
            let found = find(&places_with(place)).unwrap();
            assert_eq!((&found.path, found.version.as_deref()), (&path, Some("2026.4.1")));
        }
    }

    #[test]
    fn a_named_place_without_a_library_is_not_replaced_by_another() {
        let root = tempfile::tempdir().unwrap();
        let system = root.path().join("system");
        library(&system, "libopenvino_c.so.2641");
        let mut places = places_with(&root.path().join("elsewhere"));
        places.system.push(system);
        let missing = find(&places).unwrap_err();
        assert!(missing.why.contains("elsewhere"), "{missing:?}");
    }

    #[test]
    fn the_places_are_asked_in_their_order() {
        let root = tempfile::tempdir().unwrap();
        let system = root.path().join("system");
        let (python, packages) = environment(&root.path().join("env"));
        let installed = root.path().join("installed");
        let places = Places {
            python: Some(python),
            installed: Some(installed.clone()),
            system: vec![system.clone()],
            ..Places::default()
        };
        let expected = library(&system, "libopenvino_c.so.2025.3.0");
        assert_eq!(
            find(&places).unwrap(),
            Library { path: expected, version: Some("2025.3.0".into()) }
        );

        let expected = library(&packages.join("openvino/libs"), "libopenvino_c.so.2641");
        fs::create_dir(packages.join("openvino-2026.4.1.dist-info")).unwrap();
        assert_eq!(
            find(&places).unwrap(),
            Library { path: expected, version: Some("2026.4.1".into()) }
        );

        library(&installed.join("openvino/2025.9.0/openvino/libs"), "libopenvino_c.so.2590");
        let newer = installed.join("openvino/2025.10.0");
        let expected = library(&newer.join("runtime/lib/intel64"), "libopenvino_c.so.2025.10.0");
        assert_eq!(
            find(&places).unwrap(),
            Library { path: expected, version: Some("2025.10.0".into()) }
        );
    }

    #[test]
    fn an_interpreter_is_started_only_when_nothing_lies_beside_it() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let elsewhere = root.path().join("elsewhere");
        let python = root.path().join("prefix/bin/python");
        fs::create_dir_all(python.parent().unwrap()).unwrap();
        let script = format!("#!/bin/sh\ntouch \"$0.log\"\necho '{}'\n", elsewhere.display());
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let places = Places { python: Some(python), ..Places::default() };
        let log = root.path().join("prefix/bin/python.log");

        let packages = root.path().join("prefix/lib/python3.11/site-packages");
        let expected = library(&packages.join("openvino/libs"), "libopenvino_c.so.2641");
        assert_eq!(find(&places).unwrap().path, expected);
        assert!(!log.exists());

        fs::remove_file(expected).unwrap();
        let expected = library(&elsewhere.join("openvino/libs"), "libopenvino_c.so.2641");
        assert_eq!(find(&places).unwrap().path, expected);
        assert!(log.exists());
    }

    #[test]
    fn the_newest_library_of_a_folder_is_taken() {
        let root = tempfile::tempdir().unwrap();
        library(root.path(), "libopenvino_c.so.2530");
        let expected = library(root.path(), "libopenvino_c.so.2641");
        library(root.path(), "libopenvino.so.2699");
        assert_eq!(find(&places_with(root.path())).unwrap().path, expected);
    }

    #[test]
    fn a_library_of_another_machine_is_named_unless_a_later_place_has_ours() {
        let root = tempfile::tempdir().unwrap();
        let (python, packages) = environment(&root.path().join("env"));
        let wrong = foreign(&packages.join("openvino/libs"), "libopenvino_c.so.2641");
        let mut places = Places { python: Some(python), ..Places::default() };
        let missing = find(&places).unwrap_err();
        assert!(missing.why.contains(&wrong.display().to_string()), "{missing:?}");
        assert!(missing.why.contains("this machine is"), "{missing:?}");
        assert!(missing.hint.contains("Python made for this machine"), "{missing:?}");
        let system = root.path().join("system");
        let ours = library(&system, "libopenvino_c.so.2641");
        places.system.push(system);
        assert_eq!(find(&places).unwrap().path, ours);
    }

    #[test]
    fn a_defect_is_told_after_the_librarys_name() {
        let root = tempfile::tempdir().unwrap();
        let path = library(root.path(), "libopenvino_c.so.2641");
        let whole = fs::read(&path).unwrap();
        let mut unknown = whole.clone();
        unknown[18..20].copy_from_slice(&22u16.to_ne_bytes());
        for (bytes, words) in [
            (&whole[..whole.len() / 2], "is truncated"),
            (&b"a text"[..], "is not a library"),
            (&unknown[..], &format!("is for ELF machine 22, this machine is {ARCH}")),
        ] {
            fs::write(&path, bytes).unwrap();
            let missing = find(&places_with(&path)).unwrap_err();
            assert_eq!(missing.why, format!("`{}` {words}", path.display()));
        }
        let gone = explain(Path::new("gone.so"), &found::defect(Path::new("gone.so")).unwrap());
        assert_eq!(gone, "`gone.so` cannot be opened");
    }

    #[test]
    fn a_release_that_is_too_old_is_refused_with_the_way_out() {
        let root = tempfile::tempdir().unwrap();
        let missing =
            find(&places_with(&library(root.path(), "libopenvino_c.so.2460"))).unwrap_err();
        assert!(missing.why.contains("2024.6.0"), "{missing:?}");
        assert!(missing.hint.contains("--upgrade"), "{missing:?}");
    }

    #[test]
    fn a_link_is_followed_for_its_version() {
        let root = tempfile::tempdir().unwrap();
        let real = library(&root.path().join("real"), "libopenvino_c.so.2026.4.1");
        let link = root.path().join("libopenvino_c.so");
        std::os::unix::fs::symlink(real, &link).unwrap();
        let found = find(&places_with(&link)).unwrap();
        assert_eq!(found, Library { path: link, version: Some("2026.4.1".into()) });
    }
}
