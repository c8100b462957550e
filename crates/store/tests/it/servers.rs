//! What only a server can do wrong.

use crate::{
    place::Place,
    postgresql::{Disk, PostgreSql, SHARED, USER},
    sample,
};
use modelmeter_store::{Datum, Filter, Kept, SCHEMA_VERSION, Spool, Store, StoreError};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

/// Refused, with a hint, and without the password in any word of it.
fn refusal(location: &str) -> StoreError {
    let error = Store::open(location).unwrap_err();
    let mut words = format!("{error} {error:?} {}", error.hint().unwrap());
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        words += &error.to_string();
        cause = error.source();
    }
    assert!(!words.contains("s3cret") && !words.contains("wrongword"), "{words}");
    error
}

#[test]
fn a_server_that_is_not_there_says_so() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refusal(&format!("postgres://ann:s3cret@127.0.0.1:{port}/runs"));
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("ann@127.0.0.1:{port}/runs")), "{text}");
    assert!(!error.is_asked_wrongly() && error.is_passing());
    let error = refusal("postgres://ann:s3cret@no-such-host.invalid/runs");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

#[test]
fn a_wrong_password_or_none_is_not_let_in() {
    let good = SHARED.address("postgres");
    let (_, end) = good.split_once('@').unwrap();
    let wrong = format!("postgres://{USER}:wrongword@{end}");
    for location in
        [wrong, format!("postgres://nobody:wrongword@{end}"), format!("postgres://{USER}@{end}")]
    {
        let error = refusal(&location);
        assert!(matches!(error, StoreError::Login { .. }), "{error}");
        assert!(error.is_asked_wrongly());
    }
}

#[test]
fn a_database_that_is_not_there_says_how_to_make_it() {
    let error = refusal(&SHARED.address("not_made_yet"));
    assert!(matches!(error, StoreError::NoDatabase { .. }), "{error}");
    assert!(error.hint().unwrap().contains("createdb"));
}

#[test]
fn a_user_without_permission_is_told_so() {
    let location = SHARED.database();
    let database = location.rsplit('/').next().unwrap();
    let mut admin = SHARED.admin(database);
    admin
        .batch_execute(&format!(
            "CREATE ROLE guest_{database} LOGIN PASSWORD 's3cret guest';
             REVOKE CREATE ON SCHEMA public FROM PUBLIC"
        ))
        .unwrap();
    let (_, end) = location.split_once('@').unwrap();
    let guest = format!("postgres://guest_{database}:s3cret%20guest@{end}");
    let error = refusal(&guest);
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    // Where the owner made the tables and lets the guest read, reading works and writing says so.
    Store::open(&location).unwrap().insert_run(&sample::run(1)).unwrap();
    let grant = format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest_{database}");
    admin.batch_execute(&grant).unwrap();
    let store = Store::open(&guest).unwrap();
    assert_eq!(store.run(&sample::run(1).id.0).unwrap(), sample::run(1));
    let error = store.insert_run(&sample::run(2)).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("store a run"), "{error}");
    assert_eq!(store.status().unwrap().runs, 1);
}

#[test]
fn the_database_of_another_program_or_of_a_newer_one_is_refused_and_left_alone() {
    let location = SHARED.database();
    let mut admin = SHARED.admin(location.rsplit('/').next().unwrap());
    admin.batch_execute("CREATE TABLE cookies (x BIGINT)").unwrap();
    assert!(matches!(refusal(&location), StoreError::Foreign { .. }));
    let count = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(admin.query_one(count, &[]).unwrap().get::<_, i64>(0), 1);

    let location = SHARED.database();
    Store::open(&location).unwrap().insert_run(&sample::run(1)).unwrap();
    let mut admin = SHARED.admin(location.rsplit('/').next().unwrap());
    let newer = SCHEMA_VERSION + 41;
    admin.execute("INSERT INTO schema_version VALUES ($1)", &[&newer]).unwrap();
    let error = refusal(&location);
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("version {newer}")), "{text}");
    assert!(text.contains(&format!("up to {SCHEMA_VERSION}")), "{text}");
    assert!(error.hint().unwrap().contains("update"));
}

#[test]
fn a_server_is_reached_by_its_socket_and_by_the_longer_name() {
    let location = SHARED.database();
    let database = location.rsplit('/').next().unwrap();
    Store::open(SHARED.socket_address(database)).unwrap().insert_run(&sample::run(1)).unwrap();
    let longer = location.replace("postgres://", "postgresql://");
    assert_eq!(Store::open(longer).unwrap().run(&sample::run(1).id.0).unwrap(), sample::run(1));
}

#[test]
fn a_schema_of_its_own_is_a_database_of_its_own() {
    let location = SHARED.database();
    let mut admin = SHARED.admin(location.rsplit('/').next().unwrap());
    admin.batch_execute("CREATE TABLE cookies (x BIGINT); CREATE SCHEMA meter").unwrap();
    let own = format!("{location}?options=-csearch_path%3Dmeter");
    let store = Store::open(&own).unwrap();
    assert!(store.is_created());
    store.insert_run(&sample::run(1)).unwrap();
    assert_eq!(Store::open(&own).unwrap().status().unwrap().runs, 1);
}

