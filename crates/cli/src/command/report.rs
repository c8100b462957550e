//! `modelmeter report`: stored runs as a page, Markdown, JSON, CSV or JUnit XML.

use crate::{
    Exit, Failure,
    arguments::{Global, Report},
    command::{open_existing_store, runs, style, table_width},
    output,
};
use modelmeter::{
    About, Run, Store, dossier, dossier_page,
    page::Pictures,
    report::{self, Dossier, Footer, JsonOptions, RunLine, clean},
};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Report, global: &Global) -> Result<Exit, Failure> {
    let files = files(arguments);
    check(&files)?;
    let store = open_existing_store(global)?;
    let mut dossier = dossier(&store, &about(arguments, &store)?)?;
    dossier.is_brief = arguments.brief;
    if let Some(title) = &arguments.title {
        dossier.title.clone_from(title);
    }
    if files.is_empty() {
        output::data(&terminal(&dossier, global))?;
        return Ok(Exit::Fine);
    }
    write(arguments, &dossier)?;
    let written: Vec<String> = files
        .iter()
        .filter(|path| path.as_path() != Path::new("-"))
        .map(|path| clean(&path.display().to_string()))
        .collect();
    if !global.quiet && !written.is_empty() {
        let count = dossier.subjects.len();
        let plural = if count == 1 { "" } else { "s" };
        output::complain(&format!("{count} run{plural} in {}\n", written.join(", ")));
    }
    Ok(Exit::Fine)
}

/// Every file that was asked for.
fn files(arguments: &Report) -> Vec<PathBuf> {
    let Report { html, markdown, json, csv, junit, .. } = arguments;
    [html, markdown, json, csv, junit].into_iter().flatten().cloned().collect()
}

/// What could never be written is said before anything is read.
fn check(files: &[PathBuf]) -> Result<(), Failure> {
    for (at, path) in files.iter().enumerate() {
        if files[..at].contains(path) {
            let text = match path == Path::new("-") {
                true => "only one form can go to standard output".to_owned(),
                false => format!("two forms cannot be one file, `{}`", path.display()),
            };
            return Err(Failure::new(Exit::Wrong, text).hint("give each a file of its own"));
        }
        if path != Path::new("-") {
            output::check_folder(path)?;
        }
    }
    Ok(())
}

fn about(arguments: &Report, store: &Store) -> Result<About, Failure> {
    if let Some(plan) = &arguments.plan {
        return Ok(About::Plan(plan.clone()));
    }
    if !arguments.model.is_empty() {
        return Ok(About::Models(arguments.model.clone()));
    }
    let mut ids = Vec::new();
    for wanted in &arguments.runs {
        let id = runs::find(store, wanted)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(About::Runs(ids))
}

fn write(arguments: &Report, dossier: &Dossier) -> Result<(), Failure> {
    let runs = || -> Vec<Run> { dossier.subjects.iter().map(|one| one.run.clone()).collect() };
    if let Some(path) = &arguments.html {
        let pictures = if arguments.no_graphs { Pictures::LeftOut } else { Pictures::Drawn };
        output::to_file(path, &dossier_page(dossier, pictures))?;
    }
    if let Some(path) = &arguments.markdown {
        output::to_file(path, &report::dossier_markdown(dossier))?;
    }
    if let Some(path) = &arguments.json {
        let runs = runs();
        output::to_file_with(path, |mut out| {
            report::write_json(&runs, JsonOptions::default(), &mut out)
        })?;
    }
    if let Some(path) = &arguments.csv {
        output::to_file(path, &report::runs_csv(&runs()))?;
    }
    if let Some(path) = &arguments.junit {
        output::to_file(path, &report::runs_junit(&runs()))?;
    }
    Ok(())
}

/// As `runs show` has it for one run, as `runs list` for several.
fn terminal(dossier: &Dossier, global: &Global) -> String {
    let style = style(global);
    if let [only] = dossier.subjects.as_slice() {
        let footer = Footer::Shown(&only.name);
        return match dossier.is_brief {
            true => report::summary(&only.run, &style, footer),
            false => report::page(&only.run, &report::View::default(), &style, footer),
        };
    }
    let line = |one: &report::Subject| RunLine { id: one.name.clone(), ..RunLine::from(&one.run) };
    let lines: Vec<RunLine> = dossier.subjects.iter().map(line).collect();
    let width = table_width();
    let mut text = report::runs_document(&lines, width).terminal(&style, width);
    for comparison in &dossier.comparisons {
        text.push_str(&format!("\n{}", report::comparison(comparison, &style)));
    }
    for (cell, why) in &dossier.unmeasured {
        text.push_str(&format!("not measured: {}: {}\n", clean(cell), clean(why)));
    }
    text
}
