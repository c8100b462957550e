//! Which model, and where it comes from.

use super::values::parse_function;
use crate::candidates;
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::path::PathBuf;

/// The model of a command that takes one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct ModelArguments {
    /// Name (see `modelmeter models`), hub name, .onnx or .gguf file, Hugging Face folder or .toml description
    #[arg(value_name = "MODEL", display_order = 0, add = ArgValueCompleter::new(candidates::models))]
    pub(crate) model: Option<String>,
    /// Same as MODEL
    #[arg(
        long = "model",
        visible_alias = "model-path",
        value_name = "MODEL",
        hide_short_help = true,
        conflicts_with = "model",
        add = ArgValueCompleter::new(candidates::models)
    )]
    pub(crate) model_flag: Option<String>,
}

impl ModelArguments {
    /// The name of the model, from either place.
    pub(crate) fn name(&self) -> Option<&str> {
        self.model.as_deref().or(self.model_flag.as_deref())
    }
}

/// Whether the hub may be asked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Offline {
    /// No access to the Hugging Face hub
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Where a model comes from.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Origin {
    #[command(flatten)]
    pub(crate) hub: Offline,
    /// Branch, tag or commit on the hub
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Option<String>,
    /// torch: Python function that returns a module: file.py:function
    #[arg(long, value_name = "FILE:FUNCTION", value_parser = parse_function)]
    pub(crate) torch_module: Option<(PathBuf, String)>,
}
