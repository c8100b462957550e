//! `modelmeter db import`: runs of other databases and results of other tools in, each once.

use crate::{
    Exit, Failure, Sinks,
    arguments::{DbImport, Global},
    command::open_store,
    output,
};
use exchange::{
    Format, Given, Problem,
    bounds::{RESULTS, read_bytes},
};
use modelmeter::{Run, RunId, Store};
use report::{Block, Column, Grid, ResultDocument, clean};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    fs::{self, File},
    io::{self, Cursor, Read},
    path::Path,
};
use store::{StoreError, check_tag};
use types::Correction;

/// The name and version of the document.
pub(crate) const IMPORT_SCHEMA: &str = "modelmeter.db-import/1";

/// Problems of one file that are told one by one; a file of another kind would bury the rest.
const TOLD: usize = 20;

/// Enough of a file to see its format.
const BEGINNING: u64 = 64 * 1024;

/// The result for one file.
#[derive(Default)]
struct Outcome {
    file: String,
    format: Option<Format>,
    new: u64,
    known: u64,
    problems: u64,
    /// The first problems.
    told: Vec<String>,
    corrections: Vec<(RunId, Correction)>,
    /// Why nothing was read from the file.
    failed: Option<String>,
}

pub(super) fn run(arguments: &DbImport, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let store = open_store(global)?;
    let mut outcomes = Vec::new();
    for path in &arguments.files {
        let mut outcome = Outcome { file: path.display().to_string(), ..Outcome::default() };
        if let Err(error) = read(path, arguments, &store, &mut outcome) {
            outcomes.push(outcome);
            say_interrupted(&outcomes);
            return Err(error.into());
        }
        outcomes.push(outcome);
    }
    let mut sinks = Sinks::new(global);
    let document = document(&outcomes);
    match outcomes.iter().all(Outcome::is_empty) {
        true => sinks.formats(&document, &arguments.result),
        false => sinks.result(&document, &arguments.result, Exit::Fine),
    }
    for outcome in &outcomes {
        say_details(outcome, global.quiet);
    }
    if outcomes.iter().all(Outcome::is_empty) {
        return Err(nothing(&outcomes));
    }
    let mut empty = outcomes.iter().filter(|outcome| outcome.is_empty()).peekable();
    let exit = if empty.peek().is_some() { Exit::Failed } else { Exit::Fine };
    for outcome in empty {
        output::complain(&format!("warning: nothing was imported: {}\n", outcome.why()));
    }
    Ok(sinks.finish(exit))
}

impl Outcome {
    fn is_empty(&self) -> bool {
        self.new + self.known == 0
    }

    /// The file and why it gave nothing, in one clause.
    fn why(&self) -> String {
        let why = self.failed.as_ref().or(self.told.first());
        let why = why.map_or("it contains no result", String::as_str);
        // The reader's own sentence names the file already.
        if why.contains(&format!("`{}`", name_of(&self.file))) {
            return clean(why);
        }
        clean(&format!("`{}`: {why}", self.file))
    }

    fn problem(&mut self, what: String) {
        self.problems += 1;
        if self.told.len() < TOLD {
            self.told.push(what);
        }
    }

    /// One record: a run to be stored, or what is wrong with it.
    fn take(&mut self, record: Result<Run, Problem>, store: &Store) -> Result<(), StoreError> {
        let run = match record {
            Ok(run) => run,
            Err(problem) => {
                self.problem(problem.to_string());
                return Ok(());
            }
        };
        match put(&run, store)? {
            Put::New => self.new += 1,
            Put::Known => self.known += 1,
            Put::Refused(why) => self.problem(format!("run `{}`: {why}", run.id)),
        }
        Ok(())
    }
}

/// Reads a file and stores what it holds; an error is the database's, what is wrong with the file is its outcome.
fn read(
    path: &Path,
    arguments: &DbImport,
    store: &Store,
    outcome: &mut Outcome,
) -> Result<(), StoreError> {
    let opened = if path == Path::new("-") {
        outcome.file = "standard input".into();
        from_start(io::stdin())
    } else {
        fs::metadata(path).and_then(|found| match found.is_file() {
            true => from_start(File::open(path)?),
            // A pipe without a writer would be waited for without end.
            false => Err(io::Error::other("it is not a file")),
        })
    };
    let given_format = arguments.format.map(Ok);
    let name = name_of(&outcome.file).to_owned();
    let detect = |beginning: &[u8]| Format::detect(&name, beginning);
    let bytes = match opened {
        Err(error) => Err(error),
        Ok((beginning, rest)) => match given_format.unwrap_or_else(|| detect(&beginning)) {
            Ok(format) if format.is_ours() => {
                let input = Cursor::new(beginning).chain(rest);
                return read_ours(path, format, input, store, outcome);
            }
            Ok(_) => read_bytes(Cursor::new(beginning).chain(rest), RESULTS),
            Err(error) => {
                outcome.failed = Some(error.to_string());
                return Ok(());
            }
        },
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            outcome.failed = Some(error.to_string());
            return Ok(());
        }
    };
    let name = outcome.file.clone();
    let imported = exchange::import_with(&name, &bytes, arguments.format, &given(path, arguments));
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => {
            outcome.failed = Some(error.to_string());
            return Ok(());
        }
    };
    outcome.format = Some(imported.format);
    if !imported.format.is_ours() {
        let corrections = imported.corrections();
        outcome.corrections = corrections.map(|(id, one)| (id.clone(), one.clone())).collect();
    }
    for run in imported.runs {
        outcome.take(Ok(run), store)?;
    }
    for problem in imported.problems {
        outcome.take(Err(problem), store)?;
    }
    Ok(())
}

