//! Operations a second over operations a byte, under the ceilings that were measured on the machine.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Canvas, Ink, Stroke},
    choose::{self, Choice, MOST_ROWS},
    dodge::{Taken, spread},
    legend::{self, Palette},
    marker::Marker,
    page::{MARGIN, Page, SIZE, WIDTH, left_out},
    scale::Scale,
    words::{Words, pooled},
};
use std::collections::{BTreeMap, BTreeSet};
use types::{Ceilings, Device, Mode, PooledCell, Precision, Unit};

/// A cell's place: operations a byte, operations a second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    intensity: f64,
    rate: f64,
}

/// The device with ceilings that has most cells, and its cells at their best batch.
pub(crate) fn choice(material: &Material) -> Option<(&Ceilings, Choice<'_>)> {
    let mut places: BTreeMap<(&str, Device, u32), Vec<&PooledCell>> = BTreeMap::new();
    for cell in &material.cells {
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
    Some((ceilings, choose::fairly(best, MOST_ROWS, choose::throughput)))
}

fn point(material: &Material, cell: &PooledCell) -> Option<Point> {
    let work = material.details.get(&cell.key)?.work?;
    let bytes = work.bytes_read.saturating_add(work.bytes_written).0 as f64;
    let flops = work.flops.0 as f64;
    let point = Point { intensity: flops / bytes, rate: flops / cell.latency.value };
    let fine = |value: f64| value.is_finite() && value > 0.0;
    (fine(point.intensity) && fine(point.rate)).then_some(point)
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let Some((ceilings, Choice { cells, more })) = choice(material) else {
        let why = "the ceilings of no machine with valid runs are known";
        return Err(Absent::new(why, "modelmeter calibrate"));
    };
    let points: Vec<(&PooledCell, Point)> =
        cells.iter().filter_map(|cell| Some((*cell, point(material, cell)?))).collect();
    if points.is_empty() {
        let why = "no operator of what was measured could be counted";
        return Err(Absent::new(why, "modelmeter profile MODEL"));
    }
    let cells: Vec<&PooledCell> = points.iter().map(|(cell, _)| *cell).collect();
    let words = Words::of(&cells, &material.machines, &[]);
    let about = [words.common(), format!("Best batch of each; {}", pooled(&cells))];
    let mut page = Page::new(theme, "Roofline", &about);
    let palette = Palette::of(material);
    legend::series(&mut page, &cells, &palette);
    let look = page.canvas.look;

    let mut roofs: Vec<(String, f64)> = Vec::new();
    let shown: BTreeSet<Precision> = cells.iter().map(|cell| cell.key.precision).collect();
    for (precision, ceiling) in &ceilings.flops {
        if shown.contains(precision) {
            roofs.push((precision.to_string(), ceiling.value));
        }
    }
    let mut slopes: Vec<(String, f64)> =
        ceilings.bandwidth.iter().map(|ceiling| ("memory".into(), ceiling.value)).collect();
    let caches = ceilings.caches.iter().map(|c| (format!("L{}", c.level), c.ceiling.value));
    slopes.extend(caches);
    slopes.retain(|(_, value)| value.is_finite() && *value > 0.0);
    roofs.retain(|(_, value)| value.is_finite() && *value > 0.0);

    let height = 400.0;
    let rates = points.iter().map(|(_, point)| point.rate);
    let y = Scale::log(
        rates.chain(roofs.iter().map(|(_, value)| *value)),
        page.top + 24.0 + height,
        page.top + 24.0,
    );
    let left = axis::width_of(&y, Unit::FlopsPerSecond) + 10.0;
    let roof_text =
        |(name, value): &(String, f64)| format!("{name} {}", report::flops_per_second(*value));
    let small = Ink::new(12.0, look.text);
    let room = roofs.iter().map(|roof| small.width(&roof_text(roof))).fold(0.0, f64::max);
    let area = Area {
        x: MARGIN + left,
        y: page.top + 24.0,
        width: WIDTH - 2.0 * MARGIN - left - room - 16.0,
        height,
    };
    // From the leftmost point to where the slowest slope meets the highest roof, so that every bend is in sight.
    let top = roofs.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let bends = slopes.iter().take(1).map(|(_, slope)| top / slope * 1.5);
    let places = points.iter().map(|(_, point)| point.intensity);
    let x = Scale::log(places.chain(bends), area.x, area.right());
    page.canvas.rectangle(area, look.panel, 1.0);
    axis::left(&mut page.canvas, area, &y, Unit::FlopsPerSecond, "operations a second");
    let ticks: Vec<(f64, String)> =
        x.ticks().into_iter().map(|tick| (x.at(tick), report::tick(tick, Unit::Count))).collect();
    axis::labelled_below(
        &mut page.canvas,
        area,
        &ticks,
        "operations for each byte that nodes read or write",
    );

    let mut taken = Taken::default();
    draw_slopes(&mut page.canvas, (&x, &y), &slopes, top, &mut taken);
    let wanted: Vec<f64> = roofs.iter().map(|(_, value)| y.at(*value)).collect();
    let labels = spread(&wanted, 17.0, area.y, area.bottom());
    let steepest = slopes.iter().map(|(_, slope)| *slope).fold(0.0, f64::max);
    for ((roof, place), label) in roofs.iter().zip(&wanted).zip(labels) {
        let from = if steepest > 0.0 { x.at(roof.1 / steepest) } else { area.x };
        let stroke = Stroke::new(look.text, 1.6);
        page.canvas.line((from.max(area.x), *place), (area.right(), *place), stroke);
        let bend =
            [(area.right(), *place), (area.right() + 6.0, label), (area.right() + 10.0, label)];
        page.canvas.polyline(&bend, Stroke::new(look.axis, 1.0));
        page.canvas.text(area.right() + 13.0, label + 4.0, &roof_text(roof), small);
        taken.take(Area { x: from, y: place - 2.0, width: area.right() - from, height: 4.0 });
    }
    for (_, point) in &points {
        let (px, py) = (x.at(point.intensity), y.at(point.rate));
        taken.take(Area { x: px - 6.0, y: py - 6.0, width: 12.0, height: 12.0 });
    }
    for (index, (cell, point)) in points.iter().enumerate() {
        let place = (x.at(point.intensity), y.at(point.rate));
        let colour = look.series(palette.number(&cell.key.engine));
        let text = report::count(index as u64 + 1);
        let ink = Ink::new(12.0, look.text).bold().middle();
        let size = (ink.width(&text) + 4.0, 13.0);
        let spot = taken.place(place, size, area);
        let middle = (spot.x + spot.width / 2.0, spot.y + spot.height / 2.0);
        if (middle.0 - place.0).hypot(middle.1 - place.1) > 22.0 {
            page.canvas.line(place, middle, Stroke::new(look.axis, 0.8));
        }
        Marker::of(cell.key.precision).draw(&mut page.canvas, place, 5.2, colour);
        page.canvas.text(middle.0, middle.1 + 4.5, &text, ink);
    }
    let bottom =
        table(&mut page, area.bottom() + axis::BELOW + 18.0, &points, &words, ceilings, &palette);
    let notes = [
        "Of attainable: measured ÷ the lower of its precision's roof and memory's slope. Bytes are counted as if every node read and wrote memory; what stays in a cache can be above the slope of memory."
            .to_owned(),
        left_out(more),
    ];
    Ok(page.finish(bottom, &notes))
}

/// Bandwidths as slopes, each with its name in a gap of its own line.
fn draw_slopes(
    canvas: &mut Canvas,
    (x, y): (&Scale, &Scale),
    slopes: &[(String, f64)],
    top: f64,
    taken: &mut Taken,
) {
    let look = canvas.look;
    let ink = Ink::new(11.5, look.muted);
    for (index, (name, slope)) in slopes.iter().enumerate() {
        // From the left or lower edge to the highest roof or the right edge.
        let from = x.low().max(y.low() / slope);
        let to = x.high().min(top / slope);
        if from >= to {
            continue;
        }
        let (start, end) = ((x.at(from), y.at(from * slope)), (x.at(to), y.at(to * slope)));
        let whole = index == 0;
        let stroke = match whole {
            true => Stroke::new(look.text, 1.6),
            false => Stroke::new(look.axis, 1.2).dashed("5 4"),
        };
        let length = (end.0 - start.0).hypot(end.1 - start.1);
        let text = format!("{name} {}", report::bytes_per_second(*slope));
        let wide = ink.width(&text);
        if length < wide + 30.0 {
            canvas.line(start, end, stroke);
            continue;
        }
        let along = |far: f64| {
            let share = far / length;
            (start.0 + (end.0 - start.0) * share, start.1 + (end.1 - start.1) * share)
        };
        // One after the other further up, so that names of lines side by side do not touch.
        let room = length - wide - 24.0;
        let begin = 14.0 + room * (0.1 + 0.22 * index as f64).min(0.9);
        let (gap, after) = (along(begin - 5.0), along(begin + wide + 5.0));
        canvas.line(start, gap, stroke);
        canvas.line(after, end, stroke);
        let degrees = (end.1 - start.1).atan2(end.0 - start.0).to_degrees();
        let foot = along(begin);
        let turned = degrees.to_radians();
        let (down_x, down_y) = (-turned.sin() * 4.0, turned.cos() * 4.0);
        canvas.text_turned(foot.0 + down_x, foot.1 + down_y, &text, ink, degrees);
        let steps = (length / 8.0).ceil() as usize;
        for step in 0..=steps {
            let (px, py) = along(length * step as f64 / steps.max(1) as f64);
            let wide = if (begin..begin + wide).contains(&(length * step as f64 / steps as f64)) {
                8.0
            } else {
                3.0
            };
            taken.take(Area { x: px - wide, y: py - wide, width: 2.0 * wide, height: 2.0 * wide });
        }
    }
}

/// What the numbers beside the points mean.
fn table(
    page: &mut Page,
    top: f64,
    points: &[(&PooledCell, Point)],
    words: &Words<'_>,
    ceilings: &Ceilings,
    palette: &Palette,
) -> f64 {
    let look = page.canvas.look;
    let ink = Ink::new(SIZE, look.text);
    let head = Ink::new(12.0, look.muted);
    let right = WIDTH - MARGIN;
    let columns = [right - 250.0, right - 110.0, right];
    for (x, name) in
        columns.into_iter().zip(["operations a second", "operations a byte", "of attainable"])
    {
        page.canvas.text(x, top, name, head.end());
    }
    let mut y = top;
    for (index, (cell, point)) in points.iter().enumerate() {
        y += 21.0;
        let colour = look.series(palette.number(&cell.key.engine));
        page.canvas.text(MARGIN + 16.0, y, &report::count(index as u64 + 1), ink.bold().end());
        Marker::of(cell.key.precision).draw(
            &mut page.canvas,
            (MARGIN + 30.0, y - 4.5),
            4.6,
            colour,
        );
        let name = format!("{} · {}", report::clean(&cell.key.model), words.row(&cell.key));
        page.canvas.text_within(MARGIN + 44.0, y, &name, ink, columns[0] - 130.0 - MARGIN - 44.0);
        let attainable = ceilings.attainable(cell.key.precision, point.intensity);
        let share = attainable
            .map_or_else(|| report::MISSING.into(), |most| report::percent(point.rate / most));
        page.canvas.text(columns[0], y, &report::flops_per_second(point.rate), ink.end());
        page.canvas.text(columns[1], y, &report::significant(point.intensity, 3), ink.end());
        page.canvas.text(columns[2], y, &share, ink.bold().end());
    }
    y
}
