//! What colours and shapes mean, in one row above the picture.

use crate::{
    canvas::{Area, Ink},
    look::Colour,
    marker::Marker,
    material::Material,
    page::Page,
};
use std::collections::BTreeSet;
use types::{PooledCell, Precision};

/// The colours of engines: the same in every picture of one material.
pub(crate) struct Palette(Vec<String>);

impl Palette {
    pub(crate) fn of(material: &Material) -> Palette {
        let engines: BTreeSet<String> =
            material.cells.iter().map(|cell| cell.key.engine.clone()).collect();
        Palette(engines.into_iter().collect())
    }

    /// The number of an engine's colour.
    pub(crate) fn number(&self, engine: &str) -> usize {
        self.0.iter().position(|known| known == engine).unwrap_or(0)
    }
}

/// One entry: a mark and its meaning.
pub(crate) enum Key {
    Swatch(Colour, String),
    Shape(Marker, String),
}

/// Writes engines and number formats above the picture where there is more than one of either.
pub(crate) fn series(page: &mut Page, cells: &[&PooledCell], palette: &Palette) {
    let precisions: BTreeSet<Precision> = cells.iter().map(|cell| cell.key.precision).collect();
    let mut keys = engine_keys(page, cells, palette);
    if precisions.len() > 1 {
        let shape = |precision: Precision| Key::Shape(Marker::of(precision), precision.to_string());
        keys.extend(precisions.into_iter().map(shape));
    }
    row(page, &keys);
}

/// Writes engines above a picture without marks, if there is more than one.
pub(crate) fn engines(page: &mut Page, cells: &[&PooledCell], palette: &Palette) {
    let keys = engine_keys(page, cells, palette);
    row(page, &keys);
}

fn engine_keys(page: &Page, cells: &[&PooledCell], palette: &Palette) -> Vec<Key> {
    // In the order in which the picture shows them.
    let mut engines: Vec<&str> = Vec::new();
    for cell in cells {
        if !engines.contains(&cell.key.engine.as_str()) {
            engines.push(&cell.key.engine);
        }
    }
    if engines.len() < 2 {
        return Vec::new();
    }
    let colour = |engine: &str| page.canvas.look.series(palette.number(engine));
    engines.into_iter().map(|engine| Key::Swatch(colour(engine), engine.to_owned())).collect()
}

/// Writes the entries in a row, or in several where one is too short.
pub(crate) fn row(page: &mut Page, keys: &[Key]) {
    if keys.is_empty() {
        return;
    }
    let look = page.canvas.look;
    let ink = Ink::new(12.0, look.text);
    let mut x = page.margin;
    for key in keys {
        let (Key::Swatch(_, text) | Key::Shape(_, text)) = key;
        let text = crate::font::fit(&report::clean(text), ink.size, ink.weight, 260.0);
        let width = 18.0 + ink.width(&text) + 20.0;
        if x + width > page.width - page.margin && x > page.margin {
            x = page.margin;
            page.top += 20.0;
        }
        let y = page.top;
        match key {
            Key::Swatch(colour, _) => {
                let area = Area { x, y: y - 6.0, width: 12.0, height: 12.0 };
                page.canvas.rectangle(area, *colour, 1.0);
            }
            Key::Shape(marker, _) => {
                marker.draw(&mut page.canvas, (x + 6.0, y), 5.0, look.muted);
            }
        }
        page.canvas.text(x + 18.0, y + 4.0, &text, ink);
        x += width;
    }
    page.top += 24.0;
}
