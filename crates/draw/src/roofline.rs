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

const HEIGHT: f64 = 400.0;

/// A cell and its place: operations a byte, operations a second.
struct Point<'a> {
    cell: &'a PooledCell,
    intensity: f64,
    rate: f64,
}

/// A named ceiling.
type Named = (String, f64);

/// What is over the points: flat roofs of operations a second, slopes of bytes a second; memory is the first slope.
struct Roof {
    flat: Vec<Named>,
    slopes: Vec<Named>,
}

/// Where the picture is drawn.
struct Field {
    area: Area,
    x: Scale,
    y: Scale,
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

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let Some((ceilings, Choice { cells, more })) = choice(material) else {
        let why = "the ceilings of no machine with valid runs are known";
        return Err(Absent::new(why, "modelmeter calibrate"));
    };
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

    let roof = Roof::over(&cells, ceilings);
    let field = Field::of(&page, &points, &roof);
    field.draw_axes(&mut page.canvas);
    let mut taken = field.reserve(&points, &roof);
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
        left_out(more),
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

impl Roof {
    /// The roofs of the precisions that are shown, and every slope.
    fn over(cells: &[&PooledCell], ceilings: &Ceilings) -> Roof {
        let shown: BTreeSet<Precision> = cells.iter().map(|cell| cell.key.precision).collect();
        let flat = ceilings.flops.iter().filter(|(precision, _)| shown.contains(precision));
        let memory = ceilings.bandwidth.iter().map(|ceiling| ("memory".to_owned(), ceiling.value));
        let caches = ceilings.caches.iter().map(|c| (format!("L{}", c.level), c.ceiling.value));
        let fine = |(_, value): &Named| value.is_finite() && *value > 0.0;
        Roof {
            flat: flat.map(|(p, ceiling)| (p.to_string(), ceiling.value)).filter(fine).collect(),
            slopes: memory.chain(caches).filter(fine).collect(),
        }
    }

