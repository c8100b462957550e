//! Whether a library is whole and made for this machine, seen in its headers.
//!
//! The system's loader maps what the headers promise: half a library would end the process, not give an error.

use std::{
    env::consts::ARCH,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
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

/// ELF's number for files of our own word size (`EI_CLASS`).
const CLASS: u8 = if cfg!(target_pointer_width = "64") { 2 } else { 1 };

/// ELF's number for files of our own byte order (`EI_DATA`).
const ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// ELF's number for a part that is mapped into memory (`PT_LOAD`).
const MAPPED: u32 = 1;

/// Why a file cannot be loaded as a library here, in words that follow its name.
#[derive(Debug, thiserror::Error)]
pub enum Defect {
    /// Its bytes cannot be had.
    #[error("cannot be read ({0})")]
    Unreadable(io::Error),
    /// It does not begin as a library does.
    #[error("is not a shared library")]
    NoLibrary,
    /// It belongs to the system named.
    #[error("was built for {0}")]
    OtherSystem(&'static str),
    /// It belongs to the machine named.
    #[error("was built for {0}, not for {ARCH}")]
    OtherMachine(String),
    /// It belongs to a machine of which only the format's number is known.
    #[error("was built for machine {0}, not for {ARCH}")]
    UnknownMachine(u32),
    /// It ends before its headers say.
    #[error("is truncated")]
    CutOff,
}

/// Says why a library cannot be loaded here; `None` when nothing speaks against it.
#[must_use]
pub fn defect(library: &Path) -> Option<Defect> {
    examine(library).unwrap_or_else(|error| Some(Defect::Unreadable(error)))
}

fn examine(library: &Path) -> io::Result<Option<Defect>> {
    let mut file = File::open(library)?;
    let mut head = Vec::with_capacity(4096);
    file.by_ref().take(4096).read_to_end(&mut head)?;
    let head = Bytes(&head);
    match head.at(0) {
        Some([0x7f, b'E', b'L', b'F']) => elf(&mut file, head),
        Some([0xcf, 0xfa, 0xed, 0xfe]) => Ok(mach(&[head.at(4).map_or(0, u32::from_le_bytes)])),
        Some([0xca, 0xfe, 0xba, 0xbe]) => Ok(mach(&universal(head))),
        // Windows checks this itself and refuses.
        Some([b'M', b'Z', ..]) if cfg!(windows) => Ok(None),
        _ => Ok(Some(Defect::NoLibrary)),
    }
}

fn elf(file: &mut File, head: Bytes<'_>) -> io::Result<Option<Defect>> {
    if cfg!(target_os = "macos") || cfg!(windows) {
        return Ok(Some(Defect::OtherSystem("another system")));
    }
    let (Some([class, order]), Some(machine)) = (head.at(4), head.at(18)) else {
        return Ok(Some(Defect::CutOff));
    };
    let machine =
        if order == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    let known = ELF_MACHINES.iter().find(|(number, _)| *number == machine).map(|known| known.1);
    match known {
        None => return Ok(Some(Defect::UnknownMachine(machine.into()))),
        Some(name) if name != ARCH => return Ok(Some(Defect::OtherMachine(name.to_owned()))),
        Some(name) if class != CLASS || order != ORDER => {
            return Ok(Some(Defect::OtherMachine(format!("another kind of {name}"))));
        }
        Some(_) => {}
    }
    Ok((!is_whole(file, head)?).then_some(Defect::CutOff))
}

/// Whether every part that would be mapped lies inside a file of our own kind.
fn is_whole(file: &mut File, head: Bytes<'_>) -> io::Result<bool> {
    if CLASS == 1 {
        // Small headers have another shape; such a file is left to the system's loader.
        return Ok(true);
    }
    let length = file.metadata()?.len();
    let (Some(start), Some(size), Some(count)) = (head.at(32), head.at(54), head.at(56)) else {
        return Ok(false);
    };
    let (start, size, count) =
        (u64::from_ne_bytes(start), u16::from_ne_bytes(size), u16::from_ne_bytes(count));
    if size == 0 || start > length {
        return Ok(false);
    }
    let mut table = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    let expected = usize::from(size) * usize::from(count);
    file.take(expected as u64).read_to_end(&mut table)?;
    let is_inside = |part: &[u8]| {
        let part = Bytes(part);
        let (Some(kind), Some(offset), Some(bytes)) = (part.at(0), part.at(8), part.at(32)) else {
            return false;
        };
        let end = u64::from_ne_bytes(offset).checked_add(u64::from_ne_bytes(bytes));
        u32::from_ne_bytes(kind) != MAPPED || end.is_some_and(|end| end <= length)
    };
    Ok(table.len() == expected && table.chunks(usize::from(size)).all(is_inside))
}

/// The machines in a universal file, whose header is big-endian.
fn universal(head: Bytes<'_>) -> Vec<u32> {
    let count = head.at(4).map_or(0, u32::from_be_bytes).min(16) as usize;
    (0..count).filter_map(|index| head.at(8 + index * 20).map(u32::from_be_bytes)).collect()
}

fn mach(machines: &[u32]) -> Option<Defect> {
    if !cfg!(target_os = "macos") {
        return Some(Defect::OtherSystem("macOS"));
    }
    let name = |number: &u32| MACH_MACHINES.iter().find(|(known, _)| known == number).map(|m| m.1);
    let names: Vec<&str> = machines.iter().filter_map(name).collect();
    match (names.as_slice(), machines) {
        (names, _) if names.contains(&ARCH) => None,
        ([], []) => Some(Defect::CutOff),
        ([], [first, ..]) => Some(Defect::UnknownMachine(*first)),
        (names, _) => Some(Defect::OtherMachine(names.join(" and "))),
    }
}

/// Bytes that may end early.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(self, offset: usize) -> Option<[u8; N]> {
        self.0.get(offset..)?.first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an ELF library with one part of 64 bytes at its beginning.
    fn elf_header(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0u8; 120];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1u16.to_le_bytes());
        bytes[64..68].copy_from_slice(&MAPPED.to_le_bytes());
        bytes[64 + 32..64 + 40].copy_from_slice(&64u64.to_le_bytes());
        bytes
    }

    fn words_for(bytes: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.so");
        std::fs::write(&path, bytes).unwrap();
        defect(&path).map(|defect| defect.to_string())
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn only_a_library_of_this_machine_passes() {
        assert_eq!(words_for(&elf_header(62)), None);
        assert_eq!(words_for(&elf_header(183)).unwrap(), "was built for aarch64, not for x86_64");
        assert_eq!(
            words_for(&elf_header(999)).unwrap(),
            "was built for machine 999, not for x86_64"
        );
        let mach = [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1];
        assert_eq!(words_for(&mach).unwrap(), "was built for macOS");
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn word_size_and_byte_order_are_part_of_the_machine() {
        let mut small = elf_header(62);
        small[4] = 1;
        let words = words_for(&small).unwrap();
        assert_eq!(words, "was built for another kind of x86_64, not for x86_64");
        // The machine's own number is in the file's byte order: this is s390.
        let mut big = elf_header(22u16.swap_bytes());
        big[5] = 2;
        assert_eq!(words_for(&big).unwrap(), "was built for machine 22, not for x86_64");
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn a_library_that_ends_early_is_seen_before_it_is_loaded() {
        for length in [4, 19, 40, 64, 119] {
            assert_eq!(words_for(&elf_header(62)[..length]).unwrap(), "is truncated", "{length}");
        }
        let mut beyond = elf_header(62);
        beyond[64 + 32..64 + 40].copy_from_slice(&121u64.to_le_bytes());
        assert_eq!(words_for(&beyond).unwrap(), "is truncated");
        // What is not mapped may lie anywhere.
        beyond[64..68].copy_from_slice(&0u32.to_le_bytes());
        assert_eq!(words_for(&beyond), None);
        let mut far = elf_header(62);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(words_for(&far).unwrap(), "is truncated");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn half_of_a_real_file_is_told_from_the_whole() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(words_for(&bytes), None);
        for length in [100, 4096, bytes.len() / 2] {
            assert_eq!(words_for(&bytes[..length]).unwrap(), "is truncated", "{length}");
        }
    }

    #[test]
    fn what_is_no_library_is_said_to_be_none() {
        assert_eq!(words_for(b"#!/bin/sh").unwrap(), "is not a shared library");
        assert_eq!(words_for(b"").unwrap(), "is not a shared library");
        assert!(matches!(defect(Path::new("/nowhere")), Some(Defect::Unreadable(_))));
    }
}
