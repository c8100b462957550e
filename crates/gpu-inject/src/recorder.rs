//! The recording of one process: its file, its numbered texts, the events of its threads.

use crate::{
    encode::put_fresh,
    format::{
        ERROR_AT, EXTENSION, Event, HEAD, Kind, MAGIC, VERSION, put, put_block, put_difference,
    },
    strings::Tables,
    system,
    trouble::Trouble,
};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

/// A thread writes its events to the file when it has so many bytes.
const FULL: usize = 64 << 10;
/// The largest file of a process, unless `MODELMETER_GPU_LIMIT` says otherwise.
const LIMIT: u64 = 512 << 20;
/// Room that is left below a limit, for the last words.
const LAST_WORDS: u64 = 16 << 10;
/// The smallest file that is begun.
const SMALLEST: u64 = 16 << 10;

/// Locks; a panic of ours elsewhere is no reason to stop.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Where files go.
    pub(crate) folder: PathBuf,
    /// Steps before recording begins.
    pub(crate) after: Option<u64>,
    /// Steps that are recorded.
    pub(crate) steps: Option<u64>,
    /// The name of the range that is a step.
    pub(crate) step: Option<String>,
    /// Nanoseconds that are recorded.
    pub(crate) length: Option<u64>,
    /// Whether nodes of graphs are followed.
    pub(crate) graphs: bool,
    /// Bytes after which recording ends.
    pub(crate) limit: u64,
    /// Paths of CUPTI libraries to try.
    pub(crate) cupti: Vec<String>,
}

impl Wishes {
    /// What the variables say; none without a folder.
    pub(crate) fn read() -> Option<Wishes> {
        let text = |name: &str| {
            std::env::var(format!("MODELMETER_GPU_{name}")).ok().filter(|v| !v.is_empty())
        };
        let number = |name: &str| text(name).and_then(|value| value.parse::<u64>().ok());
        let paths = text("CUPTI").unwrap_or_default();
        Some(Wishes {
            folder: std::env::var_os("MODELMETER_GPU_FOLDER").filter(|v| !v.is_empty())?.into(),
            after: number("AFTER"),
            steps: number("STEPS"),
            step: text("STEP"),
            length: number("NANOSECONDS"),
            graphs: number("GRAPHS") == Some(1),
            limit: number("LIMIT").unwrap_or(LIMIT),
            cupti: paths.split(':').filter(|path| !path.is_empty()).map(Into::into).collect(),
        })
    }
}

/// The file, made when there is something to write.
#[derive(Default)]
struct Output {
    file: Option<File>,
    written: u64,
    is_over: bool,
}

/// The events of one thread that are not in the file yet.
#[derive(Default)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    count: u32,
    time: u64,
}

/// A thread's events.
pub(crate) struct ThreadEvents {
    pub(crate) thread: u32,
    pub(crate) pending: Mutex<Pending>,
}

/// The recording of one process.
pub(crate) struct Recorder {
    pub(crate) wishes: Wishes,
    pub(crate) process: u32,
    output: Mutex<Output>,
    pub(crate) tables: Mutex<Tables>,
    threads: Mutex<Vec<Arc<ThreadEvents>>>,
    /// Whether events are recorded now.
    pub(crate) is_on: AtomicBool,
    /// Whether recording has ended for good.
    pub(crate) is_over: AtomicBool,
    /// The text of the range that is a step; 0 until there is one.
    step_text: AtomicU32,
    /// Steps that have begun.
    steps: AtomicU64,
    /// When recording began; `u64::MAX` until then.
    began_at: AtomicU64,
    /// When recording ends; 0 if it does not by itself.
    pub(crate) ends_at: AtomicU64,
}

impl Recorder {
    pub(crate) fn new(wishes: Wishes) -> Recorder {
        let starts_at_once = wishes.after.is_none() && wishes.steps.is_none();
        Recorder {
            process: std::process::id(),
            output: Mutex::default(),
            tables: Mutex::new(Tables::new()),
            threads: Mutex::default(),
            is_on: AtomicBool::new(starts_at_once),
            is_over: AtomicBool::new(false),
            step_text: AtomicU32::new(0),
            steps: AtomicU64::new(0),
            began_at: AtomicU64::new(if starts_at_once { 0 } else { u64::MAX }),
            ends_at: AtomicU64::new(0),
            wishes,
        }
    }

