//! Samples a second over the batch size, a field for each model, beside the ideal.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Ink, Stroke},
    choose,
    dodge::spread,
    legend::Palette,
    marker::Marker,
    page::{Page, WHISKERS},
    rows::heading,
    scale::Scale,
    words::{Facet, Words, pooled},
};
use std::collections::BTreeMap;
use types::{CellKey, PooledCell, Unit};

/// Fields that one picture holds.
const MOST_FIELDS: usize = 4;

/// Lines that can be told apart in one field.
const MOST_LINES: usize = 6;

/// How many times its number an interval makes the field larger; what is wider leaves it.
const WIDE: f64 = 2.0;

/// Points from end to end of an interval that is seen on both sides of its mark.
const LONG: f64 = 40.0;

/// Cells that differ in their batch alone, the smallest batch first.
type Line<'a> = Vec<&'a PooledCell>;

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let Fields { models, more, pages } = choice(material);
    if models.is_empty() {
        let why = "no model has valid runs with several batch sizes";
        let hint = "modelmeter bench --model MODEL --batch-sizes 1,4,16";
        return Err(choose::absent(material, why, hint));
    }
    let cells: Vec<&PooledCell> = models.iter().flat_map(|(_, lines)| lines.concat()).collect();
    let words = Words::of(&cells, &material.machines, &[Facet::Batch]);
    let mut page =
        Page::on(material.paper, theme, "Batch scaling", &[words.common(), pooled(&cells)]);
    let palette = Palette::of(material);
    let columns = if models.len() == 1 || page.is_narrow() { 1 } else { 2 };
    let gap = 36.0;
    let width = (page.width - 2.0 * page.margin - gap * (columns - 1) as f64) / columns as f64;
    let height = if models.len() == 1 && !page.is_narrow() { 380.0 } else { 250.0 };
    let top = page.top;
    let outer = height + 42.0 + axis::BELOW + 18.0;
    for (index, (model, lines)) in models.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let place = Area {
            x: page.margin + (width + gap) * column as f64,
            y: top + outer * row as f64,
            width,
            height,
        };
        field(&mut page, place, model, lines, &words, &palette);
    }
    let rows = models.len().div_ceil(columns);
    let notes = [
        "Dotted: ideal scaling from the best line's smallest batch, twice the batch in the same time. Both axes are \
         logarithmic."
            .to_owned(),
        format!("{WHISKERS} A whisker without an end mark continues beyond the chart."),
        choose::page_note(material, more, pages),
    ];
    Ok(page.finish(top + outer * rows as f64 - 18.0, &notes))
}

/// Pages that all models take.
pub(crate) fn pages(material: &Material) -> usize {
    choice(material).pages
}

/// Up to four models with their lines, how many cells does not fit, and the pages that all models take.
struct Fields<'a> {
    models: Vec<(&'a str, Vec<Line<'a>>)>,
    more: usize,
    pages: usize,
}

/// The models with most to show, or those of the page.
fn choice(material: &Material) -> Fields<'_> {
    let mut series: BTreeMap<CellKey, Line<'_>> = BTreeMap::new();
    // A line through points that cannot be believed would bear no mark.
    for cell in choose::inferences(material).into_iter().filter(|cell| cell.invalid.is_none()) {
        if choose::throughput(cell).is_some() && cell.key.batch_size > 0 {
            series.entry(CellKey { batch_size: 0, ..cell.key.clone() }).or_default().push(cell);
        }
    }
    series.retain(|_, line| line.len() > 1);
    let all: usize = series.values().map(Vec::len).sum();
    let mut models: BTreeMap<&str, Vec<Line<'_>>> = BTreeMap::new();
    for mut line in series.into_values() {
        line.sort_by_key(|cell| cell.key.batch_size);
        models.entry(line[0].key.model.as_str()).or_default().push(line);
    }
    let most = |line: &Line<'_>| {
        line.iter().filter_map(|cell| choose::throughput(cell)).fold(0.0, f64::max)
    };
    let mut models: Vec<(&str, Vec<Line<'_>>)> = models.into_iter().collect();
    // Models with more to show first, then by name.
    let pages = models.len().div_ceil(MOST_FIELDS).max(1);
    match material.page {
        Some(page) => {
            models = models.into_iter().skip(page * MOST_FIELDS).take(MOST_FIELDS).collect()
        }
        None => {
            models.sort_by_key(|(name, lines)| (std::cmp::Reverse(lines.len()), *name));
            models.truncate(MOST_FIELDS);
        }
    }
    models.sort_by_key(|(name, _)| *name);
    for (_, lines) in &mut models {
        lines.sort_by(|one, other| most(other).total_cmp(&most(one)));
        lines.truncate(MOST_LINES);
    }
    let shown: usize = models.iter().flat_map(|(_, lines)| lines).map(Vec::len).sum();
    Fields { models, more: all - shown, pages }
}