/// The beginning of an input, which shows its format, and what follows.
fn from_start(mut input: impl Read + 'static) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut beginning = Vec::new();
    input.by_ref().take(BEGINNING).read_to_end(&mut beginning)?;
    Ok((beginning, Box::new(input)))
}

/// A file of ours may be large: its runs are read and stored one after the other.
fn read_ours(
    path: &Path,
    format: Format,
    input: impl Read + 'static,
    store: &Store,
    outcome: &mut Outcome,
) -> Result<(), StoreError> {
    outcome.format = Some(format);
    // Columns lie all over a file; standard input is read whole for them.
    let records = match File::open(path) {
        Ok(file) if format == Format::Parquet && path != Path::new("-") => {
            exchange::stream(format, &outcome.file, file)
        }
        _ => exchange::stream_from(format, &outcome.file, input),
    };
    match records {
        Ok(mut records) => records.try_for_each(|record| outcome.take(record, store)),
        Err(problem) => {
            outcome.failed = Some(format!("could not read it as {format}: {problem}"));
            Ok(())
        }
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What the user knows of a file, and when it was written: that is about when its results were measured.
fn given(path: &Path, arguments: &DbImport) -> Given {
    let written = match path == Path::new("-") {
        true => Some(clock::now()),
        false => fs::metadata(path).and_then(|data| data.modified()).ok().map(clock::moment),
    };
    Given {
        model: arguments.model.clone(),
        device: arguments.device,
        precision: arguments.precision,
        batch_size: arguments.batch_size.map(|size| size as usize),
        started_at: written,
    }
}

/// What became of one run.
enum Put {
    New,
    Known,
    Refused(String),
}

/// Stores a run unless it is there; an error is the database's.
fn put(run: &Run, store: &Store) -> Result<Put, StoreError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if run.id.0.is_empty() || run.id.0.len() > 64 || !run.id.0.chars().all(is_plain) {
        return Ok(Put::Refused("this is not the id of a run".into()));
    }
    if let Some(error) = run.tags.iter().find_map(|tag| check_tag(tag).err()) {
        return Ok(Put::Refused(error.to_string()));
    }
    match store.insert_run(run) {
        Ok(()) => Ok(Put::New),
        Err(StoreError::Duplicate { .. }) if run.imported.is_some() => Ok(Put::Known),
        Err(StoreError::Duplicate { id }) => {
            let stored = store.run(&id)?;
            if stored.imported.is_some() {
                // The same run came in before from a table, which holds less.
                store.delete(&[stored.id])?;
                store.insert_run(run)?;
                return Ok(Put::New);
            }
            let is_same = exchange::key(&stored) == exchange::key(run);
            let other = || Put::Refused("another run is stored with this id".into());
            Ok(if is_same { Put::Known } else { other() })
        }
        Err(StoreError::Unstorable { why, .. }) => Ok(Put::Refused(why)),
        Err(error) => Err(error),
    }
}

fn document(outcomes: &[Outcome]) -> ResultDocument {
    ResultDocument {
        title: vec!["Import".into()],
        is_list: true,
        blocks: vec![Block::table("files", grid(outcomes))],
        json: report::to_json(&ImportDocument {
            schema: IMPORT_SCHEMA,
            files: outcomes.iter().map(FileDocument::from).collect(),
        }),
        ..ResultDocument::default()
    }
}

fn grid(outcomes: &[Outcome]) -> Grid {
    let mut grid = Grid::of([
        Column::left("file").shrinks(),
        Column::left("format"),
        Column::right("new"),
        Column::right("known"),
        Column::right("problems"),
    ]);
    let mut push = |file: &str, format: &str, counts: [u64; 3]| {
        let [new, known, problems] = counts.map(report::count);
        grid.row([file, format, &new, &known, &problems]);
    };
    for outcome in outcomes {
        let format = outcome.format.map_or(report::MISSING, Format::name);
        let problems = outcome.problems.max(outcome.failed.is_some().into());
        push(&outcome.file, format, [outcome.new, outcome.known, problems]);
    }
    if outcomes.len() > 1 {
        let all = |of: fn(&Outcome) -> u64| -> u64 { outcomes.iter().map(of).sum() };
        push("all", "", [all(|o| o.new), all(|o| o.known), all(|o| o.problems)]);
    }
    grid
}

/// The result for every file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportDocument<'a> {
    #[schemars(extend("const" = IMPORT_SCHEMA))]
    schema: &'static str,
    files: Vec<FileDocument<'a>>,
}

