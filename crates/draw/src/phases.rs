//! The phases of a training step beside each other, by their medians.

use crate::{
    Absent,
    canvas::{Area, Ink},
    font,
    picture::{Drawn, RunMaterial},
    plot::Plot,
};
use types::Phase;

const PARTS: [Phase; 4] = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let run = material.run;
    let median = |phase: &Phase| Some((*phase, run.summaries.get(phase)?.median));
    let parts: Vec<(Phase, f64)> =
        PARTS.iter().filter_map(median).filter(|(_, time)| *time > 0.0).collect();
    let sum: f64 = parts.iter().map(|(_, time)| time).sum();
    if parts.is_empty() || !sum.is_finite() {
        return Err(Absent::new("nothing was trained", "modelmeter profile MODEL --train"));
    }
    let mut plot = Plot::new(material.paper);
    let look = plot.canvas.look;
    let (left, whole) = (10.0, plot.width - 20.0);
    let mut x = left;
    let row = |number: usize| 150.0 + 30.0 * number as f64;
    for (number, (phase, time)) in parts.iter().enumerate() {
        let share = time / sum;
        let width = whole * share;
        let (ink, colour) = (Ink::new(13.0, look.text), look.series(number));
        let words = format!("{} {}", phase.name(), report::seconds(*time));
        plot.canvas.begin_told(&format!("{words}, {}", report::percent(share)));
        let bar = Area { x, y: 40.0, width: (width - 1.0).max(1.0), height: 64.0 };
        plot.canvas.rectangle(bar, colour, 0.85);
        plot.canvas.end();
        let swatch = Area { x: left, y: row(number) - 10.0, width: 12.0, height: 12.0 };
        plot.canvas.rectangle(swatch, colour, 0.85);
        let name = font::fit(phase.name(), 13.0, font::Weight::Regular, 200.0);
        plot.canvas.text(left + 22.0, row(number), &name, ink);
        plot.canvas.text(plot.width * 0.5, row(number), &report::seconds(*time), ink.end());
        plot.canvas.text(plot.width * 0.66, row(number), &report::percent(share), ink.bold().end());
        x += width;
    }
    let about: Vec<String> = parts
        .iter()
        .map(|(phase, time)| format!("{} {}", phase.name(), report::seconds(*time)))
        .collect();
    let notes = vec!["Medians of the phases; shares of their sum.".to_owned()];
    Ok(plot.finish("Phases of a training step", &about.join(", "), notes))
}
