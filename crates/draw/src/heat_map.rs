//! Every model by machine, device, engine and precision: samples per second as a share of the model's best, the number in
//! each field.

use crate::{
    Absent, Material, Theme,
    canvas::{Area, Canvas, Ink, Stroke},
    choose,
    font::Weight,
    page::{MARGIN, Page, SIZE, WIDTH},
    picture::MEASURE,
    words::{Facet, Words, pooled},
};
use std::collections::{BTreeMap, BTreeSet};
use types::{CellKey, Mode, PooledCell};

/// So many models and columns can be read.
const MOST_MODELS: usize = 16;
const MOST_COLUMNS: usize = 9;

/// What makes up a column, in the order it is written.
const COLUMN: [Facet; 4] = [Facet::Machine, Facet::Device, Facet::Engine, Facet::Precision];

type Place = [String; 4];

/// What is known of each model in each column.
struct Fields<'a> {
    measured: BTreeMap<(String, Place), &'a PooledCell>,
    /// Measured, but without a valid run.
    not_valid: BTreeSet<(String, Place)>,
}

fn fields(material: &Material) -> Fields<'_> {
    let not_valid = material.not_valid.iter().filter(|one| one.key.mode == Mode::Inference);
    let not_valid: Vec<&CellKey> = not_valid.map(|one| &one.key).collect();
    let best = choose::best_of_series(choose::inferences(material), choose::throughput);
    let keys = best.iter().map(|cell| &cell.key).chain(not_valid.iter().copied());
    let length = |key: &CellKey| Facet::Length.of(key, &material.machines);
    let mut lengths: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for key in keys {
        lengths.entry(&key.model).or_default().insert(length(key));
    }
    // Samples of another length are other work: such a model has a row for each.
    let row = |key: &CellKey| match length(key) {
        length if length.is_empty() || lengths[key.model.as_str()].len() < 2 => key.model.clone(),
        length => format!("{} · {length}", key.model),
    };
    let mut measured: BTreeMap<(String, Place), &PooledCell> = BTreeMap::new();
    for &cell in &best {
        let place = COLUMN.map(|facet| facet.of(&cell.key, &material.machines));
        // Threads and the rest are not apart here: the best of them stands for all, what is valid first.
        let entry = measured.entry((row(&cell.key), place)).or_insert(cell);
        let rank = |cell: &PooledCell| (cell.invalid.is_none(), choose::throughput(cell));
        if rank(cell) > rank(entry) {
            *entry = cell;
        }
    }
    let not_valid = not_valid
        .into_iter()
        .map(|key| (row(key), COLUMN.map(|facet| facet.of(key, &material.machines))))
        .filter(|place| !measured.contains_key(place))
        .collect();
    Fields { measured, not_valid }
}

