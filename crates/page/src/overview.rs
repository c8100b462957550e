//! Several runs: how many can be believed, all of them in one table, and those beside each other that did the same work.

use crate::{
    Content, Pictures,
    figure::{Title, figure},
    html::Html,
    table::{self, Extras, pill},
    tabs::Level,
};
use draw::Picture;
use report::{Dossier, comparison_sheet, overview_grid};
use types::Run;

/// Pictures that say something about several runs.
const SHOWN: [&str; 6] = ["latency", "throughput", "batch-scaling", "memory", "training", "growth"];

/// Writes what stands before the sections of runs; `linked` of them have one.
pub(crate) fn overview(html: &mut Html, content: &Content<'_>, rows: usize, linked: usize) {
    let dossier = content.dossier;
    let (valid, all) = (dossier.valid(), dossier.subjects.len());
    html.open("div", &[("class", "hero")]);
    html.element("p", &[("class", "eyebrow")], &format!("{all} runs"));
    html.inside("h1", &[("class", "model")], |html| {
        html.element("bdi", &[], &dossier.heading());
    });
    html.close("div");
    let is_valid = valid == all && dossier.unmeasured.is_empty();
    html.open("div", &[("class", if is_valid { "verdict good" } else { "verdict bad" })]);
    html.inside("p", &[("class", "verdict-words")], |html| {
        let words = match valid {
            _ if valid == all => format!("All {all} runs are valid"),
            0 => format!("None of {all} runs is valid"),
            _ => format!("{valid} of {all} runs are valid"),
        };
        html.raw(if is_valid {
            "<span class=\"sign\" aria-hidden=\"true\">✓</span>"
        } else {
            "<span class=\"sign\" aria-hidden=\"true\">✕</span>"
        });
        html.element("strong", &[], &words);
    });
    if valid < all {
        html.element("p", &[], "The reasons are in the section of each run below.");
    }
    unmeasured(html, dossier);
    html.close("div");
    html.open("section", &[("aria-labelledby", "overview")]);
    html.element("h2", &[("id", "overview")], "Overview");
    runs(html, dossier, rows, linked);
    html.close("section");
    comparisons(html, dossier);
    pictures(html, content);
}

fn unmeasured(html: &mut Html, dossier: &Dossier) {
    if dossier.unmeasured.is_empty() {
        return;
    }
    html.element("p", &[], &format!("{} cells of the plan have no run:", dossier.unmeasured.len()));
    html.open("ul", &[]);
    for (cell, why) in dossier.unmeasured.iter().take(100) {
        html.inside("li", &[("class", "against")], |html| {
            html.element("span", &[("class", "kind")], &report::clean(cell));
            html.inside("span", &[], |html| html.prose(&report::clean(why)));
        });
    }
    html.close("ul");
}

fn runs(html: &mut Html, dossier: &Dossier, rows: usize, linked: usize) {
    let subjects = dossier.subjects.get(..rows).unwrap_or(&dossier.subjects);
    let all: Vec<&Run> = subjects.iter().map(|one| &one.run).collect();
    let names: Vec<String> = subjects.iter().map(|one| report::clean(&one.name)).collect();
    let links: Vec<String> = (0..linked.min(rows)).map(|number| format!("#run-{number}")).collect();
    let (grid, common) = overview_grid(&all, &names);
    if !common.is_empty() {
        html.open("ul", &[("class", "chips common"), ("aria-label", "What all have in common")]);
        common.iter().for_each(|word| html.element("li", &[], word));
        html.close("ul");
    }
    let verdict = grid.columns.iter().position(|column| column.name() == "verdict");
    table::table(html, "All runs", &grid, &Extras { bar: None, verdict, links: &links });
    if dossier.subjects.len() > rows {
        let more = report::count((dossier.subjects.len() - rows) as u64);
        let text = format!("{more} more runs are not shown, to keep the page small.");
        html.element("p", &[("class", "note")], &text);
    }
}

fn comparisons(html: &mut Html, dossier: &Dossier) {
    if dossier.comparisons.is_empty() {
        return;
    }
    html.open("section", &[("aria-labelledby", "comparisons")]);
    html.element("h2", &[("id", "comparisons")], "Side by side");
    let mut said: Vec<String> = Vec::new();
    for report in &dossier.comparisons {
        let sheet = comparison_sheet(report);
        html.open("div", &[("class", "card")]);
        html.element("h3", &[], &sheet.title);
        table::table(html, &sheet.title, &sheet.table, &Extras::default());
        // What all comparisons have in common is said once.
        let new: Vec<String> =
            sheet.remarks.into_iter().filter(|remark| !said.contains(remark)).collect();
        if !new.is_empty() {
            html.open("ul", &[("class", "note")]);
            for remark in &new {
                html.inside("li", &[], |html| html.prose(remark));
            }
            html.close("ul");
        }
        said.extend(new);
        html.close("div");
    }
    html.close("section");
}

fn pictures(html: &mut Html, content: &Content<'_>) {
    let Some(material) = content.material.filter(|_| content.pictures == Pictures::Drawn) else {
        return;
    };
    let drawn: Vec<_> = SHOWN
        .iter()
        .filter_map(|name| Picture::by_name(name))
        .filter_map(|picture| {
            Some((picture, picture.for_page(material).ok()?, picture.for_phone(material).ok()))
        })
        .collect();
    if drawn.is_empty() {
        return;
    }
    html.open("section", &[("aria-labelledby", "pictures")]);
    html.element("h2", &[("id", "pictures")], "Pictures");
    html.element("p", &[("class", "note")], "Valid runs only, those of one cell pooled.");
    for (picture, drawn, narrow) in &drawn {
        let title = crate::hero::capital(&picture.name.replace('-', " "));
        html.open("div", &[("class", "wide")]);
        figure(html, (&title, Title::InThePicture), Level(3), Ok(drawn), narrow.as_ref());
        html.close("div");
    }
    html.close("section");
}

/// The line of a run that opens to its section.
pub(crate) fn summary(html: &mut Html, subject: &report::Subject, level: Level) {
    let run = &subject.run;
    html.open("summary", &[]);
    pill(html, run.verdict.valid, if run.verdict.valid { "valid" } else { "not valid" });
    html.text(" ");
    html.inside(level.name(), &[("class", "run-name")], |html| {
        html.element("bdi", &[], &report::clean(&run.model.name));
        html.text(" ");
        html.element("span", &[("class", "note")], &report::clean(&subject.name));
    });
    let line = report::RunLine::from(run);
    let mut words = vec![report::clean(&line.engine)];
    words.extend(line.precision.map(|precision| precision.to_string()));
    words.extend(line.batch.map(|batch| format!("batch {batch}")));
    words.extend(line.median_seconds.or(line.mean_seconds).map(report::seconds));
    html.element("span", &[("class", "run-facts")], &words.join(" · "));
    html.close("summary");
}
