//! Who may see a database, and what can be done with one that cannot be written.

use crate::sample;
use modelmeter_store::{Filter, Store, StoreError};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Does it as a user whom permissions hold: root is let in everywhere, so a thread of it becomes nobody for files.
fn as_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: geteuid and setfsuid take a number at most and touch no memory of ours; setfsuid holds for this thread.
            unsafe {
                if libc::geteuid() == 0 {
                    libc::setfsuid(65534);
                }
            }
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_database_and_its_folders_are_for_this_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one/two/store.db");
    let store = Store::open(&path).unwrap();
    store.insert_run(&sample::run(1)).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.path().join("one/two/store.db-wal")), 0o600);
    assert_eq!(
        (mode(&folder.path().join("one/two")), mode(&folder.path().join("one"))),
        (0o700, 0o700)
    );
    // What is there keeps what its owner gave it.
    drop(store);
    set_mode(&path, 0o640);
    Store::open(&path).unwrap().insert_run(&sample::run(2)).unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_database_that_cannot_be_written_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd ?#%name.db");
    Store::open(&path).unwrap().insert_run(&sample::run(1)).unwrap();
    set_mode(&path, 0o444);
    set_mode(folder.path(), 0o555);
    as_ordinary_user(|| {
        let store = Store::open_to_look(&path).unwrap();
        assert!(store.is_read_only());
        assert_eq!(store.runs(&Filter::default()).unwrap().len(), 1);
        assert_eq!(store.run(&sample::run(1).id.0).unwrap(), sample::run(1));
        assert_eq!(store.status().unwrap().runs, 1);
        store.check().unwrap();
        assert_eq!(store.query("SELECT COUNT(*) FROM run", None).unwrap().rows.len(), 1);
        let error = store.insert_run(&sample::run(2)).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    });
    set_mode(folder.path(), 0o755);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "looking leaves nothing behind");
}

#[test]
fn an_older_database_that_cannot_be_written_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Store::open(&path).unwrap());
    let sqlite = rusqlite::Connection::open(&path).unwrap();
    sqlite.execute_batch("UPDATE schema_version SET version = version - 1").unwrap();
    drop(sqlite);
    set_mode(&path, 0o444);
    set_mode(folder.path(), 0o555);
    let error = as_ordinary_user(|| Store::open_to_look(&path)).unwrap_err();
    assert!(matches!(error, StoreError::Older { .. }), "{error}");
    assert!(error.hint().unwrap().contains("cp "), "{error}");
    set_mode(folder.path(), 0o755);
}

#[test]
fn a_database_that_may_not_even_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Store::open(&path).unwrap());
    set_mode(&path, 0o000);
    set_mode(folder.path(), 0o755);
    let error = as_ordinary_user(|| Store::open_to_look(&path)).unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
}
