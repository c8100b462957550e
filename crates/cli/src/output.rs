//! The only place that writes: data to standard output or a file, talk to standard error.

use crate::{Exit, Failure};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

/// Writes data to standard output; a reader that went away (`| head`) is fine.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Cannot, "could not write to standard output")
                .cause(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Says something to the person; nobody listening is fine.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// An output that could never be written is said before anything is measured.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let text = format!("there is no folder `{}`", folder.display());
        return Err(Failure::new(Exit::Wrong, text).hint("make it first"));
    }
    if path.is_dir() {
        let text = format!("`{}` is a folder", path.display());
        return Err(Failure::new(Exit::Wrong, text).hint("give a file"));
    }
    Ok(())
}

/// Writes data to a file, or to standard output for `-`. A file appears whole or not at all.
pub(crate) fn to_file(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return data(text);
    }
    let failed = |error: io::Error| {
        let full = error.kind() == io::ErrorKind::StorageFull;
        let exit = if full { Exit::Cannot } else { Exit::Wrong };
        let hint =
            if full { "free some space" } else { "give a folder that exists and can be written" };
        Failure::new(exit, format!("could not write `{}`", path.display()))
            .cause(error.to_string())
            .hint(hint)
    };
    if path.exists() && !path.is_file() {
        // A device or a pipe cannot be renamed over.
        return fs::write(path, text).map_err(failed);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = fs::write(partial, text).and_then(|()| fs::rename(partial, path));
    written.map_err(|error| {
        let _ = fs::remove_file(partial);
        failed(error)
    })
}
