//! The picture: a title, a key to the colours, the frames, and notes on what is not drawn.
//!
//! It needs nothing from outside and no script: names stand in the frames and numbers in their tooltips. A small
//! script, where it may run, zooms into a frame and searches.

use super::{
    svg::{Pixels, escape, text},
    tree::Tree,
    words,
};
use crate::number::{percent, seconds};
use crate::trace::TraceInfo;
use crate::wrap::{cut, text_width, wrap};
use std::fmt::Write;
use types::{LayerKind, LayerReport};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 16.0;
/// The width of the model's frame.
const ROOM: f64 = WIDTH - 2.0 * MARGIN;
/// From one row of frames to the next.
const ROW: f64 = 22.0;
/// A frame leaves a line of the background below it.
const FRAME: f64 = ROW - 1.0;
const TOP: f64 = 92.0;
/// Columns of notes in the room there is, at 12 px.
const NOTE_COLUMNS: usize = 170;
const NOTE: f64 = 18.0;
/// Pixels that a letter takes at 12 px, rather too many than too few.
const LETTER: f64 = 6.8;
/// A frame narrower than this is not even a smear; a little wider and a zoom may bring it out.
const NARROWEST: f64 = 0.1;
/// Bytes that all frames together may take, so that the file stays easy to send.
const MOST_BYTES: usize = 440_000;

const STYLE: &str = include_str!("look.css");
const SCRIPT: &str = include_str!("zoom.js");

/// A flame graph of the layers as SVG: self-contained, light or dark as its reader likes it.
#[must_use]
pub fn flamegraph(report: &LayerReport, info: &TraceInfo) -> String {
    let tree = Tree::of(report, info);
    let mut frames = Frames::of(&tree, report);
    frames.leave_out_the_narrow();
    let rows = frames.list.iter().filter(|frame| frame.drawn).map(|frame| frame.row + 1).max();
    let mut notes = notes(report, &frames);
    notes.retain(|note| !note.is_empty());
    let notes: Vec<String> = notes.iter().flat_map(|note| wrap(note, NOTE_COLUMNS)).collect();
    let bottom = TOP + rows.unwrap_or(0) as f64 * ROW;
    let height = Pixels(bottom + 12.0 + notes.len() as f64 * NOTE + 8.0);

    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"what\">\n\
         <title id=\"what\">{} · where the time goes</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        escape(&info.title())
    );
    text(&mut out, "model", MARGIN, 32.0, &cut(&info.title(), 90));
    text(&mut out, "setting", MARGIN, 53.0, &cut(&info.setting, 160));
    key(&mut out, &frames);
    out.push_str("<g id=\"frames\">\n");
    for frame in frames.list.iter().filter(|frame| frame.drawn) {
        out.push_str(&frame.markup);
    }
    out.push_str("</g>\n");
    for (index, note) in notes.iter().enumerate() {
        text(&mut out, "note", MARGIN, bottom + 22.0 + index as f64 * NOTE, note);
    }
    let _ = write!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n");
    out
}

/// The kinds that appear, each with its colour.
fn key(out: &mut String, frames: &Frames) {
    let mut x = MARGIN;
    for kind in LayerKind::ALL.into_iter().filter(|kind| frames.has(*kind)) {
        let _ = write!(
            out,
            "<g class=\"{kind}\"><rect x=\"{}\" y=\"66\" width=\"12\" height=\"12\" rx=\"2\"/></g>\n",
            Pixels(x)
        );
        text(out, "note", x + 17.0, 76.0, kind.name());
        x += 17.0 + kind.name().len() as f64 * LETTER + 18.0;
    }
}

/// How far the picture can be believed, and what is not in it.
fn notes(report: &LayerReport, frames: &Frames) -> Vec<String> {
    if frames.list.is_empty() {
        return vec!["empty: no layers were recorded".into()];
    }
    let mut notes = vec![format!(
        "The layers add up to {} = {} of {} measured without instruments; the instruments cost {}.",
        seconds(report.sum.0),
        percent(report.closure.value),
        seconds(report.plain.0),
        percent(report.overhead.value)
    )];
    let (count, time) = frames.left_out;
    if count > 0 {
        let share = if frames.whole > 0.0 { time / frames.whole } else { 0.0 };
        let these = if count == 1 { "1 frame is" } else { &format!("{count} frames are") };
        notes.push(format!(
            "{these} too narrow to be drawn: {}, {} of all layers.",
            seconds(time),
            percent(share)
        ));
    }
    notes.extend(report.remarks.iter().map(|remark| crate::clean::clean(remark)));
    notes
}

