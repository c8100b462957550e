//! How the loss of a training went, step by step.

use crate::{
    Absent, axis,
    canvas::Stroke,
    picture::{Drawn, RunMaterial},
    plot::{Plot, stretches},
    scale::Scale,
};
use types::Unit;

const STRETCHES: usize = 260;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let losses = material.run.training.as_ref().map(|report| report.losses.as_slice());
    let losses: Vec<f64> =
        losses.unwrap_or_default().iter().copied().filter(|loss| loss.is_finite()).collect();
    let (Some(first), Some(last)) = (losses.first(), losses.last()) else {
        return Err(Absent::new("nothing was trained", "modelmeter profile MODEL --train"));
    };
    let high = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let floor = if low >= 0.0 && low < high * 0.5 { 0.0 } else { low - (high - low) * 0.1 };
    let top = high + (high - floor) * 0.06;
    let mut plot = Plot::new(material.paper);
    let field = plot.field(&Scale::between(floor, top, 1.0, 0.0), Unit::Count, 24.0);
    let y = Scale::between(floor, top, field.bottom(), field.y);
    let x = Scale::between(0.0, losses.len() as f64, field.x, field.right());
    let look = plot.canvas.look;
    axis::left(&mut plot.canvas, field, &y, Unit::Count, "");
    axis::below(&mut plot.canvas, field, &x, Unit::Count, "steps");
    let parts = stretches(&losses, STRETCHES);
    let place = |first: usize, end: usize| x.at((first + end) as f64 / 2.0);
    if losses.len() > STRETCHES {
        let upper = parts.iter().map(|one| (place(one.first, one.end), y.at(one.high)));
        let lower = parts.iter().rev().map(|one| (place(one.first, one.end), y.at(one.low)));
        let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
        plot.canvas.polygon(&outline, look.series(3), 0.3);
    }
    let line: Vec<(f64, f64)> =
        parts.iter().map(|one| (place(one.first, one.end), y.at(one.middle))).collect();
    plot.canvas.polyline(&line, Stroke::new(look.series(3), 1.6));
    let words = format!(
        "Loss {} → {} in {} steps, warm-up included.",
        report::significant(*first, 4),
        report::significant(*last, 4),
        report::count(losses.len() as u64)
    );
    Ok(plot.finish("Loss over the steps", &words, vec![words.clone()]))
}
