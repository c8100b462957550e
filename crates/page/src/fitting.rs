//! The page as a whole, with as much in it as fits.

use crate::{
    Content, Part, Pictures,
    document::document,
    html::Html,
    overview,
    run::{Depth, run},
    tabs::Level,
};

/// No page is larger, in bytes: it can still be sent by mail.
pub const LARGEST: usize = 2_000_000;

/// Runs in the table of a page, if there are very many.
const MOST_ROWS: usize = 2_000;

/// How much is told of runs, from everything to a table alone.
#[derive(Debug, Clone, Copy)]
struct Measure {
    /// Runs with a section of their own.
    sections: usize,
    /// Of those, runs with pictures.
    drawn: usize,
    /// Of those, runs with details.
    detailed: usize,
}

/// The page; equal content gives equal bytes, never more than [`LARGEST`] of them.
#[must_use]
pub fn page(content: &Content<'_>) -> String {
    fitting(content, |measure| attempt(content, measure), String::len)
}

/// What stands inside that page, as much of it as fits.
#[must_use]
pub fn page_part(content: &Content<'_>) -> Part {
    let body = fitting(content, |measure| inner(content, measure), |html| html.as_str().len());
    Part { title: content.dossier.heading(), body }
}

fn fitting<T>(
    content: &Content<'_>,
    attempt: impl Fn(Measure) -> T,
    length: impl Fn(&T) -> usize,
) -> T {
    let count = content.dossier.subjects.len();
    let mut measure = Measure { sections: count, drawn: count, detailed: count };
    loop {
        let text = attempt(measure);
        if length(&text) <= LARGEST {
            return text;
        }
        // Fewer runs have pictures and details, but those have all; then whole sections go.
        let share = LARGEST as f64 / length(&text) as f64;
        let Measure { sections, drawn, detailed } = measure;
        measure = match (drawn, detailed, sections) {
            (1.., _, _) => {
                let whole = fewer(drawn, share);
                Measure { drawn: whole, detailed: whole, ..measure }
            }
            (_, 1.., _) => Measure { detailed: fewer(detailed, share), ..measure },
            (_, _, 1..) => Measure { sections: fewer(sections, share), ..measure },
            _ => return text,
        };
    }
}

/// At least one fewer; as many as are left where only this share found room, and a little less.
fn fewer(number: usize, share: f64) -> usize {
    ((number as f64 * share * 0.9) as usize).min(number.saturating_sub(1))
}

fn attempt(content: &Content<'_>, measure: Measure) -> String {
    let mut html = Html::default();
    html.raw("<main id=\"numbers\">\n");
    html.append(inner(content, measure));
    html.raw("</main>\n");
    footer(&mut html);
    document(&content.dossier.heading(), html)
}

fn inner(content: &Content<'_>, measure: Measure) -> Html {
    let dossier = content.dossier;
    let mut html = Html::default();
    match dossier.subjects.as_slice() {
        [] => html.element("h1", &[], &dossier.heading()),
        [only] => {
            let details = !dossier.is_brief;
            let depth = Depth { pictures: content.pictures, details, more: content.more };
            html.open("article", &[]);
            run(&mut html, only, &dossier.heading(), "run", depth, Level(1));
            html.close("article");
        }
        _ => several(&mut html, content, measure),
    }
    html
}

fn several(html: &mut Html, content: &Content<'_>, measure: Measure) {
    let dossier = content.dossier;
    let subjects = &dossier.subjects;
    overview::overview(html, content, subjects.len().min(MOST_ROWS), measure.sections);
    if measure.sections == 0 {
        return;
    }
    html.open("section", &[("aria-labelledby", "runs")]);
    html.element("h2", &[("id", "runs")], "Runs");
    if let Some(text) = left_out(subjects.len(), measure) {
        html.element("p", &[("class", "note")], &text);
    }
    for (number, subject) in subjects.iter().take(measure.sections).enumerate() {
        let id = format!("run-{number}");
        html.open("details", &[("class", "run card"), ("id", &id)]);
        overview::summary(html, subject, Level(3));
        let pictures = if number < measure.drawn { content.pictures } else { Pictures::LeftOut };
        let details = !dossier.is_brief && number < measure.detailed;
        let depth = Depth { pictures, details, more: None };
        let title = report::clean(&subject.run.model.name);
        run(html, subject, &title, &format!("{id}-part"), depth, Level(4));
        html.close("details");
    }
    html.close("section");
}

/// What did not fit.
fn left_out(all: usize, measure: Measure) -> Option<String> {
    let Measure { sections, drawn, detailed } = measure;
    let words = match () {
        () if sections < all => {
            format!("Only the first {sections} of {all} runs have their own section here")
        }
        () if drawn.min(detailed) < all => {
            format!(
                "Only the first {} of {all} runs have their pictures and details here",
                drawn.min(detailed)
            )
        }
        () => return None,
    };
    Some(format!("{words}, to keep the page small. A report of one run has everything."))
}

fn footer(html: &mut Html) {
    html.raw("<footer><p>");
    html.text(concat!("Made by Modelmeter ", env!("CARGO_PKG_VERSION"), "."));
    html.raw(
        " This page is self-contained: it loads nothing and sends nothing. Everything is visible without scripts; \
         they only zoom, copy and switch the theme.</p></footer>\n",
    );
}
