//! What parent and worker say to each other: one JSON document a line, over descriptors nobody else writes to.
//!
//! The worker greets first. Then the parent asks and the worker answers, one answer an ask:
//! `load` → `loaded`, `first` → `first`, `run` → `window`, `observe` → `observed`, `outputs` → `written`,
//! `profile` → `profiled`, `memory` → `remembered`, `count` → `counted`, `trained` → `trained`, `serve` and `serve-on` → `served`, `generated` → `generated`, `gradients` → `written`, `bye` → the end. A worker without a model may be asked to
//! `calibrate` → `calibrated`, and to read what a model's folder holds beside the model: `encode` → `encoded` measures text
//! with its tokenizer, `make` → `written` makes pictures and recordings ready, `unpickle` → `written` turns pickled weights
//! into safetensors. So no file of a model is parsed where the runs are kept.
//! Anything may be answered with `failed`. Timing happens in the worker; the parent only decides when it is enough.

use crate::{
    Detail, EngineError, EngineErrorKind, LoadRequest, LoadStep, MemoryRecord, NodeProfile,
    Signature,
};
use load::{ServedRequests, ServingPlan};
use number::mebibytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read, Write},
    path::PathBuf,
    time::Duration,
};
use types::{
    Ceilings, DecoderDialect, DecoderShape, Device, Generation, GenerationReport, InputSpec,
    Machine, MediaJob, Postprocess, Remark, Samples, Training, TrainingReport,
};

/// The protocol's version; parent and worker must agree.
pub const PROTOCOL: u32 = 5;

/// The longest message in bytes; a timeline of a large model takes a tenth of it, and a worker that never ends its line
/// must not fill the parent's memory.
pub const LONGEST_MESSAGE: u64 = 256 << 20;

/// What the worker says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The protocol it speaks.
    pub protocol: u32,
    /// Its process.
    pub pid: u32,
}

/// Text to tokenise in every sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextJob {
    /// One line per sample of the batch.
    pub lines: Vec<String>,
    /// The tokenizer's file.
    pub tokenizer: PathBuf,
    /// The longest a sequence may become.
    pub max_length: Option<usize>,
}

/// A model to load and what to feed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadJob {
    /// The engine's id.
    pub engine: String,
    /// What to load.
    pub request: LoadRequest,
    /// The inputs' recipes.
    pub inputs: Vec<InputSpec>,
    /// The same inputs drawn already, as safetensors, for a program that cannot draw them itself.
    #[serde(default)]
    pub inputs_file: Option<PathBuf>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Text instead of drawn token ids.
    pub text: Option<TextJob>,
    /// Files that become an input in every sample.
    #[serde(default)]
    pub media: Option<MediaJob>,
    /// What turns outputs into the answer.
    pub postprocess: Postprocess,
    /// How the model is trained, where it is; every sample is then a step.
    #[serde(default)]
    pub training: Option<Box<TrainingJob>>,
    /// What is generated, where the model is a language model that writes; every sample is then a prompt or a step.
    #[serde(default)]
    pub generation: Option<Box<GenerationJob>>,
}

/// What to generate with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationJob {
    /// The test.
    pub generation: Generation,
    /// What decides the size of the cache.
    pub shape: DecoderShape,
    /// Rows that are generated together.
    pub batch: usize,
    /// The most tokens of one row that the cache must have room for.
    pub context: usize,
    /// A prompt on which engines are compared, row after row.
    pub prompt: Vec<i64>,
    /// How many tokens are then written for the comparison.
    pub greedy: usize,
    /// A text that is written on instead of the prompt, where there is a tokenizer: after drawn tokens nothing is likely, and
    /// rounding chooses.
    #[serde(default)]
    pub opening: Option<TextJob>,
    /// The operators that the graph is written in.
    #[serde(default)]
    pub dialect: DecoderDialect,
}

/// A training to do with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingJob {
    /// How.
    pub training: Training,
    /// What the loss compares with: 64-bit classes for cross-entropy, floats for mean squares. Drawn like an input.
    pub labels: InputSpec,
    /// The output that the loss reads.
    pub output: String,
    /// The graphs of a step, for engines that run graphs.
    #[serde(default)]
    pub graphs: Option<TrainingFiles>,
}

