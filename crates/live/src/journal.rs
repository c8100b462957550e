//! Writing: a line into a channel, and a thread that brings it to the disk.

use crate::Line;
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

/// From this length on, in bytes, what only shows movement is written seldom; a benchmark of hours comes here.
const LARGEST: u64 = 16 << 20;

/// How often each kind of that is written from then on: some 5 MB a day.
const SELDOM: Duration = Duration::from_secs(10);

/// How many samples a line has from then on.
const FEW: usize = 16;

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
        let write = move || write(file, began, &waiting, LARGEST);
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

    /// Tells what a load is sent to: a model, or an address without what may be secret in it.
    pub fn say_target(&self, target: String) {
        let _ = self.lines.try_send(Line::Aimed { at: clock::now(), target });
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

/// Writes lines until one says that it was the last; beyond `largest` bytes, what only shows movement seldom.
fn write(mut file: File, began: Line, waiting: &Receiver<Line>, largest: u64) {
    let mut length = 0;
    let mut last: [Option<Instant>; MOVEMENTS] = [None; MOVEMENTS];
    let mut put = |line: &mut Line| -> io::Result<()> {
        if let Some(kind) = movement(line).filter(|_| length >= largest) {
            if last[kind].is_some_and(|at| at.elapsed() < SELDOM) {
                return Ok(());
            }
            last[kind] = Some(Instant::now());
            thin(line);
        }
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        length += text.len() as u64;
        file.write_all(&text)
    };
    // A full disk costs the live page and nothing else.
    let _ = put(&mut { began });
    for mut line in waiting {
        let _ = put(&mut line);
        if matches!(line, Line::Ended { .. }) {
            return;
        }
    }
}

/// Kinds of lines that only show movement.
const MOVEMENTS: usize = 4;

/// Which of them a line is. The next one of its kind says the same of a later moment, so one may be left out; what begins,
/// ends or fails may not.
fn movement(line: &Line) -> Option<usize> {
    match line {
        Line::Happened { event, .. } => match **event {
            Event::Progress { .. } => Some(0),
            Event::Sampled { .. } => Some(1),
            Event::Interim { .. } => Some(2),
            Event::LoadProgress { .. } => Some(3),
            _ => None,
        },
        _ => None,
    }
}

fn thin(line: &mut Line) {
    if let Line::Happened { event, .. } = line
        && let Event::Sampled { newest, .. } = &mut **event
    {
        let step = newest.len().div_ceil(FEW).max(1);
        *newest = newest.iter().step_by(step).copied().collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activity, Listener};
    use types::Stage;

    #[test]
    fn a_long_journal_leaves_out_movement_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-7.live");
        let (lines, waiting) = sync_channel(10_000);
        let say = |event: Event| lines.send(Line::of(&event)).unwrap();
        for number in 0..1000 {
            say(Event::progress(Stage::Warmup, number, Some(1000), String::new()));
            say(Event::Sampled { taken: number + 1, newest: vec![1000; 100], target: 0.01 });
        }
        say(Event::stage(Stage::Layers));
        lines.send(Line::Ended { at: 5, exit: 3 }).unwrap();
        let began = Line::Began { at: 1, pid: 7, command: "bench".into(), version: "1".into() };
        write(File::create(&path).unwrap(), began, &waiting, 10_000);
        let length = fs::metadata(&path).unwrap().len();
        assert!((10_000..13_000).contains(&length), "{length}");
        let mut listener = Listener::new(folder.path());
        listener.listen();
        let now: Activity = listener.activities().remove(0);
        assert_eq!((now.stage, now.exit), (Some(Stage::Layers), Some(3)));
    }

    #[test]
    fn of_a_line_of_samples_few_stay() {
        let newest: Vec<u64> = (0..100).collect();
        let mut line = Line::of(&Event::Sampled { taken: 100, newest, target: 0.01 });
        assert_eq!(movement(&line), Some(1));
        thin(&mut line);
        let Line::Happened { event, .. } = line else { panic!("another line") };
        let Event::Sampled { taken, newest, .. } = *event else { panic!("another event") };
        assert!(taken == 100 && newest.len() <= FEW && newest.contains(&98), "{newest:?}");
        assert_eq!(movement(&Line::of(&Event::stage(Stage::Sample))), None);
    }
}
