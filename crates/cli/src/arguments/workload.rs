//! What goes into a model.

use super::values::parse_input;
use clap::Args;
use modelmeter::{GivenValues, InputShape, Profiler};
use std::path::PathBuf;

/// What goes into the model.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Workload {
    #[command(flatten)]
    pub(crate) batch: BatchSize,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Real inputs: inputs.npz, x.npy, x.safetensors, an image, a folder of images, sound.wav
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// Text to tokenise, in every sample; may be repeated
    #[arg(long, value_name = "TEXT", conflicts_with = "text_file")]
    pub(crate) text: Vec<String>,
    /// File with one text per line
    #[arg(long, value_name = "FILE")]
    pub(crate) text_file: Option<PathBuf>,
}

/// The batch size of a command that measures one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct BatchSize {
    /// Batch size [default: 4, or the size fixed in the file]
    #[arg(long, short, alias = "batch", value_name = "N")]
    pub(crate) batch_size: Option<usize>,
}

/// The batch sizes of a command that measures several.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct BatchSizes {
    /// Batch sizes [default: 4, or the size fixed in the file]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) batch_sizes: Vec<usize>,
}

/// Inputs that are drawn at random, or given one by one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Inputs {
    /// Sequence length: tokens, audio samples or frames [default: 128 tokens, or as long as the text]
    #[arg(long, short = 'l', visible_alias = "seq-length", alias = "seq-len", value_name = "N")]
    pub(crate) sequence_length: Option<usize>,
    /// Shape or values of one input: x=4x3x224x224, ids=0..255, x=@file.npy; may be repeated
    #[arg(long, value_name = "NAME=WHAT", value_parser = parse_input)]
    pub(crate) input: Vec<Input>,
    #[command(flatten)]
    pub(crate) seed: Seed,
}

/// What random numbers begin with.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Seed {
    /// Seed of random weights and inputs [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl Seed {
    /// The seed; the same one where none was given, so that inputs do not change between runs.
    pub(crate) fn value(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

/// What `--input` says of one input.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Shape(InputShape),
    Values(String, GivenValues),
}

impl Input {
    /// Tells a profiler.
    pub(crate) fn apply(&self, profiler: Profiler) -> Profiler {
        match self {
            Input::Shape(shape) => profiler.input(shape.name.clone(), shape.dims.clone()),
            Input::Values(name, values) => profiler.values(name.clone(), values.clone()),
        }
    }
}
