//! Files and folders that are nobody else's: what was measured may name models and machines that others should not see.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Makes a folder with those it lies in, for this user alone; what is there stays as it is.
///
/// # Errors
/// Where it cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A folder of this user in the temporary folder; it may not be there. It lies there directly, so that [`check_own`] of it is
/// all there is to check.
pub(crate) fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("modelmeter-{}-{name}", user()))
}

fn user() -> u32 {
    // SAFETY: geteuid takes nothing, cannot fail and touches no memory of ours.
    unsafe { libc::geteuid() }
}

/// A new, empty file for this user alone; one that is there is an error, and so is a link.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Refuses a folder in which somebody else may have put something, and what is no folder.
pub(crate) fn check_own(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let why = if !found.is_dir() {
        "it is not a folder"
    } else if found.uid() != user() {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "other users may write in it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("one/two");
        make_folder(&inner).unwrap();
        assert_eq!((mode(&inner), mode(&folder.path().join("one"))), (0o700, 0o700));
        new_file(&inner.join("file")).unwrap();
        assert_eq!(mode(&inner.join("file")), 0o600);
        check_own(&inner).unwrap();
    }

    #[test]
    fn a_link_or_a_folder_that_others_write_in_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check_own(&open).unwrap_err().to_string().contains("other users"));
        let link = folder.path().join("link");
        symlink(folder.path(), &link).unwrap();
        assert!(check_own(&link).unwrap_err().to_string().contains("not a folder"));
        symlink(folder.path().join("target"), folder.path().join("file")).unwrap();
        new_file(&folder.path().join("file")).unwrap_err();
        assert!(!folder.path().join("target").exists());
    }
}
