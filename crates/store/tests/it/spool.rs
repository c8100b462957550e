//! Runs that wait while their database is away.

use crate::{
    place::{Place, on_both},
    postgresql::{Disk, PostgreSql},
    sample,
};
use modelmeter_store::{Filter, Kept, Spool, Spools, Store, StoreError};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread,
    time::Duration,
};
use types::{Allocations, RunId};

on_both!(
    what_waited_is_delivered_once_and_equal,
    a_run_goes_straight_to_its_database_and_takes_along_what_waited,
    several_deliver_at_once_and_nothing_is_there_twice,
    what_cannot_be_delivered_stays_and_stops_nobody_else,
);

fn spool() -> (tempfile::TempDir, Spool) {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(folder.path().join("spool"));
    (folder, spool)
}

fn what_waited_is_delivered_once_and_equal(place: &Place) {
    let store = place.open();
    let (_folder, spool) = spool();
    assert_eq!(spool.waiting().unwrap(), 0);
    assert_eq!(spool.deliver(&store).unwrap().delivered, 0);
    for n in 0..3 {
        spool.keep(&sample::run(n)).unwrap();
        spool.keep(&sample::run(n)).unwrap();
    }
    let mut odd = sample::run(7);
    odd.id = RunId("no/name of a file".into());
    spool.keep(&odd).unwrap();
    assert_eq!(spool.waiting().unwrap(), 4);
    // The answer to the commit of this one was lost: it is stored and waits at the same time.
    store.insert_run(&sample::run(1)).unwrap();
    let delivery = spool.deliver(&store).unwrap();
    assert_eq!((delivery.delivered, delivery.waiting, delivery.left.len()), (4, 0, 0));
    assert_eq!(spool.waiting().unwrap(), 0);
    assert_eq!(store.status().unwrap().runs, 4);
    for run in [sample::run(0), sample::run(1), sample::run(2), odd] {
        assert_eq!(store.run(&run.id.0).unwrap(), run);
    }
}

fn a_run_goes_straight_to_its_database_and_takes_along_what_waited(place: &Place) {
    let store = place.open();
    let (_folder, spool) = spool();
    spool.keep(&sample::run(1)).unwrap();
    assert!(matches!(spool.insert(&store, &sample::run(2)).unwrap(), Kept::Stored));
    assert_eq!((spool.waiting().unwrap(), store.status().unwrap().runs), (0, 2));
    // Once more, because nobody heard that it worked.
    assert!(matches!(spool.insert(&store, &sample::run(2)).unwrap(), Kept::Stored));
    assert_eq!(store.status().unwrap().runs, 2);
    let mut never = sample::run(3);
    never.work.coverage.0 = f64::NAN;
    let error = spool.insert(&store, &never).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    assert_eq!(spool.waiting().unwrap(), 0);
}

fn several_deliver_at_once_and_nothing_is_there_twice(place: &Place) {
    let store = place.open();
    let (_folder, spool) = spool();
    for n in 0..25 {
        spool.keep(&sample::run(n)).unwrap();
    }
    let deliver = |_| {
        let (location, spool) = (place.location().to_owned(), spool.clone());
        thread::spawn(move || spool.deliver(&Store::open(location).unwrap()).unwrap())
    };
    let threads: Vec<_> = (0..4).map(deliver).collect();
    let deliveries: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(deliveries.iter().all(|delivery| delivery.left.is_empty() && delivery.waiting == 0));
    assert_eq!(deliveries.iter().map(|delivery| delivery.delivered).sum::<u64>(), 25);
    assert_eq!((spool.waiting().unwrap(), store.status().unwrap().runs), (0, 25));
}

fn what_cannot_be_delivered_stays_and_stops_nobody_else(place: &Place) {
    let store = place.open();
    let (_folder, spool) = spool();
    spool.keep(&sample::run(1)).unwrap();
    let broken = spool.folder().join("0000.run.json");
    fs::write(&broken, "{").unwrap();
    let foreign = spool.folder().join("0001.run.json");
    let text = fs::read_to_string(spool.folder().join(format!("{}.run.json", sample::run(1).id.0)));
    fs::write(&foreign, text.unwrap().replace("spooled-run/1", "spooled-run/9")).unwrap();
    // What a kill left of a file that was being written.
    fs::write(spool.folder().join(".half.run.json.77"), "{\"schema\"").unwrap();
    // Another run has taken the id.
    let mut thief = sample::run(2);
    store.insert_run(&thief).unwrap();
    thief.started_at += 5;
    spool.keep(&thief).unwrap();
    let delivery = spool.deliver(&store).unwrap();
    assert_eq!((delivery.delivered, delivery.waiting), (1, 0));
    let left: Vec<&Path> = delivery.left.iter().map(|left| left.path.as_path()).collect();
    assert_eq!(left[..2], [&broken, &foreign]);
    assert!(delivery.left[2].why.contains("already stored"), "{:?}", delivery.left);
    assert_eq!(spool.waiting().unwrap(), 3, "nothing is thrown away");
}

#[test]
fn every_database_has_a_spool_of_its_own_whose_name_keeps_the_password() {
    let of = |location: &str| {
        let spool = Spool::of_database(Path::new("/spools"), Path::new(location));
        spool.folder().to_str().unwrap().to_owned()
    };
    let one = of("postgres://ann:s3cret@db/runs");
    assert_eq!(one, of("postgres://ann:other@db/runs?sslmode=require"));
    assert!(one.starts_with("/spools/runs-") && !one.contains("s3cret"), "{one}");
    assert_ne!(one, of("postgres://ann:s3cret@db/others"));
    assert_ne!(of("/home/ann/store.db"), of("/home/bob/store.db"));
}

