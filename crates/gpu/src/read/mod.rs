//! Reading what processes wrote: every whole block of every file.
//!
//! Files come from programs that may have been killed at any moment, or from anybody. What does not fit ends the reading of
//! that file, with the place, and what was read before stays.

mod block;
mod records;

pub(crate) use records::{Call, Copy, EventRecord, Kernel, MemoryRecord, Set, Shape};

use crate::GpuError;
use gpu_inject::format::{COUNTS, EXTENSION};
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{GpuProblem, GpuProblemKind};

/// Files that are no recordings: name, reason.
pub type Unread = Vec<(String, String)>;

/// What one process wrote.
#[derive(Debug, Default)]
pub struct Recording {
    /// Its number.
    pub process: u32,
    /// The number of the process that started it.
    pub parent: u32,
    pub(crate) rank: Option<u32>,
    pub(crate) command: String,
    pub(crate) cupti: Option<u32>,
    /// Nanoseconds of the common clock and since the epoch, at the same moment.
    pub(crate) anchor: (u64, u64),
    pub(crate) texts: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    /// Device, context, stream.
    pub(crate) places: Vec<[u32; 3]>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) sets: Vec<Set>,
    pub(crate) calls: Vec<Call>,
    pub(crate) events: Vec<EventRecord>,
    pub(crate) memory: Vec<MemoryRecord>,
    /// Nodes of instantiated graphs, and those they were copied from.
    pub(crate) clones: Vec<(u64, u64)>,
    /// When recording began or ended.
    pub(crate) windows: Vec<(u64, bool)>,
    pub(crate) problems: Vec<GpuProblem>,
    pub(crate) counts: [u64; COUNTS.len()],
    /// Whether the process said its last words.
    pub(crate) is_ended: bool,
}

/// Every recording of a folder, by the time of its beginning, and the files that are none.
///
/// # Errors
/// Where the folder cannot be read.
pub fn recordings(folder: &Path) -> Result<(Vec<Recording>, Unread), GpuError> {
    let failed = |source| GpuError::Read { path: folder.to_owned(), source };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == EXTENSION))
        .collect();
    paths.sort();
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            Recording::read(&bytes).ok_or_else(|| "it is not a recording of this version".into())
        }) {
            Ok(recording) => found.push(recording),
            Err(why) => unread.push((name, why)),
        }
    }
    found.sort_by_key(|recording: &Recording| (recording.anchor.0, recording.process));
    Ok((found, unread))
}

impl Recording {
    /// Reads a file; none if it is no recording, or one of another version.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Recording> {
        let (mut blocks, write_error) = block::Blocks::of(bytes)?;
        // Number 0 stands for what was not kept apart.
        let mut recording = Recording {
            texts: vec!["(other)".into()],
            shapes: vec![Shape::default()],
            places: vec![[0; 3]],
            ..Recording::default()
        };
        let mut cut = None;
        while let Some(block) = blocks.next() {
            if block.and_then(|block| recording.take(block)).is_none() {
                cut = Some(blocks.at());
                break;
            }
        }
        recording.conclude(cut, write_error);
        Some(recording)
    }

    /// Whether every block was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_ended && self.problems.iter().all(|one| one.kind != GpuProblemKind::Cut)
    }

    /// What the file says of itself and of how it ends.
    fn conclude(&mut self, cut: Option<usize>, write_error: i32) {
        let [dropped, refused, _, outstanding] = self.counts;
        if dropped + refused > 0 {
            let text = match dropped {
                0 => format!(
                    "{refused} buffers were refused because too many were in use; CUPTI may have dropped records"
                ),
                dropped => format!("CUPTI dropped {dropped} records"),
            };
            self.problem(GpuProblemKind::Dropped, text);
        }
        // After a forced flush at the end CUPTI keeps no buffer, unless another tool took over.
        if self.is_ended && outstanding > 0 && self.counts[2] > 0 {
            self.problem(
                GpuProblemKind::Stolen,
                "another tool in the program took over CUPTI: records are missing from there on"
                    .into(),
            );
        }
        if write_error != 0 {
            let why = std::io::Error::from_raw_os_error(write_error);
            self.problem(
                GpuProblemKind::Unwritten,
                format!("the recording could not be written to its end: {why}"),
            );
        } else if let Some(at) = cut {
            let text = format!(
                "the recording is cut off or damaged at byte {at}; what is before it is used"
            );
            let kind = if self.is_ended { GpuProblemKind::Cut } else { GpuProblemKind::Killed };
            self.problem(kind, text);
        } else if !self.is_ended && !self.has(GpuProblemKind::Full) {
            self.problem(
                GpuProblemKind::Killed,
                "the process was killed or left without its last words: up to half a second is missing".into(),
            );
        }
    }

    fn has(&self, kind: GpuProblemKind) -> bool {
        self.problems.iter().any(|problem| problem.kind == kind)
    }

    pub(crate) fn problem(&mut self, kind: GpuProblemKind, text: String) {
        // A recording that was damaged on purpose may repeat itself without end.
        let problem = GpuProblem { kind, text };
        if self.problems.len() < 64 && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The text with this number.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }

    /// The name of a shape's kernel.
    pub(crate) fn kernel_text(&self, shape: u32) -> u32 {
        self.shapes.get(shape as usize).map_or(0, |shape| shape.text)
    }

    /// The device of a place.
    pub(crate) fn device(&self, place: u32) -> u32 {
        self.places.get(place as usize).map_or(0, |place| place[0])
    }

    /// The kinds of blocks that may stand more than once; used by the reader of blocks alone.
    fn fact(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=') else { return };
        let number = value.parse::<u32>().ok();
        match name {
            "process" => self.process = number.unwrap_or(0),
            "parent" => self.parent = number.unwrap_or(0),
            "rank" => self.rank = number,
            "cupti" => self.cupti = number,
            "command" => self.command = value.to_owned(),
            "clock" => self.anchor.0 = value.parse().unwrap_or(0),
            "epoch" => self.anchor.1 = value.parse().unwrap_or(0),
            _ => {}
        }
    }

    fn trouble(&mut self, code: u64, text: &str) {
        use GpuProblemKind as Problem;
        let (kind, text) = match code {
            1 => (
                Problem::NoCupti,
                match text {
                    "" => "no CUPTI library was found".into(),
                    tried => format!(
                        "no CUPTI library could be loaded; tried the program's own and {tried}"
                    ),
                },
            ),
            2 => (
                Problem::NoSymbol,
                format!("the CUPTI library has no `{text}`: it is older than CUDA 11.6"),
            ),
            3 => (Problem::OtherTool, format!("another tool uses CUPTI in this process: {text}")),
            4 => (Problem::Refused, format!("CUPTI does not record here: {text}")),
            5 => (Problem::Stolen, text.to_owned()),
            6 => (
                Problem::Full,
                format!("the recording reached its limit of {text} bytes and ended there"),
            ),
            7 => (
                Problem::Released,
                format!(
                    "{text}: it gets the GPU's records from there on, and this recording ended"
                ),
            ),
            8 => (
                Problem::NoGraphs,
                format!("kernels of CUDA graphs are not followed to their ranges: {text}"),
            ),
            9 => (Problem::NoCalls, format!("some calls into CUDA were not recorded: {text}")),
            10 => {
                let (begun, first) = text.split_once('/').unwrap_or(("0", "?"));
                (
                    Problem::NeverBegan,
                    format!(
                        "recording never began: it begins with step {first}, and the process began {begun} steps"
                    ),
                )
            }
            _ => return,
        };
        self.problem(kind, text);
    }
}

#[cfg(test)]
mod tests;
