//! The arguments of `predict`.

use super::{
    BatchSize, Inputs, ModelArguments, Origin, PrecisionArgument, ResultOutput, ThreadsArgument,
    values::parse_engine,
};
use crate::candidates;
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use std::path::PathBuf;

const AFTER: &str = "\
A prediction rests on the runs of the database, own and imported ones. It is never stored and never becomes a run.
Files of `--backtest`: tables of timm's `benchmark.py`, and tables of llama-bench over many machines; gzipped or not.
Method, formats and what the numbers mean: docs/PREDICTION.md

Exit codes: 0 fine; 2 usage error, also a file that is not understood; 4 cannot tell: the question is refused, or none
could be answered

Examples:
  modelmeter predict distilbert-base-uncased
  modelmeter predict resnet50 --engine onnxruntime --batch-size 16 --next
  modelmeter predict bert-base-uncased --on \"RTX 4090\" --precision fp16 --batch-size 8
  modelmeter predict gpt2 --on build-server --mode generate
  modelmeter predict gpt2 --on build-server --anchor 7f3a
  modelmeter predict resnet50 --on \"RTX 5090\" --precision fp16 --learn-from timm/*amp*.csv
  modelmeter predict --train
  modelmeter predict --matrix matrix.svg
  modelmeter predict --catalogue
  modelmeter predict --backtest llama-bench-cpus.csv.gz
  modelmeter predict --backtest timm/*rtx*.csv --held-out benchmark-infer-amp-nchw-pt291-cu128-5090.csv
  modelmeter predict --backtest known.csv --held-out new.csv --hardware my-cards.toml";

/// What is asked of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PredictedMode {
    /// One inference
    #[default]
    Inference,
    /// One training step
    #[value(alias = "train")]
    Training,
    /// A prompt of 512 tokens and one generated token
    #[value(name = "generate", alias = "generation")]
    Generation,
}

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg
        .required_unless_present_any(["model_flag", "torch_module", "backtest", "train", "catalogue", "matrix"])
        .conflicts_with_all(["backtest", "catalogue"])),
    mut_arg("torch_module", |arg| arg.hide(true))
)]
pub(crate) struct Predict {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Hardware: here, a machine of the database, or a processor or GPU by name (see `--catalogue`)
    #[arg(long, value_name = "HARDWARE", default_value = "here", help_heading = "Workload")]
    pub(crate) on: String,
    #[command(flatten)]
    pub(crate) batch: BatchSize,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// What is asked: inference, training, generate
    #[arg(
        long,
        alias = "modes",
        value_name = "MODE",
        default_value = "inference",
        hide_possible_values = true,
        help_heading = "Workload"
    )]
    pub(crate) mode: PredictedMode,
    #[command(flatten)]
    pub(crate) origin: Origin,
    #[arg(
        long,
        short,
        value_name = "ENGINE",
        value_parser = parse_engine,
        help = format!("Engine: {} [default: the first that runs the model, {} on a GPU]", candidates::engine_names(), candidates::reference()),
        help_heading = "Engine",
        add = ArgValueCandidates::new(candidates::engines)
    )]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) precision: PrecisionArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    /// Stored run on the target that corrects the answer, by its id
    #[arg(long, value_name = "RUN", help_heading = "Prediction")]
    pub(crate) anchor: Option<String>,
    /// Tables of timm to learn from instead of the database; MODEL is then a name of theirs
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["backtest", "train", "matrix", "anchor", "next"], help_heading = "Prediction")]
    pub(crate) learn_from: Vec<PathBuf>,
    /// Print the command whose measurement would narrow the interval most
    #[arg(long, help_heading = "Prediction")]
    pub(crate) next: bool,
    /// Learn from the database again, and say how good answers are
    #[arg(long, help_heading = "Prediction", conflicts_with = "backtest")]
    pub(crate) train: bool,
    /// Picture of models × hardware as SVG: measured, predicted and unknown cells
    #[arg(long, value_name = "FILE", help_heading = "Prediction", conflicts_with = "backtest")]
    pub(crate) matrix: Option<PathBuf>,
    /// List processors and GPUs with stated peaks, and where the numbers are from
    #[arg(long, help_heading = "Prediction", conflicts_with = "backtest")]
    pub(crate) catalogue: bool,
    /// Files of measured times to learn from
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Prediction")]
    pub(crate) backtest: Vec<PathBuf>,
    /// Files of measured times to predict; without them, machines and families of the first files are held out in turn
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "backtest", help_heading = "Prediction")]
    pub(crate) held_out: Vec<PathBuf>,
    /// Stated peaks of further hardware, as TOML
    #[arg(long, value_name = "FILE", help_heading = "Prediction")]
    pub(crate) hardware: Option<PathBuf>,
    /// Parts into which machines or families are divided; each part is held out once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=50), help_heading = "Prediction")]
    pub(crate) folds: u8,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}
