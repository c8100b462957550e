//! The arguments of `report`.

use super::ResultOutput;
use crate::candidates;
use clap::{ArgGroup, Args};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes: 0 fine, 2 usage error

Examples:
  modelmeter report 7f3a --html report.html
  modelmeter report latest --html report.html --junit report.xml
  modelmeter report --model bert-base-uncased --html bert.html
  modelmeter report --plan nightly --html nightly.html --markdown nightly.md
  modelmeter report 7f3a 81c0 --markdown - --brief";

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("about").required(true).args(["runs", "model", "plan"]),
    after_help = AFTER
)]
pub(crate) struct Report {
    /// Runs: beginnings of their ids, or `latest`
    #[arg(display_order = 0, value_name = "RUN", help_heading = "Filter", add = ArgValueCandidates::new(candidates::runs))]
    pub(crate) runs: Vec<String>,
    /// Models: the newest run of every cell; may be repeated
    #[arg(long, value_name = "MODEL", help_heading = "Filter", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) model: Vec<String>,
    /// Plan: its runs
    #[arg(long, value_name = "PLAN", help_heading = "Filter")]
    pub(crate) plan: Option<String>,

    /// Title [default: the models' names]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    /// Runs as JUnit XML, one case per run, failed if the run is not valid; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// No charts
    #[arg(long, help_heading = "Output")]
    pub(crate) no_graphs: bool,
    /// Only verdict, numbers and percentiles: no layers, memory, environment or samples
    #[arg(long, help_heading = "Output")]
    pub(crate) brief: bool,
}
