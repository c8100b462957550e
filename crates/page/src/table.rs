//! Tables and lists of facts.

use crate::html::{Attributes, Html};
use report::{Grid, Side};

/// Branches of a tree that are set in further than this look alike.
const DEEPEST: usize = 6;

/// Columns of words with a cell of more characters are broken into lines.
const LONG: usize = 36;

/// Tables with more columns are set closer, so that they fit a screen.
const MANY: usize = 7;

/// What a table may have beside its cells.
#[derive(Default)]
pub(crate) struct Extras<'a> {
    /// The number of the column whose share is shown as a bar too.
    pub(crate) bar: Option<usize>,
    /// The number of the column that holds a verdict.
    pub(crate) verdict: Option<usize>,
    /// Where the first cell of each row leads.
    pub(crate) links: &'a [String],
}

/// A table with its name for those who cannot see it; columns in which no row says anything are left out.
pub(crate) fn table(html: &mut Html, name: &str, grid: &Grid, extras: &Extras<'_>) {
    if grid.rows.is_empty() {
        return;
    }
    let shown = grid.telling();
    let long: Vec<usize> = shown.iter().copied().filter(|at| is_long(grid, *at)).collect();
    // What scrolls must be reachable without a mouse.
    let scroll = [("class", "scroll"), ("role", "region"), ("aria-label", name), ("tabindex", "0")];
    html.open("div", &scroll);
    let close: Attributes<'_> = if shown.len() > MANY { &[("class", "many")] } else { &[] };
    html.open("table", close);
    html.element("caption", &[("class", "unseen")], name);
    html.open("thead", &[]);
    html.open("tr", &[]);
    for at in &shown {
        let column = &grid.columns[*at];
        let class = if column.side() == Side::Right { "number" } else { "word" };
        html.element("th", &[("scope", "col"), ("class", class)], column.name());
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for (number, row) in grid.rows.iter().enumerate() {
        if row.is_heading {
            let columns = shown.len().to_string();
            let name = row.cells.first().map_or("", String::as_str);
            html.open("tr", &[]);
            html.element(
                "th",
                &[("scope", "rowgroup"), ("class", "word"), ("colspan", &columns)],
                name,
            );
            html.close("tr");
            continue;
        }
        html.open("tr", &[]);
        for at in &shown {
            let cell = row.cells.get(*at).map_or("", String::as_str);
            if *at == 0 {
                let side = if grid.columns[*at].side() == Side::Right { "number" } else { "word" };
                let class = format!("{side} deep-{}", row.depth.min(DEEPEST));
                html.inside("th", &[("scope", "row"), ("class", &class)], |html| {
                    match extras.links.get(number) {
                        Some(link) => html.element("a", &[("href", link)], cell),
                        None => html.element("bdi", &[], cell),
                    }
                });
                continue;
            }
            let class = match grid.columns[*at].side() {
                Side::Right => "number",
                Side::Left if long.contains(at) => "word long",
                Side::Left => "word",
            };
            html.inside("td", &[("class", class)], |html| {
                if extras.bar == Some(*at) {
                    bar(html, row.share);
                }
                match extras.verdict {
                    Some(column) if column == *at => pill(html, cell == "valid", cell),
                    _ => html.prose(cell),
                }
            });
        }
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
}

fn is_long(grid: &Grid, column: usize) -> bool {
    let rows = grid.rows.iter().filter(|row| !row.is_heading);
    rows.filter_map(|row| row.cells.get(column)).any(|cell| cell.chars().count() > LONG)
}

/// A verdict in a word with its sign; colour says nothing alone.
pub(crate) fn pill(html: &mut Html, is_valid: bool, words: &str) {
    let class = if is_valid { "pill good" } else { "pill bad" };
    html.inside("span", &[("class", class)], |html| {
        html.raw(if is_valid {
            "<span aria-hidden=\"true\">✓</span> "
        } else {
            "<span aria-hidden=\"true\">✕</span> "
        });
        html.text(words);
    });
}

/// A share as a bar beside its number.
fn bar(html: &mut Html, share: Option<f64>) {
    let Some(share) = share.filter(|share| share.is_finite()) else { return };
    let width = format!("{:.1}", share.clamp(0.0, 1.0) * 100.0);
    let view = [("class", "bar"), ("viewBox", "0 0 100 8"), ("aria-hidden", "true")];
    html.open("svg", &[&view[..], &[("preserveAspectRatio", "none")]].concat());
    html.open("rect", &[("class", "track"), ("width", "100"), ("height", "8")]);
    html.close("rect");
    html.open("rect", &[("class", "fill"), ("width", &width), ("height", "8")]);
    html.close("rect");
    html.close("svg");
}

/// Labelled facts as a list of terms.
pub(crate) fn facts<'a>(html: &mut Html, rows: impl Iterator<Item = (&'a str, String)>) {
    html.open("dl", &[("class", "facts")]);
    for (label, text) in rows {
        html.open("div", &[]);
        html.element("dt", &[], label);
        html.inside("dd", &[], |html| html.prose(&text));
        html.close("div");
    }
    html.close("dl");
}
