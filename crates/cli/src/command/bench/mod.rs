//! `modelmeter bench`: measures a plan and survives whatever becomes of a cell.

pub(crate) mod explore;
pub(crate) mod live;
mod plan;
pub(crate) mod signals;

use crate::{
    Exit, Failure, Sinks,
    arguments::{Bench, Global},
    command::{folders, measurement, session, style},
    output,
    places::places,
};
use live::Live;
use modelmeter::{
    CellMeasurer, CellReport, CellStanding, Control, Event, Expansion, Host, HostOptions,
    PlanReport, PlanRunner, Profiler, Resume, Session, Shard, Survey, shard_of_environment,
};
use report::{
    Block, Column, DataTable, Grid, Note, ResultDocument, Style, Table, Tone, analysis_document,
    clean, to_json,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// The name and version of the document.
pub(crate) const PLAN_SCHEMA: &str = "modelmeter.plan/1";

/// The command that serves a plan of another machine; nobody types it.
pub(crate) const HOST_COMMAND: &str = "__host";

/// `modelmeter __host`: measures here what another machine asks for on the standard streams.
pub(crate) fn serve(global: &Global) -> Result<Exit, Failure> {
    let base =
        measurement::hub(Profiler::new(""), false).places(places(global)).folders(folders(global)?);
    let served = modelmeter::serve_host(&base, std::io::stdin().lock(), std::io::stdout());
    served.map_err(|error| {
        Failure::new(Exit::Cannot, "the connection to the other machine was lost")
            .cause(error.to_string())
    })?;
    Ok(Exit::Fine)
}

pub(crate) fn run(arguments: &Bench, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    let plan::Read { spec, base, repeats } = plan::read(arguments, places(global))?;
    arguments.result.check(&arguments.prometheus)?;
    let resume = match (arguments.resume, arguments.again) {
        (true, _) => Resume::Invalid,
        (_, true) => Resume::Again,
        _ => Resume::Join,
    };
    let base = base.folders(folders.clone());
    let runner = PlanRunner::new(spec, &folders.database)
        .shard(shard(arguments, &folders.database)?)
        .resume(resume)
        .retry_failed(arguments.retry_failed)
        .lease(arguments.lease);
    let runner = match repeats {
        Some(repeats) => runner.repeats(repeats),
        None => runner,
    };
    if arguments.dry_run {
        let expansion = runner.expand(&base.engines_here())?;
        output::data(&planned(&expansion, &style(global)))?;
        return Ok(Exit::Fine);
    }
    if let Some(budget) = arguments.explore {
        let expansion = runner.expand(&base.engines_here())?;
        return explore::run(arguments, &base, &expansion, &folders, budget, global);
    }
    let mut session = session(&folders, false, global)?;
    let control = Control::default();
    signals::watch(&control)?;
    let host = arguments.host.as_ref().map(|address| HostOptions {
        address: address.clone(),
        program: arguments.host_program.clone(),
        argument: HOST_COMMAND.to_owned(),
    });
    let mut host = host.as_ref().map(Host::connect).transpose()?;
    let mut live = Live::new(global.quiet, &style(global), &control);
    let mut hear = |event: Event| {
        live.hear(&event);
        if let Event::PlanStarted { processes, finished, .. } = event
            && processes > finished
        {
            let left = processes - finished;
            live.hear(&base.forecast(format!("{}, without loading", live::processes(left)), left));
        }
    };
    let outcome = match &mut host {
        Some(host) => runner.run_on(&mut host.executor(&base, &mut session), &control, &mut hear),
        None => runner.run(&mut CellMeasurer::new(&base, &mut session), &control, &mut hear),
    };
    live.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let report = outcome?;
    if let Some(path) = &arguments.prometheus {
        match prometheus(&report, &session) {
            Ok(Some(text)) => sinks.file(path, || text),
            Ok(None) => {}
            Err(failure) => sinks.attempt(Err(failure)),
        }
    }
    let exit = exit_of(&report);
    let mut document = ending(&report);
    if arguments.compare {
        match side_by_side(&report, &session) {
            Ok(compared) => document.blocks.extend(compared.into_iter().flat_map(|one| one.blocks)),
            Err(failure) => sinks.attempt(Err(failure)),
        }
    }
    sinks.result(&document, &arguments.result, exit);
    sinks.attempt(interruption(&report));
    Ok(sinks.finish(exit))
}

/// What ended a plan before everything was measured.
pub(crate) fn interruption(report: &PlanReport) -> Result<(), Failure> {
    let Some(interrupted) = &report.interrupted else { return Ok(()) };
    let failure = Failure::new(Exit::Cannot, "the plan was interrupted; what was finished is kept")
        .cause(&interrupted.why);
    Err(match &interrupted.hint {
        Some(hint) => failure.hint(format!("{hint}; then run the same command to continue")),
        None => failure.hint("run the same command to continue"),
    })
}

/// The newest numbers of the plan for Prometheus; nothing where nothing was measured.
fn prometheus(report: &PlanReport, session: &Session) -> Result<Option<String>, Failure> {
    let measured = report.count(CellStanding::Measured) > 0;
    let Some(store) = session.store().filter(|_| measured) else { return Ok(None) };
    let survey = Survey { tag: Some(report.plan.clone()), ..Survey::default() };
    Ok(Some(report::prometheus(&survey.analyse(store)?, None)))
}

/// What the plan's runs say together; they carry its name.
fn side_by_side(report: &PlanReport, session: &Session) -> Result<Option<ResultDocument>, Failure> {
    let measured = report.count(CellStanding::Measured) > 0;
    let Some(store) = session.store().filter(|_| measured) else {
        return Ok(None);
    };
    let survey = Survey { tag: Some(report.plan.clone()), ..Survey::default() };
    let found = survey.analyse(store)?;
    Ok(Some(analysis_document(&found, None)))
}

/// The part that was asked for, or that an array gives. A server hands out cells by itself.
fn shard(arguments: &Bench, database: &Path) -> Result<Option<Shard>, Failure> {
    if arguments.shard.is_some() || store::is_server(database) {
        return Ok(arguments.shard);
    }
    Ok(shard_of_environment(|name| std::env::var(name).ok())?)
}

fn exit_of(report: &PlanReport) -> Exit {
    if report.stopped {
        Exit::Stopped
    } else if report.has_unknown_model() {
        Exit::Wrong
    } else if report.count(CellStanding::Failed) > 0 {
        Exit::Cannot
    } else {
        Exit::Fine
    }
}

/// What a plan would measure.
fn planned(expansion: &Expansion, style: &Style) -> String {
    let mut table = Table::new([
        Column::left("model").shrinks(),
        Column::left("engine"),
        Column::left("device"),
        Column::left("format"),
        Column::right("batch"),
        Column::right("length").leaves(2),
        Column::right("threads").leaves(1),
        Column::left("mode").leaves(3),
    ])
    .painted(style);
    let usual = || "–".to_owned();
    for task in &expansion.cells {
        table.push([
            clean(&task.model),
            clean(&task.engine),
            task.device.to_string(),
            task.precision.map_or_else(usual, |precision| precision.name().to_owned()),
            task.batch_size.map_or_else(usual, |size| size.to_string()),
            task.sequence_length.map_or_else(usual, |length| length.to_string()),
            task.threads.map_or_else(usual, |threads| threads.to_string()),
            task.mode.name().to_owned(),
        ]);
    }
    let mut text = match table.is_empty() {
        true => String::new(),
        false => format!("{}\n", table.render(Some(style.width))),
    };
    text += &format!("{} would be measured\n", live::cells(expansion.cells.len()));
    text + &live::left_out(&expansion.left_out, style)
}

/// The result of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanDocument<'a> {
    #[schemars(extend("const" = PLAN_SCHEMA))]
    schema: &'static str,
    report: &'a PlanReport,
}

