//! The paper around every picture: title, what is shown, and notes below.

use crate::{
    canvas::{Canvas, Ink},
    font::{self, Weight},
    look::Theme,
    plot::Paper,
};

/// Points from edge to edge on a screen; every picture is as wide as the others.
pub(crate) const WIDTH: f64 = 960.0;

/// Points that stay free at every edge.
pub(crate) const MARGIN: f64 = 32.0;

/// The same for phones, whose pages have an edge of their own.
const NARROW: f64 = 380.0;
const NARROW_MARGIN: f64 = 8.0;

/// The size of most words.
pub(crate) const SIZE: f64 = 13.0;

/// A picture with its title; what comes next is drawn below `top`.
pub(crate) struct Page {
    pub(crate) canvas: Canvas,
    pub(crate) top: f64,
    /// Points from edge to edge.
    pub(crate) width: f64,
    /// Points that stay free at every edge.
    pub(crate) margin: f64,
    title: String,
    about: String,
}

impl Page {
    /// Writes the title, and under it what the picture shows.
    pub(crate) fn new(theme: Theme, title: &str, about: &[String]) -> Page {
        Page::on(Paper::Screen, theme, title, about)
    }

    /// The same for a screen or for a phone.
    pub(crate) fn on(paper: Paper, theme: Theme, title: &str, about: &[String]) -> Page {
        let (width, margin) = match paper {
            Paper::Screen => (WIDTH, MARGIN),
            Paper::Phone => (NARROW, NARROW_MARGIN),
        };
        let mut page = Page { margin, ..Page::untitled(theme, width, title) };
        let canvas = &mut page.canvas;
        let look = canvas.look;
        let room = width - 2.0 * margin;
        canvas.text_within(margin, 44.0, title, Ink::new(21.0, look.text).bold(), room);
        let mut top = 44.0;
        for line in about.iter().filter(|line| !line.is_empty()) {
            let line = report::clean(line);
            // Two lines say enough; the rest is in the description.
            for part in font::wrap(&line, SIZE, Weight::Regular, room).iter().take(2) {
                top += 21.0;
                canvas.text(margin, top, part, Ink::new(SIZE, look.muted));
            }
        }
        Page { top: top + 26.0, about: about.join(". "), ..page }
    }

    /// A picture for a place that shows its title already; `title` is for those who cannot see it.
    pub(crate) fn untitled(theme: Theme, width: f64, title: &str) -> Page {
        let canvas = Canvas::new(theme.look());
        Page {
            canvas,
            top: MARGIN / 2.0,
            width,
            margin: MARGIN,
            title: title.to_owned(),
            about: String::new(),
        }
    }

    /// Whether it is for a phone: there is no room for labels beside a field.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width < WIDTH / 2.0
    }

    /// Writes the notes below `bottom`, each a line or more, and ends the document.
    pub(crate) fn finish(mut self, bottom: f64, notes: &[String]) -> String {
        const NOTE: f64 = 12.0;
        let ink = Ink::new(NOTE, self.canvas.look.muted);
        let mut y = bottom + 12.0;
        for note in notes.iter().filter(|note| !note.is_empty()) {
            let note = report::clean(note);
            for line in font::wrap(&note, NOTE, Weight::Regular, self.width - 2.0 * self.margin) {
                y += 17.0;
                self.canvas.text(self.margin, y, &line, ink);
            }
        }
        self.canvas.finish(self.width, y + 22.0, &self.title, &self.about)
    }
}

/// What the whiskers are; every picture that has some says so.
pub(crate) const WHISKERS: &str = "Whiskers: 95 % interval of the pooled runs; if there is none, it is narrower than \
                                   the mark or nothing was repeated.";

/// How many cells did not fit, and what to do about it.
pub(crate) fn left_out(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "1 more cell is not shown; filter with --model, --engine or --precision.".into(),
        more => format!(
            "{} more cells are not shown; filter with --model, --engine or --precision.",
            report::count(more as u64)
        ),
    }
}
