//! Peak memory of every cell, and how much of it weights and activations account for.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Stroke},
    choose::{self, Choice, MOST_ROWS},
    legend::{self, Key},
    look::mix,
    page::Page,
    picture::MEASURE,
    rows::{self, Column},
    scale::Scale,
    words::{Words, pooled},
};
use types::{Bytes, PooledCell, Unit};

fn peak(cell: &PooledCell) -> Option<f64> {
    cell.memory.value.map(|Bytes(bytes)| bytes as f64).filter(|bytes| *bytes > 0.0)
}

/// Every series at its best batch, inference and training.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    let measured = material.cells.iter().filter(|cell| peak(cell).is_some());
    let rate = |cell: &PooledCell| Some(choose::throughput(cell).unwrap_or(0.0));
    let cells = choose::best_of_series(measured, rate);
    choose::fairly(cells, page, MOST_ROWS, |cell| peak(cell).map(|peak| -peak))
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let cells = choice.cells;
    if cells.is_empty() {
        return Err(choose::absent(material, "no valid run has measured its memory", MEASURE));
    }
    let words = Words::of(&cells, &material.machines, &[]);
    let about = [words.common(), format!("Best batch of each; {}", pooled(&cells))];
    let mut page = Page::on(material.paper, theme, "Peak memory", &about);
    let look = page.canvas.look;
    let parts: Vec<Option<[f64; 3]>> = cells.iter().map(|cell| parts(material, cell)).collect();
    // Gradients come only with training.
    let names = ["weights", "gradients and optimiser", "activations, by the graph"];
    let colours = [look.series(0), look.series(2), look.series(1)];
    let rest = mix(look.background, look.muted, 0.45);
    let has = |part: usize| parts.iter().flatten().any(|parts| parts[part] > 0.0);
    let mut keys: Vec<Key> = (0..3)
        .filter(|part| has(*part))
        .map(|part| Key::Swatch(colours[part], names[part].into()))
        .collect();
    if !keys.is_empty() {
        keys.push(Key::Swatch(rest, "engine and everything else".into()));
    }
    legend::row(&mut page, &keys);
    let text = |cell: &PooledCell| {
        cell.memory
            .value
            .map_or_else(|| report::MISSING.into(), |Bytes(bytes)| report::bytes(bytes))
    };
    let laid = rows::lay(&mut page, &cells, &words, 28.0, &[Column { name: "peak", text: &text }]);
    let field = laid.field;
    let limits: Vec<Option<f64>> = cells.iter().map(|cell| limit(material, cell)).collect();
    let ends = cells.iter().zip(&limits).flat_map(|(cell, limit)| {
        let spread = cell.memory_spread.value.and_then(|spread| spread.interval);
        [peak(cell), *limit, spread.map(|interval| interval.high)]
    });
    let scale = Scale::linear(ends.flatten(), field.x, field.right() - 12.0);
    axis::below(
        &mut page.canvas,
        field,
        &scale,
        Unit::Bytes,
        "peak memory while loading and running",
    );
    for ((row, parts), limit) in laid.rows.iter().zip(&parts).zip(&limits) {
        let Some(peak) = peak(row.cell) else { continue };
        let bar = |from: f64, to: f64| Area {
            x: scale.at(from),
            y: row.y - 8.0,
            width: scale.at(to) - scale.at(from),
            height: 16.0,
        };
        page.canvas.rectangle(bar(0.0, peak), rest, 1.0);
        let mut from = 0.0;
        for (bytes, colour) in parts.iter().flatten().zip(colours) {
            page.canvas.rectangle(bar(from, from + bytes), colour, 1.0);
            from += bytes;
            let (x, gap) = (scale.at(from), Stroke::new(look.panel, 1.0));
            page.canvas.line((x, row.y - 8.0), (x, row.y + 8.0), gap);
        }
        if let Some(interval) = row.cell.memory_spread.value.and_then(|spread| spread.interval) {
            let (low, high) = (scale.at(interval.low), scale.at(interval.high));
            rows::whisker(&mut page.canvas, low, high, row.y, Stroke::new(look.text, 1.2));
        }
        if let Some(limit) = limit {
            let x = scale.at(*limit);
            let stroke = Stroke::new(look.text, 2.0).dashed("4 3");
            page.canvas.line((x, row.y - 12.0), (x, row.y + 12.0), stroke);
        }
    }
    let notes = [
        "Whiskers: 95 % interval over the pooled runs; the bar is the largest of them.".to_owned(),
        if limits.iter().any(Option::is_some) {
            "Dashed: the memory limit of the worker.".into()
        } else {
            String::new()
        },
        if !keys.is_empty() && parts.iter().any(Option::is_none) {
            "Only grey: the parts are unknown, or add up to more than the resident memory; weights that are mapped \
             but not read take no memory."
                .into()
        } else {
            String::new()
        },
        hidden,
    ];
    Ok(page.finish(field.bottom() + axis::BELOW, &notes))
}

/// Bytes of weights, of gradients with the optimiser's state and of activations, where they are known and fit into the peak.
fn parts(material: &Material, cell: &PooledCell) -> Option<[f64; 3]> {
    let detail = material.details.get(&cell.key)?;
    let bytes = |part: Option<Bytes>| part.map(|Bytes(bytes)| bytes as f64);
    let gradients = bytes(detail.gradients).unwrap_or(0.0);
    let parts = [bytes(detail.weights)?, gradients, bytes(detail.activations)?];
    (parts.iter().sum::<f64>() <= peak(cell)?).then_some(parts)
}

fn limit(material: &Material, cell: &PooledCell) -> Option<f64> {
    Some(material.details.get(&cell.key)?.limit?.0 as f64)
}