fn field(
    page: &mut Page,
    place: Area,
    model: &str,
    lines: &[Line<'_>],
    words: &Words<'_>,
    palette: &Palette,
) {
    let look = page.canvas.look;
    let canvas = &mut page.canvas;
    heading(canvas, (place.x, place.y + 6.0), model, &words.of_model(model), place.width);
    let label_ink = Ink::new(12.0, look.text);
    let labels: Vec<String> = lines.iter().map(|line| words.row(&line[0].key)).collect();
    let widest = labels.iter().map(|label| label_ink.width(label)).fold(0.0, f64::max);
    let label_room = widest.min(place.width * 0.36);

    let values = lines.iter().flatten().flat_map(|cell| {
        let pooled = cell.throughput.value;
        let interval = pooled.and_then(|pooled| pooled.interval);
        let value = pooled.map_or(f64::NAN, |pooled| pooled.value);
        // Two runs can leave an interval of decades; the lines are what there is to see.
        let low = interval.map(|interval| interval.low.max(value / WIDE));
        let high = interval.map(|interval| interval.high.min(value * WIDE));
        [Some(value), low, high]
    });
    let y = Scale::log(values.flatten(), place.y + 42.0 + place.height, place.y + 42.0);
    let left = axis::width_of(&y, Unit::PerSecond) + 10.0;
    let area = Area {
        x: place.x + left,
        y: place.y + 42.0,
        width: place.width - left - label_room - 26.0,
        height: place.height,
    };
    let batches = || lines.iter().flatten().map(|cell| cell.key.batch_size as f64);
    let x = Scale::log(batches(), area.x, area.right());
    canvas.rectangle(area, look.panel, 1.0);
    axis::left(canvas, area, &y, Unit::PerSecond, "samples per second");
    let mut ticks: Vec<u64> = lines.iter().flatten().map(|cell| cell.key.batch_size).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let ticks: Vec<(f64, String)> =
        ticks.iter().map(|batch| (x.at(*batch as f64), report::count(*batch))).collect();
    axis::labelled_below(canvas, area, &ticks, "batch size");

    if let Some((first, rate)) = lines[0].first().and_then(|c| Some((c, choose::throughput(c)?))) {
        let from = first.key.batch_size as f64;
        let to = batches().fold(from, f64::max);
        // Where the ideal leaves the field it ends.
        let end = to.min(from * y.high() / rate).max(from);
        let points = [(x.at(from), y.at(rate)), (x.at(end), y.at(rate * end / from))];
        canvas.line(points[0], points[1], Stroke::new(look.muted, 1.5).dashed("1.5 4"));
    }
    let point = |cell: &PooledCell| {
        Some((x.at(cell.key.batch_size as f64), y.at(choose::throughput(cell)?)))
    };
    for (number, line) in lines.iter().enumerate() {
        // Long ones a little beside each other, so that intervals of one batch do not hide each other.
        let aside = (number as f64 - (lines.len() - 1) as f64 / 2.0) * 3.0;
        for cell in line {
            let Some((across, _)) = point(cell) else { continue };
            let Some(interval) = cell.throughput.value.and_then(|pooled| pooled.interval) else {
                continue;
            };
            let stroke = Stroke::new(look.series(palette.number(&cell.key.engine)), 1.2);
            let (low, high) = (y.at(interval.low), y.at(interval.high));
            let across = if low - high > LONG { across + aside } else { across };
            canvas.line((across, low), (across, high), stroke);
            for end in [interval.low, interval.high].into_iter().filter(|end| y.holds(*end)) {
                canvas.line((across - 3.5, y.at(end)), (across + 3.5, y.at(end)), stroke);
            }
        }
    }
    let mut ends = Vec::new();
    for line in lines {
        let colour = look.series(palette.number(&line[0].key.engine));
        let points: Vec<(f64, f64)> = line.iter().filter_map(|cell| point(cell)).collect();
        canvas.polyline(&points, Stroke::new(colour, 2.2));
        ends.push(points.last().copied().unwrap_or((area.right(), area.bottom())));
    }
    for cell in lines.iter().flatten() {
        let colour = look.series(palette.number(&cell.key.engine));
        if let Some(point) = point(cell) {
            Marker::of(cell.key.precision).draw(canvas, point, 4.8, colour);
        }
    }
    let wanted: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    let places = spread(&wanted, 17.0, area.y + 6.0, area.bottom() - 6.0);
    for (((end, y), label), line) in ends.iter().zip(places).zip(&labels).zip(lines) {
        let colour = look.series(palette.number(&line[0].key.engine));
        let start = area.right() + 4.0;
        let leader = [(end.0 + 7.0, end.1), (start, y), (start + 6.0, y)];
        canvas.polyline(&leader, Stroke::new(colour, 1.0));
        canvas.text_within(start + 11.0, y + 4.0, label, label_ink, label_room);
    }
}
