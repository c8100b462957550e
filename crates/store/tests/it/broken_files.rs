use crate::sample;
use modelmeter_store::{Filter, SCHEMA_VERSION, Store, StoreError};
use std::{fs, path::Path, time::Duration};
use types::Phase;

fn filled(path: &Path) {
    let store = Store::open(path).unwrap();
    for n in 0..5 {
        let mut run = sample::run(n);
        run.samples = vec![sample::samples(Phase::Inference, n, 30_000)];
        store.insert_run(&run).unwrap();
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "these are my notes, not a database\n".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
    assert!(error.to_string().contains("notes.txt"));
    assert!(error.hint().is_some());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE cookies (x BIGINT)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.db");
    fs::write(&path, "").unwrap();
    assert!(Store::open(&path).unwrap().is_created());
}

#[test]
fn a_newer_database_is_refused_with_both_versions_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("INSERT INTO schema_version VALUES ($1)", [SCHEMA_VERSION + 41]).unwrap();
    drop(raw);
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("version {}", SCHEMA_VERSION + 41)), "{text}");
    assert!(text.contains(&format!("up to {SCHEMA_VERSION}")), "{text}");
    assert!(error.hint().unwrap().contains("update"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_truncated_database_is_called_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let whole = fs::read(&path).unwrap();
    for length in [whole.len() / 2, 5000, 4096, 50] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{length}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn overwritten_pages_are_called_damaged_and_never_read_as_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let damaged = |error: StoreError| {
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    };
    match Store::open(&path) {
        Err(error) => damaged(error),
        Ok(store) => {
            damaged(store.runs(&Filter::default()).unwrap_err());
            damaged(store.check().unwrap_err());
        }
    }
}

#[test]
fn changed_samples_are_noticed_by_their_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("UPDATE samples SET checksum = checksum + 1", []).unwrap();
    drop(raw);
    let error = Store::open(&path).unwrap().run(&sample::run(1).id.0).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn a_folder_or_a_device_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    let blocker = folder.path().join("file");
    fs::write(&blocker, "x").unwrap();
    let error = Store::open(blocker.join("sub/store.db")).unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn a_file_that_cannot_be_made_says_so() {
    let name = "x".repeat(300); // longer than any file system allows
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open(folder.path().join(name)).unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_locked_database_says_so_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let store = Store::open_waiting(&path, Duration::from_millis(50)).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.insert_run(&sample::run(9)).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 5, "reading does not wait");
    other.execute_batch("ROLLBACK").unwrap();
    store.insert_run(&sample::run(9)).unwrap();
    assert_eq!(store.status().unwrap().runs, 6);
}

#[test]
fn a_file_that_was_removed_or_replaced_takes_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).unwrap();
    store.insert_run(&sample::run(1)).unwrap();
    fs::rename(&path, folder.path().join("away.db")).unwrap();
    let error = store.insert_run(&sample::run(2)).unwrap_err();
    assert!(matches!(error, StoreError::Moved { .. }) && error.keeps_run(), "{error}");
    let other = folder.path().join("other.db");
    drop(Store::open(&other).unwrap());
    fs::rename(&other, &path).unwrap();
    let error = store.insert_run(&sample::run(2)).unwrap_err();
    assert!(matches!(error, StoreError::Moved { .. }), "{error}");
}
