//! The arguments of `report`.

use clap::{ArgGroup, Args};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("about").required(true).args(["runs", "model", "plan"]),
    after_help = "Nothing is measured. Without a form the report goes to the terminal. What stands in each form: docs/REPORTS.md\n\nExit codes: 0 fine, 2 asked wrongly\n\nExamples:\n  modelmeter report 7f3a --html report.html\n  modelmeter report latest --html report.html --junit report.xml\n  modelmeter report --model bert-base-uncased --html bert.html\n  modelmeter report --plan nightly --html nightly.html --markdown nightly.md\n  modelmeter report 7f3a 81c0 --markdown - --brief"
)]
pub(crate) struct Report {
    /// The runs: beginnings of their ids, or `latest`
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The newest run of every cell of this model; may be repeated
    #[arg(long, value_name = "MODEL", help_heading = "What about")]
    pub(crate) model: Vec<String>,
    /// The runs of this plan
    #[arg(long, value_name = "PLAN", help_heading = "What about")]
    pub(crate) plan: Option<String>,
    /// What stands above it [default: the models' names]
    #[arg(long, value_name = "TEXT", help_heading = "What about")]
    pub(crate) title: Option<String>,

    /// Write one page that needs nothing else; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) html: Option<PathBuf>,
    /// Write Markdown for a pull request; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the runs as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Write the runs as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) csv: Option<PathBuf>,
    /// Write JUnit XML, a case a run, which fails where the run is not valid; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) junit: Option<PathBuf>,

    /// Without pictures
    #[arg(long, help_heading = "How much")]
    pub(crate) no_graphs: bool,
    /// Verdict, numbers and percentiles only: no layers, memory, environment, samples
    #[arg(long, help_heading = "How much")]
    pub(crate) brief: bool,
}
