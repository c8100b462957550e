//! Whether a file can be loaded by this program, from its first bytes: loading one that cannot may end the process.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// ELF's numbers for machines (`e_machine`) and their names.
const ELF_MACHINES: [(u16, &str); 6] = [
    (3, "x86"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
    (258, "loongarch64"),
];

/// Mach-O's numbers for machines (`cputype`) and their names.
const MACH_MACHINES: [(u32, &str); 2] = [(0x0100_0007, "x86_64"), (0x0100_000c, "aarch64")];

/// Says why a library cannot be loaded here; `None` when nothing speaks against it.
pub(crate) fn problem(path: &Path) -> Option<String> {
    match examine(path) {
        Ok(problem) => problem,
        Err(error) => Some(format!("cannot be read ({error})")),
    }
}

fn examine(path: &Path) -> std::io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::with_capacity(4096);
    file.by_ref().take(4096).read_to_end(&mut head)?;
    let bytes = Bytes(&head);
    Ok(match bytes.at(0) {
        Some([0x7f, b'E', b'L', b'F']) => elf(&mut file, bytes, length)?,
        Some([0xcf, 0xfa, 0xed, 0xfe]) => mach(&[bytes.little(4).unwrap_or_default()]),
        Some([0xca, 0xfe, 0xba, 0xbe]) => mach(&universal(bytes)),
        // Windows checks this itself and refuses.
        Some([b'M', b'Z', ..]) if cfg!(windows) => None,
        _ => Some("is no shared library".to_owned()),
    })
}

/// A 64-bit little-endian ELF file: every machine that we run on has those.
fn elf(file: &mut File, head: Bytes<'_>, length: u64) -> std::io::Result<Option<String>> {
    let cut_off = || Ok(Some("is cut off".to_owned()));
    let (Some([class, order]), Some(machine)) = (head.at(4), head.at(18)) else {
        return cut_off();
    };
    let machine = u16::from_le_bytes(machine);
    let known = ELF_MACHINES.iter().find(|(number, _)| *number == machine);
    let name = known.map_or_else(|| format!("machine {machine}"), |(_, name)| (*name).to_owned());
    if cfg!(target_os = "macos") || cfg!(windows) {
        return Ok(Some("was built for another system".to_owned()));
    }
    if class != 2 || order != 1 || name != std::env::consts::ARCH {
        return Ok(Some(format!("was built for {name}, not for {}", std::env::consts::ARCH)));
    }
    // A segment that lies behind the end of the file would kill the process when it is touched.
    let (Some(start), Some(size), Some(count)) = (head.at(32), head.at(54), head.at(56)) else {
        return cut_off();
    };
    let start = u64::from_le_bytes(start);
    let (size, count) = (u16::from_le_bytes(size) as usize, u16::from_le_bytes(count) as usize);
    let mut table = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take((size * count) as u64).read_to_end(&mut table)?;
    if table.len() < size * count {
        return cut_off();
    }
    for index in 0..count {
        let header = Bytes(table.get(index * size..).unwrap_or_default());
        let (Some(offset), Some(bytes)) = (header.at(8), header.at(32)) else { return cut_off() };
        let end = u64::from_le_bytes(offset).checked_add(u64::from_le_bytes(bytes));
        if end.is_none_or(|end| end > length) {
            return cut_off();
        }
    }
    Ok(None)
}

/// The machines in a universal file, whose header is big-endian.
fn universal(head: Bytes<'_>) -> Vec<u32> {
    let count = head.at(4).map_or(0, u32::from_be_bytes).min(16) as usize;
    (0..count).filter_map(|index| head.at(8 + index * 20).map(u32::from_be_bytes)).collect()
}

fn mach(machines: &[u32]) -> Option<String> {
    if !cfg!(target_os = "macos") {
        return Some("was built for macOS".to_owned());
    }
    let name = |number: &u32| MACH_MACHINES.iter().find(|(known, _)| known == number).map(|m| m.1);
    let names: Vec<&str> = machines.iter().filter_map(name).collect();
    if names.contains(&std::env::consts::ARCH) {
        return None;
    }
    Some(format!("was built for {}, not for {}", names.join(" and "), std::env::consts::ARCH))
}

/// Bytes that may end early.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(self, offset: usize) -> Option<[u8; N]> {
        self.0.get(offset..)?.first_chunk().copied()
    }

    fn little(self, offset: usize) -> Option<u32> {
        self.at(offset).map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an ELF library with one segment of 64 bytes at its beginning.
    fn elf_header(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0u8; 120];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1u16.to_le_bytes());
        bytes[64 + 32..64 + 40].copy_from_slice(&64u64.to_le_bytes());
        bytes
    }

    fn problem_of(bytes: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libonnxruntime.so");
        std::fs::write(&path, bytes).unwrap();
        problem(&path)
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn only_a_library_of_this_machine_passes() {
        assert_eq!(problem_of(&elf_header(62)), None);
        assert_eq!(problem_of(&elf_header(183)).unwrap(), "was built for aarch64, not for x86_64");
        assert_eq!(
            problem_of(&elf_header(999)).unwrap(),
            "was built for machine 999, not for x86_64"
        );
        let mach = [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1];
        assert_eq!(problem_of(&mach).unwrap(), "was built for macOS");
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn a_library_that_ends_early_is_seen_before_it_is_loaded() {
        for length in [4, 19, 40, 64, 119] {
            assert_eq!(problem_of(&elf_header(62)[..length]).unwrap(), "is cut off", "{length}");
        }
        let mut beyond = elf_header(62);
        beyond[64 + 32..64 + 40].copy_from_slice(&121u64.to_le_bytes());
        assert_eq!(problem_of(&beyond).unwrap(), "is cut off");
    }

    #[test]
    fn what_is_no_library_is_said_to_be_none() {
        assert_eq!(problem_of(b"#!/bin/sh").unwrap(), "is no shared library");
        assert_eq!(problem_of(b"").unwrap(), "is no shared library");
        assert!(problem(Path::new("/nowhere")).unwrap().starts_with("cannot be read"));
    }
}
