//! Reading: what all processes of this user say, as it comes.

use crate::{Activity, Line, State, journal};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Processes that ended are told as long as they are among the newest.
const ENDED: usize = 12;

/// Reads the journals of a folder.
#[derive(Debug)]
pub struct Listener {
    folder: PathBuf,
    heard: BTreeMap<PathBuf, Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    activity: Activity,
    /// How far the journal was read; a line is read when it is whole.
    offset: u64,
}

impl Listener {
    /// Will read this folder, which need not be there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Listener {
        Listener { folder: folder.to_owned(), heard: BTreeMap::new() }
    }

    /// Reads what is new; whether there was anything.
    pub fn listen(&mut self) -> bool {
        let paths = journal::journals(&self.folder);
        let mut is_new = false;
        self.heard.retain(|path, _| {
            let stays = paths.contains(path);
            is_new |= !stays;
            stays
        });
        for path in paths {
            let heard = self.heard.entry(path.clone()).or_default();
            if heard.activity.id.is_empty() {
                let name = path.file_stem().unwrap_or_default();
                heard.activity.id = name.to_string_lossy().into_owned();
            }
            if heard.activity.state != State::Running {
                continue;
            }
            // Asked first: what was written before the process ended is then read below.
            let lives = journal::is_held(&path);
            is_new |= heard.read(&path);
            if !lives && heard.activity.state == State::Running {
                heard.activity.state = State::Lost;
                is_new = true;
            }
        }
        is_new
    }

    /// Every process, those that measure first, then the newest of those that ended.
    pub fn activities(&mut self) -> Vec<Activity> {
        for heard in self.heard.values_mut() {
            if let Some(samples) = &mut heard.activity.samples {
                samples.settle();
            }
        }
        let (mut running, mut ended): (Vec<_>, Vec<_>) = self
            .heard
            .values()
            .map(|heard| heard.activity.clone())
            .partition(|one| one.state == State::Running);
        running.sort_by_key(|one| std::cmp::Reverse(one.began_at));
        ended.sort_by_key(|one| std::cmp::Reverse(one.said_at));
        ended.truncate(ENDED);
        running.extend(ended);
        running
    }

    /// The process of this name that measures at this moment, asked of the system and not of memory.
    #[must_use]
    pub fn running(&self, id: &str) -> Option<u32> {
        let (path, heard) = self.heard.iter().find(|(_, heard)| heard.activity.id == id)?;
        let lives = heard.activity.state == State::Running && journal::is_held(path);
        lives.then_some(heard.activity.pid).filter(|pid| *pid > 1)
    }
}

impl Heard {
    fn read(&mut self, path: &Path) -> bool {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_end(&mut text)
        });
        let end = text.iter().rposition(|byte| *byte == b'\n');
        let (Ok(_), Some(end)) = (read, end) else { return false };
        self.offset += end as u64 + 1;
        for line in text[..end].split(|byte| *byte == b'\n') {
            // A line of a newer version is passed over.
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                self.activity.hear(line);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Journal;
    use std::{fs, os::unix::fs::PermissionsExt};
    use types::{Event, LoadPercentiles, LoadProgress, Stage};

    fn wait_for(listener: &mut Listener, holds: impl Fn(&Activity) -> bool) -> Activity {
        loop {
            listener.listen();
            if let Some(found) = listener.activities().into_iter().find(&holds) {
                return found;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_one_process_says_another_reads_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("live");
        let mut listener = Listener::new(&folder);
        assert!(!listener.listen() && listener.activities().is_empty());
        let journal = Journal::begin(&folder, "profile", "1").unwrap();
        journal.say(&Event::stage(Stage::Sample));
        journal.say(&Event::Sampled { taken: 3, newest: vec![2, 1, 3], target: 0.01 });
        let now = wait_for(&mut listener, |now| now.samples.is_some());
        assert_eq!((now.command.as_str(), now.state), ("profile", State::Running));
        assert_eq!((now.stage, now.pid), (Some(Stage::Sample), std::process::id()));
        assert_eq!(now.samples.unwrap().median, Some(2e-9));
        assert_eq!(listener.running(&now.id), Some(std::process::id()));
        journal.end(3);
        let now = wait_for(&mut listener, |now| now.state == State::Ended);
        assert_eq!((now.exit, listener.running(&now.id)), (Some(3), None));
        assert!(!listener.listen(), "nothing new is nothing new");
    }

    #[test]
    fn a_load_says_what_it_is_sent_to() {
        let folder = tempfile::tempdir().unwrap();
        let mut listener = Listener::new(folder.path());
        let journal = Journal::begin(folder.path(), "load", "1").unwrap();
        journal.say_target("http://127.0.0.1:8080".into());
        let now = wait_for(&mut listener, |now| now.target.is_some());
        assert_eq!(now.target.as_deref(), Some("http://127.0.0.1:8080"));
        journal.say(&Event::stage(Stage::Load));
        let e2e = LoadPercentiles { p99: Some(7), ..LoadPercentiles::default() };
        for (at, rate) in [(1, 2.0), (2, 3.0)] {
            let live = LoadProgress { at, rate, e2e, ..LoadProgress::default() };
            journal.say(&Event::load(live).labelled("round 1"));
        }
        let now = wait_for(&mut listener, |now| now.load.as_ref().is_some_and(|now| now.at == 2));
        assert_eq!((now.stage, now.label.as_deref()), (None, Some("round 1")));
        assert_eq!(now.load.unwrap().history, [(2.0, Some(7)), (3.0, Some(7))]);
        journal.end(0);
    }

    #[test]
    fn a_process_that_died_is_lost_and_half_a_line_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let began = Line::Began { at: 1, pid: 7, command: "bench".into(), version: "1".into() };
        let text = serde_json::to_string(&began).unwrap() + "\nno line\n{\"line\":\"happ";
        fs::write(folder.path().join("1-7.live"), text).unwrap();
        let mut listener = Listener::new(folder.path());
        assert!(listener.listen());
        let all = listener.activities();
        assert_eq!((all.len(), all[0].state, all[0].pid), (1, State::Lost, 7));
        assert_eq!(listener.running("1-7"), None);
    }

    #[test]
    fn a_journal_is_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("live");
        let _journal = Journal::begin(&folder, "profile", "1").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = journal::journals(&folder).remove(0);
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    }
}
