//! Writing: a line into a channel, and a thread that brings it to the disk.

use crate::Line;
use serde_json::Value;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};
use types::Event;

/// How many lines may wait for a slow disk; more are dropped, because a measurement does not wait.
const WAITING: usize = 256;

/// Progress of a stage is told four times a second at most.
const PACE: Duration = Duration::from_millis(250);

/// A journal grows no further than this, in bytes: from then on progress is no longer written.
const LARGEST: u64 = 16 << 20;

/// How long the journal of a process that is over stays.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The ending of a journal's name.
pub(crate) const ENDING: &str = "live";

/// What this process says while it measures.
#[derive(Debug)]
pub struct Journal {
    lines: SyncSender<Line>,
    writer: Mutex<Option<JoinHandle<()>>>,
    last_progress: Mutex<Option<Instant>>,
}

impl Journal {
    /// Begins a journal in this folder, which is made for this user alone. Journals of yesterday are removed.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub fn begin(folder: &Path, command: &str, version: &str) -> io::Result<Journal> {
        make_folder(folder)?;
        remove_old(folder);
        let pid = std::process::id();
        let at = clock::now();
        // Under another name until it is locked: a journal that nobody holds belongs to a process that died.
        let name = format!("{at}-{pid}");
        let (early, path) =
            (folder.join(format!("{name}.new")), folder.join(format!("{name}.{ENDING}")));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&early)?;
        file.lock()?;
        fs::rename(&early, &path)?;
        let (lines, waiting) = sync_channel(WAITING);
        let began =
            Line::Began { at, pid, command: command.to_owned(), version: version.to_owned() };
        let write = move || write(file, began, &waiting);
        let writer = thread::Builder::new().name("journal".into()).spawn(write)?;
        Ok(Journal { lines, writer: Mutex::new(Some(writer)), last_progress: Mutex::default() })
    }

    /// Tells an event. It costs a copy, and never waits.
    pub fn say(&self, event: &Event) {
        if let Event::Progress { .. } = event {
            let Ok(mut last) = self.last_progress.lock() else { return };
            if last.is_some_and(|last| last.elapsed() < PACE) {
                return;
            }
            *last = Some(Instant::now());
        }
        let _ = self.lines.try_send(Line::of(event));
    }

    /// Tells how a load goes.
    pub fn say_load(&self, label: &str, live: Value) {
        let line = Line::Loads { at: clock::now(), label: label.to_owned(), live };
        let _ = self.lines.try_send(line);
    }

    /// Says how the process ended, and waits until that is written.
    pub fn end(&self, exit: i32) {
        let Some(writer) = self.writer.lock().ok().and_then(|mut writer| writer.take()) else {
            return;
        };
        if self.lines.send(Line::Ended { at: clock::now(), exit }).is_ok() {
            let _ = writer.join();
        }
    }
}

/// Makes the folder of the journals, for this user alone.
///
/// # Errors
/// Where it cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes lines until one says that it was the last.
fn write(mut file: File, began: Line, waiting: &Receiver<Line>) {
    let mut length = 0;
    let mut put = |line: &Line| -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        length += text.len() as u64;
        let is_progress = matches!(line, Line::Happened { .. } | Line::Loads { .. });
        if length > LARGEST && is_progress {
            return Ok(());
        }
        file.write_all(&text)
    };
    // A full disk costs the live page and nothing else.
    let _ = put(&began);
    for line in waiting {
        let _ = put(&line);
        if matches!(line, Line::Ended { .. }) {
            return;
        }
    }
}

/// Removes what processes left that ended long ago.
fn remove_old(folder: &Path) {
    for path in journals(folder) {
        let age = fs::metadata(&path).and_then(|found| found.modified()).ok();
        let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > KEPT) && !is_held(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// The journals of a folder.
pub(crate) fn journals(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
        .collect();
    paths.sort();
    paths
}

/// Whether the process that writes this journal lives.
pub(crate) fn is_held(path: &Path) -> bool {
    // Shared, so that two who look do not take each other for the writer.
    let held = |file: File| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
    File::open(path).is_ok_and(held)
}
