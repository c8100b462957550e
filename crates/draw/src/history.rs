//! Histories: points in their order with intervals, the level of each stretch, and where it changed.

use crate::{
    Absent, Theme, axis,
    canvas::{Area, Ink, Stroke},
    look::with_variables,
    page::{MARGIN, Page, SIZE, WIDTH},
    scale::Scale,
};
use std::cmp::Reverse;
use types::{Trend, TrendMetric, TrendSeries};

const TITLE: &str = "History";

/// Histories that one picture holds: those with changes first.
const MOST: usize = 8;

/// How many times its value an interval makes the field larger; what is wider leaves it.
const WIDE: f64 = 1.25;

/// Points that the picture for phones is wide.
const NARROW: f64 = 460.0;

/// Points of paper that a field is high.
const HEIGHT: f64 = 190.0;

/// Points of paper above a field, for the name of its cell.
const ABOVE: f64 = 42.0;

/// The picture of histories as SVG; equal histories give equal text.
///
/// # Errors
/// Where there is no history.
pub fn history(trend: &Trend, theme: Theme) -> Result<String, Absent> {
    let about = format!("{}, oldest to newest", trend.metric.words());
    draw(trend, Page::new(theme, TITLE, &[about]))
}

/// The same for a page, which shows the title and has the colours: for screens, and for phones, where the words of the
/// first would be too small.
///
/// # Errors
/// Where there is no history.
pub fn history_for_page(trend: &Trend) -> Result<[String; 2], Absent> {
    let draw = |width| draw(trend, Page::untitled(Theme::Light, width, TITLE));
    Ok([with_variables(&draw(WIDTH)?), with_variables(&draw(NARROW)?)])
}

fn draw(trend: &Trend, mut page: Page) -> Result<String, Absent> {
    let mut shown: Vec<&TrendSeries> =
        trend.series.iter().filter(|series| !series.points.is_empty()).collect();
    let all = shown.len();
    shown.sort_by_key(|series| Reverse((series.changes.len().min(1), series.points.len())));
    // Single points are drawn only where there is nothing else.
    if shown.first().is_some_and(|series| series.points.len() > 1) {
        shown.retain(|series| series.points.len() > 1);
    }
    shown.truncate(MOST);
    if shown.is_empty() {
        // There are runs, or nobody would ask: the list says what is wrong with them.
        return Err(Absent::new("no valid run has this number", "modelmeter runs list"));
    }
    let mut top = page.top;
    for series in &shown {
        field(&mut page, top, series, trend);
        top += ABOVE + HEIGHT + axis::BELOW + 22.0;
    }
    let left_out = match all - shown.len() {
        0 => String::new(),
        1 => "1 more history is not shown.".into(),
        more => format!("{} more histories are not shown.", report::count(more as u64)),
    };
    let notes = [
        "Whiskers: 95 % interval of the runs of a point. Lines: the level between changes. Dashed: a change."
            .to_owned(),
        "The axis does not begin at 0.".to_owned(),
        left_out,
    ];
    Ok(page.finish(top - 22.0, &notes))
}

fn field(page: &mut Page, top: f64, series: &TrendSeries, trend: &Trend) {
    let width = page.width - 2.0 * MARGIN;
    let canvas = &mut page.canvas;
    let look = canvas.look;
    let metric = trend.metric;
    let machine = trend.machines.get(&series.key.machine).filter(|name| !name.is_empty());
    let unit = series.key.length_unit();
    let length =
        series.key.sequence_length.map(|length| format!(", {}", unit.words(length as usize)));
    let note = format!(
        "{}{}, on {}",
        report::trend_name(&series.key),
        length.unwrap_or_default(),
        machine.unwrap_or(&series.key.machine)
    );
    let name = Ink::new(SIZE, look.text).bold();
    canvas.text_within(MARGIN, top + 6.0, &series.key.model, name, width);
    canvas.text_within(MARGIN, top + 24.0, &note, Ink::new(SIZE, look.muted), width);
    let (low, high) = range(series);
    let y = Scale::between(low, high, top + ABOVE + HEIGHT, top + ABOVE);
    let left = axis::width_of(&y, metric.unit()) + 10.0;
    let area = Area { x: MARGIN + left, y: top + ABOVE, width: width - left, height: HEIGHT };
    canvas.rectangle(area, look.panel, 1.0);
    axis::left(canvas, area, &y, metric.unit(), "");
    let last = (series.points.len() - 1).max(1) as f64;
    let x = |place: usize| area.x + 12.0 + (area.width - 24.0) * place as f64 / last;
    axis::labelled_below(canvas, area, &labels(series, x), "");
    levels(page, series, &y, x);
    points(page, series, &y, x);
    changes(page, series, metric, area, x);
}

