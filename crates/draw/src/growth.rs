//! The time of a step over the tokens in the cache, a field for each model: how writing slows down as the text grows.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Ink, Stroke},
    choose::{self, Choice},
    dodge::spread,
    legend::Palette,
    page::{MARGIN, Page, WIDTH},
    rows::heading,
    run_steps::beyond,
    scale::Scale,
    steps::{self, LEGEND, Steps},
    words::{Facet, Words},
};
use std::collections::BTreeMap;
use types::{CellKey, PooledCell, Unit};

/// Fields that one picture holds.
const MOST_FIELDS: usize = 4;

/// Cells that can be told apart in one field.
const MOST_CELLS: usize = 8;

/// Cells that write, those of every model in turn.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    let writes = |cell: &&PooledCell| cell.invalid.is_none() && choose::writes(&cell.key);
    let cells: Vec<&PooledCell> = material.cells.iter().filter(writes).collect();
    choose::fairly(cells, page, MOST_FIELDS * MOST_CELLS, |cell| Some(-cell.latency.value))
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let steps = |cell: &PooledCell| material.details.get(&cell.key)?.steps.as_ref();
    let shown: Vec<&PooledCell> =
        choice.cells.into_iter().filter(|cell| steps(cell).is_some()).collect();
    let mut models: BTreeMap<&str, Vec<(&PooledCell, &Steps)>> = BTreeMap::new();
    for cell in &shown {
        let line = models.entry(cell.key.model.as_str()).or_default();
        if line.len() < MOST_CELLS {
            line.extend(steps(cell).map(|steps| (*cell, steps)));
        }
    }
    if models.is_empty() {
        let why = "no valid run writes token by token";
        return Err(choose::absent(material, why, "modelmeter generate MODEL -d 0,1024"));
    }
    let more = models.len().saturating_sub(MOST_FIELDS);
    let words = Words::of(&shown, &material.machines, &[Facet::Length]);
    let about = [words.common(), "The newest run of each.".into()];
    let mut page = Page::new(theme, "Growth of a step", &about);
    let palette = Palette::of(material);
    let columns = if models.len() == 1 { 1 } else { 2 };
    let gap = 36.0;
    let width = (WIDTH - 2.0 * MARGIN - gap * (columns - 1) as f64) / columns as f64;
    let height = if models.len() == 1 { 380.0 } else { 250.0 };
    let top = page.top;
    let outer = height + 42.0 + axis::BELOW + 18.0;
    let mut unseen = 0;
    let fields = models.len().min(MOST_FIELDS);
    for (index, (model, lines)) in models.into_iter().take(MOST_FIELDS).enumerate() {
        let (column, row) = (index % columns, index / columns);
        let place = Area {
            x: MARGIN + (width + gap) * column as f64,
            y: top + outer * row as f64,
            width,
            height,
        };
        unseen += field(&mut page, place, model, &lines, &words, &palette);
    }
    let notes = [
        LEGEND.to_owned(),
        "Dashed: from one run to the next of the same setting, at other depths.".to_owned(),
        beyond(unseen),
        hidden,
        match more {
            0 => String::new(),
            1 => "1 more model is not shown; filter with --model.".into(),
            more => format!("{more} more models are not shown; filter with --model."),
        },
    ];
    Ok(page.finish(top + outer * fields.div_ceil(columns) as f64 - 18.0, &notes))
}

/// One model; how many steps are above the upper edge.
fn field(
    page: &mut Page,
    place: Area,
    model: &str,
    lines: &[(&PooledCell, &Steps)],
    words: &Words<'_>,
    palette: &Palette,
) -> usize {
    let canvas = &mut page.canvas;
    let look = canvas.look;
    heading(canvas, (place.x, place.y + 6.0), model, &words.of_model(model), place.width);
    let ink = Ink::new(12.0, look.text);
    let labels: Vec<String> = lines.iter().map(|(cell, _)| words.row(&cell.key)).collect();
    let widest = labels.iter().map(|label| ink.width(label)).fold(0.0, f64::max);
    let room = widest.min(place.width * 0.36);
    let all = || lines.iter().map(|(_, steps)| *steps);
    let times: Vec<f64> = all().flat_map(|one| [one.quantile(0.02), one.middle().1]).collect();
    let roof = steps::roof(all());
    let (from, to) = (place.y + 42.0 + place.height, place.y + 42.0);
    let y = Scale::fitting(&[times, vec![roof]].concat(), from, to);
    let left = axis::width_of(&y, Unit::Seconds) + 10.0;
    let area = Area {
        x: place.x + left,
        y: place.y + 42.0,
        width: place.width - left - room - 26.0,
        height: place.height,
    };
    let x = steps::tokens(all(), area);
    canvas.rectangle(area, look.panel, 1.0);
    axis::left(canvas, area, &y, Unit::Seconds, "time of a step");
    axis::below(canvas, area, &x, Unit::Count, "tokens in the cache");
    let colour = |cell: &PooledCell| look.series(palette.number(&cell.key.engine));
    // Settings that differ in their depth alone belong together.
    let mut series: BTreeMap<CellKey, Vec<(f64, f64)>> = BTreeMap::new();
    for (cell, steps) in lines {
        steps.draw(canvas, (&x, &y), colour(cell));
        let key = choose::without_depth(&cell.key);
        series.entry(key).or_default().push(steps.middle());
    }
    for (key, mut middles) in series {
        middles.sort_by(|one, other| one.0.total_cmp(&other.0));
        let points: Vec<(f64, f64)> =
            middles.iter().map(|(depth, time)| (x.at(*depth), y.at(*time))).collect();
        let colour = look.series(palette.number(&key.engine));
        for pair in points.windows(2) {
            canvas.line(pair[0], pair[1], Stroke::new(colour, 1.2).dashed("4 4"));
        }
    }
    let ends: Vec<(f64, f64)> =
        lines.iter().map(|(_, steps)| (x.at(steps.span().1), y.at(end_of(steps)))).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    let places = spread(&wanted, 17.0, area.y + 6.0, area.bottom() - 6.0);
    for (((end, y), label), (cell, _)) in ends.iter().zip(places).zip(&labels).zip(lines) {
        let start = area.right() + 4.0;
        let leader = [(end.0 + 4.0, end.1), (start, y), (start + 6.0, y)];
        canvas.polyline(&leader, Stroke::new(colour(cell), 1.0));
        canvas.text_within(start + 11.0, y + 4.0, label, ink, room);
    }
    all().map(|one| one.above(y.high())).sum()
}

/// Where the line ends at the right; the middle of the steps where there is no line.
fn end_of(steps: &Steps) -> f64 {
    let (depth, time) = steps.middle();
    let slope = steps.growth().map_or(0.0, |growth| growth.per_thousand.0 / 1000.0);
    time + slope * (steps.span().1 - depth)
}