    /// The highest roof.
    fn top(&self) -> f64 {
        self.flat.iter().map(|(_, value)| *value).fold(0.0, f64::max)
    }
}

/// What is written beside a flat roof.
fn flat_text((name, value): &Named) -> String {
    format!("{name} {}", report::flops_per_second(*value))
}

impl Field {
    fn of(page: &Page, points: &[Point<'_>], roof: &Roof) -> Field {
        let top = page.top + 24.0;
        let rates = points.iter().map(|point| point.rate);
        let y = Scale::log(rates.chain(roof.flat.iter().map(|(_, v)| *v)), top + HEIGHT, top);
        let left = axis::width_of(&y, Unit::FlopsPerSecond) + 10.0;
        let ink = Ink::new(12.0, page.canvas.look.text);
        let right = roof.flat.iter().map(|roof| ink.width(&flat_text(roof))).fold(0.0, f64::max);
        let width = WIDTH - 2.0 * MARGIN - left - right - 16.0;
        let area = Area { x: MARGIN + left, y: top, width, height: HEIGHT };
        // From before memory's slope meets the lowest roof to after the highest, so that every bend is in sight.
        let low = roof.flat.iter().map(|(_, value)| *value).fold(roof.top(), f64::min);
        let bends = roof
            .slopes
            .iter()
            .take(1)
            .flat_map(|(_, slope)| [low / slope * 0.4, roof.top() / slope * 1.5]);
        let places = points.iter().map(|point| point.intensity).chain(bends);
        Field { area, x: Scale::log(places, area.x, area.right()), y }
    }

    fn at(&self, intensity: f64, rate: f64) -> (f64, f64) {
        (self.x.at(intensity), self.y.at(rate))
    }

    /// What flat roofs and points take, before any words are placed.
    fn reserve(&self, points: &[Point<'_>], roof: &Roof) -> Taken {
        let mut taken = Taken::default();
        for (_, value) in &roof.flat {
            let (x, width) = (self.area.x, self.area.width);
            taken.take(Area { x, y: self.y.at(*value) - 2.0, width, height: 4.0 });
        }
        for point in points {
            let (x, y) = self.at(point.intensity, point.rate);
            taken.take(Area { x: x - 6.0, y: y - 6.0, width: 12.0, height: 12.0 });
        }
        taken
    }

    fn draw_axes(&self, canvas: &mut Canvas) {
        let look = canvas.look;
        canvas.rectangle(self.area, look.panel, 1.0);
        axis::left(canvas, self.area, &self.y, Unit::FlopsPerSecond, "operations a second");
        let name = "operations for each byte that nodes read or write";
        axis::below(canvas, self.area, &self.x, Unit::Count, name);
    }
}

/// A bandwidth as a slope, with its name in a gap of the line.
fn draw_slope(
    canvas: &mut Canvas,
    field: &Field,
    roof: &Roof,
    number: usize,
    (taken, lines): (&mut Taken, &mut Taken),
) {
    let look = canvas.look;
    let ink = Ink::new(11.5, look.muted);
    let (name, slope) = &roof.slopes[number];
    // From the left or lower edge to the highest roof or the right edge.
    let from = field.x.low().max(field.y.low() / slope);
    let to = field.x.high().min(roof.top() / slope);
    if from >= to {
        return;
    }
    let (start, end) = (field.at(from, from * slope), field.at(to, to * slope));
    let stroke = match number {
        0 => Stroke::new(look.text, 1.6),
        _ => Stroke::new(look.axis, 1.2).dashed("5 4"),
    };
    canvas.line(start, end, stroke);
    let (across, down) = (end.0 - start.0, end.1 - start.1);
    let length = across.hypot(down);
    let along = |far: f64| (start.0 + across * far / length, start.1 + down * far / length);
    let steps = (length / 6.0).ceil().clamp(1.0, 500.0) as usize;
    for step in 0..=steps {
        let (x, y) = along(length * step as f64 / steps as f64);
        lines.take(Area { x: x - 3.0, y: y - 3.0, width: 6.0, height: 6.0 });
    }
    let text = format!("{name} {}", report::bytes_per_second(*slope));
    let wide = ink.width(&text);
    if length < wide + 30.0 {
        return;
    }
    let under = |begin: f64| {
        (0..=10).map(move |step| {
            let (x, y) = along(begin + wide * f64::from(step) / 10.0);
            Area { x: x - 9.0, y: y - 9.0, width: 18.0, height: 18.0 }
        })
    };
    // One after the other further up, so that names of lines side by side do not touch; on no roof and no point.
    let places = (0..20).map(|step| (0.1 + 0.22 * number as f64 + 0.05 * f64::from(step)) % 0.96);
    let mut places = places.map(|share| 12.0 + (length - wide - 24.0) * share);
    let Some(begin) = places.find(|begin| under(*begin).all(|area| taken.is_free(&area))) else {
        return;
    };
    let turned = down.atan2(across);
    let beside = |far: f64, off: f64| {
        let (x, y) = along(far);
        (x - turned.sin() * off, y + turned.cos() * off)
    };
    let (left, right) = (begin - 4.0, begin + wide + 4.0);
    let sheet = [beside(left, -8.0), beside(right, -8.0), beside(right, 8.0), beside(left, 8.0)];
    canvas.polygon(&sheet, look.panel, 1.0);
    let foot = beside(begin, 4.0);
    canvas.text_turned(foot.0, foot.1, &text, ink, turned.to_degrees());
    under(begin).for_each(|area| taken.take(area));
}

/// Operations a second as flat roofs, named at the right.
fn draw_flat(canvas: &mut Canvas, field: &Field, roof: &Roof) {
    let look = canvas.look;
    let (area, ink) = (field.area, Ink::new(12.0, look.text));
    let wanted: Vec<f64> = roof.flat.iter().map(|(_, value)| field.y.at(*value)).collect();
    let labels = spread(&wanted, 17.0, area.y, area.bottom());
    let steepest = roof.slopes.iter().map(|(_, slope)| *slope).fold(0.0, f64::max);
    for ((flat, y), label) in roof.flat.iter().zip(&wanted).zip(labels) {
        let from = if steepest > 0.0 { field.x.at(flat.1 / steepest) } else { area.x };
        canvas.line((from, *y), (area.right(), *y), Stroke::new(look.text, 1.6));
        let right = area.right();
        let leader = [(right, *y), (right + 6.0, label), (right + 10.0, label)];
        canvas.polyline(&leader, Stroke::new(look.axis, 1.0));
        canvas.text(right + 13.0, label + 4.0, &flat_text(flat), ink);
    }
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
    let names = ["operations a second", "operations a byte", "of attainable"];
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
