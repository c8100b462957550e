//! The steps of one run that writes, over the tokens in the cache.

use crate::{
    Absent, axis,
    canvas::Ink,
    picture::{Drawn, RunMaterial},
    plot::{Plot, SIZE},
    scale::Scale,
    steps::{self, LEGEND, Steps},
};
use types::Unit;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let found = Steps::of(material.run).ok_or_else(|| {
        Absent::new("the run does not write token by token", "modelmeter generate MODEL -p 0")
    })?;
    let top = steps::roof(std::iter::once(&found));
    let low = found.quantile(0.0);
    let floor = if low > top * 0.5 { (low - (top - low) * 0.25).max(0.0) } else { 0.0 };
    let mut plot = Plot::new(material.paper);
    let field = plot.field(&Scale::between(floor, top, 1.0, 0.0), Unit::Seconds, 30.0);
    let y = Scale::between(floor, top, field.bottom(), field.y);
    let x = steps::tokens(std::iter::once(&found), field);
    axis::left(&mut plot.canvas, field, &y, Unit::Seconds, "");
    axis::below(&mut plot.canvas, field, &x, Unit::Count, "tokens in the cache");
    let look = plot.canvas.look;
    found.draw(&mut plot.canvas, (&x, &y), look.series(0));
    let words = report::step_growth(material.run).unwrap_or_default();
    plot.canvas.text_within(field.x, field.y - 8.0, &words, Ink::new(SIZE, look.text), field.width);
    let notes = vec![LEGEND.into(), beyond(found.above(top))];
    let about = format!("time of a step over the tokens in the cache; {words}");
    Ok(plot.finish("Steps over the depth", &about, notes))
}

/// How many steps are not seen.
pub(crate) fn beyond(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 step is above the upper edge.".into(),
        many => format!("{} steps are above the upper edge.", report::count(many as u64)),
    }
}
