//! The only place that writes: data to standard output or a file, talk to standard error.

use crate::{Exit, Failure};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
};

/// Where data goes; writers of columns want to be able to send it along.
pub(crate) type Out<'a> = &'a mut (dyn Write + Send);

/// Writes data to standard output; a reader that went away (`| head`) is fine.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    to_stdout(|out| out.write_all(text.as_bytes()))
}

fn to_stdout(write: impl FnOnce(Out<'_>) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(io::stdout());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
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
        return Err(Failure::new(Exit::Wrong, text).hint("create it first"));
    }
    if path.is_dir() {
        let text = format!("`{}` is a folder", path.display());
        return Err(Failure::new(Exit::Wrong, text).hint("give a file"));
    }
    Ok(())
}

/// A name with nothing in it that a file's name must not have.
pub(crate) fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    name.chars().map(keep).collect()
}

/// Makes a folder, with those it lies in.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(Exit::Wrong, format!("could not create the folder `{}`", folder.display()))
            .cause(error.to_string())
    })
}

/// Writes data to a file, or to standard output for `-`. A file appears whole or not at all.
pub(crate) fn to_file(path: &Path, text: &str) -> Result<(), Failure> {
    to_file_with(path, |out| out.write_all(text.as_bytes()))
}

/// Lets something write itself to a file, or to standard output for `-`. A file appears whole or not at all.
pub(crate) fn to_file_with(
    path: &Path,
    write: impl FnOnce(Out<'_>) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        return to_stdout(write);
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
    let fill = |file: File| {
        let mut out = BufWriter::new(file);
        // Dropping the buffer would swallow the last error.
        write(&mut out).and_then(|()| out.flush())
    };
    if path.exists() && !path.is_file() {
        // A device or a pipe cannot be renamed over.
        return OpenOptions::new().write(true).open(path).and_then(fill).map_err(failed);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = File::create(partial).and_then(fill).and_then(|()| fs::rename(partial, path));
    written.map_err(|error| {
        let _ = fs::remove_file(partial);
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_that_says_so() {
        for count in [1, 100_000] {
            let write = |out: Out<'_>| (0..count).try_for_each(|_| out.write_all(b"data"));
            let failure = to_file_with(Path::new("/dev/full"), write).unwrap_err();
            assert_eq!(failure.exit, Exit::Cannot);
            assert!(failure.render(false).contains("free some space"));
        }
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let broken = |out: Out<'_>| {
            out.write_all(&[b' '; 1 << 16])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert_eq!(to_file_with(&path, broken).unwrap_err().exit, Exit::Cannot);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        to_file(&path, "first").unwrap();
        to_file_with(&path, broken).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        to_file_with(&path, |out| out.write_all(b"second")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
