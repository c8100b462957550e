//! A worker under a limit of memory: stopped by it, told from a crash, and nothing left behind.

use crate::bench::{bench, job, scripted, short_rule};
use hardware::cgroup;
use modelmeter_meter::{Launch, Limit, Link, MeterError, measure, rehearse};
use std::{fs, path::PathBuf, process::Command, time::Duration};
use types::{Bytes, LimitedBy, MemoryLimit, Run};

const MIB: u64 = 1 << 20;

/// A worker that follows the script and may hold so much.
fn limited(script: &str, mebibytes: u64, by: Option<LimitedBy>) -> Launch {
    let limit = Limit { bytes: Bytes(mebibytes * MIB), by };
    Launch::Limited { launch: Box::new(scripted(script)), limit }
}

fn run(launch: &Launch) -> Result<Run, MeterError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    measure(&job(file.path()), &bench(), launch, &short_rule(), &mut |_| {})
}

/// Whether a group with a limit can be made here; where not, the tests of groups have nothing to test.
fn can_make_groups() -> bool {
    match Link::open(&limited("1ms", 512, Some(LimitedBy::Cgroup)), Duration::from_secs(20)) {
        Ok(link) => link.limit().is_some(),
        Err(MeterError::Limit { .. } | MeterError::Start { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Groups that this process made and that are still there.
fn groups_left() -> Vec<PathBuf> {
    let Some(own) = cgroup::group(std::process::id(), "memory") else { return Vec::new() };
    let mark = format!("modelmeter-{}-", std::process::id());
    let around = [Some(own.folder.as_path()), own.folder.parent()];
    let inside = |folder: &std::path::Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mine = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&mark))
    };
    around.into_iter().flatten().flat_map(inside).map(|entry| entry.path()).filter(mine).collect()
}

fn stopped(by: LimitedBy) {
    let enough = run(&limited("hold 67108864", 512, Some(by))).unwrap();
    let limit = Some(MemoryLimit { bytes: Bytes(512 * MIB), by });
    assert_eq!(enough.environment.memory_limit, limit);
    let error = run(&limited("1ms, hold 268435456", 128, Some(by))).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let text = error.to_string();
    assert!(text.contains("128 MiB") && text.contains(by.words()), "{text}");
    assert!(error.hint().unwrap().contains("--batch-size"));
}

#[test]
fn a_data_limit_refuses_the_allocation_and_lets_pass_what_has_room() {
    stopped(LimitedBy::Rlimit);
}

#[test]
fn a_control_group_ends_the_worker_and_lets_pass_what_has_room() {
    if can_make_groups() {
        stopped(LimitedBy::Cgroup);
    }
}

#[test]
fn no_group_is_left_behind_whatever_became_of_the_worker() {
    if !can_make_groups() {
        return;
    }
    let by = Some(LimitedBy::Cgroup);
    run(&limited("1ms", 512, by)).unwrap();
    run(&limited("1ms, crash", 512, by)).unwrap_err();
    run(&limited("1ms, hold 268435456", 128, by)).unwrap_err();
    let killed = Link::open(&limited("1ms", 512, by), Duration::from_secs(20)).unwrap();
    let pid = killed.pid().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    drop(killed);
    // Other tests of this process may hold groups of their own for a moment.
    let begin = std::time::Instant::now();
    while !groups_left().is_empty() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(groups_left(), Vec::<PathBuf>::new());
}

#[test]
fn a_limit_that_nobody_chose_the_means_of_is_enforced_and_says_how() {
    let run = run(&limited("1ms", 512, None)).unwrap();
    let limit = run.environment.memory_limit.unwrap();
    assert!(matches!(limit.by, LimitedBy::Cgroup | LimitedBy::Rlimit));
    assert_eq!(limit.by == LimitedBy::Cgroup, can_make_groups());
}

#[test]
fn a_rehearsal_tells_the_peak_or_that_memory_ran_out() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let try_it = |script: &str| {
        let launch = limited(script, 256, Some(LimitedBy::Rlimit));
        rehearse(&job(file.path()), &launch, Duration::from_secs(20), &mut |_| {})
    };
    let peak = try_it("hold 134217728").unwrap().peak.unwrap();
    assert!(peak > Bytes(128 * MIB) && peak < Bytes(256 * MIB), "{peak:?}");
    assert!(try_it("hold 536870912").unwrap_err().is_out_of_memory());
}