/// Pages that all fields take.
pub(crate) fn pages(material: &Material) -> usize {
    let Fields { measured, not_valid } = fields(material);
    let known = || measured.keys().chain(&not_valid);
    let models: BTreeSet<&str> = known().map(|(model, _)| model.as_str()).collect();
    let places: BTreeSet<&Place> = known().map(|(_, place)| place).collect();
    models.len().div_ceil(MOST_MODELS).max(1) * places.len().div_ceil(MOST_COLUMNS).max(1)
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let Fields { measured: fields, not_valid } = fields(material);
    if fields.is_empty() {
        return Err(choose::absent(material, "no valid run has a throughput", MEASURE));
    }
    let pages = pages(material);
    let known = || fields.keys().chain(&not_valid);
    let (places, models) = match material.page {
        None => {
            let places = most(known().map(|(_, place)| place), MOST_COLUMNS);
            // Models that have a field there: a row of nothing would tell nothing.
            let there = known().filter(|(_, place)| places.contains(&place));
            let models: Vec<&str> = most(there.map(|(model, _)| model.as_str()), MOST_MODELS);
            (places, models)
        }
        Some(page) => {
            let all: BTreeSet<&Place> = known().map(|(_, place)| place).collect();
            let columns = all.len().div_ceil(MOST_COLUMNS).max(1);
            let models: BTreeSet<&str> = known().map(|(model, _)| model.as_str()).collect();
            let (row, column) = (page / columns, page % columns);
            let from = column * MOST_COLUMNS;
            let places = all.into_iter().skip(from).take(MOST_COLUMNS).collect();
            let models = models.into_iter().skip(row * MOST_MODELS).take(MOST_MODELS).collect();
            (places, models)
        }
    };
    let cells: Vec<&PooledCell> = fields
        .iter()
        .filter(|((model, place), _)| models.contains(&model.as_str()) && places.contains(&place))
        .map(|(_, cell)| *cell)
        .collect();
    let more = fields.len() - cells.len();
    let words = Words::of(
        &cells,
        &material.machines,
        &[Facet::Batch, Facet::Length, Facet::Threads, Facet::Weights, Facet::Variant],
    );
    let about = [words.common(), format!("Samples a second at the best batch; {}", pooled(&cells))];
    let said: Vec<Facet> = COLUMN.into_iter().filter(|facet| words.varies(*facet)).collect();
    let said = if said.is_empty() { vec![Facet::Engine] } else { said };
    let mut page = Page::new(theme, &title(&said), &about);
    let look = page.canvas.look;

    let name_ink = Ink::new(SIZE, look.text).bold();
    let widest =
        models.iter().map(|model| name_ink.width(&report::clean(model))).fold(40.0, f64::max);
    let left = MARGIN + widest.min(240.0) + 14.0;
    let width = ((WIDTH - MARGIN - left) / places.len() as f64).min(170.0);
    let mut y = page.top - 4.0;
    for (line, facet) in said.iter().enumerate() {
        y += 16.0;
        let ink =
            Ink::new(12.0, if line + 1 == said.len() { look.text } else { look.muted }).middle();
        let place = COLUMN.iter().position(|known| known == facet).unwrap_or(0);
        for (column, words) in places.iter().enumerate() {
            let x = left + width * (column as f64 + 0.5);
            page.canvas.text_within(x, y, &words[place], ink, width - 8.0);
        }
    }
    y += 10.0;
    const HEIGHT: f64 = 46.0;
    for model in &models {
        let middle = y + HEIGHT / 2.0 + 4.5;
        page.canvas.text_within(MARGIN, middle, model, name_ink, left - MARGIN - 14.0);
        let rate = |place: &Place| {
            fields
                .get(&((*model).to_owned(), place.clone()))
                .and_then(|cell| choose::throughput(cell))
        };
        // Best of all that was measured, shown or not.
        let believed = fields.iter().filter(|(_, cell)| cell.invalid.is_none());
        let all = believed.filter(|((name, _), _)| name == model);
        let top = all.filter_map(|(_, cell)| choose::throughput(cell)).fold(0.0, f64::max);
        for (column, place) in places.iter().enumerate() {
            let x = left + width * column as f64;
            let field = Area { x: x + 1.5, y: y + 1.5, width: width - 3.0, height: HEIGHT - 3.0 };
            let cell = fields.get(&((*model).to_owned(), (*place).clone()));
            let is_doubtful = cell.is_some_and(|cell| cell.invalid.is_some());
            match rate(place) {
                Some(rate) if is_doubtful => doubtful(&mut page.canvas, field, rate),
                Some(rate) => measured(&mut page.canvas, field, rate, rate / top),
                None if not_valid.contains(&((*model).to_owned(), (*place).clone())) => {
                    hatch(&mut page.canvas, field, "not valid");
                }
                None => hatch(&mut page.canvas, field, "not measured"),
            }
        }
        y += HEIGHT;
    }
    let bottom = key(&mut page.canvas, left, y + 20.0);
    let mut notes = vec![
        "Large: samples per second; small: as a share of the model's best. Hatched: not measured, or measured without \
         a valid run."
            .to_owned(),
    ];
    if material.page.is_some() || (more > 0 && material.has_pages) {
        notes.push(choose::page_note(material, more, pages));
    } else if more > 0 {
        let fields = if more == 1 { "field is" } else { "fields are" };
        notes.push(format!(
            "{} more {fields} not shown; filter with --model, --machine or --engine.",
            report::count(more as u64)
        ));
    }
    Ok(page.finish(bottom, &notes))
}

