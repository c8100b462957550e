//! `modelmeter db status`: how much is stored, which models were measured where, how far plans are.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, ResultOutput},
    command::{open_existing_store, table_width},
};
use report::{Block, Column, Fact, Grid, ResultDocument, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use store::{Coverage, PlanProgress, Status};
use types::Bytes;

/// The name and version of the document.
pub(crate) const STATUS_SCHEMA: &str = "modelmeter.db-status/1";

/// More columns than that are a list: nobody reads so wide a matrix.
const WIDEST: usize = 12;

pub(super) fn run(asked: &ResultOutput, global: &Global) -> Result<Exit, Failure> {
    asked.check([])?;
    let store = open_existing_store(global)?;
    let (status, plans) = (store.status()?, store.plans()?);
    let width = table_width();
    let document = document(&status, &plans, width);
    let mut sinks = Sinks::new(global);
    sinks.list(&document, asked, width);
    Ok(sinks.finish(Exit::Fine))
}

fn document(status: &Status, plans: &[PlanProgress], width: Option<usize>) -> ResultDocument {
    let mut blocks = vec![Block::Facts(numbers(status))];
    if !status.coverage.is_empty() {
        let grid = coverage(&status.coverage, width);
        blocks.push(Block::table("runs and valid runs", grid));
    }
    if !plans.is_empty() {
        blocks.push(Block::table("plans", progress(plans)));
    }
    ResultDocument {
        title: vec!["Database".into()],
        is_list: true,
        blocks,
        json: report::to_json(&StatusDocument::new(status, plans)),
        ..ResultDocument::default()
    }
}

fn numbers(status: &Status) -> Vec<Fact> {
    let when = |micros: Option<i64>| {
        micros.map_or("–".to_owned(), |at| format!("{} UTC", report::minute(at)))
    };
    vec![
        Fact::new("database", status.path.display().to_string()),
        Fact::new("size", report::bytes(status.size.0)),
        Fact::new("schema", status.schema.to_string()),
        Fact::new("runs", report::count(status.runs)),
        Fact::new("models", report::count(status.models)),
        Fact::new("machines", report::count(status.machines)),
        Fact::new("cells", report::count(status.cells)),
        Fact::new("samples", report::count(status.samples)),
        Fact::new("oldest", when(status.oldest)),
        Fact::new("newest", when(status.newest)),
    ]
}

/// Runs of every model by engine and machine: a matrix where it fits, a list otherwise.
fn coverage(coverage: &[Coverage], width: Option<usize>) -> Grid {
    let matrix = matrix(coverage);
    let columns = columns(coverage).len();
    let fits = width.is_none_or(|width| matrix.full_width() <= width) && columns <= WIDEST;
    if fits { matrix } else { list(coverage) }
}

/// An engine on a machine; the name of the machine tells it apart unless two are called alike.
fn columns(coverage: &[Coverage]) -> BTreeMap<(String, String), String> {
    let names = machine_names(coverage);
    coverage
        .iter()
        .map(|entry| {
            let name = &names[&entry.machine];
            let key = (entry.machine.clone(), entry.engine.clone());
            (key, format!("{} on {name}", entry.engine))
        })
        .collect()
}

fn machine_names(coverage: &[Coverage]) -> BTreeMap<String, String> {
    let machines: BTreeSet<(&str, &str)> =
        coverage.iter().map(|entry| (entry.machine.as_str(), entry.hostname.as_str())).collect();
    let name = |key: &str, hostname: &str| {
        let twins = machines.iter().filter(|(_, other)| *other == hostname).count();
        // An imported file mostly does not tell where it was measured.
        if hostname.is_empty() || hostname == exchange::UNKNOWN {
            key.to_owned()
        } else if twins > 1 {
            format!("{hostname} {}", key.chars().take(6).collect::<String>())
        } else {
            hostname.to_owned()
        }
    };
    machines.iter().map(|(key, hostname)| ((*key).to_owned(), name(key, hostname))).collect()
}

fn matrix(coverage: &[Coverage]) -> Grid {
    let columns = columns(coverage);
    let header = columns.values().map(|name| Column::right(name));
    let mut grid = Grid::of(std::iter::once(Column::left("model")).chain(header));
    let models: BTreeSet<&str> = coverage.iter().map(|entry| entry.model.as_str()).collect();
    for model in models {
        let cell = |(machine, engine): &(String, String)| {
            let mut here = coverage.iter().filter(|entry| entry.model == model);
            here.find(|entry| entry.machine == *machine && entry.engine == *engine)
                .map_or_else(|| report::MISSING.to_owned(), runs)
        };
        let cells = columns.keys().map(cell);
        grid.row(std::iter::once(model.to_owned()).chain(cells));
    }
    grid
}

/// `7`, or `7 (5 valid)`.
fn runs(entry: &Coverage) -> String {
    let count = report::count(entry.runs);
    if entry.runs == entry.valid {
        return count;
    }
    format!("{count} ({} valid)", report::count(entry.valid))
}

fn list(coverage: &[Coverage]) -> Grid {
    let names = machine_names(coverage);
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("engine"),
        Column::left("machine").shrinks(),
        Column::right("cells").leaves(1),
        Column::right("runs"),
        Column::right("valid"),
    ]);
    for entry in coverage {
        grid.row([
            entry.model.as_str(),
            &entry.engine,
            &names[&entry.machine],
            &report::count(entry.cells),
            &report::count(entry.runs),
            &report::count(entry.valid),
        ]);
    }
    grid
}

fn progress(plans: &[PlanProgress]) -> Grid {
    let mut grid = Grid::of([
        Column::left("plan").shrinks(),
        Column::right("waiting"),
        Column::right("leased"),
        Column::right("done"),
        Column::right("failed"),
    ]);
    for plan in plans {
        let counts = [plan.waiting, plan.leased, plan.done, plan.failed].map(report::count);
        grid.row(std::iter::once(plan.plan.clone()).chain(counts));
    }
    grid
}

/// Where the database is and what it holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusDocument<'a> {
    #[schemars(extend("const" = STATUS_SCHEMA))]
    schema: &'static str,
    /// The database file, or the server's address without its password.
    path: Cow<'a, str>,
    /// In bytes.
    size: Bytes,
    /// The version of its tables.
    schema_version: i64,
    runs: u64,
    models: u64,
    machines: u64,
    /// Different cells.
    cells: u64,
    samples: u64,
    /// When the first run began: RFC 3339, UTC; null without runs.
    oldest: Option<Timestamp>,
    /// When the last run began: RFC 3339, UTC; null without runs.
    newest: Option<Timestamp>,
    /// How many times each model was measured, by machine and engine.
    coverage: &'a [Coverage],
    plans: &'a [PlanProgress],
}

impl<'a> StatusDocument<'a> {
    fn new(status: &'a Status, plans: &'a [PlanProgress]) -> StatusDocument<'a> {
        StatusDocument {
            schema: STATUS_SCHEMA,
            path: status.path.to_string_lossy(),
            size: status.size,
            schema_version: status.schema,
            runs: status.runs,
            models: status.models,
            machines: status.machines,
            cells: status.cells,
            samples: status.samples,
            oldest: status.oldest.map(Timestamp::from),
            newest: status.newest.map(Timestamp::from),
            coverage: &status.coverage,
            plans,
        }
    }
}
