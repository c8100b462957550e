//! Engine → loaded model → session: what costs differently is a different type.

use crate::{EngineError, EngineErrorKind, MemoryReporter, OutputView, Places};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use types::{
    Bytes, Device, ElementType, EngineOptions, HostTensor, Module, Phase, Precision, Timeline,
};

/// Whether an engine works here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Availability {
    /// It works.
    Available {
        /// Its version.
        version: String,
    },
    /// It does not.
    Unavailable {
        /// Why not.
        why: String,
        /// What would make it work.
        hint: String,
    },
}

/// A model to load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The ONNX file; empty for a model that exists only as a module.
    pub onnx: PathBuf,
    /// The same model as a framework's module, where it can be had so.
    #[serde(default)]
    pub module: Option<Module>,
    /// Where it shall run; never `Auto`.
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
            device,
            precision,
            threads,
            options: EngineOptions::default(),
            places: Places::default(),
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

/// A way to execute models.
///
/// Questions must be cheap, a few milliseconds or one short look at another program: `devices` and `auto` ask every
/// engine. What only loading can show is said by loading.
pub trait Engine: Send + Sync {
    /// Its stable name in arguments, tables and the store: `rten`.
    fn id(&self) -> &'static str;

    /// One line about it.
    fn describe(&self) -> &'static str;

    /// Whether it works here, or why not and what would help.
    fn availability(&self, places: &Places) -> Availability;

    /// The file that its code comes from, where it is not our own: a library, an interpreter.
    fn origin(&self, _places: &Places) -> Option<PathBuf> {
        None
    }

    /// The devices it can use here; empty where it is unavailable.
    fn devices(&self, places: &Places) -> Vec<Device>;

    /// Why it cannot use a device that it would use elsewhere, where it knows.
    fn absence(&self, _places: &Places, _device: Device) -> Option<String> {
        None
    }

    /// The precisions it can run on a device.
    fn precisions(&self, places: &Places, device: Device) -> Vec<Precision>;

    /// What it takes a model from.
    fn takes(&self) -> Takes {
        Takes::Onnx
    }

    /// Whether it can train.
    fn trains(&self) -> bool {
        false
    }

    /// Whether it shows where the time and the memory of a training step go, and what happens when.
    fn inspects_training(&self) -> bool {
        false
    }

    /// Whether its products turn their left matrix slowly, so that graphs to train should turn it before.
    fn turns_slowly(&self) -> bool {
        false
    }

    /// Whether its products are slow where rows are a multiple of 4096 bytes, so that layers to train should have spare
    /// columns.
    fn wants_spare_columns(&self) -> bool {
        false
    }

    /// Whether it keeps within a limit of a device's own memory that its program is told ([`crate::DEVICE_MEMORY`]).
    fn limits_memory_on(&self, _device: Device) -> bool {
        false
    }

    /// What it takes before any weight is in, about: for estimates before a measurement. 0 where nobody has measured it.
    fn own_memory(&self) -> Bytes {
        Bytes(0)
    }

    /// Where it runs.
    fn host(&self) -> Host<'_>;

    /// The ability to fetch itself, where it has it.
    fn installer(&self) -> Option<&dyn Installer> {
        None
    }
}

/// Hears how a download goes on: bytes done, bytes in all where known, and what is being done.
pub type InstallProgress<'a> = &'a mut dyn FnMut(u64, Option<u64>, &str);

/// Fetches an engine.
pub trait Installer {
    /// Fetches the engine into a folder of its own below `folder`, in this version or the newest, and tells where its
    /// library is. What is there already is not fetched again; what is cut off leaves nothing behind.
    ///
    /// # Errors
    /// When it cannot be fetched or written.
    fn install(
        &self,
        places: &Places,
        folder: &Path,
        version: Option<&str>,
        progress: InstallProgress<'_>,
    ) -> Result<PathBuf, EngineError>;
}

/// What an engine takes a model from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// An ONNX file.
    Onnx,
    /// A framework's module.
    Module,
}

impl Takes {
    /// Why such an engine cannot run the other kind of model.
    #[must_use]
    pub fn refusal(self) -> &'static str {
        match self {
            Takes::Onnx => "it runs ONNX graphs, and this model is only a module of PyTorch's here",
            Takes::Module => "it runs modules of PyTorch, and this model is an ONNX file",
        }
    }
}