/// The graphs of a training step in files, and what connects them; values pass between them by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingFiles {
    /// Takes the model's inputs, the parameters and the masks; gives the output and the saved values.
    pub forward: PathBuf,
    /// Takes the output, the labels and the scale; gives the loss and the output's gradient.
    pub loss: PathBuf,
    /// Takes the output's gradient, saved values, and of parameters, inputs and masks what it needs; gives gradients.
    pub backward: PathBuf,
    /// What is trained.
    pub parameters: Vec<TrainedParameter>,
    /// What the forward graph keeps for the backward graph.
    pub saved: Vec<String>,
    /// What the backward graph takes in another form than it was given in.
    pub prepared: Vec<PreparedValue>,
    /// The name of the output's gradient.
    pub output_gradient: String,
    /// The name of the loss.
    pub loss_value: String,
    /// The scalar input of the loss graph that the gradient is multiplied with.
    pub loss_scale: String,
    /// Dropout masks that are drawn anew for every step: name, dims and the share that is dropped.
    pub masks: Vec<DropoutMask>,
    /// The module of every parameter and of every value that the forward graph keeps.
    #[serde(default)]
    pub modules: BTreeMap<String, String>,
}

/// A float value that the backward graph takes in another form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedValue {
    /// The input of the backward graph.
    pub name: String,
    /// The value it is made of.
    pub of: String,
    /// The dims it is taken with.
    pub dims: Vec<usize>,
    /// Whether it is a matrix whose rows are the columns of `of`; else the elements are the same in the same order.
    pub turned: bool,
}

/// One trained weight: where its first values are and how its gradient comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedParameter {
    /// Its name in all graphs.
    pub name: String,
    /// Its dims in the graphs.
    pub dims: Vec<usize>,
    /// Its own dims, as in the file. Where they are smaller, the graphs have spare columns or rows of zeros.
    pub own_dims: Vec<usize>,
    /// The file with its first values, 32-bit floats.
    pub file: PathBuf,
    /// Where they begin in it.
    pub offset: u64,
    /// The output of the backward graph with the whole gradient, if there is one.
    pub gradient: Option<String>,
    /// The outputs with the rows that were looked up and their gradients, if there are some.
    pub rows: Option<(String, String)>,
}

/// A dropout mask: each element is 0 with the probability `ratio`, else 1 ÷ (1 − `ratio`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DropoutMask {
    /// The input's name.
    pub name: String,
    /// Its dims.
    pub dims: Vec<usize>,
    /// The share that is dropped.
    pub ratio: f32,
}

/// What the parent asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum Request {
    /// Load a model and bind its inputs.
    Load(Box<LoadJob>),
    /// Run the true first inference.
    First,
    /// Run until `count` samples or `budget` is reached, whichever comes first, but at least once.
    Run {
        /// At most so many samples.
        count: u64,
        /// At most so long, checked after each sample.
        budget: Duration,
    },
    /// Tell the shapes of these values.
    Observe {
        /// Names of intermediate values.
        values: Vec<String>,
    },
    /// Run once and write the outputs as safetensors.
    Outputs {
        /// The file to write.
        path: PathBuf,
        /// Also what leaves every module, as `module:<path>`, where a framework's module runs.
        #[serde(default)]
        inside: bool,
    },
    /// Run so often with instruments and tell where the time went.
    Profile {
        /// How often.
        count: u64,
        /// How much is told.
        #[serde(default)]
        detail: Detail,
    },
    /// Measure what a device can do at best, without a model; for devices that only an engine reaches.
    Calibrate {
        /// The device.
        device: Device,
        /// Threads, where the device is the processor.
        threads: u32,
    },
    /// Tell how long texts are as tokens; needs no model.
    Encode {
        /// The texts, each once, and the length that was asked for.
        text: TextJob,
        /// The most that the model takes, where nobody asked for a length.
        longest: Option<usize>,
        /// Whether the tokens themselves are wanted.
        #[serde(default)]
        with_tokens: bool,
    },
    /// Make an input of pictures or recordings and write it as safetensors; needs no model.
    Make {
        /// The files and what is done to them.
        media: Box<MediaJob>,
        /// The inputs' recipes.
        inputs: Vec<InputSpec>,
        /// The file to write.
        path: PathBuf,
    },
    /// Write the tensors of a folder's pickles as safetensors; needs no model, and an engine that reads pickles.
    Unpickle {
        /// The folder.
        folder: PathBuf,
        /// The file to write.
        path: PathBuf,
    },
    /// Run so often with instruments and tell where the memory went.
    Memory {
        /// How often.
        count: u64,
        /// The file to write the columns of allocations to, as [`crate::write_allocations`] does.
        events: PathBuf,
    },
    /// Run once more and count what that takes, for a program that nobody else can look into.
    Count,
    /// Answer requests as they come, several at once where that is asked for. Everything is made warm; the clock begins with `serve-on`.
    Serve(Box<ServingJob>),
    /// Go on with that until the budget is reached.
    ServeOn {
        /// About so long: a batch that has begun is finished.
        budget: Duration,
    },
    /// Tell how the training went so far.
    Trained,
    /// Tell what was generated so far, and what the cache holds.
    Generated,
    /// Take one more step and write the gradients that led to it, before they are scaled, as safetensors: one tensor a
    /// trained weight under the graph's name, and `loss`.
    Gradients {
        /// The file to write.
        path: PathBuf,
    },
    /// End.
    Bye,
}

