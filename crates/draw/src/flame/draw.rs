//! The page: a title, a key to the colours, the frames, and notes on what is not drawn.
//!
//! It needs nothing from outside and no script: names stand in the frames and numbers in their tooltips. A small
//! script, where it may run, zooms into a frame and searches. A model of many equal blocks is drawn twice: with the
//! same places of all blocks together, where names can be read, and block by block, where one that differs is seen.

use super::{
    panel::{LETTER, MARGIN, Panel, ROOM},
    svg::{Pixels, escape, text},
    words::amount,
};
use analysis::TimeTree;
use report::{clean, cut, percent, seconds, wrap};
use std::fmt::Write;
use types::{LayerKind, LayerReport};

const WIDTH: f64 = ROOM + 2.0 * MARGIN;
/// Columns of notes in the room there is, at 12 px.
const NOTE_COLUMNS: usize = 170;
const NOTE: f64 = 18.0;
/// Bytes that all frames together may take, so that the file stays easy to send.
const MOST_BYTES: usize = 440_000;
/// The same for a part of a page, which has other things in it.
const MOST_BYTES_IN_PAGE: usize = 220_000;
/// Notes from outside that are shown; a report has a handful.
const MOST_REMARKS: usize = 12;

const STYLE: &str = include_str!("look.css");
/// What zooms into the frames of a flame graph: a function `flame` of the `svg`, which gives back a function that searches.
pub const FLAME_SCRIPT: &str = include_str!("zoom.js");
const BUTTON: &str = include_str!("button.js");

/// A flame graph of the layers of this model as SVG: self-contained, light or dark as its reader likes it. Below the name
/// stands how it was measured.
#[must_use]
pub fn flamegraph(report: &LayerReport, model: &str, setting: &str) -> String {
    let model = &clean(model);
    let mut head = String::new();
    text(&mut head, "model", MARGIN, 32.0, &cut(model, 90));
    text(&mut head, "setting", MARGIN, 53.0, &cut(&clean(setting), 160));
    let Body { svg, height } = body(report, model, 66.0, MOST_BYTES);
    let height = Pixels(height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"what\">\n\
         <title id=\"what\">{}: where the time goes</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{head}{svg}\
         <script><![CDATA[\n{FLAME_SCRIPT}{BUTTON}]]></script>\n</svg>\n",
        escape(model)
    )
}

/// The same for a page that has its own style and runs [`FLAME_SCRIPT`]: an `svg` of the class `flame` without style and script,
/// and smaller.
#[must_use]
pub fn flamegraph_for_page(report: &LayerReport, model: &str) -> String {
    let model = &clean(model);
    let Body { svg, height } = body(report, model, 4.0, MOST_BYTES_IN_PAGE);
    format!(
        "<svg class=\"flame\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\">\n\
         <title>{}: where the time goes</title>\n{svg}</svg>\n",
        Pixels(height),
        escape(model)
    )
}

/// The key, the frames and the notes.
struct Body {
    svg: String,
    /// Where it ends, in pixels from the top.
    height: f64,
}

/// Draws from this height on, in about so many bytes.
fn body(report: &LayerReport, model: &str, top: f64, bytes: usize) -> Body {
    let tree = TimeTree::of(report, model, clean);
    let together = tree.pooled().map(|pooled| Panel::of(&pooled, report, bytes / 2));
    let rest = bytes - together.as_ref().map_or(0, Panel::bytes);
    let apart = Panel::of(&tree, report, rest);
    let notes: Vec<String> =
        notes(report, &apart).iter().flat_map(|note| wrap(note, NOTE_COLUMNS)).collect();

    let mut svg = String::new();
    key(&mut svg, &apart, top);
    let mut y = top + 26.0;
    if let Some(together) = &together {
        y += 8.0;
        text(&mut svg, "note", MARGIN, y, "The same place in every block, all blocks together");
        together.write(y + 8.0, &mut svg);
        y += 8.0 + together.height() + 26.0;
        text(&mut svg, "note", MARGIN, y, "Block by block, in the order they ran");
        y += 8.0;
    }
    apart.write(y, &mut svg);
    y += apart.height();
    for note in &notes {
        y += NOTE;
        text(&mut svg, "note", MARGIN, y + 4.0, note);
    }
    Body { svg, height: y + 20.0 }
}

/// The kinds that appear, each with its colour.
fn key(out: &mut String, panel: &Panel, top: f64) {
    let mut x = MARGIN;
    for kind in LayerKind::ALL.into_iter().filter(|kind| panel.has(*kind)) {
        let (at, y) = (Pixels(x), Pixels(top));
        let _ = writeln!(
            out,
            "<g class=\"{kind}\"><rect x=\"{at}\" y=\"{y}\" width=\"12\" height=\"12\"/></g>"
        );
        text(out, "note", x + 17.0, top + 10.0, kind.name());
        x += 17.0 + kind.name().len() as f64 * LETTER + 16.0;
    }
}

/// How far the picture can be believed, and what is not in it.
fn notes(report: &LayerReport, panel: &Panel) -> Vec<String> {
    if panel.is_empty() {
        return vec!["empty: no layers were recorded".into()];
    }
    let mut notes = vec![format!(
        "The layers add up to {}, {} of the {} measured without instruments; the instruments cost {}.",
        seconds(report.sum.0),
        percent(report.closure.value),
        seconds(report.plain.0),
        percent(report.overhead.value)
    )];
    let (count, time) = panel.left_out;
    if count > 0 {
        let these = if count == 1 { "1 frame is" } else { &format!("{count} frames are") };
        notes.push(format!("{these} too narrow to be drawn: {}.", amount(time, panel.whole)));
    }
    let remarks = report.remarks.iter().take(MOST_REMARKS);
    notes.extend(remarks.map(|remark| cut(&clean(&remark.text), 2 * NOTE_COLUMNS)));
    notes
}
