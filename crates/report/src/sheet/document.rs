//! A report about runs as a result: an overview, comparisons, then every run with its details folded away.

use super::{
    advice::advice_sheet,
    dossier::{Dossier, Subject},
    overview::overview_grid,
    run::Sheet,
};
use crate::clean::clean;
use crate::comparison::comparison_document;
use crate::csv::runs_table;
use crate::json::{JsonOptions, runs_json};
use crate::result::{Block, Fact, Note, ResultDocument};
use crate::summary::{Footer, View, run_document};
use types::Run;

/// The report as a result.
#[must_use]
pub fn dossier_document(dossier: &Dossier) -> ResultDocument {
    let runs: Vec<Run> = dossier.subjects.iter().map(|one| one.run.clone()).collect();
    let mut document = match dossier.subjects.as_slice() {
        [only] => subject(only, dossier.is_brief),
        _ => overview(dossier, &runs),
    };
    if !dossier.title.is_empty() {
        document.title = vec![dossier.heading()];
    }
    for report in &dossier.comparisons {
        let comparison = comparison_document(report);
        document.blocks.push(Block::Heading(comparison.title.join(" · ")));
        document.blocks.extend(comparison.blocks);
    }
    if dossier.subjects.len() > 1 {
        document.blocks.extend(dossier.subjects.iter().map(|one| Block::Details {
            title: format!("run {}", clean(&one.name)),
            blocks: folded(subject(one, dossier.is_brief)),
        }));
    }
    let unmeasured = dossier
        .unmeasured
        .iter()
        .map(|(cell, why)| Note::warning(format!("not measured: {}: {}", clean(cell), clean(why))));
    document.blocks.push(Block::Notes(unmeasured.collect()));
    ResultDocument {
        json: runs_json(&runs, JsonOptions::default()),
        data: Some(runs_table(&runs)),
        ..document
    }
}

/// Every run as a row.
fn overview(dossier: &Dossier, runs: &[Run]) -> ResultDocument {
    let names: Vec<String> = dossier.subjects.iter().map(|one| clean(&one.name)).collect();
    let (grid, common) = overview_grid(&runs.iter().collect::<Vec<_>>(), &names);
    let valid = format!("{} of {} runs are valid", dossier.valid(), runs.len());
    ResultDocument {
        title: vec![dossier.heading()],
        facts: std::iter::once(valid).chain(common).collect(),
        blocks: vec![Block::table("runs", grid.without_silent_columns())],
        ..ResultDocument::default()
    }
}

/// A run with everything that is known of it.
fn subject(subject: &Subject, is_brief: bool) -> ResultDocument {
    let sheet = Sheet::of(&subject.run);
    let view = View { is_brief, ..View::default() };
    let mut document = run_document(&subject.run, &view, Footer::Shown(&subject.name));
    let mut details = |title: &str, blocks: Vec<Block>| {
        document.blocks.push(Block::Details { title: title.into(), blocks });
    };
    if !sheet.percentiles.rows.is_empty() {
        let percentiles = Block::table("percentiles", sheet.percentiles.clone());
        details("Percentiles and their support", vec![percentiles]);
    }
    if !is_brief {
        let environment = sheet.environment.iter().map(|(label, text)| Fact::new(label, text));
        details("Environment", vec![Block::Facts(environment.collect())]);
    }
    if !subject.advice.is_empty() {
        let advice = subject.advice.iter().map(|one| {
            let sheet = advice_sheet(one);
            Note::new(format!("{}: {} ({})", sheet.title, sheet.gain, sheet.why.join("; ")))
        });
        details("Advice", vec![Block::Notes(advice.collect())]);
    }
    let again = match &subject.command {
        Ok(command) => Fact::command("measure again", clean(command)),
        Err(why) => Fact::new("measure again", clean(why)),
    };
    document.blocks.push(Block::Facts(vec![again]));
    document
}

/// The parts of a document with what stands around them.
fn folded(document: ResultDocument) -> Vec<Block> {
    let mut blocks = Vec::new();
    let facts = Fact { label: "setting".into(), pieces: document.facts, ..Fact::default() };
    blocks.push(Block::Notes(document.verdict.into_iter().collect()));
    blocks.push(Block::Facts(vec![facts]));
    blocks.extend(document.blocks);
    blocks
}