/// Requests that a worker puts to its own model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingJob {
    /// When they come, and how many are answered at once. The inputs of the load are those of the largest batch.
    pub plan: ServingPlan,
    /// The inputs with one row a request; the others are the same for a batch of any size.
    pub by_row: Vec<String>,
    /// Texts that requests bring, where they are not all alike.
    #[serde(default)]
    pub texts: Option<ServedTexts>,
}

/// Texts of several lengths for a model that answers requests. A batch is as long as its longest text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedTexts {
    /// The tokens of each.
    pub tokens: Vec<Vec<i64>>,
    /// Which of them each request brings; after the last entry from the first again.
    pub order: Vec<u32>,
    /// What shorter texts of a batch are filled with.
    pub padding: TextPadding,
    /// The inputs that are as long as the text, and along which axis.
    pub by_length: Vec<(String, usize)>,
}

/// How a tokenizer makes texts equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextPadding {
    /// The token that fills them.
    pub token: i64,
    /// Whether it stands before the text.
    pub is_left: bool,
}

/// What a worker did since it last told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServedReport {
    /// Requests that were answered.
    pub requests: ServedRequests,
    /// When this was told, in nanoseconds since the first request could come.
    pub now: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Nanoseconds since the start in which it neither computed nor waited: what serving itself costs.
    pub own: u64,
    /// Whether nothing more comes.
    pub is_done: bool,
    /// Whether it ended because too many requests waited.
    pub is_overrun: bool,
}

/// How loading went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The time the engine needed, without drawing inputs or reading the tokenizer.
    pub load: Duration,
    /// The engine's version.
    pub version: String,
    /// Where the model really runs.
    pub placement: String,
    /// What goes in and comes out.
    pub signature: Signature,
    /// Real tokens in the batch, if there is text (padding is not counted).
    pub real_tokens: Option<u64>,
    /// What a reader of the results must know.
    #[serde(default)]
    pub remarks: Vec<Remark>,
    /// Versions of what stands behind the engine: Python, CUDA, a driver.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// What loading consisted of, where the engine tells.
    #[serde(default)]
    pub steps: Vec<LoadStep>,
    /// The machine that runs it, where that is not the worker's.
    #[serde(default)]
    pub machine: Option<Machine>,
}

/// How the first inference went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstReport {
    /// Its time.
    pub inference: Duration,
    /// The outputs' names and shapes.
    pub outputs: Vec<(String, Vec<usize>)>,
    /// Outputs that hold not-a-number or infinity.
    pub non_finite: Vec<String>,
}

/// What a framework counts in its own module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramCount {
    /// Trained numbers.
    pub parameters: u64,
    /// Bytes of parameters and buffers, in the formats they are held in.
    pub weight_bytes: u64,
    /// What one inference takes; `None` if it could not be counted.
    #[serde(default)]
    pub work: Option<ProgramWork>,
    /// Why it could not.
    #[serde(default)]
    pub why: Option<String>,
}

/// What one inference of a module takes, operator by operator as they ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramWork {
    /// Operations, by the convention of our graphs.
    pub flops: u64,
    /// Share of the operators that could cost something whose operations were counted; `None` if there was none.
    pub coverage: Option<f64>,
    /// Bytes that the operators read.
    pub bytes_read: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// The most bytes of this inference's own values that were alive at once.
    pub activation_peak: u64,
    /// Operators whose operations is unknown.
    #[serde(default)]
    pub uncounted: Vec<String>,
}

/// A stretch of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The samples by phase; all phases have the same count.
    pub samples: Vec<Samples>,
}

/// How long texts are as tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextReport {
    /// Text by text: tokens that stay, and tokens that do not fit.
    pub rows: Vec<(usize, usize)>,
    /// The smallest and the largest token id, of padding too where a row is padded.
    pub ids: Option<(i64, i64)>,
    /// Tokens in each row, padding included.
    pub length: usize,
    /// Text by text the tokens that stay, where they were wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Vec<i64>>,
    /// How shorter texts are filled; `None` if all are equally long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<TextPadding>,
}

