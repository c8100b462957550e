//! The parent: starts a child for each target, starts another where one died, and gathers what was found.

use crate::{
    Finding, TARGETS, Target,
    child::{Standing, bytes_of},
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// So many deaths of children end a target: it is broken, not unlucky.
const MOST_DEATHS: usize = 40;

/// What to do.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// The program that runs cases when asked to.
    pub program: PathBuf,
    /// Targets by name; all where there are none.
    pub targets: Vec<String>,
    /// Cases of each target, before those that take long run fewer.
    pub cases: u64,
    /// The seed.
    pub seed: u64,
    /// The folder that findings are kept in; nothing is kept without one.
    pub keep: Option<PathBuf>,
    /// Targets at a time.
    pub jobs: usize,
}

/// How one target did.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The target.
    pub target: &'static str,
    /// Cases that were run.
    pub run: u64,
    /// Those of them that were read.
    pub accepted: u64,
    /// The time they took.
    pub took: Duration,
    /// What was found, each place once.
    pub findings: Vec<Finding>,
}

/// Runs the cases of all targets and tells each target's tally as it is done.
///
/// # Errors
/// Where a child cannot be started or a finding cannot be kept.
pub fn hunt(hunt: &Hunt, told: &(dyn Fn(&Tally) + Sync)) -> io::Result<Vec<Tally>> {
    let wanted: Vec<&'static Target> = TARGETS
        .iter()
        .filter(|target| hunt.targets.is_empty() || hunt.targets.iter().any(|n| n == target.name))
        .collect();
    let next = Mutex::new(wanted.iter());
    let done = Mutex::new(Vec::new());
    let take = || next.lock().map(|mut next| next.next().copied()).ok().flatten();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..hunt.jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> io::Result<()> {
                    while let Some(target) = take() {
                        let tally = one(hunt, target)?;
                        told(&tally);
                        if let Ok(mut done) = done.lock() {
                            done.push(tally);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker of the hunt panicked"))??;
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(done.into_inner().unwrap_or_default())
}

fn one(hunt: &Hunt, target: &'static Target) -> io::Result<Tally> {
    let folder = tempfile::tempdir()?;
    let standing = folder.path().join("standing");
    let cases = (hunt.cases / target.one_of).max(1);
    let begin = Instant::now();
    let mut tally = Tally {
        target: target.name,
        run: 0,
        accepted: 0,
        took: Duration::ZERO,
        findings: Vec::new(),
    };
    let mut found: BTreeMap<String, Finding> = BTreeMap::new();
    let (mut from, mut deaths) = (0, 0);
    while from < cases && deaths < MOST_DEATHS {
        let output = start(hunt, target, [from, cases], &standing)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let stands = Standing::read(&standing).unwrap_or_default();
        tally.run += stands.run;
        tally.accepted += stands.accepted;
        let finding = |case: u64, what: &str| Finding {
            target: target.name,
            seed: hunt.seed,
            case,
            what: what.to_owned(),
            expected: target.expects(what),
        };
        for line in said.lines().filter_map(|line| line.strip_prefix("finding ")) {
            let (case, what) = line.split_once(' ').unwrap_or((line, ""));
            let finding = finding(case.parse().unwrap_or(0), what);
            found.entry(finding.key()).or_insert(finding);
        }
        if said.lines().any(|line| line == "done") {
            break;
        }
        let finding = finding(stands.case, &death(&output));
        found.entry(finding.key()).or_insert(finding);
        from = stands.case.max(from) + 1;
        deaths += 1;
    }
    tally.took = begin.elapsed();
    tally.findings = found.into_values().collect();
    if let Some(folder) = &hunt.keep {
        keep(folder, target, &tally.findings)?;
    }
    Ok(tally)
}

fn start(
    hunt: &Hunt,
    target: &Target,
    [from, to]: [u64; 2],
    standing: &Path,
) -> io::Result<Output> {
    let _ = fs::remove_file(standing);
    Command::new(&hunt.program)
        .arg("child")
        .arg(target.name)
        .args([hunt.seed, from, to].map(|number| number.to_string()))
        .arg(standing)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .output()
}

/// How a child ended, in one line; the same for all that end in the same way.
fn death(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let telling = ["memory allocation of", "has overflowed its stack", "endless:"];
    let line = said.lines().find(|line| telling.iter().any(|words| line.contains(words)));
    match line {
        Some(line) if line.contains("memory allocation of") => format!("abort, no memory: {line}"),
        Some(line) => format!("abort: {line}"),
        None => format!("{}: {}", output.status, said.lines().last().unwrap_or_default()),
    }
}

/// Keeps the bytes of what was found and not expected.
fn keep(folder: &Path, target: &Target, findings: &[Finding]) -> io::Result<()> {
    let new: Vec<&Finding> = findings.iter().filter(|one| one.expected.is_none()).collect();
    if new.is_empty() {
        return Ok(());
    }
    let folder = folder.join(target.name);
    fs::create_dir_all(&folder)?;
    let seeds = (target.seeds)();
    for finding in new {
        let bytes = bytes_of(target, &seeds, finding.seed, finding.case);
        fs::write(folder.join(finding.file_name()), bytes)?;
    }
    Ok(())
}

/// Reads every kept case again, each in a process of its own, and gives those that do not end in an answer.
///
/// # Errors
/// Where a folder cannot be read or a child cannot be started.
pub fn replay(program: &Path, folder: &Path) -> io::Result<(usize, Vec<Finding>)> {
    let (mut count, mut findings) = (0, Vec::new());
    for target in TARGETS {
        let Ok(entries) = fs::read_dir(folder.join(target.name)) else { continue };
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in entries {
            files.push(entry?.path());
        }
        files.sort();
        for file in files {
            count += 1;
            let mut child = Command::new(program)
                .args(["replay".as_ref(), target.name.as_ref(), file.as_os_str()])
                .env_remove("RUST_BACKTRACE")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()?;
            let mut said = String::new();
            if let Some(stderr) = &mut child.stderr {
                stderr.read_to_string(&mut said)?;
            }
            let status = child.wait()?;
            let what = format!("{}: {status}: {}", file.display(), said.trim());
            if !status.success() && target.expects(&what).is_none() {
                let expected = None;
                findings.push(Finding { target: target.name, seed: 0, case: 0, what, expected });
            }
        }
    }
    Ok((count, findings))
}