#[test]
fn a_file_that_is_locked_makes_runs_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open_waiting(&path, Duration::from_millis(20)).unwrap();
    let spool = Spool::new(folder.path().join("spool"));
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let kept = spool.insert(&store, &sample::run(1)).unwrap();
    assert!(matches!(kept, Kept::Spooled(StoreError::Locked { .. })), "{kept:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(spool.deliver(&store).unwrap().delivered, 1);
    assert_eq!(store.run(&sample::run(1).id.0).unwrap(), sample::run(1));
}

#[test]
fn a_server_that_stops_in_the_middle_gets_everything_when_it_is_back() {
    let server = PostgreSql::start(Disk::Safe);
    let location = server.database();
    let (_folder, spool) = spool();
    let store = Store::open(&location).unwrap();
    let is_stored = |kept: Kept| matches!(kept, Kept::Stored);
    assert!(is_stored(spool.insert(&store, &sample::run(0)).unwrap()));
    server.stop();
    let allocations = Allocations { dropped: 3, ..Allocations::default() };
    for n in 1..4 {
        let kept = spool.insert_with(&store, &sample::run(n), Some(&allocations)).unwrap();
        assert!(matches!(kept, Kept::Spooled(StoreError::Unreachable { .. })), "{kept:?}");
    }
    let delivery = spool.deliver(&store).unwrap();
    assert_eq!((delivery.delivered, delivery.waiting), (0, 3));
    server.restart();
    // The very same store finds its way back, and what waited comes with the next run.
    assert!(is_stored(spool.insert(&store, &sample::run(4)).unwrap()));
    assert_eq!(spool.waiting().unwrap(), 0);
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 5);
    for n in 0..5 {
        assert_eq!(store.run(&sample::run(n).id.0).unwrap(), sample::run(n));
    }
    assert_eq!(store.allocations(&sample::run(2).id).unwrap(), Some(allocations));
    // Away again, and this time another process, which never saw it, delivers.
    server.stop();
    assert!(!is_stored(spool.insert(&store, &sample::run(5)).unwrap()));
    let error = Store::open(&location).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    server.restart();
    let fresh = Store::open(&location).unwrap();
    assert_eq!(spool.deliver(&fresh).unwrap().delivered, 1);
    assert_eq!(fresh.status().unwrap().runs, 6);
    fresh.check().unwrap();
}

#[test]
fn a_run_that_one_place_has_no_room_for_goes_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let own = folder.path().join("own");
    let spools = Spools::of_database(&path, Some(&own));
    let first = spools.keep_with(&sample::run(1), None).unwrap();
    assert_eq!(first.folder(), folder.path().canonicalize().unwrap().join("store.db.waiting"));
    // Something stands in the way of the first, as a full disk would.
    fs::remove_dir_all(first.folder()).unwrap();
    fs::write(first.folder(), "").unwrap();
    let second = spools.keep_with(&sample::run(2), None).unwrap();
    assert!(second.folder().starts_with(&own), "{second:?}");
    assert_eq!(spools.waiting(), (1, Some(second.folder())));
    // Where no place is left, each says why.
    let nowhere = Spool::new(first.folder().join("below a file"));
    let error = nowhere.keep(&sample::run(3)).unwrap_err();
    assert!(matches!(error, StoreError::Spool { .. }), "{error}");
}

#[test]
fn what_waits_anywhere_is_delivered_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let own = folder.path().join("own");
    let spools = Spools::of_database(&path, Some(&own));
    for (number, place) in spools.places().iter().enumerate() {
        place.keep(&sample::run(number as u64)).unwrap();
    }
    assert_eq!(spools.waiting().0, 3);
    let store = Store::open(&path).unwrap();
    let delivery = spools.deliver(&store);
    assert_eq!((delivery.delivered, delivery.waiting, delivery.left.len()), (3, 0, 0));
    assert_eq!(store.status().unwrap().runs, 3);
    assert!(spools.places().iter().all(|place| !place.folder().exists()));
}

#[test]
fn a_database_is_the_same_from_wherever_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let of = |path: &str| {
        let spools = Spools::of_database(&folder.path().join(path), None);
        let folders = spools.places().iter().map(|place| place.folder().to_owned());
        folders.collect::<Vec<_>>()
    };
    assert_eq!(of("store.db"), of("sub/../store.db"));
    assert_ne!(of("store.db"), of("sub/store.db"));
}

#[test]
fn what_waits_is_for_this_user_alone_and_what_others_laid_there_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(folder.path().join("deep/spool"));
    spool.keep(&sample::run(1)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("deep")), mode(spool.folder())), (0o700, 0o700));
    for file in fs::read_dir(spool.folder()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    // Anybody could have written into it.
    fs::set_permissions(spool.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    let store = Store::open(folder.path().join("store.db")).unwrap();
    let error = spool.deliver(&store).unwrap_err();
    assert!(matches!(error, StoreError::Spool { .. }), "{error}");
    assert!(spool.keep(&sample::run(2)).is_err());
    assert_eq!(store.status().unwrap().runs, 0);
}
