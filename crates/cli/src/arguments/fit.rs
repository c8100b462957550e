//! The arguments of `fit`.

use super::{
    Form, Input, Origin, Tuning, Workload, limit::parse_mebibytes, parse_input, parse_share,
    parse_time,
};
use clap::Args;
use modelmeter::{Bytes, Device, LimitedBy, Precision};
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Every try is a fresh worker that the system holds to the limit: a control group where one can be made, otherwise\nRLIMIT_DATA. A static estimate says where to begin; short runs find the largest batch that fits, batches up to it are\ntimed, and the best is measured once more, whole, under the limit, and stored with the label `fit`. How: docs/FIT.md\n\nExit codes: 0 found, 2 asked wrongly, 3 nothing fits or this machine cannot, 4 found, but its numbers cannot be believed\n\nExamples:\n  modelmeter fit distilbert-base-uncased --memory-constrained 2048\n  modelmeter fit gpt2 --memory-constrained 1GiB --precision fp32,int8 --sequence-length 256\n  modelmeter fit resnet50 --memory-constrained 512 --engines onnxruntime,openvino,rten\n  modelmeter fit model.onnx --memory-constrained 300 --max-batch 16 --limit-by rlimit\n  modelmeter fit small-transformer --memory-constrained 200 --json | jq '.best.command'"
)]
pub(crate) struct Fit {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    #[arg(value_name = "MODEL", required_unless_present_any = ["model_flag", "torch_module"])]
    pub(crate) model: Option<String>,
    /// The same as MODEL
    #[arg(long = "model", value_name = "MODEL", hide_short_help = true, conflicts_with = "model")]
    pub(crate) model_flag: Option<String>,

    /// The limit: so many MiB, of the device where it has memory of its own
    #[arg(long, value_name = "MIB", alias = "memory-limit", value_parser = parse_mebibytes, help_heading = "The limit")]
    pub(crate) memory_constrained: Bytes,
    /// Hold workers by this means: cgroup, rlimit [default: a cgroup where one can be made]
    #[arg(long, value_name = "MEANS", help_heading = "The limit")]
    pub(crate) limit_by: Option<LimitedBy>,

    /// The number formats to try [default: all that the engine computes in]
    #[arg(
        long,
        short,
        alias = "precisions",
        value_delimiter = ',',
        value_name = "PRECISION,…",
        help_heading = "What to try"
    )]
    pub(crate) precision: Vec<Precision>,
    /// The engines to try [default: the first that runs the model]
    #[arg(
        long,
        short,
        alias = "engine",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "What to try"
    )]
    pub(crate) engines: Vec<String>,
    /// The largest batch to look at
    #[arg(long, default_value_t = 256, value_name = "N", help_heading = "What to try")]
    pub(crate) max_batch: usize,

    /// The device: auto, cpu, cuda, cuda:1, rocm, mps, openvino
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "DEVICE",
        help_heading = "What to run"
    )]
    pub(crate) device: Device,
    /// Tokens in each sample [default: 128]
    #[arg(
        long,
        short = 'l',
        value_name = "N",
        visible_alias = "seq-length",
        help_heading = "What to run"
    )]
    pub(crate) sequence_length: Option<usize>,
    /// Shape or values of an input: x=4x3x224x224, ids=0..255, x=@file.npy
    #[arg(long, value_name = "NAME=WHAT", value_parser = parse_input, help_heading = "What to run")]
    pub(crate) input: Vec<Input>,
    /// Threads the engine may use [default: the physical cores]
    #[arg(long, short, value_name = "N", help_heading = "What to run")]
    pub(crate) threads: Option<u32>,
    /// Seed of random weights and inputs
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "What to run")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Take exactly so many samples of the best
    #[arg(
        long,
        short = 'n',
        alias = "num-runs",
        value_name = "N",
        conflicts_with = "duration",
        help_heading = "How long"
    )]
    pub(crate) runs: Option<u64>,
    /// Warm the best up for exactly so many runs [default: until it settles]
    #[arg(long, short = 'w', alias = "warmup-runs", value_name = "N", help_heading = "How long")]
    pub(crate) warmup: Option<u64>,
    /// Sample the best for so long: 10s, 3m [default: 3s to 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) duration: Option<Duration>,
    /// Stop when the median of the best is known to this share: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "How long")]
    pub(crate) target_error: Option<f64>,
    /// The longest a worker may stay silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "How long")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) origin: Origin,

    #[command(flatten)]
    pub(crate) form: Form,
    /// Do not store the runs
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}

impl Fit {
    /// What goes into the model; the batch is what is looked for.
    pub(crate) fn workload(&self) -> Workload {
        Workload {
            batch_size: None,
            sequence_length: self.sequence_length,
            input: self.input.clone(),
            data: None,
            text: Vec::new(),
            text_file: None,
            threads: self.threads,
            seed: self.seed,
        }
    }
}
