//! What is over the points of a roofline: flat roofs, slopes, and the field they stand in.

use crate::{
    axis,
    canvas::{Area, Canvas, Ink, Stroke},
    dodge::{Taken, spread},
    scale::Scale,
};
use std::collections::BTreeSet;
use types::{Ceilings, Precision, Unit};

/// A named ceiling.
pub(crate) type NamedCeiling = (String, f64);

/// What is over the points: flat roofs of operations per second, slopes of bytes per second; memory is the first slope.
pub(crate) struct Roof {
    pub(crate) flat: Vec<NamedCeiling>,
    pub(crate) slopes: Vec<NamedCeiling>,
}

/// Where the picture is drawn.
pub(crate) struct Field {
    pub(crate) area: Area,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
}

impl Roof {
    /// The roofs of the precisions that are shown, and every slope.
    pub(crate) fn over(shown: &BTreeSet<Precision>, ceilings: &Ceilings) -> Roof {
        let flat = ceilings.flops.iter().filter(|(precision, _)| shown.contains(precision));
        let memory = ceilings.bandwidth.iter().map(|ceiling| ("memory".to_owned(), ceiling.value));
        let caches = ceilings.caches.iter().map(|c| (format!("L{}", c.level), c.ceiling.value));
        let fine = |(_, value): &NamedCeiling| value.is_finite() && *value > 0.0;
        Roof {
            flat: flat.map(|(p, ceiling)| (p.to_string(), ceiling.value)).filter(fine).collect(),
            slopes: memory.chain(caches).filter(fine).collect(),
        }
    }

    /// The highest roof.
    pub(crate) fn top(&self) -> f64 {
        self.flat.iter().map(|(_, value)| *value).fold(0.0, f64::max)
    }
}

/// What is written beside a flat roof.
fn flat_text((name, value): &NamedCeiling) -> String {
    format!("{name} {}", report::flops_per_second(*value))
}

impl Field {
    /// A field for these points (operations a byte, operations per second) and their roof, within a frame with room for words.
    pub(crate) fn within(frame: Area, points: &[(f64, f64)], roof: &Roof) -> Field {
        let rates = points.iter().map(|(_, rate)| *rate);
        let rates = rates.chain(roof.flat.iter().map(|(_, v)| *v));
        let y = Scale::log(rates, frame.bottom(), frame.y);
        let left = axis::width_of(&y, Unit::FlopsPerSecond) + 10.0;
        let ink = Ink::new(12.0, (0, 0, 0));
        let right = roof.flat.iter().map(|roof| ink.width(&flat_text(roof))).fold(0.0, f64::max);
        let width = frame.width - left - right - 16.0;
        let area = Area { x: frame.x + left, width, ..frame };
        // From before memory's slope meets the lowest roof to after the highest, so that every bend is in sight.
        let low = roof.flat.iter().map(|(_, value)| *value).fold(roof.top(), f64::min);
        let bends = roof
            .slopes
            .iter()
            .take(1)
            .flat_map(|(_, slope)| [low / slope * 0.4, roof.top() / slope * 1.5]);
        let places = points.iter().map(|(intensity, _)| *intensity).chain(bends);
        Field { area, x: Scale::log(places, area.x, area.right()), y }
    }

    pub(crate) fn at(&self, intensity: f64, rate: f64) -> (f64, f64) {
        (self.x.at(intensity), self.y.at(rate))
    }

    /// What flat roofs and points take, before any words are placed.
    pub(crate) fn reserve(&self, points: &[(f64, f64)], roof: &Roof) -> Taken {
        let mut taken = Taken::default();
        for (_, value) in &roof.flat {
            let (x, width) = (self.area.x, self.area.width);
            taken.take(Area { x, y: self.y.at(*value) - 2.0, width, height: 4.0 });
        }
        for (intensity, rate) in points {
            let (x, y) = self.at(*intensity, *rate);
            taken.take(Area { x: x - 6.0, y: y - 6.0, width: 12.0, height: 12.0 });
        }
        taken
    }

    pub(crate) fn draw_axes(&self, canvas: &mut Canvas) {
        let look = canvas.look;
        canvas.rectangle(self.area, look.panel, 1.0);
        axis::left(canvas, self.area, &self.y, Unit::FlopsPerSecond, "operations per second");
        let name = "operations for each byte that nodes read or write";
        axis::below(canvas, self.area, &self.x, Unit::Count, name);
    }
}

/// A bandwidth as a slope, with its name in a gap of the line.
pub(crate) fn draw_slope(
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
pub(crate) fn draw_flat(canvas: &mut Canvas, field: &Field, roof: &Roof) {
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
