//! Fetches packages of npm with the user's own `npm`.
//!
//! `npm` knows the user's registry, proxy and certificates, and checks the package against the registry's hash. No code
//! of the package is run.

use super::{install_error as failed, is_version};
use crate::EngineError;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Whether a text is one whole version: `npm` takes a part of one for a range.
#[must_use]
pub fn is_whole_version(text: &str) -> bool {
    is_version(text) && text.split('.').count() >= 3
}

/// Lets `npm` fetch `package@version` into an empty folder and tells where the archive is. `otherwise` completes the hint:
/// what helps where `npm` does not.
///
/// # Errors
/// When there is no `npm`, or the package cannot be had.
pub fn fetch_package(
    npm: &Path,
    folder: &Path,
    wish: &str,
    otherwise: &str,
) -> Result<PathBuf, EngineError> {
    let output = pack(npm, folder, wish).map_err(|error| {
        let message = format!("could not start `{}` to fetch `{wish}` with", npm.display());
        failed(message, Some(error.to_string())).with_hint(format!(
            "install Node.js (https://nodejs.org), which brings `npm`; or {otherwise}"
        ))
    })?;
    if !output.status.success() {
        return Err(explain(npm, wish, &String::from_utf8_lossy(&output.stderr), otherwise));
    }
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut archives = files.filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    archives.next().ok_or_else(|| failed(format!("`npm` downloaded no archive of `{wish}`"), None))
}

fn pack(npm: &Path, folder: &Path, wish: &str) -> io::Result<Output> {
    let mut command = Command::new(npm);
    crate::keep_secrets(&mut command);
    // Lists of folders without the current one; and `npm` reads settings of the folder it is started in.
    command.envs(crate::inherited()).current_dir(folder);
    command.args(["pack", "--ignore-scripts", "--loglevel=error", "--no-update-notifier"]);
    command.arg("--pack-destination").arg(folder).arg("--").arg(wish);
    command.stdin(Stdio::null()).output()
}

fn explain(npm: &Path, wish: &str, talk: &str, otherwise: &str) -> EngineError {
    let said = |line| -> Option<&str> {
        let line = str::trim(line);
        line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! ")).map(str::trim)
    };
    let is_cause = |line: &&str| {
        !line.is_empty() && !line.starts_with("A complete log") && !line.starts_with("code ")
    };
    let cause = talk.lines().filter_map(said).find(is_cause);
    let cause = cause.or_else(|| talk.lines().last()).unwrap_or_default();
    failed(format!("could not fetch `{wish}`"), Some(cause.to_owned()))
        .with_hint(format!("`{} pack {wish}` shows more; or {otherwise}", npm.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_version_is_taken_for_one() {
        assert!(is_whole_version("3.22.1") && is_whole_version("4.0.0-beta.1"));
        for text in ["", "3", "3.22", "^3.0.0", "../x.y.z"] {
            assert!(!is_whole_version(text), "{text}");
        }
    }

    #[test]
    fn the_words_of_npm_become_the_cause() {
        let talk = "npm warn Unknown user config\nnpm error code ETARGET\nnpm error notarget No matching version found for \
                    x@9.9.9.\nnpm error A complete log of this run\n";
        let error = explain(Path::new("npm"), "x@9.9.9", talk, "build it");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "notarget No matching version found for x@9.9.9.");
        assert!(error.hint.unwrap().ends_with("or build it"));
    }
}
