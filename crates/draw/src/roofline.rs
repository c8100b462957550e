//! Operations a second over operations a byte, under the ceilings that were measured on the machine.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Canvas, Ink, Stroke},
    choose::{self, Choice, MOST_ROWS},
    dodge::Taken,
    legend::{self, Palette},
    marker::Marker,
    page::{MARGIN, Page, SIZE, WIDTH},
    roof::{Field, Roof, draw_flat, draw_slope},
    words::{Words, pooled},
};
use std::collections::{BTreeMap, BTreeSet};
use types::{Ceilings, Device, Mode, PooledCell, Precision};

const HEIGHT: f64 = 400.0;

/// A cell and its place: operations a byte, operations per second.
struct Point<'a> {
    cell: &'a PooledCell,
    intensity: f64,
    rate: f64,
}

/// The device with ceilings that has most cells, and its cells at their best batch.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Option<(&Ceilings, Choice<'_>)> {
    let mut places: BTreeMap<(&str, Device, u32), Vec<&PooledCell>> = BTreeMap::new();
    for cell in material.cells.iter().filter(|cell| cell.invalid.is_none()) {
        let Some(device) = cell.key.device.bounded_by() else { continue };
        if cell.key.mode == Mode::Inference && !cell.key.imported {
            let threads = if device == Device::Cpu { cell.key.threads } else { 0 };
            places.entry((&cell.key.machine, device, threads)).or_default().push(cell);
        }
    }
    let known = places.into_iter().filter_map(|((machine, device, threads), cells)| {
        let all = material.ceilings.get(machine)?;
        let is_it = |known: &&Ceilings| known.device == device && known.threads == threads;
        let found = all.iter().find(is_it).filter(|known| !known.flops.is_empty())?;
        Some((found, cells))
    });
    let (ceilings, cells) = known.max_by_key(|(_, cells)| cells.len())?;
    let best = choose::best_of_series(cells, choose::throughput);
    Some((ceilings, choose::fairly(best, page, MOST_ROWS, choose::throughput)))
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let Some((ceilings, choice)) = choice(material, material.page) else {
        let why = "the ceilings of no machine with valid runs are known";
        return Err(Absent::new(why, "modelmeter calibrate"));
    };
    let hidden = choice.note(material);
    let cells = choice.cells;
    let points: Vec<Point<'_>> = cells.iter().filter_map(|cell| point(material, cell)).collect();
    if points.is_empty() {
        let why = "no operator of what was measured could be counted";
        return Err(Absent::new(why, "modelmeter profile MODEL"));
    }
    let cells: Vec<&PooledCell> = points.iter().map(|point| point.cell).collect();
    let words = Words::of(&cells, &material.machines, &[]);
    let about = [words.common(), format!("Best batch of each; {}", pooled(&cells))];
    let mut page = Page::new(theme, "Roofline", &about);
    let palette = Palette::of(material);
    legend::series(&mut page, &cells, &palette);

    let shown: BTreeSet<Precision> = cells.iter().map(|cell| cell.key.precision).collect();
    let roof = Roof::over(&shown, ceilings);
    let (y, width) = (page.top + 24.0, WIDTH - 2.0 * MARGIN);
    let places: Vec<(f64, f64)> = points.iter().map(|one| (one.intensity, one.rate)).collect();
    let field = Field::within(Area { x: MARGIN, y, width, height: HEIGHT }, &places, &roof);
    field.draw_axes(&mut page.canvas);
    let mut taken = field.reserve(&places, &roof);
    let mut lines = Taken::default();
    for number in 0..roof.slopes.len() {
        draw_slope(&mut page.canvas, &field, &roof, number, (&mut taken, &mut lines));
    }
    draw_flat(&mut page.canvas, &field, &roof);
    taken.append(lines);
    draw_points(&mut page.canvas, &field, &points, &palette, &mut taken);
    let top = field.area.bottom() + axis::BELOW + 18.0;
    let bottom = table(&mut page, top, &points, &words, ceilings, &palette);
    let notes = [
        "Of attainable: measured ÷ the lower of its precision's roof and memory's slope. Bytes are counted as if every node \
         read and wrote memory; what stays in a cache can be above the slope of memory. Both axes are logarithmic."
            .to_owned(),
        hidden,
    ];
    Ok(page.finish(bottom, &notes))
}