/// The result for one file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "File")]
struct FileDocument<'a> {
    file: &'a str,
    /// Its format; null if it was not recognised.
    format: Option<&'static str>,
    /// Runs that were stored.
    new: u64,
    /// Runs that were stored before.
    known: u64,
    /// Records that could not be taken.
    problems: u64,
    /// The first problems.
    told: &'a [String],
    /// Numbers that are known to be wrong.
    corrections: Vec<CorrectionDocument<'a>>,
    /// Why nothing was read from the file.
    failed: Option<&'a str>,
}

/// A number that is known to be wrong, and the value that was stored instead.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Correction")]
struct CorrectionDocument<'a> {
    run: &'a RunId,
    /// A metric's key or a field's path.
    what: &'a str,
    /// The value in the file, in its own unit.
    stated: Option<f64>,
    /// The value that was stored; null if the right number cannot be known.
    stored: Option<f64>,
    why: &'a str,
}

impl<'a> From<&'a Outcome> for FileDocument<'a> {
    fn from(outcome: &'a Outcome) -> FileDocument<'a> {
        let corrections = outcome.corrections.iter().map(|(run, correction)| CorrectionDocument {
            run,
            what: &correction.what,
            stated: correction.stated,
            stored: correction.stored,
            why: &correction.why,
        });
        FileDocument {
            file: &outcome.file,
            format: outcome.format.map(Format::name),
            new: outcome.new,
            known: outcome.known,
            problems: outcome.problems,
            told: &outcome.told,
            corrections: corrections.collect(),
            failed: outcome.failed.as_deref(),
        }
    }
}

/// Problems with their places, and each kind of correction once.
fn say_details(outcome: &Outcome, is_quiet: bool) {
    let file = &outcome.file;
    if !outcome.is_empty() {
        for problem in &outcome.told {
            output::complain(&format!("warning: {}\n", clean(&format!("{file}: {problem}"))));
        }
        let more = outcome.problems - outcome.told.len() as u64;
        if more > 0 {
            let more = report::count(more);
            output::complain(&format!("warning: {}\n", clean(&format!("{file}: {more} more"))));
        }
    }
    if is_quiet {
        return;
    }
    let mut said: Vec<(&str, &str)> = Vec::new();
    for (_, correction) in &outcome.corrections {
        let kind = (correction.what.as_str(), correction.why.as_str());
        if said.contains(&kind) {
            continue;
        }
        said.push(kind);
        let alike =
            |(_, other): &&(RunId, Correction)| (other.what.as_str(), other.why.as_str()) == kind;
        let runs = match outcome.corrections.iter().filter(alike).count() {
            1 => "one run".into(),
            count => format!("{count} runs"),
        };
        let line = format!("{file}: corrected in {runs}: {}", spell(correction));
        output::complain(&format!("{}\n", clean(&line)));
    }
}

/// ``` `throughput.samples` 31.2 → 3.12: why ```
fn spell(correction: &Correction) -> String {
    let show = |value: Option<f64>| {
        value.map_or_else(|| "nothing".into(), |value| report::significant(value, 4))
    };
    let Correction { what, stated, stored, why } = correction;
    let change = match stated {
        Some(_) => format!(" {} → {}", show(*stated), show(*stored)),
        None => String::new(),
    };
    format!("`{what}`{change}: {why}")
}

/// What was stored before the database refused is stored.
fn say_interrupted(outcomes: &[Outcome]) {
    let new: u64 = outcomes.iter().map(|outcome| outcome.new).sum();
    if new > 0 {
        let new = report::count(new);
        output::complain(&format!(
            "{new} runs were imported before this; importing again skips them\n"
        ));
    }
}

fn nothing(outcomes: &[Outcome]) -> Failure {
    let hint = "`modelmeter db import --help` lists the formats; `--format` forces one";
    let failure = match outcomes {
        [only] => Failure::new(Exit::Wrong, format!("nothing was imported: {}", only.why())),
        several => several
            .iter()
            .fold(Failure::new(Exit::Wrong, "nothing was imported"), |failure, outcome| {
                failure.cause(outcome.why())
            }),
    };
    failure.hint(hint)
}
