//! `modelmeter runs`: list, show, tag and delete what is stored.

use crate::{
    Exit, Failure, Sinks,
    arguments::{
        Global, ResultOutput, RunFilter, Runs, RunsAction, RunsDelete, RunsList, RunsShow, RunsTag,
    },
    command::{open_existing_store, table_width},
    output,
};
use modelmeter::{Mode, RunId, Store, dossier_page};
use page::Pictures;
use report::{Footer, JsonOptions, View};
use store::{Filter, short_ids};
use types::{InvalidRuns, ReasonCode};

pub(crate) fn run(arguments: &Runs, global: &Global) -> Result<Exit, Failure> {
    let store = open_existing_store(global)?;
    match &arguments.action {
        RunsAction::List(list) => return self::list(list, &store, global),
        RunsAction::Show(show) => return self::show(show, &store, global),
        RunsAction::Delete(delete) => self::delete(delete, &store)?,
        RunsAction::Tag(tag) => self::tag(tag, &store)?,
    }
    Ok(Exit::Fine)
}

fn list(arguments: &RunsList, store: &Store, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let rows = store.runs(&filter(&arguments.filter, arguments.limit))?;
    let mut lines = modelmeter::run_lines(store, &rows)?;
    let mut sinks = Sinks::new(global);
    if !arguments.result.files().is_empty() {
        sinks.formats(&report::runs_document(&lines, None), &arguments.result);
    }
    if sinks.talks_data() {
        return Ok(sinks.finish(Exit::Fine));
    }
    let left_out = left_out(arguments, store)?;
    if lines.is_empty() {
        match &left_out {
            Some(left_out) => output::complain(&format!("no valid run matches; {left_out}\n")),
            None => {
                output::complain("no stored run matches; `modelmeter profile MODEL` measures one\n")
            }
        }
        return Ok(sinks.finish(Exit::Fine));
    }
    let ids: Vec<RunId> = rows.into_iter().map(|row| row.id).collect();
    for (line, short) in lines.iter_mut().zip(short_ids(&ids)) {
        line.id = short;
    }
    let width = table_width();
    let mut document = report::runs_document(&lines, width);
    document.footer.extend(left_out);
    sinks.list(&document, &ResultOutput::default(), width);
    Ok(sinks.finish(Exit::Fine))
}

/// What `--valid` leaves out, and how to see it.
fn left_out(arguments: &RunsList, store: &Store) -> Result<Option<String>, Failure> {
    if !arguments.filter.valid {
        return Ok(None);
    }
    let others = Filter { valid: Some(false), ..filter(&arguments.filter, 0) };
    let rows = store.runs(&others)?;
    let invalid: InvalidRuns =
        rows.iter().map(|row| row.reason.unwrap_or(ReasonCode::Unstated)).collect();
    let text = || format!("left out: {}; omit `--valid` to see them", report::not_valid(&invalid));
    Ok((!invalid.is_empty()).then(text))
}

/// Which runs are meant; a limit of 0 means all of them.
pub(crate) fn filter(arguments: &RunFilter, limit: u64) -> Filter {
    let valid = match (arguments.valid, arguments.invalid) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    Filter {
        model: arguments.model.clone(),
        engine: arguments.engine.clone(),
        device: arguments.device,
        precision: arguments.precision,
        mode: arguments.mode.map(Mode::from),
        tag: arguments.tag.clone(),
        branch: arguments.branch.clone(),
        commit: arguments.commit.clone(),
        valid,
        since: arguments.since.map(|span| clock::now() - span.as_micros() as i64),
        limit: (limit > 0).then_some(limit),
        ..Filter::default()
    }
}

/// The id somebody means: its beginning, or `latest`.
pub(crate) fn find(store: &Store, wanted: &str) -> Result<RunId, Failure> {
    if wanted != "latest" {
        return Ok(store.resolve(wanted)?);
    }
    let newest = store.runs(&Filter { limit: Some(1), ..Filter::default() })?;
    newest.into_iter().next().map(|row| row.id).ok_or_else(|| {
        Failure::new(Exit::Wrong, "no run is stored yet")
            .hint("`modelmeter profile MODEL` makes one")
    })
}

fn show(arguments: &RunsShow, store: &Store, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let run = store.run(&find(store, &arguments.run)?.0)?;
    if arguments.allocations {
        return allocations(store, &run.id).map(|()| Exit::Fine);
    }
    let short = store.short_id(&run.id)?;
    let json = JsonOptions { samples: arguments.samples };
    let view = View { json, ..View::default() };
    let mut document = report::run_document(&run, &view, Footer::Shown(&short));
    if arguments.result.path("html").is_some() {
        let dossier = modelmeter::dossier_of(run, &short, Some(store))?;
        document.page = Some(dossier_page(&dossier, Pictures::Drawn));
    }
    let mut sinks = Sinks::new(global);
    sinks.list(&document, &arguments.result, table_width());
    Ok(sinks.finish(Exit::Fine))
}

fn allocations(store: &Store, run: &RunId) -> Result<(), Failure> {
    let Some(all) = store.allocations(run)? else {
        let text = format!("run {} has no allocations", store.short_id(run)?);
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`modelmeter profile MODEL --memory` records them, if the engine supports it"));
    };
    output::data(&report::allocations_csv(&all))
}

fn delete(arguments: &RunsDelete, store: &Store) -> Result<(), Failure> {
    // Every name is resolved before anything is deleted: a typo must not delete half of what was meant.
    let ids = arguments.runs.iter().map(|run| find(store, run)).collect::<Result<Vec<_>, _>>()?;
    let count = store.delete(&ids)?;
    let plural = if count == 1 { "" } else { "s" };
    output::data(&format!("deleted {count} run{plural}\n"))
}

fn tag(arguments: &RunsTag, store: &Store) -> Result<(), Failure> {
    let id = find(store, &arguments.run)?;
    let (changed, verb, already) = if arguments.remove {
        (store.untag(&id, &arguments.tag)?, "untagged", "was not tagged")
    } else {
        (store.tag(&id, &arguments.tag)?, "tagged", "was already tagged")
    };
    let what = if changed { verb } else { already };
    output::data(&format!("run {} {what} `{}`\n", store.short_id(&id)?, arguments.tag))
}
