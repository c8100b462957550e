//! The arguments of `runs`, and which runs are meant.

use super::{ModeArgument, parse_time};
use clap::{Args, Subcommand};
use modelmeter::{Device, Precision};
use std::time::Duration;

#[derive(Debug, Args)]
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
    /// Label a run, or take a label away
    #[command(
        after_help = "Examples:\n  modelmeter runs tag 7f3a baseline\n  modelmeter runs tag 7f3a baseline --remove"
    )]
    Tag(RunsTag),
}

/// Which runs are meant; none given means all.
#[derive(Debug, Args)]
pub(crate) struct RunFilter {
    /// Only models whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Only this engine
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Only this device
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<Device>,
    /// Only this precision
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,
    /// Only inference, or only training
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeArgument>,
    /// Only runs with this label
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only runs that were asked for on this branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Only runs that were asked for at this commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Only runs whose numbers can be believed
    #[arg(long, conflicts_with = "invalid")]
    pub(crate) valid: bool,
    /// Only runs whose numbers cannot be believed
    #[arg(long)]
    pub(crate) invalid: bool,
    /// Only runs of the last TIME: 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) since: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsList {
    #[command(flatten)]
    pub(crate) filter: RunFilter,
    /// At most so many; 0 is all
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) limit: u64,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShow {
    /// The run: the beginning of its id, or `latest`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Put the raw samples into the JSON as well
    #[arg(long, requires = "json")]
    pub(crate) samples: bool,
    /// As CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Every allocation and free that `profile --memory` saw, as CSV
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub(crate) allocations: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsDelete {
    /// The runs: beginnings of their ids
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsTag {
    /// The run: the beginning of its id, or `latest`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The label
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
    /// Take the label away
    #[arg(long)]
    pub(crate) remove: bool,
}
