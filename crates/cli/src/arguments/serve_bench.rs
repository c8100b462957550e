//! The arguments of `serve-bench`.

use super::{
    DevicesArgument, Origin, PrecisionsArgument, ResultOutput, Sampling, StoreArguments,
    ThreadsArgument, Timeout, Tuning, Workload,
};
use clap::Args;
use std::net::SocketAddr;

const AFTER: &str = "\
The page measures in the browser that opens it, one model after the other, and sends the runs
home. Whoever knows the link can do that; the token in it is new each time.

Browsers give WebGPU, WebNN and threads only to pages with https or on their own machine. So let
the device see this machine as its own:
  ssh -R 8790:localhost:8790 HOST      a computer, then open http://localhost:8790/TOKEN/ there
  adb reverse tcp:8790 tcp:8790        a phone on a cable, then open the same address on it

Exit codes: 0 measured, 2 usage error, 3 not supported on this machine or no browser came

Examples:
  modelmeter serve-bench small-transformer
  modelmeter serve-bench small-transformer mobilenet_v2 --devices wasm,webgpu
  modelmeter serve-bench small-transformer --listen 127.0.0.1:8790 --timeout 30m";

#[derive(Debug, Args)]
#[command(after_help = AFTER, mut_arg("devices", |arg| arg.default_value("wasm")))]
pub(crate) struct ServeBench {
    /// Models: names, .onnx files, Hugging Face folders
    #[arg(required = true, value_name = "MODEL", help_heading = "Workload")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) origin: Origin,

    #[command(flatten)]
    pub(crate) devices: DevicesArgument,
    #[command(flatten)]
    pub(crate) precisions: PrecisionsArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8790", help_heading = "Server")]
    pub(crate) listen: SocketAddr,
    /// Token in the link: 8 or more letters, digits, `-` and `_` [default: a new one]
    #[arg(long, value_name = "TOKEN", help_heading = "Server")]
    pub(crate) token: Option<String>,

    #[command(flatten)]
    pub(crate) sampling: Sampling,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
