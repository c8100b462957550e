//! The arguments of `modelmeter calibrate`.

use clap::Args;
use modelmeter::Device;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter calibrate\n  modelmeter calibrate --device cuda\n  modelmeter calibrate --threads 1 --json\n  modelmeter calibrate --show"
)]
pub(crate) struct Calibrate {
    /// The device: cpu, cuda, cuda:1, rocm, mps; other devices than the cpu are measured by torch
    #[arg(long, short, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: Device,
    /// Threads, where the device is the cpu [default: the physical cores]
    #[arg(long, short, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Show what was measured earlier; measure nothing
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) show: bool,
    /// Forget what was measured earlier instead of keeping the higher numbers
    #[arg(long)]
    pub(crate) fresh: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