/// What rows and columns are: `Models by machine and engine`.
fn title(columns: &[Facet]) -> String {
    let names: Vec<&str> = columns
        .iter()
        .map(|facet| match facet {
            Facet::Machine => "machine",
            Facet::Device => "device",
            Facet::Precision => "precision",
            _ => "engine",
        })
        .collect();
    match names.as_slice() {
        [rest @ .., last] if !rest.is_empty() => {
            format!("Models by {} and {last}", rest.join(", "))
        }
        names => format!("Models by {}", names.join("")),
    }
}

/// So many of the names as find room, those with most fields first, in their order.
fn most<T: Ord + Copy>(names: impl Iterator<Item = T>, room: usize) -> Vec<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut ranked: Vec<(T, usize)> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let kept: BTreeSet<T> = ranked.into_iter().take(room).map(|(name, _)| name).collect();
    kept.into_iter().collect()
}

fn measured(canvas: &mut Canvas, field: Area, rate: f64, share: f64) {
    let colour = canvas.look.heat(share);
    let ink = Ink::new(SIZE, canvas.look.on(colour)).middle();
    canvas.rectangle(field, colour, 1.0);
    let middle = field.x + field.width / 2.0;
    let text = report::rate(rate);
    canvas.text_within(
        middle,
        field.y + 19.0,
        &text,
        Ink { weight: Weight::Bold, ..ink },
        field.width - 6.0,
    );
    canvas.text(middle, field.y + 35.0, &report::percent(share), Ink { size: 11.5, ..ink });
}

/// A number that cannot be believed: without a colour, which would be a share of the best.
fn doubtful(canvas: &mut Canvas, field: Area, rate: f64) {
    let look = canvas.look;
    canvas.rectangle(field, look.panel, 1.0);
    let middle = field.x + field.width / 2.0;
    let ink = Ink::new(SIZE, look.muted).middle();
    let text = format!("! {}", report::rate(rate));
    canvas.text_within(middle, field.y + 19.0, &text, ink, field.width - 6.0);
    canvas.text(middle, field.y + 35.0, "not valid", Ink { size: 11.5, ..ink });
}

/// Lines across a field without a number.
fn hatch(canvas: &mut Canvas, field: Area, text: &str) {
    let look = canvas.look;
    canvas.rectangle(field, look.panel, 1.0);
    canvas.begin_inside(field);
    let mut x = field.x - field.height;
    while x < field.right() {
        let to = (x + field.height, field.y);
        canvas.line((x, field.bottom()), to, Stroke::new(look.grid, 1.5));
        x += 9.0;
    }
    canvas.end();
    let ink = Ink::new(11.5, look.muted).middle();
    let width = ink.width(text) + 10.0;
    if width > field.width {
        return;
    }
    let middle = (field.x + field.width / 2.0, field.y + field.height / 2.0);
    let sheet = Area { x: middle.0 - width / 2.0, y: middle.1 - 9.0, width, height: 18.0 };
    canvas.rectangle(sheet, look.panel, 1.0);
    canvas.text(middle.0, middle.1 + 4.0, text, ink);
}

/// What the colours mean.
fn key(canvas: &mut Canvas, x: f64, y: f64) -> f64 {
    const STEPS: usize = 20;
    let look = canvas.look;
    let ink = Ink::new(12.0, look.muted);
    canvas.text(x, y + 10.0, "0 %", ink);
    let start = x + ink.width("0 %") + 8.0;
    for step in 0..STEPS {
        let area = Area { x: start + 8.0 * step as f64, y, width: 8.5, height: 12.0 };
        canvas.rectangle(area, look.heat((step as f64 + 0.5) / STEPS as f64), 1.0);
    }
    let end = start + 8.0 * STEPS as f64 + 8.0;
    canvas.text(end, y + 10.0, "100 % of the model's best", ink);
    y + 12.0
}
