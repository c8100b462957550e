//! Folders that are filled under another name, and what dead processes left of such.
//!
//! Each is locked as long as its process lives, whatever way that ends and in whatever container it runs. What is not
//! locked any more is nobody's, and goes when the next one is made in the same place. On Ctrl-C all of this process go.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// How all names begin; the process, a count and what it will be follow.
const BEGIN: &str = ".modelmeter-unfinished-";
/// How names began and ended when nothing was locked.
const EARLIER: (&str, &str) = (".unfinished-", ".unfinished");

/// Where nothing is locked, only age tells: writing takes minutes, never a day.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// What this process is filling.
static LIVING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder that goes away unless it is released.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    is_released: bool,
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")]
    lock: File,
}

impl Unfinished {
    /// Makes a folder in `parent` for what will be called `name` there, and clears what the dead left beside it.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(parent: &Path, name: &str) -> io::Result<Unfinished> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        clear(parent);
        // The whole must not become longer than a name may be.
        let short: String = name.chars().take(60).collect();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{BEGIN}{}-{count}-{short}", std::process::id()));
            match fs::create_dir(&path) {
                // Of a process with the same number, in a container or long ago.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            living().insert(path.clone());
            // Somebody may have taken it for a dead one's before it was locked.
            match File::open(&path) {
                Ok(lock) => {
                    let is_free = !matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
                    if is_free && is_same(&path, &lock) {
                        return Ok(Unfinished { path, is_released: false, lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    living().remove(&path);
                    return Err(error);
                }
            }
            living().remove(&path);
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nothing is removed any more: the folder has its own name now.
    pub(crate) fn release(mut self) {
        self.is_released = true;
    }

    /// Gives the folder its own name; where another process was faster, its folder stays.
    ///
    /// # Errors
    /// Where what has the name is not whole, as `is_whole` says, and cannot be removed, or nothing may be renamed there.
    pub fn finish(self, folder: &Path, is_whole: impl Fn(&Path) -> bool) -> io::Result<()> {
        if fs::rename(&self.path, folder).is_ok() {
            self.release();
            return Ok(());
        }
        if is_whole(folder) {
            return Ok(());
        }
        // What stands there is damaged, or it would have been used.
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match fs::rename(&self.path, folder) {
            Err(_) if is_whole(folder) => Ok(()),
            result => result.map(|()| self.release()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_released {
            // It may be gone already.
            let _ = fs::remove_dir_all(&self.path);
        }
        living().remove(&self.path);
    }
}

/// Removes what this process has not finished: it is about to end.
pub fn discard_unfinished() {
    discard(|_| true);
}

fn discard(is_meant: impl Fn(&Path) -> bool) {
    for path in living().iter().filter(|path| is_meant(path)) {
        // Others of its threads may still write into it; what they leave is cleared by the next process.
        let _ = fs::remove_dir_all(path);
    }
}

/// Removes what processes that are gone left in a folder.
pub(crate) fn clear(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        let Some(kind) = kind(&name) else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder == (kind == Kind::EarlierFile) {
            continue;
        }
        let claim = match kind {
            Kind::Locked => claim(&path),
            Kind::Earlier => is_old(&path).then_some(Claim::ByAge),
            Kind::EarlierFile => {
                if is_old(&path) {
                    let _ = fs::remove_file(&path);
                }
                None
            }
        };
        // Another process may be removing it too; the lock is held until it is gone.
        if let Some(_claim) = claim {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// How it is known whether its process lives.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Locked,
    Earlier,
    EarlierFile,
}

/// Names that only we give: `.modelmeter-unfinished-12-0-name`; `.unfinished-12-0-name` and `.name.12.unfinished` earlier,
/// and the files `.taps-12.onnx` and `.taps-12.onnx.data`.
fn kind(name: &str) -> Option<Kind> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_ours = |rest: &str| {
        let mut parts = rest.splitn(3, '-');
        parts.by_ref().take(2).filter(|part| is_number(part)).count() == 2 && parts.next().is_some()
    };
    if name.strip_prefix(BEGIN).is_some_and(is_ours) {
        return Some(Kind::Locked);
    }
    let taps = name.strip_prefix(".taps-").map(|rest| rest.strip_suffix(".data").unwrap_or(rest));
    if taps.and_then(|rest| rest.strip_suffix(".onnx")).is_some_and(is_number) {
        return Some(Kind::EarlierFile);
    }
    let begins = name.strip_prefix(EARLIER.0).is_some_and(is_ours);
    let rest = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(EARLIER.1));
    let ends = rest.and_then(|rest| rest.rsplit_once('.')).is_some_and(|(_, n)| is_number(n));
    (begins || ends).then_some(Kind::Earlier)
}

/// Why a folder may be removed.
enum Claim {
    /// Its process holds no lock any more: we do, and whoever just made it sees that and makes another.
    Locked(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File),
    ByAge,
}

/// The right to remove a folder, where its process is gone.
fn claim(path: &Path) -> Option<Claim> {
    let folder = File::open(path).ok()?;
    match folder.try_lock() {
        Ok(()) => is_same(path, &folder).then_some(Claim::Locked(folder)),
        Err(TryLockError::WouldBlock) => None,
        // Some network filesystems cannot lock folders.
        Err(TryLockError::Error(_)) => is_old(path).then_some(Claim::ByAge),
    }
}

fn is_old(path: &Path) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|data| data.modified()).ok();
    modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED)
}

/// Whether a path still leads to what was opened.
fn is_same(path: &Path, file: &File) -> bool {
    let place = |data: fs::Metadata| (data.dev(), data.ino());
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => place(there) == place(here),
        _ => false,
    }
}

fn living() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_the_dead_left_goes_at_once_and_what_the_living_fill_stays() {
        let folder = tempfile::tempdir().unwrap();
        let living = Unfinished::create(folder.path(), "a").unwrap();
        // As a killed process leaves it: nobody holds the lock, whatever runs under its number now.
        let pid = std::process::id();
        let dead = folder.path().join(format!("{BEGIN}{pid}-900-b"));
        fs::create_dir_all(dead.join("onnx")).unwrap();
        fs::write(dead.join("onnx/model.onnx"), "half").unwrap();
        for other in ["model", ".hidden", ".unfinished-business", "x.unfinished"] {
            fs::create_dir(folder.path().join(other)).unwrap();
        }
        let second = Unfinished::create(folder.path(), "c").unwrap();
        let found = names(folder.path());
        assert!(living.path().is_dir() && second.path().is_dir() && !dead.exists(), "{found:?}");
        assert_eq!(found.len(), 6, "{found:?}");
        drop((living, second));
        assert_eq!(names(folder.path()).len(), 4);
    }

