//! Whether a library is made for this machine, seen in its first bytes.

use std::{fs::File, io::Read, path::Path};

/// Why a file cannot be a library of this machine; `None` where it can, or where this system's libraries are no ELF.
pub(crate) fn defect(library: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mut head = [0; 20];
    let read = File::open(library).and_then(|mut file| file.read_exact(&mut head));
    let name = library.display();
    if read.is_err() || head[..4] != *b"\x7fELF" {
        return Some(format!("`{name}` is no library"));
    }
    // Byte 5 tells the byte order, bytes 18 and 19 the machine.
    let machine = match head[5] {
        2 => u16::from_be_bytes([head[18], head[19]]),
        _ => u16::from_le_bytes([head[18], head[19]]),
    };
    match machine_name(machine) {
        Some(machine) if machine == std::env::consts::ARCH => None,
        Some(machine) => {
            Some(format!("`{name}` is for {machine}, this machine is {}", std::env::consts::ARCH))
        }
        None => Some(format!("`{name}` is for another kind of machine (ELF machine {machine})")),
    }
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
        assert!(defect(&path).unwrap().contains("is no library"));
        std::fs::write(&path, "a text that is longer than twenty bytes").unwrap();
        assert!(defect(&path).unwrap().contains("is no library"));
    }
}