/// What came of it: what failed and why, what is left, and where to look.
fn ending(report: &PlanReport) -> ResultDocument {
    let failed: Vec<&CellReport> =
        report.cells.iter().filter(|cell| cell.standing == CellStanding::Failed).collect();
    let (open, measured) = (report.count(CellStanding::Open), report.count(CellStanding::Measured));
    let mut words = vec![format!("{} measured", live::cells(measured))];
    if !failed.is_empty() {
        words.push(format!("{} failed", failed.len()));
    }
    if open > 0 {
        words.push(format!("{open} left"));
    }
    let name = clean(&report.plan);
    let mut blocks = Vec::new();
    if !failed.is_empty() {
        blocks.push(Block::table("failed cells", reasons(&failed)));
    }
    blocks.push(Block::Notes(notes(report).into_iter().map(Note::new).collect()));
    let tone = if failed.is_empty() && open == 0 { Tone::Good } else { Tone::Warning };
    ResultDocument {
        title: vec![format!("Plan {name}")],
        verdict: Some(Note::of(tone, format!("plan `{name}`: {}", words.join(", ")))),
        blocks,
        json: to_json(&PlanDocument { schema: PLAN_SCHEMA, report }),
        data: Some(data(report)),
        ..ResultDocument::default()
    }
}

/// Cells that failed for one reason stand together.
fn reasons(failed: &[&CellReport]) -> Grid {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in failed {
        let why = cell.why.as_deref().unwrap_or_default();
        let name = clean(&cell.task.name());
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let mut grid = Grid::of([Column::left("failed").wraps(), Column::left("why").wraps()]);
    for (why, names) in reasons {
        let what = match names.as_slice() {
            [one] => one.clone(),
            [first, ..] => format!("{first} and {} more", names.len() - 1),
            [] => String::new(),
        };
        grid.row([what, clean(why)]);
    }
    grid
}

fn notes(report: &PlanReport) -> Vec<String> {
    let name = clean(&report.plan);
    let mut notes = Vec::new();
    if report.repeated > 0 {
        let plural = if report.repeated == 1 { "process was" } else { "processes were" };
        notes.push(format!("{} disturbed {plural} repeated", report.repeated));
    }
    let not_valid = report.not_valid();
    if !not_valid.is_empty() {
        let lacking = report.cells.iter().filter(|cell| cell.lacks_valid_run()).count();
        notes.push(report::not_valid(&not_valid));
        if lacking > 0 {
            notes.push(format!(
                "{} without a valid run; the same command with `--resume` measures them again",
                live::cells(lacking)
            ));
        }
    }
    if report.stopped || report.count(CellStanding::Open) > 0 {
        notes.push("run the same command to continue".into());
    }
    if report.count(CellStanding::Measured) > 0 {
        notes.push(format!(
            "`modelmeter runs list --tag {name}` shows the runs, `modelmeter analyze --tag {name}` analyses them"
        ));
    }
    if report.has_unknown_model() {
        notes.push("`modelmeter models` lists the models that are known by name".into());
    }
    notes
}

/// A row per cell.
fn data(report: &PlanReport) -> DataTable {
    let row = |cell: &CellReport| {
        let standing = serde_json::to_value(cell.standing).ok();
        let standing = standing.and_then(|name| name.as_str().map(str::to_owned));
        vec![Some(clean(&cell.task.name())), standing, cell.why.as_deref().map(clean)]
    };
    DataTable::new(["cell", "state", "why"], report.cells.iter().map(row))
}
