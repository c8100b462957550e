//! One measurement at a time on a device: two at once would only measure each other.
//!
//! The lock lies where only this user can write. In a folder that all users share anybody could put a link in its place
//! or hold it for ever; so users take turns with themselves, and what others do shows as other work in the run.

use engine::private;
use std::{
    fs::{File, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};
use types::Device;

/// A device that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] File,
);

/// What came of asking for a device.
pub(crate) enum Asked {
    /// It is ours.
    Ours(Turn),
    /// There is no lock to be had, and why; that must stop nobody.
    Unguarded(String),
    /// Somebody else measures there: who, where they said so.
    Taken(String),
}

/// Asks for a device; `who` is told to others who ask meanwhile.
pub(crate) fn ask(device: Device, who: &str) -> Asked {
    match private::runtime_folder() {
        Ok(folder) => ask_in(&folder, device, who),
        Err(error) => Asked::Unguarded(std::io::Error::from(error).to_string()),
    }
}

fn ask_in(folder: &Path, device: Device, who: &str) -> Asked {
    let name = device.to_string().replace(':', "-");
    let path = folder.join(format!("{name}.lock"));
    let unguarded =
        |error: std::io::Error| Asked::Unguarded(format!("`{}`: {error}", path.display()));
    let mut file = match private::open_lock(&path) {
        Ok(file) => file,
        Err(error) => return unguarded(error),
    };
    match file.try_lock() {
        Ok(()) => {
            // Only for people to read.
            let _ = file.set_len(0);
            let _ = file.rewind().and_then(|()| file.write_all(who.as_bytes()));
            Asked::Ours(Turn(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            let _ = file.rewind();
            let _ = file.take(200).read_to_string(&mut who);
            Asked::Taken(who)
        }
        Err(TryLockError::Error(error)) => unguarded(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_given_to_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let Asked::Ours(first) = ask_in(folder.path(), Device::Cpu, "the first") else {
            panic!("nobody has it")
        };
        let Asked::Taken(who) = ask_in(folder.path(), Device::Cpu, "the second") else {
            panic!("it was given twice")
        };
        assert_eq!(who, "the first");
        assert!(matches!(ask_in(folder.path(), Device::Cuda(0), "third"), Asked::Ours(_)));
        drop(first);
        assert!(matches!(ask_in(folder.path(), Device::Cpu, "second"), Asked::Ours(_)));
    }

    #[test]
    fn a_place_that_cannot_be_written_stops_nobody_and_is_named() {
        let nowhere = Path::new("/no/such/folder");
        let Asked::Unguarded(why) = ask_in(nowhere, Device::Cpu, "me") else { panic!("a lock") };
        assert!(why.contains("/no/such/folder/cpu.lock"), "{why}");
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_named_and_what_it_leads_to_stays_whole() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join("cpu.lock")).unwrap();
        let asked = ask_in(folder.path(), Device::Cpu, "me");
        assert!(matches!(asked, Asked::Unguarded(why) if why.contains("cpu.lock")));
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "mine");
    }
}
