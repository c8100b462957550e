//! A report as Markdown, and the pieces it is made of.

use crate::{
    encoder::layers,
    sample::{invalid_run, text_run, tokenised_run, vision_run},
};
use modelmeter_report::{Dossier, Sheet, Subject, dossier_document};
use types::{Run, RunId};

fn subject(run: Run) -> Subject {
    Subject {
        name: run.id.0.chars().take(4).collect(),
        command: Ok(format!("modelmeter profile '{}'", run.cell.model)),
        advice: Vec::new(),
        fine: Vec::new(),
        not_judged: Vec::new(),
        ceilings: None,
        run,
    }
}

#[test]
fn a_run_for_a_pull_request() {
    let mut run = text_run();
    run.layers = Some(Box::new(layers(2)));
    let dossier = Dossier { subjects: vec![subject(run)], ..Dossier::default() };
    insta::assert_snapshot!(dossier_document(&dossier).markdown());
}

#[test]
fn several_runs_for_a_pull_request_in_brief() {
    let mut runs = [tokenised_run(), vision_run(), invalid_run()];
    for (run, id) in runs.iter_mut().zip(["aaaa", "bbbb", "cccc"]) {
        run.id = RunId(id.repeat(4));
    }
    let unmeasured = vec![("gpt2 | torch".to_owned(), "no `memory`".to_owned())];
    let subjects = runs.into_iter().map(subject).collect();
    let title = "Nightly <b>".to_owned();
    let dossier = Dossier { title, subjects, unmeasured, is_brief: true, ..Dossier::default() };
    insta::assert_snapshot!(dossier_document(&dossier).markdown());
}

#[test]
fn a_fence_is_longer_than_every_row_of_backticks_in_the_command() {
    let mut one = subject(text_run());
    one.command = Ok("modelmeter profile '````'".into());
    let text = dossier_document(&Dossier { subjects: vec![one], ..Dossier::default() }).markdown();
    assert!(text.contains("measure again: ````` modelmeter profile '````' `````\n"), "{text}");
}

#[test]
fn a_percentile_without_support_says_what_it_needs() {
    let sheet = Sheet::of(&text_run());
    let row = |name: &str| {
        sheet.percentiles.rows.iter().find(|row| row.cells[0] == name).unwrap().cells.clone()
    };
    assert_eq!(row("p95")[4], "supported");
    assert_eq!(row("p99")[3..], ["662 runs", "too few: 212 taken"]);
    assert!(row("p99")[1].ends_with('*'));
    let p95 = sheet.figures.iter().find(|figure| figure.name == "p95 latency").unwrap();
    assert!(p95.note.starts_with("p99 ") && p95.note.ends_with('*'), "{p95:?}");
}
