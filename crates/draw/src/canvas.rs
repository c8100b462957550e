//! The only place that writes SVG: everything from outside is cleaned and escaped here.

use crate::{
    font::{self, FAMILY, Weight},
    look::{Colour, Look},
};
use std::fmt::Write;

/// Where words stand beside their point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How words look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ink {
    pub(crate) size: f64,
    pub(crate) weight: Weight,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
}

impl Ink {
    pub(crate) fn new(size: f64, colour: Colour) -> Ink {
        Ink { size, weight: Weight::Regular, anchor: Anchor::Start, colour }
    }

    pub(crate) fn bold(self) -> Ink {
        Ink { weight: Weight::Bold, ..self }
    }

    pub(crate) fn middle(self) -> Ink {
        Ink { anchor: Anchor::Middle, ..self }
    }

    pub(crate) fn end(self) -> Ink {
        Ink { anchor: Anchor::End, ..self }
    }

    /// How wide these words are in this ink.
    pub(crate) fn width(&self, text: &str) -> f64 {
        font::width(text, self.size, self.weight)
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of dash and gap; empty for a whole line.
    pub(crate) dash: &'static str,
}

impl Stroke {
    pub(crate) fn new(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dash: "" }
    }

    pub(crate) fn dashed(self, dash: &'static str) -> Stroke {
        Stroke { dash, ..self }
    }

    fn attributes(&self) -> String {
        let mut text =
            format!("stroke=\"{}\" stroke-width=\"{}\"", hex(self.colour), number(self.width));
        if !self.dash.is_empty() {
            let _ = write!(text, " stroke-dasharray=\"{}\"", self.dash);
        }
        text
    }
}

/// A rectangle by its corner and size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// A picture under way.
pub(crate) struct Canvas {
    pub(crate) look: &'static Look,
    body: String,
    /// What is drawn over everything else.
    front: String,
}

impl Canvas {
    pub(crate) fn new(look: &'static Look) -> Canvas {
        Canvas { look, body: String::new(), front: String::new() }
    }

