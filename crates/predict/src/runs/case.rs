//! One cell of a database, measured or asked, in the numbers that a time depends on.

use serde::{Deserialize, Serialize};

/// Operations a second of a machine of which nothing is known: only a number to measure others by.
const SOME_PEAK: f64 = 1e11;

/// What makes a cell this one: model and machine, how it is computed, and its sizes.
pub(super) type Key<'a> = ([&'a str; 2], [&'a str; 4], [Option<u64>; 3]);

/// A cell on a machine, measured or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The model.
    pub model: String,
    /// Its architecture, which models that are alike share.
    pub family: String,
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: String,
    /// Inference, training or generate; for the last with its test.
    pub mode: String,
    /// Other settings of the cell.
    pub variant: String,
    /// The machine's key, or the name of hardware in the catalogue.
    pub machine: String,
    /// What people call the hardware.
    pub hardware: String,
    /// Whether it runs on a GPU.
    pub is_gpu: bool,
    /// Samples in one inference.
    pub batch: f64,
    /// Tokens in each sample.
    pub length: Option<f64>,
    /// Threads; 0 on a GPU.
    pub threads: f64,
    /// Operations of one inference.
    pub flops: Option<f64>,
    /// Bytes that all nodes read and write.
    pub bytes: Option<f64>,
    /// Bytes of the weights.
    pub weights: f64,
    /// Operations per second of the hardware, measured or stated.
    pub peak: Option<f64>,
    /// Bytes per second from its memory.
    pub bandwidth: Option<f64>,
    /// Bytes of the last cache.
    pub cache: Option<f64>,
}

/// What was measured of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Which cell.
    pub case: Case,
    /// The median time of one inference in seconds; of several runs the median.
    pub seconds: f64,
    /// The peak of memory in bytes.
    pub memory: Option<f64>,
    /// The runs behind it.
    pub runs: Vec<String>,
}

impl Known {
    /// What is learned of its time.
    pub(super) fn time_target(&self) -> f64 {
        self.seconds.ln() - self.case.origin()
    }

    /// What is learned of its memory, where it was measured.
    pub(super) fn memory_target(&self) -> f64 {
        self.memory.unwrap_or(1.0).ln() - self.case.memory_origin()
    }

    /// Whether its numbers can be learned from.
    pub(super) fn is_possible(&self) -> bool {
        let is_amount = |number: f64| number.is_finite() && number > 0.0;
        is_amount(self.seconds)
            && is_amount(self.case.batch)
            && self.case.origin().is_finite()
            && self.case.weights >= 0.0
            && self.memory.is_none_or(is_amount)
    }
}

impl Case {
    /// Seconds of calculation, and of reading and writing.
    #[must_use]
    pub fn bounds(&self) -> [Option<f64>; 2] {
        let divided = |amount: Option<f64>, rate: Option<f64>| {
            amount.zip(rate).map(|(amount, rate)| amount / rate).filter(|seconds| *seconds > 0.0)
        };
        [divided(self.flops, self.peak), divided(self.bytes, self.bandwidth)]
    }

    /// The roofline: the longer of both; `None` without any peak.
    #[must_use]
    pub fn physics(&self) -> Option<f64> {
        self.bounds().into_iter().flatten().reduce(f64::max)
    }

    /// What the logarithm of its time is measured from.
    pub(super) fn origin(&self) -> f64 {
        let some = || self.flops.or(self.bytes).map(|amount| amount / SOME_PEAK);
        self.physics().or_else(some).unwrap_or(1e-3).ln()
    }

    /// What the logarithm of its memory is measured from: weights and a part of what passes through.
    pub(super) fn memory_origin(&self) -> f64 {
        (self.weights + self.bytes.unwrap_or(0.0) / 20.0 + 5e7).ln()
    }

    /// Whether both are the same but for what was measured.
    #[must_use]
    pub fn is_same_cell(&self, other: &Case) -> bool {
        self.is_same_pair(other)
            && self.batch == other.batch
            && self.length == other.length
            && self.threads == other.threads
    }

    /// What two cells share if they are the same but for what was measured.
    pub(super) fn key(&self) -> Key<'_> {
        let place = [self.model.as_str(), self.machine.as_str()];
        let sizes = [Some(self.batch), self.length, Some(self.threads)];
        // Nothing is both below and above 0.
        (place, self.way(), sizes.map(|size| size.map(|size| (size + 0.0).to_bits())))
    }

    pub(super) fn is_same_pair(&self, other: &Case) -> bool {
        self.model == other.model && self.machine == other.machine && self.way() == other.way()
    }

    /// How it is computed.
    pub(super) fn way(&self) -> [&str; 4] {
        [&self.engine, &self.precision, &self.mode, &self.variant]
    }

    /// As people read it.
    #[must_use]
    pub fn words(&self) -> String {
        let length = self.length.map(|length| format!(", length {length}")).unwrap_or_default();
        format!(
            "`{}` on {} with {} {} at batch {}{length}, {}",
            self.model, self.hardware, self.engine, self.precision, self.batch, self.mode
        )
    }
}
