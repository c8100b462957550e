//! Somebody else was there first.
use super::*;
use std::os::unix::fs::symlink;

/// A folder that everybody may write to, as the system's temporary folder is.
fn shared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    folder
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_folder_is_made_for_us_alone_and_found_again() {
    let shared = shared();
    let own = own_folder(shared.path(), "own").unwrap();
    assert_eq!(mode(&own), 0o700);
    assert_eq!(own_folder(shared.path(), "own").unwrap(), own);
}

#[test]
fn a_link_in_the_place_of_our_folder_is_refused() {
    let (shared, elsewhere) = (shared(), tempfile::tempdir().unwrap());
    symlink(elsewhere.path(), shared.path().join("own")).unwrap();
    let refused = own_folder(shared.path(), "own").unwrap_err();
    assert!(matches!(refused, NotPrivate::NoFolder(_)), "{refused}");
    symlink("/nowhere", shared.path().join("dangling")).unwrap();
    let refused = own_folder(shared.path(), "dangling").unwrap_err();
    assert!(matches!(refused, NotPrivate::NoFolder(_)), "{refused}");
}

#[test]
fn a_folder_that_others_write_to_is_refused() {
    let shared = shared();
    let own = own_folder(shared.path(), "own").unwrap();
    for open in [0o770, 0o707, 0o1777] {
        fs::set_permissions(&own, Permissions::from_mode(open)).unwrap();
        assert!(matches!(own_folder(shared.path(), "own"), Err(NotPrivate::Open(_))), "{open:o}");
    }
    // Never mended by us: it may be somebody's on purpose.
    assert_eq!(mode(&own), 0o1777);
}

#[test]
fn a_folder_of_another_user_is_refused_and_its_owner_named() {
    let shared = shared();
    let own = own_folder(shared.path(), "own").unwrap();
    if std::os::unix::fs::chown(&own, Some(12345), None).is_err() {
        // Only root can give a folder away.
        return;
    }
    let refused = own_folder(shared.path(), "own").unwrap_err();
    assert!(refused.to_string().ends_with("belongs to user 12345"), "{refused}");
}

#[test]
fn where_everybody_may_rename_everything_nothing_is_ours() {
    let shared = shared();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(own_folder(shared.path(), "own"), Err(NotPrivate::Open(_))));
}

#[test]
fn temporary_files_go_elsewhere_when_our_place_is_taken() {
    let (shared, elsewhere) = (shared(), tempfile::tempdir().unwrap());
    let usual = TemporaryFolder::make_in(shared.path()).unwrap();
    let place = shared.path().join(name_of_user());
    assert_eq!(usual.path().parent().unwrap(), place);
    assert_eq!(mode(usual.path()), 0o700);
    drop(usual);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "it goes away again");

    fs::remove_dir(&place).unwrap();
    symlink(elsewhere.path(), &place).unwrap();
    let other = TemporaryFolder::make_in(shared.path()).unwrap();
    assert_eq!(other.path().parent().unwrap(), shared.path());
    assert_eq!(mode(other.path()), 0o700);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_lock_is_not_opened_through_a_link_and_nothing_behind_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    fs::set_permissions(&precious, Permissions::from_mode(0o640)).unwrap();
    let lock = folder.path().join("lock");
    symlink(&precious, &lock).unwrap();
    assert!(open_lock(&lock).is_err());
    assert_eq!((fs::read_to_string(&precious).unwrap().as_str(), mode(&precious)), ("mine", 0o640));
    fs::remove_file(&lock).unwrap();
    open_lock(&lock).unwrap();
    assert_eq!(mode(&lock), 0o600);
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert!(open_lock(&folder.path().join("folder")).is_err());
}

#[test]
fn what_a_killed_process_left_behind_is_swept_and_what_is_in_use_is_not() {
    let own = tempfile::tempdir().unwrap();
    let [left, used, kept] = ["t-left", "t-used", "kept"].map(|name| own.path().join(name));
    for folder in [&left, &used, &kept] {
        fs::create_dir(folder).unwrap();
    }
    let held = File::open(&used).unwrap();
    held.lock().unwrap();
    sweep(own.path(), LEFT_BEHIND);
    assert!(left.exists(), "it is too young");
    sweep(own.path(), Duration::ZERO);
    assert_eq!((left.exists(), used.exists(), kept.exists()), (false, true, true));
}