/// What went wrong in the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Which step.
    pub kind: EngineErrorKind,
    /// What happened.
    pub message: String,
    /// The causes, outermost first.
    pub causes: Vec<String>,
    /// What to try.
    pub hint: Option<String>,
}

impl From<&EngineError> for Failure {
    fn from(error: &EngineError) -> Failure {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        let EngineError { kind, message, hint, .. } = error;
        Failure { kind: *kind, message: message.clone(), causes, hint: hint.clone() }
    }
}

/// What the worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Reply {
    /// The greeting.
    Hello(Greeting),
    /// To `load`.
    Loaded(Box<LoadReport>),
    /// To `first`.
    First(Box<FirstReport>),
    /// To `run`.
    Window(Window),
    /// To `observe`; empty if the engine cannot tell.
    Observed {
        /// Names and shapes.
        shapes: Vec<(String, Vec<usize>)>,
    },
    /// To `outputs`: the file stands.
    Written,
    /// To `profile`; `None` if the engine cannot tell.
    Profiled {
        /// Where the time went.
        profile: Option<NodeProfile>,
    },
    /// To `calibrate`.
    Calibrated {
        /// What the device can do at best.
        ceilings: Box<Ceilings>,
    },
    /// To `memory`; `None` if the engine cannot tell.
    Remembered {
        /// Where the memory went; the columns are in the file.
        record: Option<Box<MemoryRecord>>,
    },
    /// To `count`.
    Counted {
        /// What was counted.
        count: Box<ProgramCount>,
    },
    /// To `encode`.
    Encoded {
        /// How long the texts are.
        report: TextReport,
    },
    /// To `serve` and `serve-on`.
    Served(Box<ServedReport>),
    /// To `trained`.
    Trained {
        /// How the training went so far.
        report: Box<TrainingReport>,
    },
    /// To `generated`.
    Generated {
        /// What was generated.
        report: Box<GenerationReport>,
    },
    /// To anything.
    Failed(Failure),
}

/// Writes one message and flushes it.
///
/// # Errors
/// When the other side is gone.
pub fn write_message<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// When the stream breaks, the line is not a message, or it is longer than [`LONGEST_MESSAGE`].
pub fn read_message<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    read_message_within(from, LONGEST_MESSAGE)
}

/// As [`read_message`], with another limit on the bytes of a message.
///
/// # Errors
/// As [`read_message`].
pub fn read_message_within<T: DeserializeOwned>(
    from: &mut impl BufRead,
    limit: u64,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if from.take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        if line.len() as u64 >= limit {
            let text = format!("a message of more than {}", mebibytes(limit));
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        // The writer died in the middle of a message: half a message is no message.
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Phase;

    #[test]
    fn messages_survive_the_wire() {
        let replies = [
            Reply::Hello(Greeting { protocol: PROTOCOL, pid: 7 }),
            Reply::Window(Window {
                samples: vec![Samples { phase: Phase::Inference, nanos: vec![1, 2] }],
            }),
            Reply::Observed { shapes: vec![("x".into(), vec![1, 2])] },
            Reply::Calibrated { ceilings: Box::new(Ceilings::of(Device::Cuda(1), 0)) },
        ];
        let mut wire = Vec::new();
        for reply in &replies {
            write_message(&mut wire, reply).unwrap();
        }
        let mut reader = wire.as_slice();
        for reply in replies {
            assert_eq!(read_message::<Reply>(&mut reader).unwrap(), Some(reply));
        }
        assert_eq!(read_message::<Reply>(&mut reader).unwrap(), None);
    }

    #[test]
    fn a_message_that_does_not_end_is_refused_before_it_fills_the_memory() {
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        let error = read_message_within::<Reply>(&mut endless, 3 << 20).unwrap_err();
        assert_eq!(error.to_string(), "a message of more than 3 MiB");
    }

    #[test]
    fn half_a_message_is_no_message() {
        let mut wire = Vec::new();
        write_message(&mut wire, &Request::Bye).unwrap();
        wire.pop();
        assert_eq!(read_message::<Request>(&mut wire.as_slice()).unwrap(), None);
    }

    #[test]
    fn a_line_that_is_no_message_is_an_error() {
        assert!(read_message::<Reply>(&mut "hello\n".as_bytes()).is_err());
    }
}
