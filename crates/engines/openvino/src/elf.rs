//! Whether a library is whole and made for this machine, seen in its headers.
//!
//! The system's loader maps what the headers promise: half a library would end the process, not give an error.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// The part of a file that is mapped into memory.
const LOADED: u32 = 1;

/// Why a file cannot be a library of this machine; `None` where it can, or where this system's libraries are no ELF.
pub(crate) fn defect(library: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let name = library.display();
    let Ok(mut file) = File::open(library) else {
        return Some(format!("`{name}` cannot be opened"));
    };
    let mut head = [0; 64];
    if file.read_exact(&mut head).is_err() || head[..4] != *b"\x7fELF" {
        return Some(format!("`{name}` is no library"));
    }
    // Byte 5 tells the byte order, bytes 18 and 19 the machine.
    let machine = match head[5] {
        2 => u16::from_be_bytes([head[18], head[19]]),
        _ => u16::from_le_bytes([head[18], head[19]]),
    };
    match machine_name(machine) {
        Some(machine) if machine == std::env::consts::ARCH => {}
        Some(machine) => {
            let ours = std::env::consts::ARCH;
            return Some(format!("`{name}` is for {machine}, this machine is {ours}"));
        }
        None => {
            let ours = std::env::consts::ARCH;
            return Some(format!("`{name}` is for ELF machine {machine}, this machine is {ours}"));
        }
    }
    match is_whole(&mut file, &head) {
        Ok(true) => None,
        _ => Some(format!("`{name}` ends before its headers say")),
    }
}

/// Whether every part that would be mapped lies inside the file; for 64-bit files of our own byte order.
fn is_whole(file: &mut File, head: &[u8; 64]) -> io::Result<bool> {
    let size = file.metadata()?.len();
    if head[4] != 2 {
        return Ok(true);
    }
    let table = number::<8>(head, 32).map(u64::from_ne_bytes).unwrap_or(u64::MAX);
    let entry = number::<2>(head, 54).map(u16::from_ne_bytes).unwrap_or(0);
    let count = number::<2>(head, 56).map(u16::from_ne_bytes).unwrap_or(0);
    file.seek(SeekFrom::Start(table))?;
    let mut headers = vec![0; usize::from(entry) * usize::from(count)];
    file.read_exact(&mut headers)?;
    let is_inside = |header: &[u8]| {
        let kind = number::<4>(header, 0).map(u32::from_ne_bytes);
        let offset = number::<8>(header, 8).map(u64::from_ne_bytes);
        let length = number::<8>(header, 32).map(u64::from_ne_bytes);
        match (kind, offset, length) {
            (Some(LOADED), Some(offset), Some(length)) => {
                offset.checked_add(length).is_some_and(|end| end <= size)
            }
            _ => true,
        }
    };
    Ok(entry > 0 && headers.chunks(usize::from(entry)).all(is_inside))
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The numbers of the ELF specification, in Rust's words.
fn machine_name(machine: u16) -> Option<&'static str> {
    match machine {
        3 => Some("x86"),
        40 => Some("arm"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_another_machine_is_told_from_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libopenvino_c.so");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        assert_eq!(defect(&path), None);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
        std::fs::write(&path, bytes).unwrap();
        assert!(defect(&path).unwrap().contains("this machine is"), "{:?}", defect(&path));
    }

    #[test]
    fn a_text_file_is_no_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libopenvino_c.so");
        assert!(defect(&path).unwrap().contains("cannot be opened"));
        std::fs::write(&path, "a text that is longer than all headers".repeat(3)).unwrap();
        assert!(defect(&path).unwrap().contains("is no library"));
    }

    #[test]
    fn half_a_library_is_told_from_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libopenvino_c.so");
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in [100, 4096, bytes.len() / 2] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let defect = defect(&path).unwrap();
            assert!(defect.contains("ends before"), "{length}: {defect}");
        }
    }
}
