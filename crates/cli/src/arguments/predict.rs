//! The arguments of `predict`.

use super::ResultOutput;
use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
Files: tables of timm's `benchmark.py`, and tables of llama-bench over many machines; gzipped or not. Formats, the
method and what the numbers mean: docs/PREDICTION.md

Exit codes: 0 fine; 2 usage error, also a file that is not understood; 4 cannot tell: no question could be answered

Examples:
  modelmeter predict --backtest llama-bench-cpus.csv.gz
  modelmeter predict --backtest timm/*.csv --folds 5 --json backtest.json
  modelmeter predict --backtest known.csv --held-out new-machines.csv
  modelmeter predict --backtest timm/*rtx*.csv --held-out benchmark-infer-amp-nchw-pt291-cu128-5090.csv
  modelmeter predict --backtest known.csv --held-out new.csv --hardware my-cards.toml";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Predict {
    /// Files of measured times to learn from
    #[arg(long, value_name = "FILE", num_args = 1.., required = true, help_heading = "Prediction")]
    pub(crate) backtest: Vec<PathBuf>,
    /// Files of measured times to predict; without them, machines and families of the first files are held out in turn
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Prediction")]
    pub(crate) held_out: Vec<PathBuf>,
    /// Stated peaks of further hardware, as TOML
    #[arg(long, value_name = "FILE", help_heading = "Prediction")]
    pub(crate) hardware: Option<PathBuf>,
    /// Parts into which machines or families are divided; each part is held out once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=50), help_heading = "Prediction")]
    pub(crate) folds: u8,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 7, help_heading = "Prediction")]
    pub(crate) seed: u32,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
}
