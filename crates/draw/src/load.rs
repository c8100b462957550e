//! What users wait under load: percentiles over the rate of requests, or over the number of users, and the highest of them at
//! which every limit held.

use crate::{
    Absent, LoadDetail, Material, Theme, axis,
    canvas::{Area, Ink, Stroke},
    choose::{self, Choice},
    font::{Weight, fit},
    legend::{self, Key},
    page::{Page, SIZE},
    rows::heading,
    scale::Scale,
    words::{Facet, Words, pooled},
};
use std::collections::BTreeMap;
use types::{CellKey, LoadMetric, Mode, PooledCell, Rate, Scenario, Unit, Variant};

/// Fields that one picture holds.
const MOST_FIELDS: usize = 6;

/// Loads that one picture holds.
const MOST_LOADS: usize = 96;

/// What is shown, a field each, where it was measured.
const METRICS: [(LoadMetric, &str); 3] = [
    (LoadMetric::E2e, "whole answer"),
    (LoadMetric::Ttft, "first token"),
    (LoadMetric::Itl, "between tokens"),
];

/// The lines of a field.
const LINES: [&str; 3] = ["median", "p95", "p99"];

const HEIGHT: f64 = 220.0;
const ABOVE: f64 = 42.0;
const GAP: f64 = 36.0;

/// What a load is one of several by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Rate,
    Users,
}

/// One load in a field.
struct Point<'a> {
    at: f64,
    detail: &'a LoadDetail,
}

/// Loads that differ in their rate, or in their users, alone.
struct Series<'a> {
    key: CellKey,
    by: By,
    points: Vec<Point<'a>>,
}

/// Loads with a rate or a number of users.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    let is_load = |cell: &&PooledCell| cell.invalid.is_none() && place(&cell.key).is_some();
    let cells: Vec<&PooledCell> = material.cells.iter().filter(is_load).collect();
    choose::fairly(cells, page, MOST_LOADS, |cell| place(&cell.key).map(|(_, at, _)| -at))
}

/// The rate or the users of a load, and its key without them.
fn place(key: &CellKey) -> Option<(By, f64, CellKey)> {
    if key.mode != Mode::Load {
        return None;
    }
    let mut variant = Variant::parse(&key.variant)?;
    let scenario = &mut variant.load.as_mut()?.scenario;
    let found = match scenario {
        Scenario::Server { rate, ramp_to: None, .. } => {
            (By::Rate, std::mem::replace(rate, Rate(0.0)).0)
        }
        Scenario::Concurrency { users } => (By::Users, f64::from(std::mem::take(users))),
        _ => return None,
    };
    let rest = CellKey { variant: variant.canonical(), ..key.clone() };
    (found.1 > 0.0 && found.1.is_finite()).then_some((found.0, found.1, rest))
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let all = all_series(material, &choice.cells);
    if all.is_empty() {
        let why = "no two valid loads differ in their rate or their users alone";
        let hint = "modelmeter load ADDRESS --concurrency 1,2,4,8";
        return Err(choose::absent_here(material, why, hint));
    }
    let of = |series: &Series<'_>| {
        choice.cells.iter().copied().filter(|cell| is_of(cell, series)).collect::<Vec<_>>()
    };
    let shown: Vec<&PooledCell> = all.iter().flat_map(of).collect();
    let words = Words::of(&shown, &material.machines, &[Facet::Mode, Facet::Batch, Facet::Variant]);
    let about = [words.common(), format!("What users wait; {}", pooled(&shown))];
    let mut page = Page::on(material.paper, theme, "Load", &about);
    let look = page.canvas.look;
    let keys = LINES.iter().enumerate();
    let keys: Vec<Key> =
        keys.map(|(number, name)| Key::Swatch(look.series(number), (*name).to_owned())).collect();
    legend::row(&mut page, &keys);
    let fields: Vec<(&Series<'_>, LoadMetric, &str)> = all
        .iter()
        .flat_map(|series| METRICS.map(|(metric, name)| (series, metric, name)))
        .filter(|(series, metric, _)| times(series, *metric).len() > 1)
        .collect();
    let more = fields.len().saturating_sub(MOST_FIELDS);
    let fields = &fields[..fields.len() - more];
    let columns = if fields.len() == 1 || page.is_narrow() { 1 } else { 2 };
    let width = (page.width - 2.0 * page.margin - GAP * (columns - 1) as f64) / columns as f64;
    let (top, outer) = (page.top, HEIGHT + ABOVE + axis::BELOW + 18.0);
    let mut has_knee = false;
    for (index, (series, metric, name)) in fields.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let x = page.margin + (width + GAP) * column as f64;
        let area = Area { x, y: top + outer * row as f64, width, height: HEIGHT };
        let mut note = vec![(*name).to_owned(), words.row(&series.key)];
        // Loads of one model with other requests.
        note.extend(
            all.iter().any(|other| content(other) != content(series)).then(|| content(series)),
        );
        let note = fit(&note.join(" · "), SIZE, Weight::Regular, width * 0.65);
        has_knee |= field(&mut page, area, series, *metric, &note);
    }
    let notes = [
        "Crosses: loads in which a limit was broken. A percentile is left out where there were too few requests for it.".to_owned(),
        if has_knee { "Dashed: the highest load at which every limit held.".into() } else { String::new() },
        hidden,
        match more {
            0 => String::new(),
            1 => "1 more field is not shown; filter with --model.".into(),
            more => format!("{more} more fields are not shown; filter with --model."),
        },
    ];
    Ok(page.finish(top + outer * fields.len().div_ceil(columns) as f64 - 18.0, &notes))
}