    /// Recording begins, later than the process.
    pub(crate) fn begin(&self) {
        self.began_at.store(system::now(), Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
        self.window(true);
    }

    /// Whether recording had begun at a moment.
    pub(crate) fn has_begun(&self, time: u64) -> bool {
        time >= self.began_at.load(Ordering::Relaxed)
    }

    /// A thread that has events from now on.
    pub(crate) fn thread(&self) -> Arc<ThreadEvents> {
        let events = Arc::new(ThreadEvents { thread: system::thread(), pending: Mutex::default() });
        lock(&self.threads).push(Arc::clone(&events));
        events
    }

    /// Notes an event of a thread: what, and its numbers.
    pub(crate) fn event(&self, events: &ThreadEvents, event: Event, time: u64, numbers: &[u64]) {
        let mut pending = lock(&events.pending);
        pending.bytes.push(event as u8);
        let before = pending.time;
        put_difference(&mut pending.bytes, time, before);
        pending.time = time;
        pending.count += 1;
        numbers.iter().for_each(|number| put(&mut pending.bytes, *number));
        if pending.bytes.len() >= FULL {
            let full = std::mem::take(&mut *pending);
            drop(pending);
            self.write_events(events.thread, full);
        }
    }

    fn write_events(&self, thread: u32, pending: Pending) {
        if pending.count == 0 {
            return;
        }
        let mut content = Vec::with_capacity(pending.bytes.len() + 8);
        put(&mut content, u64::from(thread));
        content.extend_from_slice(&pending.bytes);
        let mut block = Vec::with_capacity(content.len() + 32);
        put_block(&mut block, Kind::Events, pending.count, &content);
        self.write(&mut lock(&self.tables), &block);
    }

    /// Writes what the threads have, and forgets threads that are gone.
    pub(crate) fn flush_events(&self) {
        let threads: Vec<Arc<ThreadEvents>> = lock(&self.threads).clone();
        for events in &threads {
            let pending = std::mem::take(&mut *lock(&events.pending));
            self.write_events(events.thread, pending);
        }
        drop(threads);
        lock(&self.threads)
            .retain(|events| Arc::strong_count(events) > 1 || lock(&events.pending).count > 0);
    }

    /// Appends blocks, and before them the texts that they use: hence the tables, which nobody changes meanwhile.
    pub(crate) fn write(&self, tables: &mut Tables, blocks: &[u8]) {
        let mut bytes = Vec::new();
        put_fresh(tables, &mut bytes);
        bytes.extend_from_slice(blocks);
        if bytes.is_empty() {
            return;
        }
        let mut output = lock(&self.output);
        if output.is_over {
            return;
        }
        // A write beyond the system's limit would end the program by a signal.
        let limit = self.wishes.limit.min(system::largest_file().saturating_sub(LAST_WORDS));
        if output.file.is_none() && limit < SMALLEST {
            output.is_over = true;
            self.is_on.store(false, Ordering::Relaxed);
            self.is_over.store(true, Ordering::Relaxed);
            return;
        }
        if output.written + bytes.len() as u64 > limit {
            let text = limit.to_string();
            bytes = trouble_block(Trouble::Full, &text);
            put_block(&mut bytes, Kind::Windows, 1, &window(system::now(), false, self.step()));
            output.is_over = true;
            self.is_on.store(false, Ordering::Relaxed);
            self.is_over.store(true, Ordering::Relaxed);
        }
        if let Err(error) = self.append(&mut output, &bytes) {
            output.is_over = true;
            self.is_on.store(false, Ordering::Relaxed);
            self.is_over.store(true, Ordering::Relaxed);
            // The head is on the disk already, so this needs no room.
            let code = error.raw_os_error().unwrap_or(-1).to_le_bytes();
            let _ = output.file.as_ref().map(|file| file.write_all_at(&code, ERROR_AT as u64));
        }
    }

    fn append(&self, output: &mut Output, bytes: &[u8]) -> std::io::Result<()> {
        if output.file.is_none() {
            let name = format!("{}-{}.{EXTENSION}", self.process, system::since_epoch());
            let mut options = OpenOptions::new();
            let options = options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(self.wishes.folder.join(name))?;
            let mut head = Vec::with_capacity(HEAD + 512);
            head.extend_from_slice(&MAGIC);
            head.extend_from_slice(&VERSION.to_le_bytes());
            head.extend_from_slice(&0_u32.to_le_bytes());
            put_block(&mut head, Kind::Facts, 1, self.facts().as_bytes());
            if self.is_on.load(Ordering::Relaxed) {
                put_block(&mut head, Kind::Windows, 1, &window(system::now(), true, 0));
            }
            file.write_all(&head)?;
            output.written = head.len() as u64;
            output.file = Some(file);
        }
        let file = output.file.as_mut().ok_or(std::io::ErrorKind::NotFound)?;
        file.write_all(bytes)?;
        output.written += bytes.len() as u64;
        Ok(())
    }

    fn facts(&self) -> String {
        let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let command: String = String::from_utf8_lossy(&command)
            .trim_end_matches('\0')
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(2000)
            .collect();
        let mut facts = format!(
            "process={}\nparent={}\nthread={}\nclock={}\nepoch={}\ncommand={command}\n",
            self.process,
            std::os::unix::process::parent_id(),
            self.process,
            system::now(),
            system::since_epoch(),
        );
        for name in ["RANK", "LOCAL_RANK", "WORLD_SIZE"] {
            if let Ok(value) = std::env::var(name)
                && value.len() < 20
                && value.chars().all(|c| c.is_ascii_digit())
            {
                facts.push_str(&format!("{}={value}\n", name.to_lowercase()));
            }
        }
        facts
    }

    /// Notes something for the reader's list.
    pub(crate) fn trouble(&self, trouble: Trouble, text: &str) {
        self.write(&mut lock(&self.tables), &trouble_block(trouble, text));
    }

    /// Adds facts.
    pub(crate) fn fact(&self, text: &str) {
        let mut block = Vec::new();
        put_block(&mut block, Kind::Facts, 1, text.as_bytes());
        self.write(&mut lock(&self.tables), &block);
    }

    /// Notes that recording began or ended.
    pub(crate) fn window(&self, is_on: bool) {
        let mut block = Vec::new();
        put_block(&mut block, Kind::Windows, 1, &window(system::now(), is_on, self.step()));
        self.write(&mut lock(&self.tables), &block);
    }

    fn step(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// An outermost range was opened: whether recording begins (`Some(true)`) or ends (`Some(false)`) with it.
    pub(crate) fn step_begins(&self, text: u32, name: &[u8]) -> Option<bool> {
        let Wishes { after, steps, step, .. } = &self.wishes;
        if after.is_none() && steps.is_none() {
            return None;
        }
        let is_step = match (step, self.step_text.load(Ordering::Relaxed)) {
            (Some(wanted), _) => crate::nvtx::plain_name(name) == wanted.as_bytes(),
            (None, 0) => {
                let first =
                    self.step_text.compare_exchange(0, text, Ordering::Relaxed, Ordering::Relaxed);
                first.is_ok() || first == Err(text)
            }
            (None, known) => known == text,
        };
        if !is_step {
            return None;
        }
        // The number of this step, from 1.
        let number = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let before = after.unwrap_or(0);
        match number {
            _ if number == before + 1 => Some(true),
            _ if steps.is_some_and(|steps| number == before + steps + 1) => Some(false),
            _ => None,
        }
    }

    /// The last words.
    pub(crate) fn end(&self) {
        let is_over = self.is_over.load(Ordering::Relaxed);
        if !is_over && self.began_at.load(Ordering::Relaxed) == u64::MAX {
            let first = self.wishes.after.unwrap_or(0).saturating_add(1);
            self.trouble(Trouble::NeverBegan, &format!("{}/{first}", self.step()));
        }
        self.flush_events();
        let mut block = Vec::new();
        put_block(&mut block, Kind::End, 1, &window(system::now(), false, self.step()));
        let mut tables = lock(&self.tables);
        // A process that did nothing leaves no file.
        if lock(&self.output).file.is_some() {
            self.write(&mut tables, &block);
        }
    }
}

fn window(time: u64, is_on: bool, step: u64) -> Vec<u8> {
    let mut content = Vec::new();
    [time, u64::from(is_on), step].iter().for_each(|number| put(&mut content, *number));
    content
}

fn trouble_block(trouble: Trouble, text: &str) -> Vec<u8> {
    let mut content = Vec::new();
    put(&mut content, u64::from(trouble as u32));
    content.extend_from_slice(text.as_bytes());
    let mut block = Vec::new();
    put_block(&mut block, Kind::Troubles, 1, &content);
    block
}
