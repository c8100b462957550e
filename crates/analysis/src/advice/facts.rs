//! Everything the rules may look at.

use types::{
    Bytes, Ceilings, EngineOptions, Goal, LayerKind, LayerReport, Mode, PooledCell, Precision, Run,
    Spent, SweepPoint,
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
            let flags = super::command::flags(&self.run.cell);
            Missing::because("the run has no layer times")
                .with_hint(format!("run `modelmeter profile {flags} --layers`, then advise on it"))
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

    /// What one sample of the run is: `inference` or `step`.
    pub(crate) fn unit(&self) -> &'static str {
        if self.is_training() { "training step" } else { "inference" }
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
