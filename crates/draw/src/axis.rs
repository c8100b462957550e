//! Axes: lines that guide the eye, round numbers beside them, and what they count.

use crate::{
    canvas::{Area, Canvas, Ink, Stroke},
    scale::Scale,
};
use types::Unit;

/// The size of the numbers on an axis.
pub(crate) const SIZE: f64 = 12.0;

/// How many points an axis below needs, numbers and name.
pub(crate) const BELOW: f64 = 46.0;

/// An axis below the area: a line up for every round number, numbers that do not touch, and its name.
pub(crate) fn below(canvas: &mut Canvas, area: Area, scale: &Scale, unit: Unit, name: &str) {
    let ticks = scale.ticks();
    let labels = ticks.iter().map(|tick| (scale.at(*tick), report::tick(*tick, unit)));
    labelled_below(canvas, area, &labels.collect::<Vec<_>>(), name);
}

/// The same with words for numbers, at places of their own.
pub(crate) fn labelled_below(
    canvas: &mut Canvas,
    area: Area,
    labels: &[(f64, String)],
    name: &str,
) {
    let look = canvas.look;
    let ink = Ink::new(SIZE, look.muted).middle();
    let mut free = f64::NEG_INFINITY;
    for (x, text) in labels {
        canvas.line((*x, area.y), (*x, area.bottom()), Stroke::new(look.grid, 1.0));
        let half = ink.width(text) / 2.0;
        if x - half < free {
            continue;
        }
        free = x + half + 8.0;
        canvas.text(*x, area.bottom() + 17.0, text, ink);
    }
    canvas.line(
        (area.x, area.bottom()),
        (area.right(), area.bottom()),
        Stroke::new(look.axis, 1.0),
    );
    let middle = (area.x + area.right()) / 2.0;
    canvas.text(middle, area.bottom() + 37.0, name, Ink::new(SIZE, look.text).middle());
}

/// How wide the numbers of an axis at the left are.
pub(crate) fn width_of(scale: &Scale, unit: Unit) -> f64 {
    let ink = Ink::new(SIZE, (0, 0, 0));
    let widths = scale.ticks().into_iter().map(|tick| ink.width(&report::tick(tick, unit)));
    widths.fold(0.0, f64::max)
}

/// An axis at the left of the area, its name above.
pub(crate) fn left(canvas: &mut Canvas, area: Area, scale: &Scale, unit: Unit, name: &str) {
    let look = canvas.look;
    let ink = Ink::new(SIZE, look.muted).end();
    for tick in scale.ticks() {
        let y = scale.at(tick);
        canvas.line((area.x, y), (area.right(), y), Stroke::new(look.grid, 1.0));
        canvas.text(area.x - 8.0, y + 4.0, &report::tick(tick, unit), ink);
    }
    canvas.line((area.x, area.y), (area.x, area.bottom()), Stroke::new(look.axis, 1.0));
    canvas.text(area.x, area.y - 10.0, name, Ink::new(SIZE, look.text));
}
