//! The arguments of `runs`, and which runs are meant.

use super::{
    ModeFilter, ResultOutput,
    values::{parse_engine, parse_time},
};
use crate::candidates;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use modelmeter::{Device, Precision};
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter runs list --limit 5\n  modelmeter runs show latest\n  modelmeter runs tag latest baseline"
)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) action: RunsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List stored runs, newest first
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  modelmeter runs list --model bert --valid\n  modelmeter runs list --since 7d --json"
    )]
    List(RunsList),
    /// Show one run
    #[command(
        after_help = "Examples:\n  modelmeter runs show 7f3a\n  modelmeter runs show 7f3a --json\n  modelmeter runs show latest"
    )]
    Show(RunsShow),
    /// Delete runs
    #[command(visible_alias = "rm", after_help = "Examples:\n  modelmeter runs delete 7f3a 81c0")]
    Delete(RunsDelete),
    /// Add a label to a run, or remove it
    #[command(
        after_help = "Examples:\n  modelmeter runs tag 7f3a baseline\n  modelmeter runs tag 7f3a baseline --remove"
    )]
    Tag(RunsTag),
}

/// Which runs are meant; none given means all.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct RunFilter {
    /// Part of the model's name
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Engine
    #[arg(long, alias = "backend", value_name = "ENGINE", value_parser = parse_engine, add = ArgValueCandidates::new(candidates::engines))]
    pub(crate) engine: Option<String>,
    /// Device
    #[arg(long, value_name = "DEVICE", add = ArgValueCandidates::new(candidates::devices))]
    pub(crate) device: Option<Device>,
    /// Precision
    #[arg(long, alias = "dtype", value_name = "PRECISION", add = ArgValueCandidates::new(candidates::precisions))]
    pub(crate) precision: Option<Precision>,
    /// Mode: inference, training, generate or load
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeFilter>,
    /// Label
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Git branch of the working folder
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Git commit of the working folder
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Valid runs only
    #[arg(long, conflicts_with = "invalid")]
    pub(crate) valid: bool,
    /// Invalid runs only
    #[arg(long)]
    pub(crate) invalid: bool,
    /// Maximum age: 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) since: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsList {
    #[command(flatten)]
    pub(crate) filter: RunFilter,
    /// Maximum number of runs; 0 is all
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShow {
    /// Run: the beginning of its id, or `latest`
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(candidates::runs))]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Include the raw samples in the JSON
    #[arg(long, requires = "json", help_heading = "Output")]
    pub(crate) samples: bool,
    /// All allocations that `profile --memory` recorded, as CSV
    #[arg(long, conflicts_with_all = ["json", "csv", "markdown", "html"], help_heading = "Output")]
    pub(crate) allocations: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsDelete {
    /// Runs: beginnings of their ids
    #[arg(display_order = 0, value_name = "RUN", required = true, add = ArgValueCandidates::new(candidates::runs))]
    pub(crate) runs: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsTag {
    /// Run: the beginning of its id, or `latest`
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(candidates::runs))]
    pub(crate) run: String,
    /// Label
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
    /// Remove the label
    #[arg(long)]
    pub(crate) remove: bool,
}
