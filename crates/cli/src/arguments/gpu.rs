//! The arguments of `gpu`.

use super::{OutputFile, ResultOutput, values::parse_time};
use clap::Args;
use std::{ffi::OsString, path::PathBuf, time::Duration};

const AFTER: &str = "\
The exit code is the program's. It keeps its standard output: the result goes to standard error, and to
files. With `--json` on standard output, what the program prints goes to standard error.

Exit codes: those of the program, 3 if it ended with 0 and a file could not be written; 2 usage error;
with --from 0 read, 4 records are missing

Examples:
  modelmeter gpu -- python train.py --epochs 1
  modelmeter gpu --modules --after 10 --steps 20 -- python train.py
  modelmeter gpu --for 10s --json gpu.json --trace gpu.trace.json -- ./serve
  modelmeter gpu -- torchrun --nproc-per-node 8 train.py
  modelmeter gpu --keep recording -- python infer.py; modelmeter gpu --from recording --top 50";

#[derive(Debug, Args)]
#[command(after_help = AFTER, override_usage = "modelmeter gpu [OPTIONS] -- COMMAND…\n       modelmeter gpu [OPTIONS] --from PATH")]
pub(crate) struct Gpu {
    /// Program to run, with its arguments
    #[arg(
        last = true,
        required_unless_present = "from",
        conflicts_with = "from",
        value_name = "COMMAND",
        help_heading = "Workload"
    )]
    pub(crate) command: Vec<OsString>,
    /// Recording that was kept, or a file of PyTorch's profiler, nsys (SQLite) or rocprofv3 (JSON), instead of a program
    #[arg(long, value_name = "PATH", help_heading = "Workload")]
    pub(crate) from: Option<PathBuf>,

    /// Recording time, from the first kernel or the first recorded step: 10s
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, conflicts_with = "from", help_heading = "Sampling")]
    pub(crate) length: Option<Duration>,
    /// Steps before recording begins
    #[arg(long, value_name = "N", conflicts_with = "from", help_heading = "Sampling")]
    pub(crate) after: Option<u64>,
    /// Number of recorded steps
    #[arg(long, value_name = "N", conflicts_with = "from", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Sampling")]
    pub(crate) steps: Option<u64>,
    /// Range that is a step [default: the first outermost NVTX range or module]
    #[arg(long, value_name = "NAME", conflicts_with = "from", help_heading = "Sampling")]
    pub(crate) step: Option<String>,
    /// Largest recording of one process
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1 << 20), help_heading = "Sampling")]
    pub(crate) limit: u64,

    /// Kernel time by module of PyTorch; costs about 3 µs a call of a module
    #[arg(long, conflicts_with = "from", help_heading = "Breakdown")]
    pub(crate) modules: bool,
    /// Leave kernels of CUDA graphs without their ranges, and CUPTI's subscription to other tools
    #[arg(long, conflicts_with = "from", help_heading = "Breakdown")]
    pub(crate) no_graphs: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Breakdown")]
    pub(crate) top: u16,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
    /// Trace for Perfetto: FILE.pftrace, or FILE.json, which chrome://tracing opens too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Flame graph of kernel time by range and module
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    pub(crate) flamegraph: Option<PathBuf>,
    /// Folder for the recording, which is deleted otherwise
    #[arg(long, value_name = "DIR", conflicts_with = "from", help_heading = "Output")]
    pub(crate) keep: Option<PathBuf>,
}