/// From the lowest to the highest of what is to be seen, with a little room.
fn range(series: &TrendSeries) -> (f64, f64) {
    let values = series.points.iter().flat_map(|point| {
        let value = point.value.value;
        let interval = point.value.interval;
        let low = interval.map_or(value, |interval| interval.low.max(value / WIDE));
        [low, interval.map_or(value, |interval| interval.high.min(value * WIDE))]
    });
    let values = values.filter(|value| value.is_finite());
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let middle = f64::midpoint(low, high);
    // What hardly moves is drawn hardly moving.
    let half = ((high - low) / 2.0 * 1.08).max(middle * 0.04);
    (middle - half, middle + half)
}

/// Commits where they are known, else days.
fn labels(series: &TrendSeries, x: impl Fn(usize) -> f64) -> Vec<(f64, String)> {
    let has_commits = series.points.iter().any(|point| point.commit.is_some());
    let every = series.points.len().div_ceil(8).max(1);
    let label = |(place, point): (usize, &types::TrendPoint)| {
        let commit = point.commit.as_ref().filter(|_| has_commits);
        let text = match commit {
            Some(commit) => report::clean(commit).chars().take(9).collect(),
            None => report::minute(point.began.0).chars().take(16).skip(5).collect(),
        };
        (x(place), text)
    };
    series.points.iter().enumerate().step_by(every).map(label).collect()
}

fn levels(page: &mut Page, series: &TrendSeries, y: &Scale, x: impl Fn(usize) -> f64) {
    let look = page.canvas.look;
    let Some(last) = series.points.len().checked_sub(1) else { return };
    for (number, change) in series.changes.iter().enumerate() {
        let from = number.checked_sub(1).map_or(0, |before| series.changes[before].at);
        let to = series.changes.get(number + 1).map_or(last, |next| next.at - 1);
        let stroke = Stroke::new(look.muted, 1.6);
        if number == 0 {
            let level = y.at(change.before);
            page.canvas.line((x(from), level), (x(change.at - 1), level), stroke);
        }
        let level = y.at(change.after);
        page.canvas.line((x(change.at), level), (x(to), level), stroke);
    }
}

fn points(page: &mut Page, series: &TrendSeries, y: &Scale, x: impl Fn(usize) -> f64) {
    let colour = page.canvas.look.series(0);
    let small = series.points.len() > 120;
    for (place, point) in series.points.iter().enumerate() {
        let across = x(place);
        if let Some(interval) = point.value.interval {
            let (low, high) = (y.at(interval.low), y.at(interval.high));
            page.canvas.line((across, low), (across, high), Stroke::new(colour, 1.0));
        }
    }
    for (place, point) in series.points.iter().enumerate() {
        let radius = if small { 2.0 } else { 3.4 };
        page.canvas.circle((x(place), y.at(point.value.value)), radius, colour, 1.0);
    }
}

fn changes(
    page: &mut Page,
    series: &TrendSeries,
    metric: TrendMetric,
    area: Area,
    x: impl Fn(usize) -> f64,
) {
    let look = page.canvas.look;
    let mut free = [f64::NEG_INFINITY; 2];
    for change in &series.changes {
        let across = f64::midpoint(x(change.at - 1), x(change.at));
        let is_worse = metric.worsening(change.ratio.value) > 1.0;
        let colour = look.series(if is_worse { 1 } else { 2 });
        let stroke = Stroke::new(colour, 1.4).dashed("4 3");
        page.canvas.line((across, area.y), (across, area.bottom()), stroke);
        let text = report::trend_change(change, metric);
        let ink = Ink::new(12.0, look.text);
        let wide = ink.width(&text);
        let start = (across + 5.0).min(area.right() - wide - 4.0);
        // Two lines of labels; what fits neither is in the table.
        let Some(line) = (0..2).find(|line| free[*line] <= start) else { continue };
        free[line] = start + wide + 8.0;
        page.canvas.text(start, area.y + 14.0 + 16.0 * line as f64, &text, ink);
    }
}
