//! One measured time, with everything that a prediction of it may use.

use serde::Serialize;
use std::fmt;

/// What is alike enough to be learned together: tables of one tool on one kind of hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Text generation by llama.cpp on processors.
    GenerationOnProcessors,
    /// Text generation by llama.cpp on GPUs.
    GenerationOnGpus,
    /// Pictures by timm on GPUs, inference.
    VisionOnGpus,
    /// Pictures by timm on GPUs, training.
    VisionTrainingOnGpus,
    /// Pictures by timm on processors, inference.
    VisionOnProcessors,
    /// Pictures by timm on processors, training.
    VisionTrainingOnProcessors,
    /// Runs of the database.
    Runs,
}

impl Domain {
    /// Whether there are times of very many machines, so that prompts and tokens are learned apart.
    #[must_use]
    pub(crate) fn is_large(self) -> bool {
        self == Domain::GenerationOnProcessors
    }

    /// As people read it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Domain::GenerationOnProcessors => "llama.cpp on processors",
            Domain::GenerationOnGpus => "llama.cpp on GPUs",
            Domain::VisionOnGpus => "timm on GPUs",
            Domain::VisionTrainingOnGpus => "timm training on GPUs",
            Domain::VisionOnProcessors => "timm on processors",
            Domain::VisionTrainingOnProcessors => "timm training on processors",
            Domain::Runs => "runs of the database",
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// One measured time.
#[derive(Debug, Clone)]
pub struct Observation {
    /// What it is learned together with.
    pub domain: Domain,
    /// The kind of test, which has its own interval: `tg128`, `fp16 nhwc`.
    pub test: String,
    /// The kind of processor or GPU: what is held out as a machine.
    pub machine: String,
    /// The very machine, of which there may be several of a kind.
    pub instance: String,
    /// The family of the model: what is held out as a family.
    pub family: String,
    /// The model, with what changes its work.
    pub model: String,
    /// What else changes the time: two times of a model with the same setting differ by hardware alone.
    pub setting: Vec<String>,
    /// Seconds of one unit of work: a token, a sample, an inference.
    pub seconds: f64,
    /// Seconds by the roofline.
    pub physics: f64,
    /// The larger of these bounds it: seconds of calculation, seconds of reading and writing.
    pub bounds: [f64; 2],
    /// Bytes that the work reads, over the bytes of the caches.
    pub pressure: Option<f64>,
    /// What is learned from, in the order of its domain; a missing one is not a number.
    pub features: Vec<f64>,
    /// Where among the features the ratio of both bounds is, if a time on other hardware may be carried over.
    pub balance_feature: Option<usize>,
    /// Operations and bytes per second that the hardware is stated, known or measured to reach.
    pub rates: [f64; 2],
    /// Who makes it, of a GPU.
    pub maker: Option<&'static str>,
    /// Whether its hardware took no part in it, so that nothing is to be learned from it.
    pub is_doubtful: bool,
    /// How many of the first features say which hardware it is, so that they mean nothing on other hardware.
    pub hardware_features: usize,
}

impl Observation {
    /// The logarithm of the time.
    #[must_use]
    pub fn log_seconds(&self) -> f64 {
        self.seconds.ln()
    }

    /// The kind of test without its length: `tg` of `tg128`.
    #[must_use]
    pub fn test_kind(&self) -> &str {
        self.test.trim_end_matches(|last: char| last.is_ascii_digit())
    }

    /// What it is learned together with: prompts and tokens of a text are different work.
    #[must_use]
    pub(crate) fn part(&self) -> &str {
        if self.domain.is_large() { self.test_kind() } else { "" }
    }

    /// How far the time is from physics, as a logarithm.
    #[must_use]
    pub fn log_residual(&self) -> f64 {
        (self.seconds / self.physics).ln()
    }
}
