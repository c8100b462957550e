//! Everything the rules may look at.

use super::judgement::amdahl;
use types::{
    Bytes, Ceilings, EngineOptions, GenerationTest, Goal, LayerKind, LayerReport, Mode, Phase,
    PooledCell, Precision, Run, Spent, SweepPoint, key,
};

/// Why a fact is not known, and what would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Why.
    pub why: String,
    /// What would help.
    pub hint: Option<String>,
}

impl Missing {
    /// A reason without a remedy.
    #[must_use]
    pub fn because(why: impl Into<String>) -> Missing {
        Missing { why: why.into(), hint: None }
    }

    /// The same with what would help.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Missing {
        self.hint = Some(hint.into());
        self
    }
}

/// A fact, or why it is not known.
pub type Known<T> = Result<T, Missing>;

/// An engine that could run this model on the same device here.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// Its id.
    pub engine: String,
    /// The precisions it computes in.
    pub precisions: Vec<Precision>,
    /// Options with which it would fuse more than the run's did; `None` if it has no such switch, or it is on.
    pub fusing: Option<EngineOptions>,
}

/// Tokens of one batch of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// Tokens that come from the texts.
    pub real: u64,
    /// Tokens that only fill up rows.
    pub padding: u64,
    /// The longest row without its padding.
    pub longest: usize,
    /// Tokens after the texts are put into two batches by length, each padded to its own longest row.
    pub bucketed: u64,
}

/// Memory that the run could have used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// How much.
    pub available: Bytes,
    /// Whose: `this machine`, `the control group`, `NVIDIA H200`.
    pub whose: String,
}

/// What an allocator holds and what of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragmentation {
    /// Bytes in use.
    pub in_use: Bytes,
    /// Bytes held from the system or the device.
    pub reserved: Bytes,
}

/// A number format that an engine can keep the cache of a language model in.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheChoice {
    /// Its name: `f16`, `q8_0`.
    pub name: String,
    /// Bytes of one number, scales included.
    pub bytes: f64,
    /// All options of the engine with it.
    pub options: EngineOptions,
}

/// Weights as they lie in a `.gguf` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWeights {
    /// Bytes of the file.
    pub bytes: Bytes,
    /// Engines here that run them as they are.
    pub engines: Vec<String>,
    /// An engine that reads such files and can be fetched.
    pub installable: Option<String>,
}

/// What a step of writing moves through memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepTraffic {
    /// Weights, once a step.
    pub(crate) weights: f64,
    /// The cache of all texts together.
    pub(crate) cache: f64,
    /// How long a step takes, in seconds.
    pub(crate) step: f64,
}

impl StepTraffic {
    pub(crate) fn bytes(self) -> f64 {
        self.weights + self.cache
    }

    /// How much faster a step gets with so many bytes left: at least what the bandwidth itself takes of the step, at most
    /// in proportion.
    pub(crate) fn gain_to(self, left: f64, share: f64) -> (f64, f64) {
        let factor = self.bytes() / left.max(1.0);
        (amdahl(share.clamp(0.0, 1.0), factor), factor)
    }
}

/// Everything the rules may look at.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The run.
    pub run: &'a Run,
    /// What the user wants to improve, if given.
    pub goal: Option<Goal>,
    /// Other batch sizes, measured one after the other.
    pub sweep: Known<Vec<SweepPoint>>,
    /// The machine's ceilings for the run's device and threads.
    pub ceilings: Known<Ceilings>,
    /// Engines that could run it here, the run's own first.
    pub alternatives: Known<Vec<Alternative>>,
    /// Physical cores that may be used here.
    pub cores: Known<u32>,
    /// How full the rows are.
    pub padding: Known<Padding>,
    /// Memory the run could have used.
    pub memory: Known<MemoryLimit>,
    /// How the allocator fared.
    pub fragmentation: Known<Fragmentation>,
    /// Formats that the run's engine can keep the cache of a language model in.
    pub cache_choices: Known<Vec<CacheChoice>>,
    /// The weights as they lie in a `.gguf` file, where the model is one.
    pub stored_weights: Option<StoredWeights>,
    /// Equal blocks that follow each other in the model.
    pub blocks: Option<u64>,
    /// Stored runs of this model, in any number format and of the same file, on this machine, cell by cell.
    pub measured: Vec<PooledCell>,
    /// What `modelmeter advise` is told to look at the same again: a run's id, or the model with its flags.
    pub subject: String,
}

