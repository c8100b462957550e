//! What is kept in the database.

use clap::Args;

/// Labels of stored runs, and whether they are stored at all.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store", mut_arg("tag", |arg| arg.conflicts_with("no_store")))]
pub(crate) struct StoreArguments {
    #[command(flatten)]
    pub(crate) tags: Tags,
    #[command(flatten)]
    pub(crate) skip: NoStore,
}

/// Labels of stored runs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct Tags {
    /// Label of the stored runs; may be repeated
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
}

/// Whether runs are stored.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct NoStore {
    /// Do not store the runs
    #[arg(long)]
    pub(crate) no_store: bool,
}
