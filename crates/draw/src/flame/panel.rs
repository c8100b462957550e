//! The frames of one tree: every module below the one around it, as wide as its time.

use super::{
    svg::{Pixels, escape},
    words,
};
use analysis::TimeTree;
use report::{clean, cut, text_width};
use std::fmt::Write;
use types::{LayerKind, LayerReport};

/// The left edge of the picture, and the right one.
pub(super) const MARGIN: f64 = 16.0;
/// The width of the model's frame.
pub(super) const ROOM: f64 = 1168.0;
/// Pixels that a letter takes at 12 px, rather too many than too few.
pub(super) const LETTER: f64 = 6.8;
/// From one row of frames to the next.
const ROW: f64 = 22.0;
/// A frame leaves a line of the background below it.
const FRAME: f64 = ROW - 1.0;
/// A frame narrower than this is not even a smear; a little wider and a zoom may bring it out.
const NARROWEST: f64 = 0.1;
/// A name is not cut to fewer letters than this.
const FEWEST_LETTERS: usize = 3;
/// A longer name is cut even where there is room.
const LONGEST_NAME: usize = 60;

/// The frames of one tree.
pub(super) struct Panel {
    frames: Vec<Frame>,
    /// Time of the whole, in seconds.
    pub(super) whole: f64,
    /// How many frames are not drawn, and their time in seconds.
    pub(super) left_out: (usize, f64),
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

impl Panel {
    /// The frames of a tree, the widest ones that fit into so many bytes.
    pub(super) fn of(tree: &TimeTree<'_>, report: &LayerReport, bytes: usize) -> Panel {
        let whole = tree.whole();
        let mut panel = Panel { frames: Vec::new(), whole, left_out: (0, 0.0) };
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
            frame_of[index] = panel.frames.len();
            let above = node.parent.map(|parent| frame_of[parent]);
            let Some(layer) = node.layer.as_deref() else {
                let lines = words::of_model(node, report);
                panel.push(None, above, (x, width), node.total, &node.label, &lines);
                continue;
            };
            let lines = words::of_layer(node, layer, whole);
            // How often is said where it changes, not again on everything inside.
            let around = node.parent.map_or(1, |parent| tree.nodes[parent].modules);
            let many = format!("{} × {}", node.label, node.modules);
            let label = if node.modules == around { &node.label } else { &many };
            panel.push(Some(layer.kind), above, (x, width), node.total, label, &lines);
            if node.own > 0.0 && !tree.is_leaf(index) {
                let width = node.own * scale;
                let lines = words::of_own(node, layer, whole);
                let place = (x + node.total * scale - width, width);
                let label = if layer.class.is_empty() { "itself" } else { &layer.class };
                let above = Some(frame_of[index]);
                panel.push(Some(layer.kind), above, place, node.own, label, &lines);
            }
        }
        panel.leave_out_the_narrow(bytes);
        panel
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The height of what is drawn, in pixels.
    pub(super) fn height(&self) -> f64 {
        let rows = self.drawn().map(|frame| frame.row + 1).max().unwrap_or(0);
        rows as f64 * ROW
    }

    /// The bytes of what is drawn.
    pub(super) fn bytes(&self) -> usize {
        self.drawn().map(|frame| frame.markup.len()).sum()
    }

    /// Whether a kind of layer is drawn.
    pub(super) fn has(&self, kind: LayerKind) -> bool {
        self.drawn().any(|frame| frame.kind == Some(kind))
    }

    /// Writes the frames, the first row at this height.
    pub(super) fn write(&self, top: f64, out: &mut String) {
        let _ = writeln!(out, "<g class=\"frames\" transform=\"translate(0 {})\">", Pixels(top));
        for frame in self.drawn() {
            out.push_str(&frame.markup);
        }
        out.push_str("</g>\n");
    }

    fn drawn(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(|frame| frame.drawn)
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
        let row = above.map_or(0, |above| self.frames[above].row + 1);
        let y = row as f64 * ROW;
        let label = cut(&clean(label), LONGEST_NAME);
        let amount = words::amount(time, self.whole);
        let mut markup = format!(
            "<g class=\"{}\" data-name=\"{}\" data-amount=\"{}\"><title>{}</title>\
             <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{FRAME}\"/>",
            kind.map_or("whole", LayerKind::name),
            escape(&label),
            escape(&amount),
            escape(&lines.join("\n")),
            Pixels(x),
            Pixels(y),
            Pixels(width)
        );
        let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
        if letters >= text_width(&label).min(FEWEST_LETTERS) {
            let name = escape(&cut(&label, letters));
            let (x, y) = (Pixels(x + 4.0), Pixels(y + 15.0));
            let _ = write!(markup, "<text x=\"{x}\" y=\"{y}\">{name}");
            if letters > text_width(&label) + text_width(&amount) + 1 {
                let _ = write!(markup, " <tspan>{}</tspan>", escape(&amount));
            }
            markup.push_str("</text>");
        }
        markup.push_str("</g>\n");
        self.frames.push(Frame { kind, row, width, time, above, drawn: true, markup });
    }

    /// Keeps the widest frames that can be seen and that fit into the file; a frame goes with everything below it.
    fn leave_out_the_narrow(&mut self, most: usize) {
        let frames = &mut self.frames;
        let mut widest: Vec<usize> = (0..frames.len()).collect();
        widest.sort_by(|a, b| frames[*b].width.total_cmp(&frames[*a].width).then(a.cmp(b)));
        let mut bytes = 0;
        for index in widest {
            bytes += frames[index].markup.len();
            frames[index].drawn = frames[index].width >= NARROWEST && bytes <= most;
        }
        for index in 0..frames.len() {
            let above = frames[index].above.is_none_or(|above| frames[above].drawn);
            frames[index].drawn &= above;
            if !frames[index].drawn {
                self.left_out.0 += 1;
                // What hangs below a frame that is left out is part of its time.
                self.left_out.1 += if above { frames[index].time } else { 0.0 };
            }
        }
    }
}
