//! Fetches ONNX Runtime into our own folder, with the package installer of the user's own Python.
//!
//! That installer knows the user's index, proxy and certificates, and picks the wheel for this machine.

use crate::{ID, locate};
use engine::{
    EngineError, InstallProgress, Places,
    found::{self, Unpacked, install_error as failed, is_version},
};
use std::{
    fs,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

/// Fetches the library into `<folder>/onnxruntime/<version>` and returns its file; one that is there already serves.
///
/// # Errors
/// When there is no Python with `pip`, when the package cannot be had, or when the folder cannot be written.
pub fn install(
    python: Option<&Path>,
    folder: &Path,
    version: Option<&str>,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, EngineError> {
    if let Some(version) = version.filter(|version| !is_version(version)) {
        return Err(failed(format!("`{version}` is not a version of ONNX Runtime"), None));
    }
    if let Some(library) = installed(folder, version) {
        return Ok(library);
    }
    let python = python.ok_or_else(|| {
        failed("no Python was found to fetch ONNX Runtime with".to_owned(), None).with_hint(
            "give one with `--python`, or download a release of ONNX Runtime and set `ORT_DYLIB_PATH` to its library",
        )
    })?;
    let fetch = |partial: &Path| {
        let wheel = download(python, partial, version, progress)?;
        progress(0, None, "unpacking");
        let unpacked = unpack(python, &wheel, partial)?;
        let version = wheel_version(&wheel).unwrap_or_else(|| "unknown".to_owned());
        if library_in(&unpacked).is_none() {
            let message =
                format!("the package of ONNX Runtime {version} has no library for this machine");
            return Err(failed(message, None).with_hint(
                "`pip index versions onnxruntime` lists the available versions; 1.19 was the first with a library",
            ));
        }
        Ok(Unpacked { folder: unpacked, version })
    };
    found::install_into(&folder.join(ID), fetch, library_in)
}

/// The library of this version, or the newest where none is wished, if it is there and works.
fn installed(folder: &Path, version: Option<&str>) -> Option<PathBuf> {
    match version {
        Some(version) => library_in(&folder.join(ID).join(version)),
        None => {
            let places = Places { installed: Some(folder.to_owned()), ..Places::default() };
            locate::locate(&places).ok().map(|library| library.path)
        }
    }
}

/// The library in a folder, if it works here.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let places = Places { system: vec![folder.to_owned()], ..Places::default() };
    locate::locate(&places).ok().map(|library| library.path)
}

/// Lets `pip` fetch the wheel; an old one cannot tell how far it is.
fn download(
    python: &Path,
    folder: &Path,
    version: Option<&str>,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, EngineError> {
    let package = version.map_or_else(|| ID.to_owned(), |version| format!("{ID}=={version}"));
    let mut ended = pip(python, folder, &package, "raw", progress)?;
    if ended.as_ref().is_err_and(|talk| talk.contains("--progress-bar")) {
        ended = pip(python, folder, &package, "off", progress)?;
    }
    ended.map_err(|talk| explain(python, &package, &talk))?;
    let wheels = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|end| end == "whl"));
    wheels.next().ok_or_else(|| failed(format!("`pip` downloaded no wheel of `{package}`"), None))
}

/// Runs `pip download`; inside, what it said on its error stream when it failed.
fn pip(
    python: &Path,
    folder: &Path,
    package: &str,
    bar: &str,
    progress: InstallProgress<'_>,
) -> Result<Result<(), String>, EngineError> {
    let mut child = interpreter(python, "pip")
        .args(["download", "--no-deps", "--only-binary=:all:", "--no-input"])
        .args([
            "--no-cache-dir",
            "--disable-pip-version-check",
            &format!("--progress-bar={bar}"),
            "--dest",
        ])
        .arg(folder)
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            failed(format!("could not start `{}`", python.display()), Some(error.to_string()))
                .with_hint("`--python PATH` selects a Python that has `pip`")
        })?;
    let talk = read_aside(&mut child);
    if let Some(output) = child.stdout.take() {
        let mut note = "contacting the package index".to_owned();
        progress(0, None, &note);
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            match bytes_of(&line) {
                Some((done, total)) => progress(done, Some(total), &note),
                None if line.trim_start().starts_with("Downloading ") => {
                    note = line.trim().replacen('D', "d", 1);
                    progress(0, None, &note);
                }
                None => {}
            }
        }
    }
    let status = child.wait().map_err(|error| {
        failed(format!("could not wait for `{}`", python.display()), Some(error.to_string()))
    })?;
    let talk = talk.and_then(|talk| talk.join().ok()).unwrap_or_default();
    Ok(if status.success() { Ok(()) } else { Err(talk) })
}

/// What `python -m MODULE` does, without a `pip.py` of the current folder; the user's index, proxy and certificates stay.
fn interpreter(python: &Path, module: &str) -> Command {
    let script = format!("{}{}", found::ISOLATE, found::run_module(module));
    let mut command = Command::new(python);
    engine::keep_secrets(&mut command);
    // Lists of folders without the current one, which an empty entry means.
    command.envs(engine::inherited()).env(found::SAFE_PATH, "1");
    command.arg("-c").arg(script);
    command
}

