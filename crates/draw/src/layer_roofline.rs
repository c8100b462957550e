//! The kinds of layers of one run under the ceilings of its machine, and its modules as small dots.

use crate::{
    Absent,
    canvas::{Area, Ink},
    dodge::Taken,
    picture::{Drawn, RunMaterial},
    plot::{HEIGHT, Plot},
    roof::{Field, Roof, draw_flat, draw_slope},
};
use std::collections::BTreeSet;
use types::{LayerReport, Spent};

/// A kind with less of the time has no name in the picture.
const LEAST_SHARE: f64 = 0.001;

/// Modules that are drawn, those with most of the time first.
const MOST_MODULES: usize = 150;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let run = material.run;
    let Some(layers) = &run.layers else {
        return Err(Absent::new(
            "the layers were not profiled",
            "modelmeter profile MODEL --layers",
        ));
    };
    let ceilings = material.ceilings.filter(|known| !known.flops.is_empty()).ok_or_else(|| {
        Absent::new("the ceilings of the machine are unknown", "modelmeter calibrate")
    })?;
    let kinds: Vec<(&str, &Spent, (f64, f64))> = layers
        .kinds
        .iter()
        .filter(|kind| kind.spent.share.0 >= LEAST_SHARE)
        .filter_map(|kind| Some((kind.name.as_str(), &kind.spent, place(&kind.spent)?)))
        .collect();
    if kinds.is_empty() {
        let why = "no operator of the layers could be counted";
        return Err(Absent::new(why, "modelmeter profile MODEL --layers"));
    }
    let modules = modules(layers);
    let shown = BTreeSet::from([run.cell.precision]);
    let roof = Roof::over(&shown, ceilings);
    let all: Vec<(f64, f64)> =
        kinds.iter().map(|(_, _, place)| *place).chain(modules.iter().map(|one| one.1)).collect();
    let mut plot = Plot::new(material.paper);
    let frame = Area { x: 10.0, y: 30.0, width: plot.width - 14.0, height: HEIGHT - 30.0 - 46.0 };
    let field = Field::within(frame, &all, &roof);
    field.draw_axes(&mut plot.canvas);
    let named: Vec<(f64, f64)> = kinds.iter().map(|(_, _, place)| *place).collect();
    let mut taken = field.reserve(&named, &roof);
    let mut lines = Taken::default();
    for number in 0..roof.slopes.len() {
        draw_slope(&mut plot.canvas, &field, &roof, number, (&mut taken, &mut lines));
    }
    draw_flat(&mut plot.canvas, &field, &roof);
    taken.append(lines);
    let look = plot.canvas.look;
    for (words, (intensity, rate)) in &modules {
        plot.canvas.begin_told(words);
        plot.canvas.circle(field.at(*intensity, *rate), 2.2, look.series(0), 0.45);
        plot.canvas.end();
    }
    let ink = Ink::new(12.0, look.text).bold().middle();
    for (name, spent, (intensity, rate)) in &kinds {
        let point = field.at(*intensity, *rate);
        // As large as its share of the time.
        let radius = 3.5 + 7.0 * spent.share.0.clamp(0.0, 1.0).sqrt();
        plot.canvas.begin_told(&told(name, spent));
        plot.canvas.circle(point, radius + 1.2, look.background, 1.0);
        plot.canvas.circle(point, radius, look.series(1), 0.9);
        plot.canvas.end();
        let spot = taken.place(point, (ink.width(name) + 6.0, 14.0), field.area);
        let middle = (spot.x + spot.width / 2.0, spot.y + spot.height / 2.0 + 4.0);
        plot.canvas.text(middle.0, middle.1, name, ink);
    }
    let notes = vec![
        "Large: kinds of layers, as large as their share of the time; small: the modules that take most of it. \
         Bytes are counted as if every node read and wrote memory; what stays in a cache can be above the slope of memory."
            .to_owned(),
    ];
    let about: Vec<String> = kinds.iter().map(|(name, spent, _)| told(name, spent)).collect();
    Ok(plot.finish("Roofline of the layers", &about.join("; "), notes))
}

fn place(spent: &Spent) -> Option<(f64, f64)> {
    let place = (spent.intensity()?, spent.flops_per_second()?);
    let fine = |value: f64| value.is_finite() && value > 0.0;
    (fine(place.0) && fine(place.1)).then_some(place)
}

fn told(name: &str, spent: &Spent) -> String {
    let rate = spent.flops_per_second().map(report::flops_per_second).unwrap_or_default();
    let attained =
        spent.roofline.map(|roof| format!(", {} of attainable", report::percent(roof.attained.0)));
    let share = report::percent(spent.share.0);
    format!("{name}: {share} of the time, {rate}{}", attained.unwrap_or_default())
}

/// The modules without modules inside them, by their share.
fn modules(report: &LayerReport) -> Vec<(String, (f64, f64))> {
    let layers = &report.layers;
    let is_leaf = |at: usize| layers.get(at + 1).is_none_or(|next| next.depth <= layers[at].depth);
    let mut leaves: Vec<usize> = (0..layers.len()).filter(|at| is_leaf(*at)).collect();
    leaves.sort_by(|one, other| {
        let share = |at: usize| layers[at].spent.share.0;
        share(*other).total_cmp(&share(*one)).then(one.cmp(other))
    });
    let found = leaves.into_iter().filter_map(|at| {
        let layer = &layers[at];
        Some((told(&layer.path, &layer.spent), place(&layer.spent)?))
    });
    found.take(MOST_MODULES).collect()
}