/// Where an engine runs.
pub enum Host<'a> {
    /// In our own worker.
    Worker(&'a dyn Loader),
    /// In a program of its own that speaks the protocol.
    Program(&'a dyn Starter),
}

/// Loads models in our own worker.
pub trait Loader {
    /// Reads the model and makes it ready.
    ///
    /// # Errors
    /// When the file, the device, the precision or an operator is not for this engine.
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError>;

    /// Reads a graph that runs on values which the caller holds; what an engine needs to train.
    ///
    /// # Errors
    /// As [`Loader::load`], and where the engine cannot do so.
    fn runner(&self, _request: &LoadRequest) -> Result<Box<dyn GraphRunner>, EngineError> {
        Err(EngineError::new(EngineErrorKind::Unsupported, "this engine cannot train")
            .with_hint("rten, onnxruntime and torch can"))
    }

    /// The same graph with instruments.
    ///
    /// # Errors
    /// As [`Loader::runner`], and where the engine has no instruments for it.
    fn profiled_runner(
        &self,
        _request: &LoadRequest,
    ) -> Result<Box<dyn ProfiledRunner>, EngineError> {
        let why = "this engine has no instruments for a training step";
        Err(EngineError::new(EngineErrorKind::Unsupported, why))
    }
}

/// A graph whose runs are written down, node by node, in a pass of its own.
pub trait ProfiledRunner: GraphRunner {
    /// Ends the record and tells every run, in their order; the newest `count` of them.
    ///
    /// # Errors
    /// When the engine's record cannot be read or lacks a run.
    fn finish(self: Box<Self>, count: usize) -> Result<Vec<RunRecord>, EngineError>;
}

/// One run of a graph, node by node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// The calls, outer ones before those inside them; empty where somebody spoilt the record of this run.
    pub calls: Vec<NodeCall>,
    /// Nanoseconds between the begin of the run and that of its first node that belong to the record, not the engine.
    pub before: u64,
    /// All nanoseconds of the run that belong to the record, `before` included.
    pub paused: u64,
    /// Whether the engine tells only how long each node took, so that starts were laid end to end.
    pub laid_out: bool,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// One call of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCall {
    /// The node, as in [`NodeTime::path`].
    pub path: String,
    /// Its operator.
    pub kind: String,
    /// The thread that ran it, 0 for the one that asked.
    pub thread: usize,
    /// When it began, in nanoseconds since the engine's run did.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub length: u64,
    /// The same without the calls inside it.
    pub own: u64,
}

/// A graph that runs on values which the caller holds.
pub trait GraphRunner {
    /// The names of its inputs.
    fn inputs(&self) -> &[String];

    /// Where it really runs.
    fn placement(&self) -> String;

    /// Runs once on exactly its inputs, read where they lie; returns only when the device has finished.
    ///
    /// # Errors
    /// When an input does not fit or the graph fails.
    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError>;

    /// What the engine's own arena holds, or why it does not tell; `None` where it allocates as the worker does.
    fn arena(&self) -> Option<Result<Arena, String>> {
        None
    }
}

/// The memory of an arena, in bytes where it is no count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arena {
    /// In use now.
    pub in_use: u64,
    /// The most that ever was.
    pub most_in_use: u64,
    /// What it holds, in use or kept for later.
    pub reserved: u64,
    /// How often something was asked of it.
    pub allocations: u64,
}

/// What a run left behind; gone when dropped.
pub trait RunOutputs {
    /// The outputs where they lie.
    ///
    /// # Errors
    /// When an output cannot be shown.
    fn views(&self) -> Result<Vec<OutputView<'_>>, EngineError>;
}

/// Says how a worker of another program is started.
pub trait Starter {
    /// The program that speaks the protocol on its standard streams.
    ///
    /// # Errors
    /// When it is not here.
    fn command(&self, places: &Places) -> Result<WorkerCommand, EngineError>;
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What its environment has beside what every worker inherits ([`crate::INHERITED`]).
    pub environment: Vec<(OsString, OsString)>,
}

/// A model whose weights are in.
pub trait LoadedModel {
    /// What goes in and comes out.
    fn signature(&self) -> Signature;

    /// Where it really runs; recorded, never assumed.
    fn placement(&self) -> String;

    /// What a reader of the results must know: nodes that went elsewhere, settings that had no effect.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
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
    /// Time of all of them from outside, in nanoseconds.
    pub total_nanos: u64,
    /// Time of each of them from outside, in nanoseconds.
    #[serde(default)]
    pub run_nanos: Vec<u64>,
    /// The nodes or modules, in the order they ran first.
    pub nodes: Vec<NodeTime>,
    /// What happened when, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// What a reader must know: a clock that rounds, a node that is timed with its neighbour.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// The time of one node or module, all inferences together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTime {
    /// Its path in the model: `encoder.layer.0.attention.self.query`, for a node with `/` and its operator behind.
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