    /// Words whose baseline begins, has its middle or ends at the point.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, ink: Ink) {
        self.text_turned(x, y, text, ink, 0.0);
    }

    /// Words that are turned around their point by so many degrees.
    pub(crate) fn text_turned(&mut self, x: f64, y: f64, text: &str, ink: Ink, degrees: f64) {
        if text.is_empty() {
            return;
        }
        let anchor = match ink.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if ink.weight == Weight::Bold { " font-weight=\"700\"" } else { "" };
        let (x, y) = (number(x), number(y));
        let turn = match degrees {
            0.0 => String::new(),
            degrees => format!(" transform=\"rotate({} {x} {y})\"", number(degrees)),
        };
        self.line_of(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"{weight}{anchor} fill=\"{}\"{turn}>{}</text>",
            number(ink.size),
            hex(ink.colour),
            escape(text)
        ));
    }

    /// Two words or more that follow each other, however wide the reader's font is.
    pub(crate) fn text_pair(&mut self, x: f64, y: f64, first: (&str, Ink), second: (&str, Ink)) {
        let part = |gap: &str, (text, ink): (&str, Ink)| {
            let weight = if ink.weight == Weight::Bold { " font-weight=\"700\"" } else { "" };
            let (size, colour) = (number(ink.size), hex(ink.colour));
            let text = escape(text);
            format!("<tspan{gap} font-size=\"{size}\"{weight} fill=\"{colour}\">{text}</tspan>")
        };
        self.line_of(format_args!(
            "<text x=\"{}\" y=\"{}\">{}{}</text>",
            number(x),
            number(y),
            part("", first),
            part(" dx=\"8\"", second)
        ));
    }

    /// Words that are shortened to the room there is; the whole of them is shown when pointed at.
    pub(crate) fn text_within(&mut self, x: f64, y: f64, text: &str, ink: Ink, room: f64) {
        let whole = report::clean(text);
        let short = font::fit(&whole, ink.size, ink.weight, room);
        let title = (short != whole).then_some(whole.as_str());
        self.titled(title, |canvas| canvas.text(x, y, &short, ink));
    }

    /// What shows a title when pointed at, if there is one.
    pub(crate) fn titled(&mut self, title: Option<&str>, draw: impl FnOnce(&mut Canvas)) {
        let Some(title) = title else { return draw(self) };
        self.line_of(format_args!("<g><title>{}</title>", escape(title)));
        draw(self);
        self.line_of(format_args!("</g>"));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.line_of(format_args!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1),
            stroke.attributes()
        ));
    }

    /// A line through all of these points.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        self.line_of(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
            pairs(points),
            stroke.attributes()
        ));
    }

    /// A filled shape with these corners.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], fill: Colour, opacity: f64) {
        self.line_of(format_args!(
            "<polygon points=\"{}\" fill=\"{}\"{}/>",
            pairs(points),
            hex(fill),
            see_through(opacity)
        ));
    }

    pub(crate) fn rectangle(&mut self, area: Area, fill: Colour, opacity: f64) {
        self.line_of(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>",
            number(area.x),
            number(area.y),
            number(area.width.max(0.0)),
            number(area.height.max(0.0)),
            hex(fill),
            see_through(opacity)
        ));
    }

    pub(crate) fn outline(&mut self, area: Area, stroke: Stroke) {
        self.line_of(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" {}/>",
            number(area.x),
            number(area.y),
            number(area.width.max(0.0)),
            number(area.height.max(0.0)),
            stroke.attributes()
        ));
    }

    pub(crate) fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: Colour, opacity: f64) {
        self.line_of(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"{}/>",
            number(x),
            number(y),
            number(radius),
            hex(fill),
            see_through(opacity)
        ));
    }

    /// Many small dots as one shape: a strip of samples is no longer than it must be.
    pub(crate) fn dots(&mut self, points: &[(f64, f64)], radius: f64, fill: Colour, opacity: f64) {
        let mut path = String::new();
        for (x, y) in points {
            let _ = write!(path, "M{} {}h0", number(*x), number(*y));
        }
        self.line_of(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\" stroke-opacity=\"{}\"/>",
            hex(fill),
            number(radius * 2.0),
            number(opacity)
        ));
    }

    /// Small crosses as one shape.
    pub(crate) fn crosses(&mut self, points: &[(f64, f64)], arm: f64, stroke: Stroke) {
        let (arm, across) = (number(arm), number(arm * 2.0));
        let mut path = String::new();
        for (x, y) in points {
            let _ = write!(
                path,
                "M{} {}m-{arm} -{arm}l{across} {across}m-{across} 0l{across} -{across}",
                number(*x),
                number(*y)
            );
        }
        self.line_of(format_args!("<path d=\"{path}\" fill=\"none\" {}/>", stroke.attributes()));
    }

    /// Draws now or, if `later`, over all that comes after it: words among marks and guiding lines.
    pub(crate) fn in_front(&mut self, later: bool, draw: impl FnOnce(&mut Canvas)) {
        if !later {
            return draw(self);
        }
        let before = std::mem::take(&mut self.body);
        draw(self);
        let drawn = std::mem::replace(&mut self.body, before);
        self.front.push_str(&drawn);
    }

    /// What is drawn until [`Canvas::end`] says this when pointed at.
    pub(crate) fn begin_told(&mut self, words: &str) {
        self.line_of(format_args!("<g><title>{}</title>", escape(words)));
    }

    /// What is drawn until [`Canvas::end`] shows inside of the area only.
    pub(crate) fn begin_inside(&mut self, area: Area) {
        let sides = [area.x, area.y, area.width, area.height].map(number);
        let [x, y, width, height] = &sides;
        // Several pictures stand in one page: what has one name there must be one area.
        let name = format!("inside-{}", sides.join("-"));
        self.line_of(format_args!(
            "<clipPath id=\"{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>"
        ));
        self.line_of(format_args!("<g clip-path=\"url(#{name})\">"));
    }

    pub(crate) fn end(&mut self) {
        self.line_of(format_args!("</g>"));
    }

    /// The whole document.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str, about: &str) -> String {
        let (width, height) = (number(width), number(height.ceil()));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" role=\"img\">\n\
             <title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}{}</svg>\n",
            escape(title),
            escape(about),
            hex(self.look.background),
            self.body,
            self.front
        )
    }

    fn line_of(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{element}");
    }
}

fn pairs(points: &[(f64, f64)]) -> String {
    let pairs: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
    pairs.join(" ")
}

fn see_through(opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" fill-opacity=\"{}\"", number(opacity)) }
}

fn hex((red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A place on the paper, to a hundredth of a point; what is no place is the corner.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Words from outside as XML takes them.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in report::clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // Not a character, as XML counts them.
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    #[test]
    fn places_are_short_and_always_numbers() {
        for (value, text) in [
            (1.0, "1"),
            (1.256, "1.26"),
            (-0.001, "0"),
            (100.0, "100"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (1e300, "1000000"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn words_from_outside_stay_words() {
        assert_eq!(escape("<script>&\"'"), "&lt;script&gt;&amp;&quot;'");
        assert_eq!(escape("a\nb\u{0}\u{1b}[31mc\u{ffff}"), "a bc");
    }

    #[test]
    fn what_is_shortened_is_told_in_whole() {
        let mut canvas = Canvas::new(Theme::Light.look());
        let ink = Ink::new(12.0, (0, 0, 0));
        canvas.text_within(0.0, 0.0, &"<a>".repeat(100), ink, 60.0);
        let svg = canvas.finish(100.0, 100.0, "t", "a");
        let document = roxmltree::Document::parse(&svg).unwrap();
        let told = document.descendants().filter(|node| node.has_tag_name("title")).nth(1);
        assert_eq!(told.unwrap().text(), Some("<a>".repeat(100).as_str()));
    }
}
