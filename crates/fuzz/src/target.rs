//! The list of readers that are compared with damage.

use crate::{Random, targets};

/// What a reader said to a case; both are right answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was read.
    Accepted,
    /// It was refused with an error.
    Refused,
}

impl<T, E> From<&Result<T, E>> for Outcome {
    fn from(result: &Result<T, E>) -> Outcome {
        if result.is_ok() { Outcome::Accepted } else { Outcome::Refused }
    }
}

/// Reads one case; a panic is a finding, and so is an assertion about what was read.
pub(crate) type Reader = Box<dyn FnMut(&[u8]) -> Outcome>;

/// A reader that is compared with damage.
pub struct Target {
    /// Its name in arguments and folders.
    pub name: &'static str,
    /// What is read.
    pub what: &'static str,
    /// One case of so many is run: some readers take long.
    pub one_of: u64,
    /// The memory that a case may take beside 64 times its own size, in bytes.
    pub room: usize,
    /// Whole files to begin with.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// A damaged file.
    pub(crate) mutate: fn(&mut Random, &[Vec<u8>]) -> Vec<u8>,
    /// The reader.
    pub(crate) open: fn() -> Reader,
    /// Panics that are somebody else's and are caught where it matters: a part of their place, and why.
    pub expected: &'static [(&'static str, &'static str)],
}

/// What most readers may take, in bytes.
pub(crate) const ROOM: usize = 256 << 20;

/// Every target.
pub const TARGETS: &[Target] = &[
    targets::graph::READ,
    targets::graph::TRANSFORM,
    targets::graph::DIFFERENTIATE,
    targets::folder::MODEL_FILE,
    targets::folder::CHECKPOINT,
    targets::gguf::GGUF,
    targets::config::CONFIG,
    targets::config::DESCRIPTION,
    targets::text::TOKENIZER,
    targets::data::NPY,
    targets::data::NPZ,
    targets::data::SAFETENSORS,
    targets::media::PREPROCESSOR,
    targets::media::PICTURE,
    targets::media::RECORDING,
    targets::plan::PLAN,
    targets::exchange::JSON_LINES,
    targets::exchange::CSV,
    targets::exchange::PARQUET,
    targets::exchange::BASELINE,
    targets::exchange::FOREIGN_JSON,
    targets::exchange::FOREIGN_TEXT,
    targets::protocol::REQUESTS,
    targets::protocol::REPLIES,
    targets::measurement::MEASUREMENT,
    targets::gpu::RECORDING,
    targets::gpu::FOREIGN,
    targets::store::SAMPLES,
    targets::store::DOCUMENT,
];

impl Target {
    /// The target of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Why a panic at this place is expected, where it is.
    pub(crate) fn expects(&self, what: &str) -> Option<&'static str> {
        self.expected.iter().find(|(place, _)| what.contains(place)).map(|(_, why)| *why)
    }
}
