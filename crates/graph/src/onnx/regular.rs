//! Opening only what is really a file: a pipe without a writer would be waited for without end.

use std::{fs, fs::File, io, os::unix::fs::FileTypeExt, path::Path};

/// Opens a regular file, links followed; anything else is refused before it is opened, and named.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !kind.is_file() {
        let found = match () {
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_socket() => "a socket",
            () => "a device",
        };
        let why = format!("it is {found}, not a regular file");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_a_folder_are_named_and_not_opened() {
        let error = open_regular(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.to_string(), "it is a device, not a regular file");
        let error = open_regular(Path::new("/")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        let error = open_regular(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
