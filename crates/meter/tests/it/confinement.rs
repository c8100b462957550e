//! A worker gets what it needs and nothing else, and leaves nothing behind.

use crate::bench::{bench, job, scripted, short_rule};
use engine::{PROTOCOL, Request};
use modelmeter_meter::{Launch, Link, MeterError, measure};
use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// A worker of a few lines of shell that greets when it has done what it is told; `$1` is a folder of the test's.
fn shell(script: &str, folder: &Path) -> Launch {
    let greeting = format!(r#"{{"answer":"hello","protocol":{PROTOCOL},"pid":'"$$"'}}"#);
    let script = format!("{script}\necho '{greeting}'\nread -r _\n");
    Launch::Process {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into(), "sh".into(), folder.into()],
        environment: vec![(OsString::from("TOLD"), OsString::from("told"))],
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Whether a process runs; one that has ended but was not waited for does not.
fn runs(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_worker_gets_a_temporary_folder_of_its_own_that_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        r#"echo left > "$TMPDIR/.ses"; echo "$TMPDIR" > "$1/place"; ls -ld "$TMPDIR" > "$1/mode""#;
    let link = Link::open(&shell(script, folder.path()), PATIENCE).unwrap();
    let other = Link::open(&shell("true", folder.path()), PATIENCE).unwrap();
    let place = fs::read_to_string(folder.path().join("place")).unwrap();
    let place = Path::new(place.trim());
    assert_ne!(place, std::env::temp_dir());
    assert!(place.join(".ses").is_file());
    assert!(fs::read_to_string(folder.path().join("mode")).unwrap().starts_with("drwx------"));
    drop(other);
    assert!(place.exists(), "each worker has its own");
    drop(link);
    assert!(!place.exists());
}

/// A process of its own, because a variable of this one would be seen by every other test.
#[test]
fn a_worker_does_not_inherit_the_secrets_of_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    if std::env::var_os("HF_TOKEN").is_none() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "confinement::a_worker_does_not_inherit_the_secrets_of_its_parent"])
            .env("MODELMETER_DB", "postgres://ann:hunter2@db/runs")
            .env("HF_TOKEN", "hunter2")
            .env("SOMETHING_ELSE", "hunter2")
            .env("OMP_NUM_THREADS", "3");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    drop(Link::open(&shell(r#"env > "$1/seen""#, folder.path()), PATIENCE).unwrap());
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.contains("hunter2"), "{seen}");
    for kept in ["PATH=", "OMP_NUM_THREADS=3", "TOLD=told"] {
        assert!(seen.lines().any(|line| line.starts_with(kept)), "{kept}: {seen}");
    }
}

#[test]
fn what_a_worker_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let started = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let script = r#"sleep 600 & echo $! > "$1/child"; (sleep 600 & echo $! > "$1/grandchild")"#;
    // One that is dropped, and one that leaves by itself and leaves the others behind.
    let link = Link::open(&shell(script, folder.path()), PATIENCE).unwrap();
    let (child, grandchild) = (started("child"), started("grandchild"));
    assert!(runs(&child) && runs(&grandchild));
    drop(link);
    assert!(wait_until(|| !runs(&child) && !runs(&grandchild)));

    let link = Link::open(&shell(script, folder.path()), PATIENCE).unwrap();
    let (child, grandchild) = (started("child"), started("grandchild"));
    assert!(runs(&child) && runs(&grandchild));
    link.close();
    assert!(wait_until(|| !runs(&child) && !runs(&grandchild)));
}

#[test]
fn a_worker_that_dies_takes_along_what_it_started_and_is_still_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"sleep 600 > /dev/null 2>&1 & echo $! > "$1/child""#;
    let Launch::Process { program, mut arguments, environment } = shell(script, folder.path())
    else {
        panic!("not a process")
    };
    let text = arguments[1].to_str().unwrap().replace("read -r _\n", "read -r _\nexit 7\n");
    arguments[1] = text.into();
    let launch = Launch::Process { program, arguments, environment };
    let mut link = Link::open(&launch, PATIENCE).unwrap();
    let error = link.ask(&Request::First, "run first").unwrap_err();
    let MeterError::Died { how, .. } = error else { panic!("{error}") };
    assert!(how.contains("status 7"), "{how}");
    let child = fs::read_to_string(folder.path().join("child")).unwrap();
    // The link is still there: it was the death that ended the child.
    assert!(wait_until(|| !runs(&child)));
}

#[test]
fn a_worker_that_talks_without_end_does_not_fill_our_memory() {
    let greeting = format!(r#"echo '{{"answer":"hello","protocol":{PROTOCOL},"pid":1}}'"#);
    let endless = r#"yes '{"answer":"observed","shapes":[]}'"#;
    let launch = Launch::Process {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), format!("{greeting}\nexec {endless}").into()],
        environment: vec![],
    };
    let before = resident();
    let link = Link::open(&launch, PATIENCE).unwrap();
    thread::sleep(Duration::from_millis(500));
    drop(link);
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}

fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Where the system lets us, a worker that has a model sees no device of the network but its own loopback.
#[test]
fn a_worker_with_a_model_has_no_network_and_gains_no_rights_where_the_system_allows() {
    let user = if is_root() { vec![] } else { vec!["--user"] };
    let allowed = Command::new("unshare").args(user).args(["--net", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut seen = Vec::new();
    let mut sink = |_| {
        // The worker is the only child of this thread's process that has this script.
        seen.extend(networks_of("3ms, work 1"));
    };
    let launch = scripted("3ms, work 1");
    measure(&job(file.path()), &bench(), &launch, &short_rule(), &mut sink).unwrap();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    assert!(seen.iter().any(|found| found.0 != own), "{seen:?}");
    let (_, devices, status) = seen.iter().rfind(|found| found.0 != own).unwrap();
    assert_eq!(devices, &["lo"]);
    assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// The network, its devices and the status of workers with this script.
fn networks_of(script: &str) -> Vec<(std::path::PathBuf, Vec<String>, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let line = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        let is_worker = line.contains("fake-worker") && line.contains(script);
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        let is_ours = status.contains(&format!("PPid:\t{}\n", std::process::id()));
        if let (true, true, Ok(network)) = (is_worker, is_ours, fs::read_link(path.join("ns/net")))
        {
            let table = fs::read_to_string(path.join("net/dev")).unwrap_or_default();
            let names = table.lines().filter_map(|line| line.split_once(':'));
            let names = names.map(|(name, _)| name.trim().to_owned()).collect();
            found.push((network, names, status));
        }
    }
    found
}
