//! Folders that no other user of this machine can reach, for locks and for files that go away again.
//!
//! The system's temporary folder belongs to everybody: whoever knows the name of a file there can put a link in its place.
//! So locks lie in the user's runtime folder and other files in a folder `modelmeter-UID` in the temporary folder. Both
//! are ours alone, which is looked at each time. Large files stay out of the runtime folder: it is held in memory.

use std::{
    env,
    ffi::CString,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// What the names of folders that go away again begin with.
const GOES_AWAY: &str = "t-";

/// How old a folder is at least that a killed process is believed to have left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// Why a folder is not ours alone.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// A link, a file or the like is in its place.
    #[error("`{0}` is not a folder but a link or a file")]
    NoFolder(PathBuf),
    /// It is somebody else's.
    #[error("`{path}` belongs to user {owner}")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others can put files into it.
    #[error("`{0}` can be written by other users")]
    Open(PathBuf),
    /// It cannot be made or looked at.
    #[error("`{path}` cannot be used")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl From<NotPrivate> for io::Error {
    fn from(error: NotPrivate) -> io::Error {
        io::Error::other(match &error {
            NotPrivate::Unusable { source, .. } => format!("{error} ({source})"),
            _ => error.to_string(),
        })
    }
}

/// The folder for locks: the runtime folder's, or one in the temporary folder where the system has none.
///
/// `XDG_RUNTIME_DIR` is not set everywhere, so the folder it usually names is tried too: processes of one user must find
/// the same locks, whether or not they were started from a terminal.
///
/// # Errors
/// When none of the places is ours alone, with what is wrong with the last.
pub fn runtime_folder() -> Result<PathBuf, NotPrivate> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = cfg!(target_os = "linux").then(|| PathBuf::from(format!("/run/user/{}", user())));
    let folders = named.into_iter().chain(usual);
    // A runtime folder of somebody else, as `sudo` may leave it behind, is not ours to use.
    let mut private = folders.filter(|folder| is_ours_alone(folder).is_ok());
    match private.find_map(|folder| own_folder(&folder, "modelmeter").ok()) {
        Some(folder) => Ok(folder),
        None => own_folder(&env::temp_dir(), &name_of_user()),
    }
}

/// A folder for files that stay until the system clears its temporary folder, such as compiled code.
///
/// # Errors
/// When the place is not ours alone.
pub fn lasting_folder(name: &str) -> Result<PathBuf, NotPrivate> {
    own_folder(&own_folder(&env::temp_dir(), &name_of_user())?, name)
}

/// Where folders that go away again are made; no more than a name where it cannot be used.
#[must_use]
pub fn temporary_place() -> PathBuf {
    let temporary = env::temp_dir();
    own_folder(&temporary, &name_of_user()).unwrap_or(temporary)
}

/// Bytes that the disk behind a folder still takes, where the system tells.
#[must_use]
pub fn free_space(folder: &Path) -> Option<u64> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: the struct is plain numbers; all zero is a valid one.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a string that ends in zero, and both it and the struct outlive the call.
    let result = unsafe { libc::statvfs(path.as_ptr(), &raw mut found) };
    // The types of the fields differ between systems.
    let bytes = found.f_bavail as u128 * found.f_frsize as u128;
    (result == 0).then(|| u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Opens the file of a lock without following a link; makes it where there is none, readable by us alone.
///
/// # Errors
/// When it is a link or cannot be opened.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// A folder of our own that is removed when this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    /// Locked as long as the folder is in use, so that nobody takes it for one that was left behind.
    _held: Option<File>,
}

impl TemporaryFolder {
    /// Makes one.
    ///
    /// Where somebody else sits on our usual place another one is taken: its name cannot be guessed.
    ///
    /// # Errors
    /// When the temporary folder cannot be written.
    pub fn make() -> io::Result<TemporaryFolder> {
        TemporaryFolder::make_in(&env::temp_dir())
    }

    fn make_in(temporary: &Path) -> io::Result<TemporaryFolder> {
        let mut builder = tempfile::Builder::new();
        builder.permissions(Permissions::from_mode(0o700));
        let Ok(own) = own_folder(temporary, &name_of_user()) else {
            let folder = builder.prefix("modelmeter-").tempdir_in(temporary)?;
            return Ok(TemporaryFolder { folder, _held: None });
        };
        static SWEEP: Once = Once::new();
        SWEEP.call_once(|| sweep(&own, LEFT_BEHIND));
        let folder = builder.prefix(GOES_AWAY).tempdir_in(&own)?;
        // Without the lock it still lasts a day.
        let held = File::open(folder.path()).and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        Ok(TemporaryFolder { folder, _held: held.ok() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what processes that were killed have left behind; what somebody still holds stays.
fn sweep(own: &Path, age: Duration) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(GOES_AWAY);
        let changed = entry.metadata().and_then(|data| data.modified());
        let is_old = changed.is_ok_and(|time| {
            SystemTime::now().duration_since(time).is_ok_and(|passed| passed >= age)
        });
        if is_temporary
            && is_old
            && File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok())
        {
            // Another process may be quicker.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder of ours in this one, made where there is none.
fn own_folder(parent: &Path, name: &str) -> Result<PathBuf, NotPrivate> {
    let path = parent.join(name);
    let unusable = |source| NotPrivate::Unusable { path: path.clone(), source };
    let around = fs::metadata(parent).map_err(unusable)?;
    // Where everybody may rename everything, no name stays ours.
    if around.mode() & 0o002 != 0 && around.mode() & 0o1000 == 0 {
        return Err(NotPrivate::Open(parent.to_owned()));
    }
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unusable(error)),
        _ => is_ours_alone(&path).map(|()| path),
    }
}

/// Whether this is a real folder that belongs to us and that nobody else writes to.
fn is_ours_alone(path: &Path) -> Result<(), NotPrivate> {
    let unusable = |source| NotPrivate::Unusable { path: path.to_owned(), source };
    // A link is looked at itself, not what it leads to.
    let found = fs::symlink_metadata(path).map_err(unusable)?;
    match found {
        found if !found.is_dir() => Err(NotPrivate::NoFolder(path.to_owned())),
        found if found.uid() != user() => {
            Err(NotPrivate::Foreign { path: path.to_owned(), owner: found.uid() })
        }
        found if found.mode() & 0o022 != 0 => Err(NotPrivate::Open(path.to_owned())),
        _ => Ok(()),
    }
}

fn name_of_user() -> String {
    format!("modelmeter-{}", user())
}

fn user() -> u32 {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests;
