//! How the samples of the time are distributed: every sample a dot, their density above, box, median and p95 marked.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Canvas, Stroke},
    choose::{self, Choice, MOST_ROWS},
    legend::{self, Palette},
    look::Colour,
    material::quantile,
    page::Page,
    picture::MEASURE,
    rows::{self, Column},
    scale::Scale,
    words::{Words, pooled},
};
use types::{PERCENTILE_FLOORS, PooledCell, Unit};

/// Dots of a strip; more of them are one smear.
const MOST_DOTS: usize = 300;

/// Places at which a density is computed.
const PLACES: usize = 160;

/// Every series at its smallest batch: what one request waits for.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    let smallest = |cell: &PooledCell| Some(-(cell.key.batch_size as f64));
    let cells = choose::best_of_series(choose::inferences(material), smallest);
    choose::fairly(cells, page, MOST_ROWS, |cell| Some(-cell.latency.value))
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let cells = choice.cells;
    let samples = |cell: &PooledCell| -> &[f64] {
        let found = material.samples.get(&cell.key).map_or(&[][..], Vec::as_slice);
        // In the order of their size, so that all are positive from the first one that is.
        &found[found.partition_point(|sample| *sample <= 0.0)..]
    };
    let (cells, bare): (Vec<&PooledCell>, Vec<&PooledCell>) =
        cells.into_iter().partition(|cell| !samples(cell).is_empty());
    if cells.is_empty() {
        let why = "no valid run has samples: imported results are only summaries";
        let none = "no valid run is stored";
        return Err(choose::absent(material, if bare.is_empty() { none } else { why }, MEASURE));
    }
    let palette = Palette::of(material);
    let words = Words::of(&cells, &material.machines, &[]);
    let about = [words.common(), format!("Smallest batch of each; {}", pooled(&cells))];
    let mut page = Page::on(material.paper, theme, "Latency", &about);
    legend::engines(&mut page, &cells, &palette);

    let supported = |cell: &PooledCell| cell.samples >= PERCENTILE_FLOORS[2].samples;
    let at = |cell: &PooledCell, share: f64| quantile(samples(cell), share).unwrap_or(f64::NAN);
    let median = |cell: &PooledCell| report::seconds(at(cell, 0.5));
    let p95 = |cell: &PooledCell| {
        let star = if supported(cell) { "" } else { "*" };
        format!("{}{star}", report::seconds(at(cell, 0.95)))
    };
    let columns = [Column { name: "median", text: &median }, Column { name: "p95", text: &p95 }];
    let laid = rows::lay(&mut page, &cells, &words, 54.0, &columns);
    let field = laid.field;
    let shown = cells.iter().flat_map(|cell| {
        // A single sample far out would press all others together; it is drawn at the edge and told below.
        [at(cell, 0.0), at(cell, 0.99) * 1.1, at(cell, 0.95)]
    });
    let scale = Scale::log(shown, field.x + 12.0, field.right() - 12.0);
    axis::below(
        &mut page.canvas,
        field,
        &scale,
        Unit::Seconds,
        &format!("time of one {}, logarithmic", choose::sample_of(&cells)),
    );
    let mut beyond = 0;
    for row in &laid.rows {
        let colour = page.canvas.look.series(palette.number(&row.cell.key.engine));
        let samples = samples(row.cell);
        beyond += samples.iter().filter(|sample| **sample > scale.high()).count();
        distribution(&mut page.canvas, samples, &scale, (field, row.y), colour);
    }
    let bare = bare.len();
    let notes = [
        "Above each line the density of the samples, below it the samples; box: the middle half, tall line: median, short line: p95."
            .to_owned(),
        if cells.iter().all(|cell| supported(cell)) {
            String::new()
        } else {
            format!(
                "* fewer than {} samples: too few to support a p95.",
                report::count(PERCENTILE_FLOORS[2].samples)
            )
        },
        match beyond {
            0 => String::new(),
            1 => "1 sample lies beyond the right edge.".into(),
            many => format!("{} samples lie beyond the right edge.", report::count(many as u64)),
        },
        hidden,
        match bare {
            0 => String::new(),
            1 => "1 cell has no samples, because it was imported.".into(),
            many => format!("{} cells have no samples, because they were imported.", report::count(many as u64)),
        },
    ];
    Ok(page.finish(field.bottom() + axis::BELOW, &notes))
}