/// Whether the connection is encrypted, as the server sees it.
fn is_encrypted(store: &Store) -> bool {
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    store.query(sql, None).unwrap().rows == [[Datum::Whole(1)]]
}

#[test]
fn a_connection_is_encrypted_as_far_as_it_was_asked_for() {
    let location = SHARED.database();
    let open = |parameters: &str| Store::open(format!("{location}?{parameters}"));
    assert!(!is_encrypted(&open("sslmode=disable").unwrap()));
    assert!(is_encrypted(&open("").unwrap()));
    assert!(is_encrypted(&open("sslmode=prefer").unwrap()));
    let authority = SHARED.authority();
    let trusting = format!("sslrootcert={}", authority.display());
    for mode in ["require", "verify-full"] {
        let store = open(&format!("sslmode={mode}&{trusting}")).unwrap();
        assert!(is_encrypted(&store));
        store.status().unwrap();
        // Nobody that is known vouches for this server.
        let error = open(&format!("sslmode={mode}")).unwrap_err();
        assert!(matches!(error, StoreError::Encryption { .. }), "{error}");
        assert!(error.hint().unwrap().contains("sslrootcert"));
    }
    // The certificate is good, but of a server of another name.
    let other = location.replace("127.0.0.1", "other.example");
    let there = format!("hostaddr=127.0.0.1&{trusting}");
    assert!(is_encrypted(&Store::open(format!("{other}?{there}&sslmode=prefer")).unwrap()));
    let error = Store::open(format!("{other}?{there}&sslmode=require")).unwrap_err();
    assert!(matches!(error, StoreError::Encryption { .. }), "{error}");
    assert!(error.to_string().contains("other.example"), "{error}");
    let error = open("sslmode=require&sslrootcert=/no/such/file").unwrap_err();
    assert!(matches!(error, StoreError::BadAddress { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}

#[test]
fn a_lock_that_is_held_too_long_says_so_and_loses_nothing() {
    let place = Place::server();
    let store = Store::open_waiting(place.location(), Duration::from_millis(50)).unwrap();
    store.insert_run(&sample::run(1)).unwrap();
    let database = place.location().to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let mut other = SHARED.admin(&database);
    other.batch_execute("BEGIN; LOCK TABLE run IN EXCLUSIVE MODE").unwrap();
    let error = store.insert_run(&sample::run(9)).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 1, "reading does not wait");
    other.batch_execute("ROLLBACK").unwrap();
    store.insert_run(&sample::run(9)).unwrap();
    assert_eq!(store.status().unwrap().runs, 2);
}

#[test]
fn changed_samples_are_noticed_by_their_checksum() {
    let place = Place::server();
    let store = place.open();
    store.insert_run(&sample::run(1)).unwrap();
    let database = place.location().to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    SHARED.admin(&database).batch_execute("UPDATE samples SET checksum = checksum + 1").unwrap();
    let error = store.run(&sample::run(1).id.0).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn a_run_whose_document_is_lost_is_damage() {
    let place = Place::server();
    let store = place.open();
    store.insert_run(&sample::run(1)).unwrap();
    store.check().unwrap();
    let database = place.location().to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    SHARED.admin(&database).batch_execute("DELETE FROM document").unwrap();
    let error = store.check().unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_frozen_server_is_noticed_and_its_runs_wait() {
    let server = PostgreSql::start(Disk::Hasty);
    let location = server.database();
    // Of healthy answers none is limited by this: after so long somebody else only asks whether the server lives.
    let location = format!("{location}?connect_timeout=3");
    let store = Store::open(&location).unwrap();
    store.insert_run(&sample::run(1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(folder.path().join("spool"));
    let frozen = server.freeze();
    let begin = Instant::now();
    let kept = spool.insert(&store, &sample::run(2)).unwrap();
    let Kept::Spooled(StoreError::Unreachable { detail, .. }) = kept else { panic!("{kept:?}") };
    assert!(detail.contains("no answer"), "{detail}");
    let error = refusal(&location);
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    // A dropped connection says goodbye, which nobody hears.
    drop(store);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    drop(frozen);
    let store = Store::open(&location).unwrap();
    assert_eq!(spool.deliver(&store).unwrap().delivered, 1);
    assert_eq!(store.status().unwrap().runs, 2);
}

#[test]
fn a_slow_answer_of_a_living_server_is_waited_for() {
    let place = Place::server();
    let location = format!("{}?connect_timeout=3", place.location().display());
    let store = Store::open(location).unwrap();
    let answer = store.query("SELECT 7 FROM pg_sleep(7)", None).unwrap();
    assert_eq!(answer.rows, [[Datum::Whole(7)]]);
}
