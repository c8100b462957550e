//! Samples a second at the best batch: a mark for each cell with its interval, models apart.

use crate::{
    Absent, Material, Theme, axis,
    canvas::Stroke,
    choose::{self, Choice, MOST_ROWS},
    legend::{self, Palette},
    marker::Marker,
    page::{Page, WHISKERS},
    picture::MEASURE,
    rows::{self, Column},
    scale::Scale,
    words::{Words, pooled},
};
use types::{PooledCell, Unit};

/// Every series at its best batch.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    let best = choose::best_of_series(choose::inferences(material), choose::throughput);
    choose::fairly(best, page, MOST_ROWS, choose::throughput)
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let cells = choice.cells;
    if cells.is_empty() {
        return Err(choose::absent(material, "no valid run has a throughput", MEASURE));
    }
    let palette = Palette::of(material);
    let words = Words::of(&cells, &material.machines, &[]);
    let about = [words.common(), format!("Best batch of each; {}", pooled(&cells))];
    let mut page = Page::on(material.paper, theme, "Throughput", &about);
    legend::series(&mut page, &cells, &palette);
    let text = |cell: &PooledCell| report::rate(choose::throughput(cell).unwrap_or(f64::NAN));
    let column = Column { name: "samples/s", text: &text };
    let laid = rows::lay(&mut page, &cells, &words, 25.0, &[column]);
    let field = laid.field;
    let (from, to) = (field.x + 12.0, field.right() - 12.0);
    let values: Vec<f64> = cells.iter().flat_map(|cell| ends(cell)).collect();
    let scale = Scale::fitting(&values, from, to);
    let name =
        if scale.is_log() { "samples per second, logarithmic" } else { "samples per second" };
    axis::below(&mut page.canvas, field, &scale, Unit::PerSecond, name);
    for row in &laid.rows {
        let Some(pooled) = row.cell.throughput.value else { continue };
        let colour = page.canvas.look.series(palette.number(&row.cell.key.engine));
        if let Some(interval) = pooled.interval {
            let (low, high) = (scale.at(interval.low), scale.at(interval.high));
            rows::whisker(&mut page.canvas, low, high, row.y, Stroke::new(colour, 1.6));
        }
        let marker = Marker::of(row.cell.key.precision);
        marker.draw(&mut page.canvas, (scale.at(pooled.value), row.y), 5.5, colour);
    }
    let notes = [WHISKERS.to_owned(), hidden];
    Ok(page.finish(field.bottom() + axis::BELOW, &notes))
}

/// The number and the ends of its interval.
fn ends(cell: &PooledCell) -> Vec<f64> {
    let Some(pooled) = cell.throughput.value else { return Vec::new() };
    let mut ends = vec![pooled.value];
    ends.extend(pooled.interval.iter().flat_map(|interval| [interval.low, interval.high]));
    ends
}
