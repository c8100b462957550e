//! `modelmeter report`: stored runs as a page, Markdown, JSON, CSV or JUnit XML.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Report},
    command::{open_existing_store, runs, table_width},
};
use modelmeter::{About, Run, Store, dossier, dossier_page};
use page::Pictures;
use report::Block;

pub(crate) fn run(arguments: &Report, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check(&arguments.junit)?;
    let store = open_existing_store(global)?;
    let mut dossier = dossier(&store, &about(arguments, &store)?)?;
    dossier.is_brief = arguments.brief;
    if let Some(title) = &arguments.title {
        dossier.title.clone_from(title);
    }
    let mut document = report::dossier_document(&dossier);
    if arguments.result.path("html").is_some() {
        let pictures = if arguments.no_graphs { Pictures::LeftOut } else { Pictures::Drawn };
        document.page = Some(dossier_page(&dossier, pictures));
    }
    let mut sinks = Sinks::new(global);
    if let Some(path) = &arguments.junit {
        let runs: Vec<Run> = dossier.subjects.iter().map(|one| one.run.clone()).collect();
        sinks.file(path, || report::runs_junit(&runs));
    }
    // Who asks for files has them; who does not wants to read.
    let is_read = arguments.result.files().is_empty() && arguments.junit.is_none();
    match is_read {
        true => {
            if dossier.subjects.len() > 1 {
                // Every run in full would be many screens.
                document.blocks.retain(|block| !matches!(block, Block::Details { .. }));
            }
            sinks.list(&document, &arguments.result, table_width());
        }
        false => sinks.formats(&document, &arguments.result),
    }
    Ok(sinks.finish(Exit::Fine))
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
