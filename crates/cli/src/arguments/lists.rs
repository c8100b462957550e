//! The arguments of commands that list things, and of those that set up a shell.

use super::values::parse_engine;
use crate::candidates;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter models\n  modelmeter models --category vision\n  modelmeter models --json | jq '.models[].name'"
)]
pub(crate) struct Models {
    /// Category: text, generation, vision, audio, multimodal, reference
    #[arg(long, value_name = "CATEGORY", help_heading = "Filter")]
    pub(crate) category: Option<String>,
    /// Result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  modelmeter devices\n  modelmeter devices --json")]
pub(crate) struct Devices {
    /// Result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter engines list\n  modelmeter engines install onnxruntime"
)]
pub(crate) struct Engines {
    #[command(subcommand)]
    pub(crate) action: EnginesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnginesAction {
    /// List engines, and why some are not available
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  modelmeter engines list\n  modelmeter engines list --json"
    )]
    List {
        /// Result as JSON
        #[arg(long, help_heading = "Output")]
        json: bool,
    },
    /// Download an engine into modelmeter's own folder
    #[command(
        after_help = "Examples:\n  modelmeter engines install onnxruntime\n  modelmeter engines install onnxruntime --version 1.30.0"
    )]
    Install {
        /// Engine: onnxruntime
        #[arg(value_name = "ENGINE", value_parser = parse_engine, add = ArgValueCandidates::new(candidates::engines))]
        engine: String,
        /// Version [default: the newest]
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
    },
}

const AFTER_COMPLETIONS: &str = "\
Examples:
  source <(modelmeter completions bash)                                    in ~/.bashrc
  source <(modelmeter completions zsh)                                     in ~/.zshrc, after compinit
  modelmeter completions fish > ~/.config/fish/completions/modelmeter.fish";

#[derive(Debug, Args)]
#[command(after_help = AFTER_COMPLETIONS)]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

const AFTER_MAN: &str = "\
Examples:
  modelmeter man | man -l -
  modelmeter man ~/.local/share/man/man1";

#[derive(Debug, Args)]
#[command(after_help = AFTER_MAN)]
pub(crate) struct Man {
    /// Folder for the pages of all commands, created if missing [default: the first page, to standard output]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
