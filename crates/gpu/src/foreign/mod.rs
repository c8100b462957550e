//! Recordings of other tools, as if they were ours: PyTorch's profiler (kineto), Nsight Systems (its SQLite export) and
//! rocprofv3. What such a file does not tell stays unknown; nothing is made up.

mod kineto;
mod nsys;
mod rocprof;

use crate::read::{Call, Copy, EventRecord, Kernel, Recording, Set, Shape};
use gpu_inject::format::{Event, MAGIC};
use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The largest text that is read; a database may be larger.
const LARGEST: u64 = 2 << 30;
/// What SQLite's files begin with.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// A tool whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// PyTorch's profiler: a Chrome trace.
    Kineto,
    /// Nsight Systems: its SQLite export.
    Nsys,
    /// ROCm's profiler: its JSON.
    Rocprof,
}

impl Tool {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Kineto => "PyTorch's profiler",
            Tool::Nsys => "Nsight Systems",
            Tool::Rocprof => "rocprofv3",
        }
    }
}

/// Why a file of another tool cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file cannot be opened or read.
    #[error("could not read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is too large to be held in memory.
    #[error("`{0}` is larger than 2 GiB")]
    Large(PathBuf),
    /// It is none of the files that are known.
    #[error("`{path}` is not a recording that can be read")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// Nothing of a GPU is in it.
    #[error("`{path}` ({tool}) has no work of a GPU")]
    Empty {
        /// The file.
        path: PathBuf,
        /// Who wrote it.
        tool: &'static str,
    },
}

/// Reads a file of another tool; which one is told by its content.
///
/// # Errors
/// Where it cannot be read, or is none that is known, or has no work of a GPU.
pub fn foreign(path: &Path) -> Result<(Tool, Vec<Recording>), ForeignError> {
    let failed = |source| ForeignError::Read { path: path.to_owned(), source };
    let unknown = |why: String| ForeignError::Unknown { path: path.to_owned(), why };
    let mut file = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(SQLITE.len() as u64).read_to_end(&mut head).map_err(failed)?;
    let (tool, recordings) = if head == SQLITE {
        (Tool::Nsys, nsys::read(path).map_err(unknown)?)
    } else {
        if file.metadata().map_err(failed)?.len() > LARGEST {
            return Err(ForeignError::Large(path.to_owned()));
        }
        file.take(LARGEST).read_to_end(&mut head).map_err(failed)?;
        // PyTorch's traces begin with an empty line.
        match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(0x1f) => return Err(unknown("it is compressed; unpack it with `gunzip`".into())),
            Some(b'{' | b'[') => foreign_text(&head).map_err(unknown)?,
            _ if head.starts_with(&MAGIC) => {
                return Err(unknown("it is one process of a recording; give its folder".into()));
            }
            _ => return Err(unknown("it is neither JSON nor SQLite".into())),
        }
    };
    let has_nothing = |one: &Recording| {
        one.kernels.is_empty() && one.copies.is_empty() && one.problems.is_empty()
    };
    if recordings.iter().all(has_nothing) {
        return Err(ForeignError::Empty { path: path.to_owned(), tool: tool.name() });
    }
    Ok((tool, recordings))
}

/// Reads the text of a file of PyTorch's profiler or of rocprofv3.
///
/// # Errors
/// What it is not.
pub fn foreign_text(bytes: &[u8]) -> Result<(Tool, Vec<Recording>), String> {
    // Rocprofv3's key is the first one, and no event of a Chrome trace is called so.
    let beginning = &bytes[..bytes.len().min(4096)];
    let is_rocprof = beginning.windows(20).any(|part| part == b"rocprofiler-sdk-tool");
    match is_rocprof {
        true => Ok((Tool::Rocprof, rocprof::read(bytes)?)),
        false => Ok((Tool::Kineto, kineto::read(bytes)?)),
    }
}

/// A recording that is put together from somebody else's.
struct Builder {
    recording: Recording,
    texts: HashMap<String, u32>,
    shapes: HashMap<(u32, [u32; 2]), u32>,
    places: HashMap<[u32; 3], u32>,
}

/// Start and end, in nanoseconds.
type Times = (u64, u64);

/// Everything is numbered in 32 bits here.
fn small(value: impl TryInto<u32>) -> u32 {
    value.try_into().unwrap_or(0)
}

impl Builder {
    fn new(process: u32, tool: Tool) -> Builder {
        let recording = Recording {
            process,
            command: format!("recorded by {}", tool.name()),
            texts: vec!["(other)".into()],
            shapes: vec![Shape::default()],
            places: vec![[0; 3]],
            is_ended: true,
            ..Recording::default()
        };
        Builder { recording, texts: HashMap::new(), shapes: HashMap::new(), places: HashMap::new() }
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        self.recording.texts.push(text.to_owned());
        let number = self.recording.texts.len() as u32 - 1;
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn place(&mut self, place: [u32; 3]) -> u32 {
        *self.places.entry(place).or_insert_with(|| {
            self.recording.places.push(place);
            self.recording.places.len() as u32 - 1
        })
    }

    /// A kernel: its name, the blocks of its grid and the threads of a block, where it ran.
    fn kernel(
        &mut self,
        name: &str,
        size: [u32; 2],
        (start, end): Times,
        place: [u32; 3],
        (correlation, node): (u32, u64),
    ) {
        let text = self.text(name);
        let shape = *self.shapes.entry((text, size)).or_insert_with(|| {
            self.recording.shapes.push(Shape { text, size });
            self.recording.shapes.len() as u32 - 1
        });
        let place = self.place(place);
        let end = end.max(start);
        self.recording.kernels.push(Kernel { start, end, node, shape, place, correlation });
    }

    fn copy(
        &mut self,
        bytes: u64,
        kinds: [u8; 3],
        (start, end): Times,
        place: [u32; 3],
        correlation: u32,
    ) {
        let place = self.place(place);
        let end = end.max(start);
        self.recording.copies.push(Copy { start, end, bytes, kinds, place, correlation });
    }

    fn set(&mut self, (start, end): Times, place: [u32; 3], correlation: u32) {
        let place = self.place(place);
        self.recording.sets.push(Set { start, end: end.max(start), place, correlation });
    }

    fn call(&mut self, name: &str, (start, end): Times, thread: u32, correlation: u32) {
        let text = self.text(name);
        let end = end.max(start);
        self.recording.calls.push(Call { start, end, thread, correlation, text });
    }

    /// A range of a thread, from its begin to its end.
    fn range(&mut self, name: &str, (start, end): Times, thread: u32) {
        let text = self.text(name);
        let event =
            |time, event, text| EventRecord { thread, time, event, first: 0, text, number: 0 };
        self.recording.events.push(event(start, Event::Push, text));
        self.recording.events.push(event(end.max(start), Event::Pop, 0));
    }

    fn finish(self) -> Recording {
        self.recording
    }
}

#[cfg(test)]
mod tests;
