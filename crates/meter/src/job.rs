//! What the meter is handed for one cell.

use crate::Counting;
use crate::disturbance::Threads;
use engine::{GenerationJob, Places, TrainingJob};
use probe::IdlePower;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use types::{
    Bytes, Ceilings, Cell, InputSpec, Machine, MediaJob, ModelInfo, Module, Phase, Postprocess,
    Reason, Revision, RunId, Work,
};

/// Counts the work again with shapes that a real run showed; given none, it finds them itself.
pub type Refine<'a> = &'a dyn Fn(&[(String, Vec<usize>)]) -> Work;

/// One cell, ready to be measured.
pub struct Job<'a> {
    /// The request.
    pub cell: Cell,
    /// What the run will be called.
    pub id: RunId,
    /// The model.
    pub model: ModelInfo,
    /// Its file; empty for a model that exists only as a module.
    pub onnx: PathBuf,
    /// The same model as a framework's module.
    pub module: Option<Module>,
    /// The same model as llama.cpp's file.
    pub gguf: Option<PathBuf>,
    /// Where engines are looked for.
    pub places: Places,
    /// Its inputs.
    pub inputs: Vec<InputSpec>,
    /// The same inputs drawn already, for a worker that cannot draw them.
    pub inputs_file: Option<PathBuf>,
    /// The tokenizer's file, where the cell has text.
    pub tokenizer: Option<PathBuf>,
    /// Files that become an input in every sample.
    pub media: Option<MediaJob>,
    /// What turns outputs into the answer.
    pub postprocess: Postprocess,
    /// How it is trained; only for training.
    pub training: Option<Box<TrainingJob>>,
    /// What it generates; only for that mode.
    pub generation: Option<Box<GenerationJob>>,
    /// Bytes of the weights that one step of generating reads, where they are known.
    pub weights_read: Option<Bytes>,
    /// Operations of one step of a training, phase by phase.
    pub phase_flops: Vec<(Phase, u64)>,
    /// Its work as counted on the graph.
    pub work: Work,
    /// Who counts it, where that is not the graph alone.
    pub counting: Counting,
    /// Values whose shape static inference could not tell.
    pub unknown_shapes: Vec<String>,
    /// Whether the engine's threads wait busily for each other.
    pub waits_busily: bool,
    /// Whether a step of generating reads no more of the cache than the window of each layer.
    pub reads_windows: bool,
    /// Counts again once those shapes were seen.
    pub refine: Refine<'a>,
    /// Git commit of the model's folder.
    pub model_commit: Option<String>,
    /// What was found against the measurement before it began.
    pub remarks: Vec<Reason>,
    /// How long preparing took before the worker started; not part of any number.
    pub prepared_in: Duration,
}

impl Job<'_> {
    /// The threads that are measured.
    pub(crate) fn threads(&self) -> Threads {
        Threads { count: self.cell.threads, wait_busily: self.waits_busily }
    }
}

/// What all cells of a session share.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The machine's identity.
    pub machine: Machine,
    /// Its measured ceilings for the threads in use, where they were measured.
    pub ceilings: Option<Ceilings>,
    /// What it draws when nothing runs.
    pub idle: IdlePower,
    /// Versions to record: `modelmeter`, libraries.
    pub versions: BTreeMap<String, String>,
    /// The checkout that the measurement was asked for in.
    pub revision: Option<Revision>,
}
