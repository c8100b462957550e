//! Unpacks archives in the `tar` format, as packages of npm are.
//!
//! What an archive says of places is not trusted: only regular files are taken that the caller wants, each under its own
//! name into one folder. So there is nothing to follow and nowhere to leave to.

use flate2::read::GzDecoder;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// An archive consists of blocks of so many bytes.
const BLOCK: usize = 512;

/// The most bytes that are unpacked; the largest package that was seen has 23 MB.
const LARGEST: u64 = 2 << 30;

/// Writes files of a package into a folder where none of them is: those that are wanted, by the parts of their paths.
///
/// # Errors
/// When the archive is damaged or ends early, or a file cannot be written.
pub fn unpack_package(
    archive: &Path,
    folder: &Path,
    is_wanted: impl Fn(&[&str]) -> bool,
) -> io::Result<()> {
    unpack_archive(GzDecoder::new(File::open(archive)?), folder, is_wanted)
}

/// The same for an archive that is not compressed.
///
/// # Errors
/// As [`unpack_package`].
pub fn unpack_archive(
    archive: impl Read,
    folder: &Path,
    is_wanted: impl Fn(&[&str]) -> bool,
) -> io::Result<()> {
    let mut archive = archive.take(LARGEST);
    let mut header = [0; BLOCK];
    loop {
        archive.read_exact(&mut header)?;
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = size(&header)?;
        let padded = size.next_multiple_of(BLOCK as u64);
        let mut content = (&mut archive).take(padded);
        match name(&header, &is_wanted) {
            Some(name) => {
                let mut file = File::create_new(folder.join(name))?;
                let written = io::copy(&mut (&mut content).take(size), &mut file)?;
                if written < size {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                io::copy(&mut content, &mut io::sink())?;
            }
            None => {
                io::copy(&mut content, &mut io::sink())?;
            }
        }
    }
    // The sum of the whole stream stands at its end.
    io::copy(&mut archive, &mut io::sink())?;
    Ok(())
}

/// The name under which an entry is kept, if it is.
fn name<'h>(header: &'h [u8; BLOCK], is_wanted: &impl Fn(&[&str]) -> bool) -> Option<&'h str> {
    let is_file = matches!(header[156], b'0' | 0);
    let has_prefix = &header[257..262] == b"ustar" && header[345] != 0;
    if !is_file || has_prefix {
        return None;
    }
    let name = header[..100].split(|byte| *byte == 0).next()?;
    let parts: Vec<&str> = std::str::from_utf8(name).ok()?.split('/').collect();
    let file = *parts.last()?;
    (is_plain(file) && is_wanted(&parts)).then_some(file)
}

/// Whether a name is nothing but the name of a file.
fn is_plain(file: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    file.chars().all(is_plain) && file.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// The size of an entry, an octal number.
fn size(header: &[u8; BLOCK]) -> io::Result<u64> {
    let text = std::str::from_utf8(&header[124..136]).unwrap_or_default();
    let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
    let wrong =
        || io::Error::new(io::ErrorKind::InvalidData, "an entry of the package has no size");
    u64::from_str_radix(text, 8).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        bytes[156] = kind;
        bytes[257..262].copy_from_slice(b"ustar");
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn wanted(parts: &[&str]) -> bool {
        matches!(parts, ["package", "bins", _, _] | ["package", "LICENSE"])
    }

    #[test]
    fn only_regular_files_that_are_wanted_come_out() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::create_dir(&target).unwrap();
        let mut archive = Vec::new();
        for (name, kind) in [
            ("package/bins/linux-x64/libllama.so", b'0'),
            ("package/bins/linux-x64/libggml.so", b'2'),
            ("package/bins/linux-x64/..", b'0'),
            ("package/bins/linux-x64/", b'0'),
            ("package/bins/../../escaped.so", b'0'),
            ("package/bins/linux-x64/../escaped.so", b'0'),
            ("/package/bins/x/escaped.so", b'0'),
            ("package/dist/index.js", b'0'),
            ("package/LICENSE", b'0'),
        ] {
            archive.extend(entry(name, kind, b"content"));
        }
        archive.extend([0; 2 * BLOCK]);
        unpack_archive(archive.as_slice(), &target, wanted).unwrap();
        assert_eq!(names(&target), ["LICENSE", "libllama.so"]);
        assert_eq!(fs::read(target.join("libllama.so")).unwrap(), b"content");
        assert_eq!(names(folder.path()), ["target"]);
    }

    #[test]
    fn an_archive_that_ends_early_or_repeats_itself_is_an_error() {
        let one = entry("package/bins/x/libllama.so", b'0', &[7; 1000]);
        for length in [1, BLOCK, BLOCK + 999, one.len()] {
            let folder = tempfile::tempdir().unwrap();
            assert!(unpack_archive(&one[..length], folder.path(), wanted).is_err(), "{length}");
        }
        let folder = tempfile::tempdir().unwrap();
        let mut twice = [one.clone(), one].concat();
        twice.extend([0; 2 * BLOCK]);
        assert!(unpack_archive(twice.as_slice(), folder.path(), wanted).is_err());
        let mut wrong = entry("package/LICENSE", b'0', b"");
        wrong[124..136].copy_from_slice(b"not a number");
        let folder = tempfile::tempdir().unwrap();
        let error = unpack_archive(wrong.as_slice(), folder.path(), wanted).unwrap_err();
        assert!(error.to_string().contains("no size"), "{error}");
    }
}
