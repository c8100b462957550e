//! The arguments of `export`.

use super::{Input, Origin, parse_input, parse_time};
use clap::Args;
use modelmeter::Precision;
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
#[command(
    after_help = "The file is loaded again by every engine here that takes ONNX files, and what each answers is compared with the model:\nwith PyTorch's own module where torch is installed, else with the graph before it was written. Weights are inside the\nfile up to 2 GB, else in FILE.onnx.data beside it.\n\nExit codes: 0 written and the same, 1 an engine gives other answers, 2 usage error, 3 not supported on this machine,\n4 written, but no engine here runs it\n\nExamples:\n  modelmeter export distilbert-base-uncased -o distilbert.onnx\n  modelmeter export ./all-MiniLM-L6-v2 -o minilm.onnx --opset 13\n  modelmeter export bert-base-uncased --precision int8 -o bert-int8.onnx\n  modelmeter export gpt2 -o gpt2.onnx --external-data --engines onnxruntime"
)]
pub(crate) struct Export {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    #[arg(value_name = "MODEL", required_unless_present = "model_flag")]
    pub(crate) model: Option<String>,
    /// The same as MODEL
    #[arg(
        long = "model",
        visible_alias = "model-path",
        value_name = "MODEL",
        hide_short_help = true,
        conflicts_with = "model"
    )]
    pub(crate) model_flag: Option<String>,

    /// The file to write
    #[arg(long, short, value_name = "FILE.onnx", help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Version of ONNX's operators: 13 to 23 [default: the graph's own]
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) opset: Option<i64>,
    /// The number format: fp32, fp16, bf16, int8 [default: the model's own]
    #[arg(long, short, value_name = "PRECISION", help_heading = "Output")]
    pub(crate) precision: Option<Precision>,
    /// Put the weights into FILE.onnx.data, whatever their size
    #[arg(long, help_heading = "Output")]
    pub(crate) external_data: bool,
    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// Write what was written and compared as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// The engines that load the file again [default: all that are here]
    #[arg(
        long,
        short,
        alias = "engine",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "Comparison"
    )]
    pub(crate) engines: Vec<String>,
    /// Samples in the inputs that answers are compared on [default: 4, or what the file fixes]
    #[arg(long, short, value_name = "N", help_heading = "Comparison")]
    pub(crate) batch_size: Option<usize>,
    /// Tokens in each sample
    #[arg(long, short = 'l', value_name = "N", help_heading = "Comparison")]
    pub(crate) sequence_length: Option<usize>,
    /// Shape or values of an input: x=4x3x224x224, ids=0..255, x=@file.npy
    #[arg(long, value_name = "NAME=WHAT", value_parser = parse_input, help_heading = "Comparison")]
    pub(crate) input: Vec<Input>,
    /// Seed of random weights and inputs
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Comparison")]
    pub(crate) seed: u64,
    /// Abort if a worker gives no answer for this long
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "Comparison")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) origin: Origin,
}
