//! How long answers take against the rate of requests: medians and the slow end, and the knee, where the limit was last kept.

use crate::{
    Absent, Theme, axis,
    canvas::{Area, Ink, Stroke},
    look::with_variables,
    page::{MARGIN, Page, SIZE, WIDTH},
    scale::Scale,
};
use types::Unit;

const TITLE: &str = "Latency against rate";
/// Points that the picture for phones is wide.
const NARROW: f64 = 460.0;
/// Points of paper that the field is high.
const HEIGHT: f64 = 300.0;
/// Points of paper above the field, for the names of the lines.
const ABOVE: f64 = 34.0;

/// What a line is called, and what of a load it shows.
const LINES: [Line; 2] = [("median", |point| point.median), ("p99", |point| point.p99)];

type Line = (&'static str, fn(&LoadPoint) -> f64);

/// One load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Requests a second.
    pub rate: f64,
    /// The median of the whole answer, in seconds.
    pub median: f64,
    /// Its 99th percentile.
    pub p99: f64,
    /// Whether the limits held, where there were some.
    pub held: Option<bool>,
}

/// The curve as SVG for a page: for screens and for phones.
///
/// # Errors
/// Where fewer than two rates were tried.
pub fn load_curve_for_page(
    points: &[LoadPoint],
    limit: Option<f64>,
    knee: Option<f64>,
) -> Result<[String; 2], Absent> {
    let mut points = points.to_vec();
    points.retain(|point| point.rate > 0.0 && point.median > 0.0 && point.p99 > 0.0);
    points.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    if points.len() < 2 {
        return Err(Absent::new(
            "fewer than two rates were answered",
            "modelmeter load --find-rate",
        ));
    }
    let draw = |width| {
        let mut page = Page::untitled(Theme::Light, width, TITLE);
        let top = page.top;
        field(&mut page, top, &points, limit, knee);
        let notes = [
            "Lines: median and 99th percentile of the whole answer. Crosses: loads in which a limit was broken.".to_owned(),
            knee.map(|_| "Dashed: the highest rate at which every limit held.".to_owned()).unwrap_or_default(),
        ];
        with_variables(&page.finish(top + ABOVE + HEIGHT + axis::BELOW, &notes))
    };
    Ok([draw(WIDTH), draw(NARROW)])
}

fn field(page: &mut Page, top: f64, points: &[LoadPoint], limit: Option<f64>, knee: Option<f64>) {
    let width = page.width - 2.0 * MARGIN;
    let canvas = &mut page.canvas;
    let look = canvas.look;
    let times: Vec<f64> =
        points.iter().flat_map(|point| [point.median, point.p99]).chain(limit).collect();
    let y = Scale::fitting(&times, top + ABOVE + HEIGHT, top + ABOVE);
    let left = axis::width_of(&y, Unit::Seconds) + 10.0;
    let area = Area { x: MARGIN + left, y: top + ABOVE, width: width - left, height: HEIGHT };
    let rates: Vec<f64> = points.iter().map(|point| point.rate).collect();
    let x = Scale::fitting(&rates, area.x + 12.0, area.right() - 12.0);
    canvas.rectangle(area, look.panel, 1.0);
    axis::left(canvas, area, &y, Unit::Seconds, "");
    axis::below(canvas, area, &x, Unit::PerSecond, "requests per second");
    if let Some(limit) = limit {
        let at = y.at(limit);
        canvas.line((area.x, at), (area.right(), at), Stroke::new(look.muted, 1.4));
        canvas.text(area.x + 6.0, at - 5.0, "limit", Ink::new(SIZE, look.muted));
    }
    if let Some(knee) = knee {
        let at = x.at(knee);
        let stroke = Stroke::new(look.text, 1.2).dashed("4 4");
        canvas.line((at, area.y), (at, area.bottom()), stroke);
        let ink = Ink::new(SIZE, look.text).end();
        canvas.text(at - 5.0, area.y + 15.0, &format!("{}/s", report::significant(knee, 3)), ink);
    }
    for (number, (name, of)) in LINES.into_iter().enumerate() {
        let colour = look.series(number);
        let at = |point: &LoadPoint| (x.at(point.rate), y.at(of(point)));
        let places: Vec<(f64, f64)> = points.iter().map(at).collect();
        canvas.polyline(&places, Stroke::new(colour, 1.8));
        for (point, place) in points.iter().zip(&places) {
            match point.held {
                Some(false) => canvas.crosses(&[*place], 4.5, Stroke::new(colour, 2.0)),
                _ => canvas.circle(*place, 3.8, colour, 1.0),
            }
        }
        let across = area.x + 6.0 + 90.0 * number as f64;
        canvas.line((across, top + 18.0), (across + 20.0, top + 18.0), Stroke::new(colour, 2.4));
        canvas.text(across + 26.0, top + 22.0, name, Ink::new(SIZE, look.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_its_lines_its_limit_and_its_knee() {
        let point =
            |rate: f64, held| LoadPoint { rate, median: 0.01, p99: 0.01 * rate, held: Some(held) };
        let points = [point(4.0, false), point(1.0, true), point(2.0, true)];
        let [wide, narrow] = load_curve_for_page(&points, Some(0.03), Some(2.0)).unwrap();
        for part in ["median", "p99", "limit", "2.00/s", "requests per second"] {
            assert!(wide.contains(part) && narrow.contains(part), "`{part}` is not in\n{wide}");
        }
        assert!(load_curve_for_page(&points[..1], None, None).is_err());
    }
}
