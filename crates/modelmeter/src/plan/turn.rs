//! One measurement at a time on a device: two at once would only measure each other.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};
use types::Device;

/// A device that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] File,
);

/// What came of asking for a device.
pub(crate) enum Asked {
    /// It is ours; `None` where this system cannot tell, which must stop nobody.
    Ours(Option<Turn>),
    /// Somebody else measures there: who, where they said so.
    Taken(String),
}

/// Asks for a device; `who` is told to others who ask meanwhile.
pub(crate) fn ask(device: Device, who: &str) -> Asked {
    ask_in(&std::env::temp_dir(), device, who)
}

fn ask_in(folder: &Path, device: Device, who: &str) -> Asked {
    let name = device.to_string().replace(':', "-");
    let path = folder.join(format!("modelmeter-{name}.lock"));
    let Some(mut file) = open(&path) else { return Asked::Ours(None) };
    match file.try_lock() {
        Ok(()) => {
            // Only for people to read.
            let _ = file.set_len(0);
            let _ = file.rewind().and_then(|()| file.write_all(who.as_bytes()));
            Asked::Ours(Some(Turn(file)))
        }
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            let _ = file.rewind();
            let _ = file.take(200).read_to_string(&mut who);
            Asked::Taken(who)
        }
        Err(TryLockError::Error(_)) => Asked::Ours(None),
    }
}

/// Opens the file, making it where there is none; other users of the machine may take turns by it as well.
fn open(path: &PathBuf) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).or_else(|_| OpenOptions::new().read(true).open(path)).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Fails for a file of somebody else, who has done it.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o666));
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_given_to_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let Asked::Ours(Some(first)) = ask_in(folder.path(), Device::Cpu, "the first") else {
            panic!("nobody has it")
        };
        let Asked::Taken(who) = ask_in(folder.path(), Device::Cpu, "the second") else {
            panic!("it was given twice")
        };
        assert_eq!(who, "the first");
        assert!(matches!(ask_in(folder.path(), Device::Cuda(0), "third"), Asked::Ours(Some(_))));
        drop(first);
        assert!(matches!(ask_in(folder.path(), Device::Cpu, "second"), Asked::Ours(Some(_))));
    }

    #[test]
    fn a_place_that_cannot_be_written_stops_nobody() {
        let nowhere = Path::new("/no/such/folder");
        assert!(matches!(ask_in(nowhere, Device::Cpu, "me"), Asked::Ours(None)));
    }
}