/// Density above the line, dots below it, box and marks on it.
fn distribution(
    canvas: &mut Canvas,
    sorted: &[f64],
    scale: &Scale,
    (field, y): (Area, f64),
    colour: Colour,
) {
    let line = y + 8.0;
    let shown = &sorted[..sorted.partition_point(|sample| *sample <= scale.high())];
    let places: Vec<f64> = shown.iter().map(|sample| scale.at(*sample)).collect();
    // What smoothing adds beyond the field is cut.
    let is_within = |(x, _): &(f64, f64)| (field.x..=field.right()).contains(x);
    let hill: Vec<(f64, f64)> = density(&places).into_iter().filter(is_within).collect();
    if let (Some(first), Some(last)) = (hill.first(), hill.last()) {
        const HEIGHT: f64 = 27.0;
        let mut outline = vec![(first.0, line)];
        outline.extend(hill.iter().map(|(x, share)| (*x, line - share * HEIGHT)));
        outline.push((last.0, line));
        canvas.polygon(&outline, colour, 0.28);
        canvas.polyline(&outline, Stroke::new(colour, 1.2));
    }
    // The first and the last are among the dots. Spread over lines by their number: the same samples make the same picture.
    let shown = places.len().min(MOST_DOTS);
    let which = |index: usize| index * (places.len() - 1) / (shown - 1).max(1);
    let dots: Vec<(f64, f64)> = (0..shown)
        .map(|index| (places[which(index)], line + 5.5 + (index * 7 % 5) as f64 * 2.0))
        .collect();
    canvas.dots(&dots, 1.2, colour, 0.5);
    let at = |share: f64| quantile(sorted, share).map_or(0.0, |value| scale.at(value));
    let text = canvas.look.text;
    let middle = Area { x: at(0.25), y: line - 2.5, width: at(0.75) - at(0.25), height: 5.0 };
    canvas.rectangle(middle, text, 1.0);
    let tall = Stroke::new(text, 2.2);
    canvas.line((at(0.5), line - 13.0), (at(0.5), line + 6.0), tall);
    let short = Stroke::new(text, 1.4);
    canvas.line((at(0.75), line), (at(0.95), line), short);
    canvas.line((at(0.95), line - 5.0), (at(0.95), line + 5.0), short);
}

/// How thick places lie, from 0 to 1, by a bell of Silverman's width over each.
fn density(places: &[f64]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Vec::new() };
    // Never thinner than can be seen.
    let width = stats::bell_width(places).max(1.5);
    // The far tail is flat; its samples are dots. Most places are where there is something to see.
    let tail = quantile(places, 0.995).unwrap_or(*last);
    let (from, to) = (first - 3.0 * width, last.min(tail + 8.0 * width) + 3.0 * width);
    let height = |x: f64| stats::density(places, width, x);
    let step = (to - from) / (PLACES - 1) as f64;
    let mut hill: Vec<(f64, f64)> =
        (0..PLACES).map(|index| from + step * index as f64).map(|x| (x, height(x))).collect();
    let most = hill.iter().map(|(_, height)| *height).fold(f64::MIN_POSITIVE, f64::max);
    hill.iter_mut().for_each(|(_, height)| *height /= most);
    hill
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_is_highest_where_samples_lie_thickest() {
        let mut places: Vec<f64> = (0..100).map(|index| 50.0 + f64::from(index % 10)).collect();
        places.push(200.0);
        places.sort_by(f64::total_cmp);
        let hill = density(&places);
        let top = hill.iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
        assert!((45.0..65.0).contains(&top.0), "{top:?}");
        assert!((top.1 - 1.0).abs() < 1e-12);
        assert!(density(&[]).is_empty());
        assert!(density(&[3.0]).iter().all(|(x, y)| x.is_finite() && y.is_finite()));
    }
}