/// Every series with two points at least.
fn all_series<'a>(material: &'a Material, cells: &[&PooledCell]) -> Vec<Series<'a>> {
    let mut all: BTreeMap<(CellKey, By), Vec<Point<'a>>> = BTreeMap::new();
    for cell in cells {
        let detail = material.details.get(&cell.key).and_then(|detail| detail.load.as_ref());
        if let (Some((load, at, key)), Some(detail)) = (place(&cell.key), detail) {
            all.entry((key, load)).or_default().push(Point { at, detail });
        }
    }
    let series = all.into_iter().map(|((key, by), mut points)| {
        points.sort_by(|one, other| one.at.total_cmp(&other.at));
        Series { key, by, points }
    });
    series.filter(|one| METRICS.iter().any(|(metric, _)| times(one, *metric).len() > 1)).collect()
}

fn is_of(cell: &PooledCell, series: &Series<'_>) -> bool {
    place(&cell.key).is_some_and(|(load, _, key)| load == series.by && key == series.key)
}

/// What its requests are, in words.
fn content(series: &Series<'_>) -> String {
    let variant = Variant::parse(&series.key.variant).unwrap_or_default();
    variant.load.map_or_else(String::new, |load| report::clean(&load.content))
}

/// The points at which this was measured, with its percentiles.
fn times<'a>(series: &'a Series<'_>, metric: LoadMetric) -> Vec<(&'a Point<'a>, [Option<f64>; 3])> {
    let of = |point: &'a Point<'a>| {
        let (_, times) = point.detail.times.iter().find(|(known, _)| *known == metric)?;
        let times = times.map(|time| time.filter(|time| time.is_finite() && *time > 0.0));
        times[0].is_some().then_some((point, times))
    };
    series.points.iter().filter_map(of).collect()
}

/// The highest load that kept every limit, below all that broke one.
fn knee(points: &[Point<'_>]) -> Option<f64> {
    let unbroken = points.iter().take_while(|point| point.detail.held != Some(false));
    unbroken.filter(|point| point.detail.held == Some(true)).last().map(|point| point.at)
}

/// One metric of one series; whether it has a knee.
fn field(
    page: &mut Page,
    place: Area,
    series: &Series<'_>,
    metric: LoadMetric,
    note: &str,
) -> bool {
    let canvas = &mut page.canvas;
    let look = canvas.look;
    heading(canvas, (place.x, place.y + 6.0), &series.key.model, note, place.width);
    let points = times(series, metric);
    let values: Vec<f64> =
        points.iter().flat_map(|(_, times)| times.iter().flatten().copied()).collect();
    let (from, to) = (place.y + ABOVE + place.height, place.y + ABOVE);
    let y = Scale::fitting(&values, from, to);
    let left = axis::width_of(&y, Unit::Seconds) + 10.0;
    let area = Area {
        x: place.x + left,
        y: place.y + ABOVE,
        width: place.width - left,
        height: place.height,
    };
    let places: Vec<f64> = points.iter().map(|(point, _)| point.at).collect();
    let x = Scale::fitting(&places, area.x + 12.0, area.right() - 12.0);
    canvas.rectangle(area, look.panel, 1.0);
    axis::left(canvas, area, &y, Unit::Seconds, "");
    let (unit, name) = match series.by {
        By::Rate => (Unit::PerSecond, "requests per second"),
        By::Users => (Unit::Count, "users, each waiting for the answer"),
    };
    axis::below(canvas, area, &x, unit, name);
    let knee = knee(&series.points);
    if let Some(knee) = knee {
        let at = x.at(knee);
        let stroke = Stroke::new(look.text, 1.2).dashed("4 4");
        canvas.line((at, area.y), (at, area.bottom()), stroke);
        let text = match series.by {
            By::Rate => format!("{}/s", report::significant(knee, 3)),
            By::Users => report::significant(knee, 3),
        };
        // Beside the line, on the side that has room.
        let ink = Ink::new(SIZE, look.text);
        match at - 5.0 - ink.width(&text) > area.x {
            true => canvas.text(at - 5.0, area.y + 15.0, &text, ink.end()),
            false => canvas.text(at + 5.0, area.y + 15.0, &text, ink),
        }
    }
    for number in 0..LINES.len() {
        let colour = look.series(number);
        let of = |(point, times): &(&Point<'_>, [Option<f64>; 3])| {
            Some(((x.at(point.at), y.at(times[number]?)), point.detail.held))
        };
        let marks: Vec<((f64, f64), Option<bool>)> = points.iter().filter_map(of).collect();
        let line: Vec<(f64, f64)> = marks.iter().map(|(at, _)| *at).collect();
        canvas.polyline(&line, Stroke::new(colour, 1.8));
        for (at, held) in marks {
            match held {
                Some(false) => canvas.crosses(&[at], 4.5, Stroke::new(colour, 2.0)),
                _ => canvas.circle(at, 3.6, colour, 1.0),
            }
        }
    }
    knee.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_lies_below_everything_that_broke() {
        let of = |held: &[Option<bool>]| {
            let detail = |held: &Option<bool>| LoadDetail { held: *held, ..LoadDetail::default() };
            let details: Vec<LoadDetail> = held.iter().map(detail).collect();
            let point = |(at, detail)| Point { at: f64::from(at), detail };
            knee(&(1_u8..).zip(&details).map(point).collect::<Vec<_>>())
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(of(&[yes, None, yes, no]), Some(3.0));
        assert_eq!(of(&[yes, no, yes]), Some(1.0), "luck above is no proof");
        assert_eq!(of(&[no, no]), None);
        assert_eq!(of(&[None, None]), None);
    }
}
