//! The arguments of commands that list things, and of those that set up a shell.

use super::{ResultOutput, values::parse_engine};
use crate::candidates;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use modelmeter::ENGINES;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter models\n  modelmeter models --category vision\n  modelmeter models --json | jq '.models[].name'"
)]
pub(crate) struct Models {
    /// Category: text, generation, vision, audio, multimodal, reference
    #[arg(long, value_name = "CATEGORY", help_heading = "Filter")]
    pub(crate) category: Option<String>,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  modelmeter devices\n  modelmeter devices --json")]
pub(crate) struct Devices {
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

#[derive(Debug, Args)]
#[command(
    after_help = install_examples(&["engines list", "engines install ENGINE"])
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
        #[command(flatten)]
        result: ResultOutput,
    },
    /// Download an engine into modelmeter's own folder
    #[command(
        after_help = install_examples(&["engines install ENGINE", "engines install ENGINE --version 1.30.0"])
    )]
    Install {
        #[arg(value_name = "ENGINE", help = format!("Engine: {}", installable().join(", ")), value_parser = parse_engine, add = ArgValueCandidates::new(candidates::engines))]
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
    /// Folder for the man pages of all commands, created if missing [default: the page of `modelmeter`, to standard output]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Document: `modelmeter.run/1` [default: list the names of all]
    #[arg(value_name = "DOCUMENT")]
    pub(crate) document: Option<String>,
}

/// The engines that can be downloaded.
fn installable() -> Vec<&'static str> {
    let can = ENGINES.iter().filter(|engine| engine.installer().is_some());
    can.map(|engine| engine.id()).collect()
}

/// Examples of these commands, for the first engine that can be downloaded.
fn install_examples(commands: &[&str]) -> String {
    let engine = installable().first().copied().unwrap_or("ENGINE");
    let example = |command: &&str| format!("\n  modelmeter {}", command.replace("ENGINE", engine));
    format!("Examples:{}", commands.iter().map(example).collect::<String>())
}
