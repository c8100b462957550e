//! What is asked for.

use crate::Error;
use graph::{Also, PruneMethod};
use types::Precision;

/// In how many steps weights go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// All at once.
    #[default]
    OneShot,
    /// More and more of them; after each step the activations are looked at again.
    Gradual {
        /// How many steps.
        steps: u32,
    },
}

/// How a model shall be pruned.
///
/// ```
/// use modelmeter::{PruningConfig, PruningMethod};
///
/// let config = PruningConfig::new(PruningMethod::Magnitude, 0.5).exclude("*pooler*");
/// assert_eq!(config.sparsity, 0.5);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PruningConfig {
    /// How weights, heads or neurons are chosen.
    pub method: PruneMethod,
    /// The share that goes, in [0, 1).
    pub sparsity: f64,
    /// Only what these patterns match; everything where there are none.
    pub layers: Vec<String>,
    /// Nothing that these patterns match.
    pub exclude: Vec<String>,
    /// Embeddings and norms, where they shall be pruned too.
    pub also: Vec<Also>,
    /// In how many steps.
    pub schedule: Schedule,
    /// Texts whose activations are weighed in.
    pub calibrate: Vec<String>,
    /// Seed of random choices.
    pub seed: u64,
}

impl PruningConfig {
    /// A share of the weights by a method, all at once.
    #[must_use]
    pub fn new(method: PruneMethod, sparsity: f64) -> PruningConfig {
        PruningConfig {
            method,
            sparsity,
            layers: Vec::new(),
            exclude: Vec::new(),
            also: Vec::new(),
            schedule: Schedule::OneShot,
            calibrate: Vec::new(),
            seed: 0,
        }
    }

    /// Takes only what a pattern matches: a name or module with `*` and `?`.
    #[must_use]
    pub fn layer(mut self, pattern: impl Into<String>) -> PruningConfig {
        self.layers.push(pattern.into());
        self
    }

    /// Takes nothing that a pattern matches.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<String>) -> PruningConfig {
        self.exclude.push(pattern.into());
        self
    }

    /// Weighs in the activations of these texts.
    #[must_use]
    pub fn calibrate(mut self, texts: impl IntoIterator<Item = String>) -> PruningConfig {
        self.calibrate = texts.into_iter().collect();
        self
    }

    /// In so many steps, with the activations looked at after each.
    #[must_use]
    pub fn gradual(mut self, steps: u32) -> PruningConfig {
        self.schedule = Schedule::Gradual { steps };
        self
    }

    /// Whether it can be meant.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        let by_size = matches!(self.method, PruneMethod::Magnitude | PruneMethod::GlobalMagnitude);
        match self.schedule {
            Schedule::Gradual { steps } if !(2..=100).contains(&steps) => {
                wrong("a gradual schedule has 2 to 100 steps")
            }
            Schedule::Gradual { .. } if !by_size => {
                wrong("a gradual schedule is for the methods `magnitude` and `global-magnitude`")
            }
            Schedule::Gradual { .. } if self.calibrate.is_empty() => wrong(
                "a gradual schedule needs texts to calibrate with: without activations every step chooses the same weights",
            ),
            _ => Ok(()),
        }
    }

    /// The name of the method.
    #[must_use]
    pub fn method_name(&self) -> &'static str {
        match self.method {
            PruneMethod::Magnitude => "magnitude",
            PruneMethod::GlobalMagnitude => "global-magnitude",
            PruneMethod::Random => "random",
            PruneMethod::Groups { .. } => "n-m",
            PruneMethod::Structured => "structured",
        }
    }
}

/// How a model shall be quantised.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizationConfig {
    /// The new number format.
    pub to: Precision,
    /// For int8: a scale for each column of a weight.
    pub per_channel: bool,
    /// For int8: keep weights as integers, compute with floats.
    pub weights_only: bool,
    /// For int8: texts whose activations fix the ranges; without any they are found at every run.
    pub calibrate: Vec<String>,
}

impl QuantizationConfig {
    /// Another number format, as usual.
    #[must_use]
    pub fn new(to: Precision) -> QuantizationConfig {
        QuantizationConfig { to, per_channel: false, weights_only: false, calibrate: Vec::new() }
    }

    /// A scale for each column of a weight.
    #[must_use]
    pub fn per_channel(mut self, wanted: bool) -> QuantizationConfig {
        self.per_channel = wanted;
        self
    }

    /// Only weights as integers.
    #[must_use]
    pub fn weights_only(mut self, wanted: bool) -> QuantizationConfig {
        self.weights_only = wanted;
        self
    }

    /// Fixes the ranges of activations by these texts.
    #[must_use]
    pub fn calibrate(mut self, texts: impl IntoIterator<Item = String>) -> QuantizationConfig {
        self.calibrate = texts.into_iter().collect();
        self
    }

    /// Whether it can be meant.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        let of_integers = self.per_channel || self.weights_only || !self.calibrate.is_empty();
        if self.to == Precision::Fp32 {
            return wrong("models are quantised from fp32; give int8, fp16 or bf16");
        }
        if of_integers && self.to != Precision::Int8 {
            return wrong("`--per-channel`, `--weights-only` and `--calibrate` are for int8");
        }
        if self.weights_only && !self.calibrate.is_empty() {
            return wrong("with `--weights-only` no activation is rounded; omit `--calibrate`");
        }
        Ok(())
    }

    /// `dynamic`, `static` or `weights-only`; nothing for 16-bit floats.
    pub(super) fn how(&self) -> Option<String> {
        let how = match () {
            () if self.to != Precision::Int8 => return None,
            () if self.weights_only => "weights-only",
            () if !self.calibrate.is_empty() => "static",
            () => "dynamic",
        };
        Some(how.into())
    }
}
