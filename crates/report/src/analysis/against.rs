//! Cells against a file: a table on a screen, and a part of the document of an analysis.

use super::cell::KeyDocument;
use super::words::{Machines, counted, factor};
use crate::document::Ends;
use crate::result::{Block, Note};
use crate::sheet::Grid;
use crate::table::Column;
use crate::trend::trend_name;
use number::{percent, seconds};
use schemars::JsonSchema;
use serde::Serialize;
use types::{Against, AgainstCell, AgainstOutcome, AllowanceFrom, Pooled};

/// The cells beside those of the file.
pub(super) fn against_blocks(found: &Against, file: &str, machines: &Machines<'_>) -> Vec<Block> {
    let mut grid = Grid::of([
        Column::left("cell").wraps(),
        Column::left("machine").leaves(1),
        Column::right("file"),
        Column::right("now"),
        Column::left("now ÷ file"),
        Column::right("allowed").leaves_late(1),
        Column::left("verdict"),
    ]);
    for one in &found.cells {
        grid.row([
            format!("{}, {}", one.key.model, trend_name(&one.key)),
            machines.name(&one.key.machine),
            seconds(one.file.value),
            seconds(one.now.value),
            factor(&one.ratio),
            format!("± {}", percent(one.allowance)),
            verdict(one).to_owned(),
        ]);
    }
    let mut blocks = vec![Block::Heading(format!("Against {file}"))];
    if !found.cells.is_empty() {
        blocks.push(Block::table("against the file", grid));
    }
    let nothing = found.cells.is_empty().then(|| "no cell has a row in the file".to_owned());
    let notes = remarks(found).into_iter().chain(nothing).map(Note::warning);
    blocks.push(Block::Notes(notes.collect()));
    blocks
}

fn verdict(one: &AgainstCell) -> &'static str {
    match one.outcome {
        AgainstOutcome::Better => "faster",
        AgainstOutcome::Held => "held",
        AgainstOutcome::Worse => "slower",
        AgainstOutcome::CannotTell => "cannot tell",
        AgainstOutcome::Same => "the same runs",
    }
}

fn remarks(found: &Against) -> Vec<String> {
    let mut remarks = Vec::new();
    let count =
        |holds: fn(&AgainstCell) -> bool| found.cells.iter().filter(|one| holds(one)).count();
    let rests = |from: AllowanceFrom| {
        let differs = |one: &&AgainstCell| one.outcome != AgainstOutcome::Same;
        found.cells.iter().filter(differs).any(|one| one.allowance_from == from)
    };
    if rests(AllowanceFrom::Runs) {
        remarks.push(
            "the file was written at another time: the allowance for drift is the scatter of the runs on both sides, \
             at least 5 %; `modelmeter compare` interleaves both and needs no allowance"
                .to_owned(),
        );
    }
    if rests(AllowanceFrom::Drift) {
        remarks.push(
            "the file was written at another time, and an idle machine may drift by 30 %; a history of 10 sessions, \
             five runs on either side or `--allowance` gives the drift of this machine"
                .to_owned(),
        );
    }
    if count(|one| one.ratio.interval.is_none()) > 0 {
        remarks.push(
            "a side with a single number and no interval does not allow a decision".to_owned(),
        );
    }
    if !found.only_now.is_empty() {
        let cells = counted(found.only_now.len() as u64, "cell");
        remarks.push(format!("{cells} without a row in the file"));
    }
    if found.only_file > 0 {
        remarks
            .push(format!("{} of the file without a cell here", counted(found.only_file, "row")));
    }
    if found.other_machines > 0 {
        let rows = counted(found.other_machines, "row");
        remarks.push(format!("{rows} of the file from another machine, not compared"));
    }
    remarks
}

/// The cells of an analysis compared with those of a file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Against")]
pub(super) struct AgainstDocument<'a> {
    file: &'a str,
    /// The worsening that is accepted, as a share.
    accepted: f64,
    /// The cells with a row in the file.
    cells: Vec<AgainstCellDocument<'a>>,
    /// Cells without a row in the file.
    only_now: Vec<KeyDocument<'a>>,
    /// Rows of the file without a selected cell.
    only_file: u64,
    /// Rows that would match except for their machine.
    other_machines: u64,
}

impl<'a> AgainstDocument<'a> {
    pub(super) fn new(found: &'a Against, file: &'a str) -> AgainstDocument<'a> {
        AgainstDocument {
            file,
            accepted: found.accepted,
            cells: found.cells.iter().map(AgainstCellDocument::from).collect(),
            only_now: found.only_now.iter().map(KeyDocument::from).collect(),
            only_file: found.only_file,
            other_machines: found.other_machines,
        }
    }
}

/// A cell compared with its row in the file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgainstCell")]
struct AgainstCellDocument<'a> {
    #[serde(flatten)]
    key: KeyDocument<'a>,
    file: TimeDocument,
    now: TimeDocument,
    /// Now ÷ file: above 1 is slower.
    ratio: f64,
    /// Of the ratio; null if a side was not repeated.
    ci95: Option<Ends>,
    /// Allowance at either end for effects that the numbers cannot show, as a share.
    allowance: f64,
    allowance_from: AllowanceFrom,
    allowance_from_history: bool,
    outcome: &'a AgainstOutcome,
}

/// The median latency of a side.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgainstTime")]
struct TimeDocument {
    seconds: f64,
    ci95: Option<Ends>,
    /// Number of runs it is based on.
    runs: u64,
}

impl TimeDocument {
    fn new(found: &Pooled, runs: u64) -> TimeDocument {
        TimeDocument { seconds: found.value, ci95: found.interval.map(Ends::from), runs }
    }
}

impl<'a> From<&'a AgainstCell> for AgainstCellDocument<'a> {
    fn from(one: &'a AgainstCell) -> AgainstCellDocument<'a> {
        AgainstCellDocument {
            key: KeyDocument::from(&one.key),
            file: TimeDocument::new(&one.file, one.file_runs),
            now: TimeDocument::new(&one.now, one.now_runs),
            ratio: one.ratio.value,
            ci95: one.ratio.interval.map(Ends::from),
            allowance: one.allowance,
            allowance_from: one.allowance_from,
            allowance_from_history: one.allowance_from == AllowanceFrom::History,
            outcome: &one.outcome,
        }
    }
}
