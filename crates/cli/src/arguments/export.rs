//! The arguments of `export`.

use super::{
    BatchSize, EnginesArgument, Inputs, ModelArguments, Origin, PrecisionArgument, ResultOutput,
    Timeout,
};
use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes: 0 written and verified, 1 an engine gives other outputs, 2 usage error,
3 not supported on this machine, 4 written, but no engine here runs it

Examples:
  modelmeter export distilbert-base-uncased -o distilbert.onnx
  modelmeter export ./all-MiniLM-L6-v2 -o minilm.onnx --opset 13
  modelmeter export bert-base-uncased --precision int8 -o bert-int8.onnx
  modelmeter export gpt2 -o gpt2.onnx --external-data --engines onnxruntime";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg.required_unless_present("model_flag")),
    mut_arg("batch_size", |arg| arg.help("Batch size of the compared inputs [default: 4, or the size fixed in the file]")),
    mut_arg("precision", |arg| arg.help_heading("Output"))
)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) batch: BatchSize,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) origin: Origin,

    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    /// Output file
    #[arg(long, short, value_name = "FILE.onnx", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) precision: PrecisionArgument,
    /// ONNX opset version: 13 to 23 [default: the graph's own]
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) opset: Option<i64>,
    /// Weights in FILE.onnx.data, whatever their size
    #[arg(long, help_heading = "Output")]
    pub(crate) external_data: bool,
    /// Replace the file if it exists
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}