struct Frame {
    kind: Option<LayerKind>,
    row: usize,
    /// Its width in pixels.
    width: f64,
    /// Its time in seconds.
    time: f64,
    /// The frame above it.
    above: Option<usize>,
    drawn: bool,
    markup: String,
}

struct Frames {
    list: Vec<Frame>,
    /// Time of the whole picture, in seconds.
    whole: f64,
    /// How many frames are not drawn, and their time in seconds.
    left_out: (usize, f64),
}

impl Frames {
    fn of(tree: &Tree<'_>, report: &LayerReport) -> Frames {
        let whole = tree.nodes.first().map_or(0.0, |model| model.total);
        let mut frames = Frames { list: Vec::new(), whole, left_out: (0, 0.0) };
        let scale = if whole > 0.0 { ROOM / whole } else { 0.0 };
        // Where the next module inside each node begins, and the frame that each node became.
        let mut next = vec![MARGIN; tree.nodes.len()];
        let mut frame_of = vec![0; tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate() {
            let x = node.parent.map_or(MARGIN, |parent| next[parent]);
            let width = node.total * scale;
            if let Some(parent) = node.parent {
                next[parent] = x + width;
            }
            next[index] = x;
            frame_of[index] = frames.list.len();
            let (kind, lines) = match node.layer {
                Some(layer) => (Some(layer.kind), words::of_layer(node, layer, whole)),
                None => (None, words::of_model(node, report)),
            };
            let above = node.parent.map(|parent| frame_of[parent]);
            frames.push(kind, above, (x, width), node.total, &node.label, &lines);
            let is_leaf = tree.nodes.get(index + 1).is_none_or(|next| next.parent != Some(index));
            if let Some(layer) = node.layer.filter(|_| !is_leaf && node.own > 0.0) {
                let width = node.own * scale;
                let lines = words::of_own(node, layer, whole);
                let place = (x + node.total * scale - width, width);
                let label = if layer.class.is_empty() { "itself" } else { &layer.class };
                frames.push(kind, Some(frame_of[index]), place, node.own, label, &lines);
            }
        }
        frames
    }

    fn push(
        &mut self,
        kind: Option<LayerKind>,
        above: Option<usize>,
        (x, width): (f64, f64),
        time: f64,
        label: &str,
        lines: &[String],
    ) {
        let row = above.map_or(0, |above| self.list[above].row + 1);
        let y = TOP + row as f64 * ROW;
        let label = crate::clean::clean(label);
        let class = kind.map_or("whole", LayerKind::name);
        let mut markup = format!(
            "<g class=\"{class}\" data-name=\"{}\"><title>{}</title>\
             <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{FRAME}\"/>",
            escape(&cut(&label, 60)),
            escape(&lines.join("\n")),
            Pixels(x),
            Pixels(y),
            Pixels(width)
        );
        let columns = ((width - 6.0) / LETTER).max(0.0) as usize;
        if columns >= text_width(&label).min(3) {
            let (x, y, shown) = (Pixels(x + 4.0), Pixels(y + 15.0), escape(&cut(&label, columns)));
            let _ = write!(markup, "<text x=\"{x}\" y=\"{y}\">{shown}</text>");
        }
        markup.push_str("</g>\n");
        self.list.push(Frame { kind, row, width, time, above, drawn: true, markup });
    }

    /// Keeps the widest frames that can be seen and that fit into the file; a frame goes with everything below it.
    fn leave_out_the_narrow(&mut self) {
        let mut widest: Vec<usize> = (0..self.list.len()).collect();
        widest.sort_by(|a, b| self.list[*b].width.total_cmp(&self.list[*a].width).then(a.cmp(b)));
        let mut bytes = 0;
        for index in widest {
            bytes += self.list[index].markup.len();
            self.list[index].drawn = self.list[index].width >= NARROWEST && bytes <= MOST_BYTES;
        }
        for index in 0..self.list.len() {
            let above = self.list[index].above.is_none_or(|above| self.list[above].drawn);
            self.list[index].drawn &= above;
            if !self.list[index].drawn {
                self.left_out.0 += 1;
                // What hangs below a frame that is left out is part of its time.
                self.left_out.1 += if above { self.list[index].time } else { 0.0 };
            }
        }
    }

    fn has(&self, kind: LayerKind) -> bool {
        self.list.iter().any(|frame| frame.drawn && frame.kind == Some(kind))
    }
}
