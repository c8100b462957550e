//! The arguments of `modelmeter calibrate`.

use super::{DeviceArgument, ResultOutput, ThreadsArgument};
use crate::candidates;
use clap::Args;

const AFTER: &str = "\
Examples:
  modelmeter calibrate
  modelmeter calibrate --device cuda
  modelmeter calibrate --threads 1 --json
  modelmeter calibrate --show";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("device", |arg| arg
        .default_value("cpu")
        .help(candidates::calibrated_devices())),
    mut_arg("threads", |arg| arg.help("Number of threads, for the cpu [default: the physical cores]"))
)]
pub(crate) struct Calibrate {
    #[command(flatten)]
    pub(crate) device: DeviceArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    /// Show stored results; measure nothing
    #[arg(long, conflicts_with = "fresh", help_heading = "Store")]
    pub(crate) show: bool,
    /// Replace stored results instead of keeping the higher numbers
    #[arg(long, help_heading = "Store")]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}
