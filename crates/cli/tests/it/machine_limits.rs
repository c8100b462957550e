//! This machine cannot: exit code 3, the parent alive, nothing lost.

use crate::bench::{Home, Told, quick, told};
use std::{fs, io::Write, os::unix::process::CommandExt, process::Command};

#[test]
fn a_worker_that_takes_too_long_is_stopped() {
    let home = Home::new();
    home.fine(&quick("small-transformer", &[]));
    let arguments = quick("small-transformer", &["--batch-size", "512", "--timeout", "1ms"]);
    home.refused(&arguments, 3, &["did not", "stopped", "--timeout"]);
    assert_eq!(home.stored(), 1);
}

/// Runs a command under a limit of its own.
fn limited(mut command: Command, resource: libc::__rlimit_resource_t, limit: u64) -> Told {
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: setrlimit is async-signal-safe and reads one struct that lives for the call.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    told(command.output().unwrap())
}

#[test]
fn a_worker_out_of_memory_is_told_from_a_crash_and_the_parent_lives() {
    let home = Home::new();
    home.fine(&quick("medium-transformer", &[]));
    let arguments = quick("medium-transformer", &["--batch-size", "4096"]);
    let told = limited(home.command(&arguments), libc::RLIMIT_AS, 2 << 30);
    assert_eq!(told.status, Some(3), "{}\n{}", told.out, told.err);
    assert!(told.err.contains("out of memory"), "{}", told.err);
    assert!(told.err.contains("--batch-size"), "{}", told.err);
    assert_eq!(home.stored(), 1);
}

#[test]
fn an_unreadable_or_foreign_database_is_left_as_it_is() {
    let home = Home::new();
    fs::write(
        home.database(),
        "dear diary, this is no database at all, just some text\n".repeat(40),
    )
    .unwrap();
    let before = fs::read(home.database()).unwrap();
    let told = home.run(&["runs", "list"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(told.err.contains("runs.db"), "{}", told.err);
    let told = home.run(&quick("feed-forward-baseline", &[]));
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert_eq!(fs::read(home.database()).unwrap(), before);
}

#[test]
fn a_newer_database_is_not_touched() {
    let home = Home::new();
    home.fine(&["db", "init"]);
    let status = Command::new("python3")
        .args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO schema_version VALUES (9999)'); c.commit()"])
        .arg(home.database())
        .status()
        .unwrap();
    assert!(status.success());
    let told = home.run(&["runs", "list"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(told.err.contains("9999"), "{}", told.err);
}

#[test]
fn a_database_that_cannot_grow_loses_no_stored_run() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    // A file size limit refuses the write just as a full disk does.
    let told =
        limited(home.command(&quick("feed-forward-baseline", &[])), libc::RLIMIT_FSIZE, 4096);
    assert_eq!(told.status, Some(3), "{}\n{}", told.out, told.err);
    assert!(told.err.contains("runs.db"), "{}", told.err);
    assert!(!told.out.contains("stored as run"), "{}", told.out);
    assert_eq!(home.stored(), 1);
}

#[test]
fn a_run_that_no_place_has_room_for_is_printed_to_be_imported() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    // Room for the database to be opened, but neither for its log nor for a file with so many samples, wherever.
    let many = ["profile", "feed-forward-baseline", "--runs", "8000", "--warmup", "1"];
    let told = limited(home.command(&many), libc::RLIMIT_FSIZE, 36 << 10);
    assert_eq!(told.status, Some(3), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("throughput") && told.err.contains("db import"), "{}", told.err);
    assert!(!told.out.contains("stored as run"), "{}", told.out);
    assert_eq!(home.stored(), 1);
    let line = told.out.lines().find(|line| line.starts_with('{')).unwrap();
    fs::write(home.path("run.jsonl"), line).unwrap();
    home.fine(&["db", "import", "run.jsonl"]);
    assert_eq!(home.stored(), 2);
}

#[test]
fn a_full_disk_is_said_and_the_run_is_shown_nowhere_as_stored() {
    let home = Home::new();
    let told = home.run(&quick("feed-forward-baseline", &["--json", "/dev/full"]));
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("/dev/full"), "{}", told.err);
}

#[test]
fn a_command_that_gets_no_memory_says_so_and_is_no_bug() {
    let home = Home::new();
    // A file of inputs, which the command itself reads: once as bytes, once as numbers.
    let numbers = 40_000_000_usize;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {numbers}), }}");
    let mut file = fs::File::create(home.path("x.npy")).unwrap();
    let begin = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes()].concat();
    file.write_all(&[&begin, header.as_bytes()].concat()).unwrap();
    file.set_len((begin.len() + header.len() + 4 * numbers) as u64).unwrap();
    let arguments = quick("feed-forward-baseline", &["--data", "x.npy"]);
    for mebibytes in [200, 300] {
        let told = limited(home.command(&arguments), libc::RLIMIT_AS, mebibytes << 20);
        assert_eq!(told.status, Some(3), "{mebibytes}: {}\n{}", told.out, told.err);
        assert!(told.err.contains("memory"), "{mebibytes}: {}", told.err);
    }
}
