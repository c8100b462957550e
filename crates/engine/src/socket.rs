//! Loader → loaded model → session: what costs differently is a different type.

use crate::{
    EngineError, GeneratorLoader, MemoryReporter, OutputView, Places, RunnerLoader, TrainerLoader,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use types::{
    Device, ElementType, EngineOptions, HostTensor, Machine, Module, Phase, Precision, Remark,
    Timeline,
};

/// A model to load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The ONNX file; empty for a model that exists only as a module.
    pub onnx: PathBuf,
    /// The same model as a framework's module, where it can be had so.
    #[serde(default)]
    pub module: Option<Module>,
    /// The same model as llama.cpp's file, where it came from one.
    #[serde(default)]
    pub gguf: Option<PathBuf>,
    /// The device to run on; never `Auto`.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Threads the engine may use.
    pub threads: u32,
    /// What the user told the engine beyond that.
    #[serde(default)]
    pub options: EngineOptions,
    /// Where engines are looked for.
    #[serde(default)]
    pub places: Places,
    /// The dims that its inputs will have, by name, for an engine that must know them before.
    #[serde(default)]
    pub input_dims: BTreeMap<String, Vec<usize>>,
}

impl LoadRequest {
    /// An ONNX file to be loaded with the engine's own defaults, looked for nowhere else.
    #[must_use]
    pub fn of_onnx(
        onnx: impl Into<PathBuf>,
        device: Device,
        precision: Precision,
        threads: u32,
    ) -> LoadRequest {
        LoadRequest {
            onnx: onnx.into(),
            module: None,
            gguf: None,
            device,
            precision,
            threads,
            options: EngineOptions::default(),
            places: Places::default(),
            input_dims: BTreeMap::new(),
        }
    }
}

/// An input or output as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureValue {
    /// Its name.
    pub name: String,
    /// Its element type, where the engine tells.
    pub dtype: Option<ElementType>,
    /// Its dimensions; `None` inside is a dynamic one, `None` outside an unknown rank.
    pub dims: Option<Vec<Option<usize>>>,
}

/// What goes into a model and what comes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// What must be bound.
    pub inputs: Vec<SignatureValue>,
    /// What an inference leaves behind.
    pub outputs: Vec<SignatureValue>,
}

/// A part of loading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStep {
    /// What was done: `runtime download`.
    pub name: String,
    /// How long it took.
    pub time: Duration,
}

/// Loads models in our own worker.
pub trait Loader {
    /// Reads the model and makes it ready.
    ///
    /// # Errors
    /// When the file, the device, the precision or an operator is not for this engine.
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError>;

    /// The ability to load graphs that run on values of the caller, which training needs, where the engine has it.
    fn runner_loader(&self) -> Option<&dyn RunnerLoader> {
        None
    }

    /// The ability to train with weights that the engine keeps, where it has it; others train with a [`RunnerLoader`].
    fn trainer_loader(&self) -> Option<&dyn TrainerLoader> {
        None
    }

    /// The ability to load models that generate with a cache of their own, where the engine has it; without it a graph is
    /// run that takes the past and gives the present.
    fn generator_loader(&self) -> Option<&dyn GeneratorLoader> {
        None
    }
}

/// A model whose weights are in.
pub trait LoadedModel {
    /// What goes in and comes out.
    fn signature(&self) -> Signature;

    /// Where it really runs; recorded, never assumed.
    fn placement(&self) -> String;

    /// What a reader of the results must know: nodes that went elsewhere, settings that had no effect.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Versions of what stands behind the engine, and what else describes where it ran.
    fn versions(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What loading consisted of, where it has parts that a reader can act on.
    fn steps(&self) -> Vec<LoadStep> {
        Vec::new()
    }

    /// The machine that runs it, where that is not this one.
    fn machine(&self) -> Option<Machine> {
        None
    }

    /// Something that can run.
    ///
    /// # Errors
    /// When the engine cannot set it up.
    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError>;
}

/// A model with its inputs bound.
pub trait Session {
    /// Takes the inputs; conversion and upload happen here, outside the timed part.
    ///
    /// # Errors
    /// When a name, type or shape does not fit.
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError>;

    /// Runs once on the bound inputs; returns only when the device has finished.
    ///
    /// # Errors
    /// When the model fails.
    fn infer(&mut self) -> Result<(), EngineError>;

    /// The time of the last inference by a clock of its own, where the engine runs behind a connection that takes time too.
    fn own_time(&self) -> Option<Duration> {
        None
    }

    /// What the last inference left behind, without a copy where the engine can.
    ///
    /// # Errors
    /// When nothing was inferred yet or an output cannot be shown.
    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError>;

    /// The ability to tell the shapes of intermediate values, where the engine has it.
    fn shape_observer(&mut self) -> Option<&mut dyn ShapeObserver> {
        None
    }

    /// The ability to tell where the time goes, where the engine has it.
    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        None
    }

    /// The ability to tell where the memory goes, where the engine has it.
    fn memory_reporter(&mut self) -> Option<&mut dyn MemoryReporter> {
        None
    }
}

/// Times the parts of an inference, in a pass of its own.
pub trait NodeProfiler {
    /// Runs `count` times and tells each node's time, all runs together.
    ///
    /// # Errors
    /// When a run fails or the engine's record cannot be read.
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError>;
}

/// How much a profile tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// How long each node took.
    #[default]
    Times,
    /// Also when, run by run; may cost more.
    Timeline,
}

/// Where the time of several inferences went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeProfile {
    /// How many inferences.
    pub runs: u64,
    /// Total time of all of them, measured around the inferences, in nanoseconds.
    pub total_nanos: u64,
    /// Time of each of them from outside, in nanoseconds.
    #[serde(default)]
    pub run_nanos: Vec<u64>,
    /// The nodes or modules, in the order in which they first ran.
    pub nodes: Vec<NodeTime>,
    /// The number of each node in the recording of the device's work ([`crate::parts`]), where there is one; the times of
    /// the nodes are in it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<u64>>,
    /// What happened when, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// What a reader must know: a clock that rounds, a node that is timed with its neighbour.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// The time of one node or module, all inferences together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTime {
    /// Its path in the model: `encoder.layer.0.attention.self.query`; a node's path ends in `/` and its operator.
    pub path: String,
    /// The operator or the module's class.
    pub kind: String,
    /// How often it ran.
    pub calls: u64,
    /// Its own time without that of modules inside it, in nanoseconds.
    pub nanos: u64,
    /// The part of a training step that it ran in; `None` in an inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// Tells the shapes that intermediate values really have; fills what static inference cannot know.
pub trait ShapeObserver {
    /// Runs once and returns the shapes of those values that exist in the engine's graph.
    ///
    /// # Errors
    /// When the run fails.
    fn observe(&mut self, values: &[String]) -> Result<Vec<(String, Vec<usize>)>, EngineError>;
}