/// Reads the error stream on a thread of its own, so that neither stream can fill up.
fn read_aside(child: &mut Child) -> Option<thread::JoinHandle<String>> {
    let mut stream = child.stderr.take()?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

/// `Progress 1048576 of 17372080`, as `pip` says since 24.1.
fn bytes_of(line: &str) -> Option<(u64, u64)> {
    let (done, total) = line.trim().strip_prefix("Progress ")?.split_once(" of ")?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

fn explain(python: &Path, package: &str, talk: &str) -> EngineError {
    let lines: Vec<&str> = talk.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let python = python.display();
    if talk.contains("No module named pip") {
        return failed(format!("`{python}` has no `pip` to fetch ONNX Runtime with"), None)
            .with_hint(format!(
                "`{python} -m ensurepip` installs it; or give another interpreter with `--python`"
            ));
    }
    let errors: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("ERROR: ")).collect();
    let cause =
        if errors.is_empty() { lines.last().copied().into_iter().collect() } else { errors };
    failed(format!("could not fetch `{package}`"), Some(cause.join("; "))).with_hint(format!(
        "`{python} -m pip download --no-deps {package}` shows more; `ORT_DYLIB_PATH` can point to a library that is \
         already here"
    ))
}

/// The version in a wheel's name: `onnxruntime-1.31.1-cp311-cp311-manylinux….whl`.
fn wheel_version(wheel: &Path) -> Option<String> {
    let version = wheel.file_name()?.to_str()?.split('-').nth(1)?;
    is_version(version).then(|| version.to_owned())
}

/// Unpacks a wheel and keeps the libraries and the licences; returns their folder.
fn unpack(python: &Path, wheel: &Path, folder: &Path) -> Result<PathBuf, EngineError> {
    let broken = |cause: String| {
        failed(format!("could not unpack `{}`", wheel.display()), Some(cause))
            .with_hint("try again; the download may be damaged")
    };
    let (all, kept) = (folder.join("all"), folder.join("kept"));
    let output = interpreter(python, "zipfile")
        .arg("-e")
        .args([wheel, &all])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| broken(error.to_string()))?;
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(broken(talk.lines().last().unwrap_or_default().to_owned()));
    }
    keep(&all, &kept).map_err(|error| broken(error.to_string()))?;
    Ok(kept)
}

fn keep(all: &Path, kept: &Path) -> io::Result<()> {
    fs::create_dir_all(kept)?;
    let package = all.join(ID);
    for (folder, is_wanted) in [
        (package.join("capi"), is_native as fn(&str) -> bool),
        (package, |name| matches!(name, "LICENSE" | "ThirdPartyNotices.txt")),
    ] {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(is_wanted) {
                fs::rename(entry.path(), kept.join(name))?;
            }
        }
    }
    Ok(())
}

/// The library and its providers, but not the part that only Python can load.
fn is_native(name: &str) -> bool {
    name.starts_with("lib") && (name.contains(".so") || name.ends_with(".dylib"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_tells_how_far_it_is() {
        assert_eq!(bytes_of("Progress 1048576 of 17372080\n"), Some((1_048_576, 17_372_080)));
        assert_eq!(bytes_of("Progress 1048576"), None);
        assert_eq!(bytes_of("Saved ./onnxruntime.whl"), None);
    }

    #[test]
    fn a_pip_in_the_folder_somebody_stands_in_is_not_run() {
        let here = tempfile::tempdir().unwrap();
        for module in ["pip.py", "zipfile.py", "runpy.py"] {
            fs::write(here.path().join(module), "open('ran', 'w')").unwrap();
        }
        // Not every system's own Python has `pip`.
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
        for (module, argument) in [("pip", "--version"), ("zipfile", "--help")] {
            let output =
                interpreter(&python, module).arg(argument).current_dir(here.path()).output();
            let said = String::from_utf8(output.unwrap().stdout).unwrap();
            assert!(said.starts_with("pip ") || said.contains("usage"), "{module}: {said}");
        }
        assert!(!here.path().join("ran").exists());
    }

    #[test]
    fn a_wheel_tells_its_version() {
        let wheel = Path::new("a/onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_x86_64.whl");
        assert_eq!(wheel_version(wheel).unwrap(), "1.31.1");
    }

    #[test]
    fn what_only_python_can_load_is_left_out() {
        assert!(is_native("libonnxruntime.so.1.31.1") && is_native("libonnxruntime.1.31.1.dylib"));
        assert!(is_native("libonnxruntime_providers_shared.so"));
        assert!(!is_native("onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so"));
    }

    #[test]
    fn the_words_of_pip_become_the_cause() {
        let talk = "WARNING: slow\nERROR: No matching distribution found for onnxruntime==9\n";
        let error = explain(Path::new("python3"), "onnxruntime==9", talk);
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "No matching distribution found for onnxruntime==9");
        let none = explain(Path::new("python3"), ID, "/usr/bin/python3: No module named pip\n");
        assert!(
            none.to_string().contains("has no `pip`") && none.hint.unwrap().contains("ensurepip")
        );
    }
}
