//! `modelmeter bench`: measures a plan and survives whatever becomes of a cell.

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
    CellReport, CellStanding, Control, Expansion, Host, HostOptions, PlanEvent, PlanReport,
    PlanRunner, Profiler, Resume, Session, Shard, Survey,
    report::{Column, Style, Table, clean},
    shard_of_environment, store,
};
use serde_json::json;
use std::path::Path;

/// The command that serves a plan of another machine; nobody types it.
pub(crate) const HOST_COMMAND: &str = "__host";

/// `modelmeter __host`: measures here what another machine asks for on the standard streams.
pub(crate) fn serve(global: &Global) -> Result<Exit, Failure> {
    let base =
        measurement::hub(Profiler::new(""), false).places(places(global)).folders(folders(global)?);
    let served = modelmeter::serve_host(&base, std::io::stdin().lock(), std::io::stdout());
    served.map_err(|error| {
        Failure::new(Exit::Cannot, "the other machine went away").cause(error.to_string())
    })?;
    Ok(Exit::Fine)
}

pub(crate) fn run(arguments: &Bench, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    let plan::Read { spec, base, repeats } = plan::read(arguments, places(global))?;
    let files = [&arguments.json, &arguments.prometheus].into_iter().flatten();
    for path in files.filter(|path| *path != Path::new("-")) {
        output::check_folder(path)?;
    }
    let resume = match (arguments.resume, arguments.again) {
        (true, _) => Resume::Invalid,
        (_, true) => Resume::Again,
        _ => Resume::Join,
    };
    let runner = PlanRunner::new(spec, base, folders.clone())
        .shard(shard(arguments, &folders.database)?)
        .resume(resume)
        .retry_failed(arguments.retry_failed)
        .lease(arguments.lease);
    let runner = match repeats {
        Some(repeats) => runner.repeats(repeats),
        None => runner,
    };
    if arguments.dry_run {
        let expansion = runner.expand()?;
        output::data(&planned(&expansion, &style(global)))?;
        return Ok(Exit::Fine);
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
    let mut hear = |event: PlanEvent<'_>| live.hear(&event);
    let outcome = match &mut host {
        Some(host) => runner.run_there(host, &mut session, &control, &mut hear),
        None => runner.run(&mut session, &control, &mut hear),
    };
    live.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let report = outcome?;
    if let Some(path) = &arguments.json {
        let document = json!({ "schema": "modelmeter.plan/1", "report": report });
        sinks.file(path, || format!("{document:#}\n"));
    }
    if let Some(path) = &arguments.prometheus {
        sinks.attempt(write_prometheus(path, &report, &session));
    }
    let exit = exit_of(&report);
    sinks.page_of(exit, |style| ending(&report, style));
    if arguments.compare {
        match side_by_side(&report, &session, &style(global)) {
            Ok(page) => sinks.page(|_| page),
            Err(failure) => sinks.attempt(Err(failure)),
        }
    }
    sinks.attempt(interruption(&report));
    Ok(sinks.finish(exit))
}

/// What ended a plan before everything was measured.
pub(crate) fn interruption(report: &PlanReport) -> Result<(), Failure> {
    let Some(interrupted) = &report.interrupted else { return Ok(()) };
    let failure = Failure::new(Exit::Cannot, "the plan was interrupted; what was finished is kept")
        .cause(&interrupted.why);
    Err(match &interrupted.hint {
        Some(hint) => failure.hint(format!("{hint}; then the same command goes on")),
        None => failure.hint("the same command goes on"),
    })
}

/// The newest numbers of the plan for Prometheus; nothing where nothing was measured.
fn write_prometheus(path: &Path, report: &PlanReport, session: &Session) -> Result<(), Failure> {
    let measured = report.count(CellStanding::Measured) > 0;
    let Some(store) = session.store().filter(|_| measured) else { return Ok(()) };
    let survey = Survey { tag: Some(report.plan.clone()), ..Survey::default() };
    output::to_file(path, &modelmeter::report::prometheus(&survey.analyse(store)?, None))
}

/// What the plan's runs say together; they carry its name.
fn side_by_side(report: &PlanReport, session: &Session, style: &Style) -> Result<String, Failure> {
    let measured = report.count(CellStanding::Measured) > 0;
    let Some(store) = session.store().filter(|_| measured) else {
        return Ok(String::new());
    };
    let survey = Survey { tag: Some(report.plan.clone()), ..Survey::default() };
    let found = survey.analyse(store)?;
    Ok(format!("\n{}", modelmeter::report::analysis(&found, style)))
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

/// What came of it: what failed and why, what is left, and where to look.
fn ending(report: &PlanReport, style: &Style) -> String {
    let mut text = String::new();
    let failed: Vec<&CellReport> =
        report.cells.iter().filter(|cell| cell.standing == CellStanding::Failed).collect();
    if !failed.is_empty() {
        // Cells that failed for one reason stand together.
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for cell in &failed {
            let why = cell.why.as_deref().unwrap_or_default();
            let name = clean(&cell.task.name());
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
        let mut table = Table::new([Column::left("failed").wraps(), Column::left("why").wraps()])
            .painted(style);
        for (why, names) in reasons {
            let what = match names.as_slice() {
                [one] => one.clone(),
                [first, ..] => format!("{first} and {} more", names.len() - 1),
                [] => String::new(),
            };
            table.push([what, clean(why)]);
        }
        text += &format!("\n{}", table.render(Some(style.width)));
    }
    let open = report.count(CellStanding::Open);
    let measured = report.count(CellStanding::Measured);
    let mut words = vec![format!("{} measured", live::cells(measured))];
    if !failed.is_empty() {
        words.push(format!("{} failed", failed.len()));
    }
    if open > 0 {
        words.push(format!("{open} left"));
    }
    let name = clean(&report.plan);
    text += &format!("\nplan `{name}`: {}\n", words.join(", "));
    if report.repeated > 0 {
        let plural = if report.repeated == 1 { "process was" } else { "processes were" };
        text += &format!("{} disturbed {plural} repeated\n", report.repeated);
    }
    let not_valid = report.not_valid();
    if !not_valid.is_empty() {
        let lacking = report.cells.iter().filter(|cell| cell.lacks_valid_run()).count();
        text += &format!("{}\n", modelmeter::report::not_valid(&not_valid));
        if lacking > 0 {
            text += &format!(
                "{} without a valid run; the same command with `--resume` measures them again\n",
                live::cells(lacking)
            );
        }
    }
    if report.stopped || open > 0 {
        text += "the same command goes on where it stopped\n";
    }
    if measured > 0 {
        text += &format!(
            "`modelmeter runs list --tag {name}` shows the runs, `modelmeter analyze --tag {name}` what they say\n"
        );
    }
    if report.has_unknown_model() {
        text += "`modelmeter models` lists the models that are known by name\n";
    }
    text
}