impl<'a> Facts<'a> {
    /// The layers, where the run has them.
    ///
    /// # Errors
    /// When the run was made without them.
    pub fn layers(&self) -> Known<&'a LayerReport> {
        self.run.layers.as_deref().ok_or_else(|| {
            super::command::without(&self.run.cell, "the run has no layer times", "--layers")
        })
    }

    /// The layers of one kind, all together.
    pub(crate) fn kind(&self, kind: LayerKind) -> Known<Option<&'a Spent>> {
        let rollups = &self.layers()?.kinds;
        Ok(rollups.iter().find(|rollup| rollup.name == kind.name()).map(|rollup| &rollup.spent))
    }

    /// Whether the run trains the model.
    pub(crate) fn is_training(&self) -> bool {
        self.run.cell.mode == Mode::Training
    }

    /// Whether the run reads a prompt or writes token by token.
    pub(crate) fn is_generating(&self) -> bool {
        self.run.cell.generation.is_some()
    }

    /// Whether the run writes token by token.
    pub(crate) fn is_decoding(&self) -> bool {
        let generation = self.run.cell.generation;
        generation.is_some_and(|generation| generation.test == GenerationTest::Decode)
    }

    /// What one sample of the run is: `inference`, `training step`, `step` or `prompt`.
    pub(crate) fn unit(&self) -> &'static str {
        match self.run.cell.generation.map(|generation| generation.test) {
            _ if self.is_training() => "training step",
            Some(GenerationTest::Decode) => "step",
            Some(GenerationTest::Prefill) => "prompt",
            None => "inference",
        }
    }

    /// What a batch has so many of: `samples`, `tokens` in a step, `prompts`.
    pub(crate) fn things(&self) -> &'static str {
        match self.run.cell.generation.map(|generation| generation.test) {
            Some(GenerationTest::Decode) => "tokens",
            Some(GenerationTest::Prefill) => "prompts",
            None => "samples",
        }
    }

    /// One of them.
    pub(crate) fn thing(&self) -> &'static str {
        self.things().trim_end_matches('s')
    }

    /// Bytes of the cache of all texts in the middle of the run, in the format it is kept in.
    pub(crate) fn cache(&self) -> Option<f64> {
        let (generation, report) = (self.run.cell.generation?, self.run.generation.as_ref()?);
        let depth = generation.depth + generation.tokens / 2;
        let numbers = report.shape.cache(depth, 1).0 as f64;
        let each =
            report.cache_per_token.0 as f64 / report.shape.cache_per_token(1).0.max(1) as f64;
        Some(numbers * each * self.run.cell.batch_size as f64)
    }

    /// What a step moves through memory.
    pub(crate) fn step_traffic(&self) -> Known<StepTraffic> {
        let missing = |why: &str| Missing::because(why);
        let step = self.run.headline().map(|summary| summary.median).filter(|step| *step > 0.0);
        let step = step.ok_or_else(|| missing("the run has no times"))?;
        let cache =
            self.cache().ok_or_else(|| missing("the run does not say what its cache holds"))?;
        let inference = self.run.summaries.get(&Phase::Inference).map_or(step, |one| one.median);
        let rate = self.metric(key::STEP_BANDWIDTH).ok_or_else(|| {
            let metric = self.run.metric(key::STEP_BANDWIDTH);
            let why = metric.and_then(|metric| metric.why.as_deref());
            missing(why.unwrap_or("how many bytes a step reads is not known"))
        })?;
        Ok(StepTraffic { weights: (rate * inference - cache).max(0.0), cache, step: inference })
    }

    /// The share of the memory's bandwidth that a step reaches, and that bandwidth.
    pub(crate) fn bandwidth_share(&self) -> Known<(f64, f64)> {
        let traffic = self.step_traffic()?;
        let ceilings = self.ceilings.as_ref().map_err(Clone::clone)?;
        let ceiling =
            ceilings.bandwidth.as_ref().map(|ceiling| ceiling.value).ok_or_else(|| {
                Missing::because("the bandwidth of this machine's memory was not measured")
                    .with_hint("`modelmeter calibrate` measures it")
            })?;
        Ok((traffic.bytes() / traffic.step / ceiling, ceiling))
    }

    /// A metric of the run.
    pub(crate) fn metric(&self, key: &str) -> Option<f64> {
        self.run.metric(key).and_then(|metric| metric.value).filter(|value| value.is_finite())
    }

    /// Bytes of the weights in the precision that ran.
    pub(crate) fn weights(&self) -> Known<f64> {
        match self.run.unknown.get("model.size") {
            Some(why) => Err(Missing::because(format!("the weights could not be counted: {why}"))),
            None => Ok(self.run.model.size.0 as f64),
        }
    }

    /// An engine here that computes in this precision, the run's own before others.
    pub(crate) fn engine_for(&self, precision: Precision) -> Known<Option<&Alternative>> {
        let all = self.alternatives.as_ref().map_err(Clone::clone)?;
        let own = |one: &&Alternative| one.engine == self.run.cell.engine;
        let able = |one: &&Alternative| one.precisions.contains(&precision);
        let mut able_ones = all.iter().filter(able);
        Ok(all.iter().filter(own).find(able).or_else(|| able_ones.next()))
    }

    /// Another engine here that can run the cell as it is.
    pub(crate) fn other_engine(&self) -> Known<Option<&Alternative>> {
        let all = self.alternatives.as_ref().map_err(Clone::clone)?;
        let cell = &self.run.cell;
        let other = |one: &&Alternative| {
            one.engine != cell.engine && one.precisions.contains(&cell.precision)
        };
        Ok(all.iter().find(other))
    }
}