fn point<'a>(material: &Material, cell: &'a PooledCell) -> Option<Point<'a>> {
    let work = material.details.get(&cell.key)?.work?;
    let bytes = work.bytes_read.saturating_add(work.bytes_written).0 as f64;
    let flops = work.flops.0 as f64;
    let point = Point { cell, intensity: flops / bytes, rate: flops / cell.latency.value };
    let fine = |value: f64| value.is_finite() && value > 0.0;
    (fine(point.intensity) && fine(point.rate)).then_some(point)
}

/// The cells, each with the number of its row in the table.
fn draw_points(
    canvas: &mut Canvas,
    field: &Field,
    points: &[Point<'_>],
    palette: &Palette,
    taken: &mut Taken,
) {
    let look = canvas.look;
    let ink = Ink::new(12.0, look.text).bold().middle();
    let places: Vec<(f64, f64)> =
        points.iter().map(|point| field.at(point.intensity, point.rate)).collect();
    for (number, (point, place)) in (1..).zip(points.iter().zip(&places)) {
        let text = report::count(number);
        let spot = taken.place(*place, (ink.width(&text) + 4.0, 13.0), field.area);
        let middle = (spot.x + spot.width / 2.0, spot.y + spot.height / 2.0);
        if (middle.0 - place.0).hypot(middle.1 - place.1) > 18.0 {
            canvas.line(*place, middle, Stroke::new(look.axis, 0.8));
        }
        let colour = look.series(palette.number(&point.cell.key.engine));
        Marker::of(point.cell.key.precision).draw(canvas, *place, 5.2, colour);
        canvas.text(middle.0, middle.1 + 4.5, &text, ink);
    }
}

/// What the numbers beside the points mean.
fn table(
    page: &mut Page,
    top: f64,
    points: &[Point<'_>],
    words: &Words<'_>,
    ceilings: &Ceilings,
    palette: &Palette,
) -> f64 {
    let canvas = &mut page.canvas;
    let look = canvas.look;
    let (ink, head) = (Ink::new(SIZE, look.text), Ink::new(12.0, look.muted).end());
    let right = WIDTH - MARGIN;
    let columns = [right - 250.0, right - 110.0, right];
    let names = ["operations per second", "operations a byte", "of attainable"];
    for (x, name) in columns.into_iter().zip(names) {
        canvas.text(x, top, name, head);
    }
    let mut y = top;
    for (number, point) in (1..).zip(points) {
        y += 21.0;
        let key = &point.cell.key;
        let colour = look.series(palette.number(&key.engine));
        canvas.text(MARGIN + 16.0, y, &report::count(number), ink.bold().end());
        Marker::of(key.precision).draw(canvas, (MARGIN + 30.0, y - 4.5), 4.6, colour);
        let parts = [report::clean(&key.model), words.row(key), words.of_model(&key.model)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let room = columns[0] - 130.0 - MARGIN - 44.0;
        canvas.text_within(MARGIN + 44.0, y, &parts.join(" · "), ink, room);
        let attainable = ceilings.attainable(key.precision, point.intensity);
        let share = attainable.map(|most| report::percent(point.rate / most));
        let share = share.unwrap_or_else(|| report::MISSING.into());
        canvas.text(columns[0], y, &report::flops_per_second(point.rate), ink.end());
        canvas.text(columns[1], y, &report::significant(point.intensity, 3), ink.end());
        canvas.text(columns[2], y, &share, ink.bold().end());
    }
    y
}
