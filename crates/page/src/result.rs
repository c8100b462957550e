//! Any result as a page: whole in itself, like the report about runs.

use crate::{
    Part,
    document::document,
    html::Html,
    table::{Extras, table},
};
use report::{Block, Fact, Note, ResultDocument, ResultPicture, Tone};

/// A result as a page; equal results give equal bytes.
#[must_use]
pub fn result_page(result: &ResultDocument) -> String {
    if let Some(page) = &result.page {
        return page.clone();
    }
    let Part { title, body } = result_part(result);
    let mut html = Html::default();
    html.open("main", &[("id", "numbers")]);
    html.append(body);
    html.close("main");
    document(&title, html)
}

/// What stands inside the page of a result.
#[must_use]
pub fn result_part(result: &ResultDocument) -> Part {
    let title =
        result.title.first().map_or_else(|| "Result".to_owned(), |title| report::clean(title));
    let mut html = Html::default();
    html.open("div", &[("class", "hero")]);
    html.inside("h1", &[("class", "model")], |html| html.element("bdi", &[], &title));
    chips(&mut html, result);
    html.close("div");
    rest(&mut html, result);
    Part { title, body: html }
}

/// A result as a section of a page that has a heading already.
#[must_use]
pub fn result_section(result: &ResultDocument) -> Html {
    let mut html = Html::default();
    if let Some(title) = result.title.first() {
        html.inside("h2", &[], |html| html.element("bdi", &[], &report::clean(title)));
    }
    chips(&mut html, result);
    rest(&mut html, result);
    html
}

/// What comes after the title: the verdict, the parts, the last words.
fn rest(html: &mut Html, result: &ResultDocument) {
    if let Some(note) = &result.verdict {
        verdict(html, note);
    }
    html.open("section", &[]);
    for block in &result.blocks {
        self::block(html, block);
    }
    html.close("section");
    if !result.footer.is_empty() {
        html.inside("p", &[("class", "eyebrow")], |html| {
            html.prose(&report::clean(&result.footer.join(" · ")))
        });
    }
}

fn chips(html: &mut Html, result: &ResultDocument) {
    let rest: Vec<&String> = result.title.iter().skip(1).chain(&result.facts).collect();
    if rest.is_empty() {
        return;
    }
    html.open("ul", &[("class", "chips"), ("aria-label", "Setting")]);
    for fact in rest {
        html.element("li", &[], &report::clean(fact));
    }
    html.close("ul");
}

fn verdict(html: &mut Html, note: &Note) {
    let (class, sign) = match note.tone {
        Tone::Good | Tone::Plain => ("verdict good", "✓"),
        Tone::Warning => ("verdict warn", "?"),
        Tone::Bad => ("verdict bad", "✕"),
    };
    html.open("div", &[("class", class)]);
    html.inside("p", &[("class", "verdict-words")], |html| {
        html.element("span", &[("class", "sign"), ("aria-hidden", "true")], sign);
        html.inside("strong", &[], |html| html.prose(&report::clean(&note.text)));
    });
    html.close("div");
}

fn block(html: &mut Html, block: &Block) {
    match block {
        Block::Heading(text) => html.element("h2", &[], &report::clean(text)),
        Block::Facts(facts) => self::facts(html, facts),
        Block::Table { name, grid, .. } => table(html, name, grid, &Extras::default()),
        Block::Notes(notes) => self::notes(html, notes),
        Block::Picture(picture) => self::picture(html, picture),
        Block::Chart(_) => {}
        Block::Details { title, blocks } => {
            html.open("details", &[]);
            html.element("summary", &[], &report::clean(title));
            for block in blocks {
                self::block(html, block);
            }
            html.close("details");
        }
    }
}

fn picture(html: &mut Html, ResultPicture { title, svg, narrow }: &ResultPicture) {
    let title = report::clean(title);
    let class = if narrow.is_some() { "card for-screens" } else { "card" };
    let narrow = narrow.iter().map(|narrow| ("card for-phones", narrow));
    for (class, svg) in std::iter::once((class, svg)).chain(narrow) {
        let scroll = [("class", "scroll picture"), ("role", "region"), ("aria-label", &*title)];
        html.open("figure", &[("class", class)]);
        html.open("div", &[&scroll[..], &[("tabindex", "0")]].concat());
        html.drawing(svg);
        html.close("div");
        html.element("figcaption", &[("class", "unseen")], &title);
        html.close("figure");
    }
}

fn facts(html: &mut Html, facts: &[Fact]) {
    html.open("dl", &[("class", "facts")]);
    for fact in facts {
        html.open("div", &[]);
        html.element("dt", &[], &report::clean(&fact.label));
        let text = fact.pieces.join(if fact.is_command { " " } else { " · " });
        let text = report::clean(&text);
        html.inside("dd", &[("class", tone(fact.tone))], |html| match fact.is_command {
            true => html.element("code", &[], &text),
            false => html.prose(&text),
        });
        html.close("div");
    }
    html.close("dl");
}

fn notes(html: &mut Html, notes: &[Note]) {
    html.open("ul", &[("class", "notes")]);
    for note in notes {
        html.inside("li", &[("class", tone(note.tone))], |html| {
            let mark = note.mark.map(|mark| format!("{mark} ")).unwrap_or_default();
            html.prose(&report::clean(&format!("{mark}{}", note.text)))
        });
    }
    html.close("ul");
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warn",
        Tone::Bad => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_what_its_script_looks_for() {
        let page = result_page(&ResultDocument::default());
        assert!(page.contains("getElementById(\"tools\")"), "the script asks for something else");
        assert_eq!(page.matches("<div id=\"tools\">").count(), 1);
        assert_eq!(page.matches("<main id=\"numbers\">").count(), 1);
    }

    #[test]
    fn a_page_says_what_it_comes_to_before_it_shows_it_on_screens_and_phones() {
        let [wide, narrow] = ["<svg>wide</svg>", "<svg>narrow</svg>"].map(str::to_owned);
        let title = "times <script>".to_owned();
        let picture = ResultPicture { title, svg: wide, narrow: Some(narrow) };
        let page = result_page(&ResultDocument {
            verdict: Some(Note::of(Tone::Bad, "1 change")),
            blocks: vec![Block::Picture(picture)],
            ..ResultDocument::default()
        });
        let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no `{what}` in {page}"));
        assert!(at("<strong>1 change") < at("for-screens\""), "{page}");
        assert!(at("for-screens\"") < at("<svg>wide"), "{page}");
        assert!(at("<svg>wide") < at("for-phones\"") && at("for-phones\"") < at("<svg>narrow"));
        assert!(!page.contains("times <script>"));
    }
}