    #[test]
    fn many_at_once_make_theirs_and_none_loses_it() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let made = Unfinished::create(folder.path(), "a").unwrap();
                        fs::write(made.path().join("part"), "half").unwrap();
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn on_the_way_out_everything_of_this_process_goes() {
        let folder = tempfile::tempdir().unwrap();
        let open = Unfinished::create(folder.path(), "a").unwrap();
        fs::write(open.path().join("part"), "half").unwrap();
        discard(|path| path.starts_with(folder.path()));
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn a_whole_folder_of_somebody_faster_stays_and_a_damaged_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("model");
        let is_whole = |place: &Path| place.join("whole").is_file();
        let finish = |content: &str| {
            let made = Unfinished::create(folder.path(), "model").unwrap();
            fs::write(made.path().join("whole"), content).unwrap();
            made.finish(&place, is_whole).unwrap();
            fs::read_to_string(place.join("whole")).unwrap()
        };
        assert_eq!(finish("first"), "first");
        assert_eq!(finish("second"), "first");
        fs::remove_file(place.join("whole")).unwrap();
        fs::write(place.join("half"), "").unwrap();
        assert_eq!(finish("third"), "third");
        assert_eq!(names(folder.path()), ["model"]);
        assert_eq!(names(&place), ["whole"]);
    }

    #[test]
    fn graphs_that_an_earlier_version_left_go_when_they_are_old() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [(".taps-7.onnx", 2), (".taps-7.onnx.data", 2), (".taps-8.onnx", 0)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - ABANDONED * age).unwrap();
        }
        clear(folder.path());
        assert_eq!(names(folder.path()), [".taps-8.onnx"]);
    }

    #[test]
    fn only_names_that_we_give_are_ours() {
        assert_eq!(kind(".modelmeter-unfinished-12-0-out"), Some(Kind::Locked));
        assert_eq!(kind(".modelmeter-replaced-.modelmeter-unfinished-12-0-out"), None);
        assert_eq!(kind(".unfinished-12-0-abc"), Some(Kind::Earlier));
        assert_eq!(kind(".out.12.unfinished"), Some(Kind::Earlier));
        assert_eq!(kind(".taps-12.onnx"), Some(Kind::EarlierFile));
        assert_eq!(kind(".taps-12.onnx.data"), Some(Kind::EarlierFile));
        assert_eq!(kind(".taps-mine.onnx"), None);
        for other in [".unfinished-business", ".unfinished-a-b-c", ".out.unfinished", "out"] {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}
