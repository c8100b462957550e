//! A training step by its phases, in times of the inference of the same model on the same hardware.

use crate::{
    Absent, Material, Theme, axis,
    canvas::{Area, Ink, Stroke},
    choose::{self, Choice, MOST_ROWS},
    legend::{self, Key},
    look::mix,
    page::Page,
    rows::{self, Column},
    scale::Scale,
    words::{Facet, Words, pooled},
};
use types::{CellKey, Mode, Phase, PooledCell, Unit};

/// The phases of a step in their order.
const PHASES: [Phase; 4] = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];

/// Trainings that have an inference beside them, every series at its best batch.
pub(crate) fn choice(material: &Material, page: Option<usize>) -> Choice<'_> {
    // A step is shown in times of its inference: a ratio of what cannot be believed would bear no mark.
    let believed = material.cells.iter().filter(|cell| cell.invalid.is_none());
    let all = believed.filter(|cell| cell.key.mode == Mode::Training);
    let paired = all.filter(|cell| inference_of(material, cell).is_some());
    let best = choose::best_of_series(paired, choose::throughput);
    choose::fairly(best, page, MOST_ROWS, choose::throughput)
}

/// The inference with the same batch on the same hardware; the usual one where there are several.
fn inference_of<'a>(material: &'a Material, cell: &PooledCell) -> Option<&'a PooledCell> {
    let wanted = CellKey { mode: Mode::Inference, variant: String::new(), ..cell.key.clone() };
    let plain = |key: &CellKey| CellKey { variant: String::new(), ..key.clone() };
    let believed = material.cells.iter().filter(|other| other.invalid.is_none());
    let alike = believed.filter(|other| plain(&other.key) == wanted);
    let timed = alike.filter(|other| other.latency.value > 0.0 && other.latency.value.is_finite());
    timed.min_by_key(|other| other.key.variant.clone())
}

pub(crate) fn draw(material: &Material, theme: Theme) -> Result<String, Absent> {
    let choice = choice(material, material.page);
    let hidden = choice.note(material);
    let cells = choice.cells;
    let trained = material.cells.iter().filter(|cell| cell.key.mode == Mode::Training);
    if cells.is_empty() {
        return Err(match trained.count() {
            0 => Absent::new("no valid training run is stored", "modelmeter profile MODEL --train"),
            _ => Absent::new(
                "no training run has a valid inference of the same batch to compare with",
                "modelmeter profile MODEL",
            ),
        });
    }
    let without = material
        .cells
        .iter()
        .filter(|cell| cell.key.mode == Mode::Training && inference_of(material, cell).is_none())
        .count();
    let words = Words::of(&cells, &material.machines, &[Facet::Mode]);
    let about = [words.common(), format!("Best batch of each; {}", pooled(&cells))];
    let mut page = Page::on(material.paper, theme, "Training against inference", &about);
    let look = page.canvas.look;
    let grey = mix(look.background, look.muted, 0.55);
    let mut keys = vec![Key::Swatch(grey, "inference".into())];
    let name = |phase: Phase| if phase == Phase::Optimizer { "optimiser" } else { phase.name() };
    keys.extend(
        PHASES
            .iter()
            .enumerate()
            .map(|(i, phase)| Key::Swatch(look.series(i), name(*phase).into())),
    );
    legend::row(&mut page, &keys);

    let base =
        |cell: &PooledCell| inference_of(material, cell).map_or(f64::NAN, |i| i.latency.value);
    let ratio = |cell: &PooledCell| cell.latency.value / base(cell);
    let inference = |cell: &PooledCell| report::seconds(base(cell));
    let step = |cell: &PooledCell| report::seconds(cell.latency.value);
    let times = |cell: &PooledCell| format!("{} ×", report::significant(ratio(cell), 2));
    let columns = [
        Column { name: "inference", text: &inference },
        Column { name: "step", text: &step },
        Column { name: "ratio", text: &times },
    ];
    let laid = rows::lay(&mut page, &cells, &words, 52.0, &columns);
    let field = laid.field;
    let ends = cells.iter().map(|cell| ratio(cell)).chain([1.0]);
    let scale = Scale::linear(ends, field.x, field.right() - 12.0);
    let ticks: Vec<(f64, String)> = scale
        .ticks()
        .into_iter()
        .map(|tick| (scale.at(tick), format!("{} ×", report::tick(tick, Unit::Count))))
        .collect();
    axis::labelled_below(&mut page.canvas, field, &ticks, "times its inference");
    // Before the bars, so that no line goes through their words.
    let one = scale.at(1.0);
    let stroke = Stroke::new(look.text, 1.2).dashed("4 3");
    page.canvas.line((one, field.y), (one, field.bottom()), stroke);
    for row in &laid.rows {
        let canvas = &mut page.canvas;
        let bar = |from: f64, to: f64, y: f64, height: f64| Area {
            x: scale.at(from),
            y,
            width: scale.at(to) - scale.at(from),
            height,
        };
        canvas.rectangle(bar(0.0, 1.0, row.y - 20.0, 10.0), grey, 1.0);
        let known = material.details.get(&row.cell.key);
        let phases = known.map_or(&[][..], |detail| &detail.phases);
        let mut at = 0.0;
        for (number, phase) in PHASES.iter().enumerate() {
            let seconds = phases.iter().find(|(known, _)| known == phase).map_or(0.0, |p| p.1);
            let share = seconds / base(row.cell);
            if !(share.is_finite() && share > 0.0) {
                continue;
            }
            let colour = look.series(number);
            let part = bar(at, at + share, row.y - 8.0, 24.0);
            canvas.rectangle(part, colour, 1.0);
            let edge = Stroke::new(look.panel, 1.0);
            canvas.line((part.right(), part.y), (part.right(), part.bottom()), edge);
            let ink = Ink::new(12.0, look.on(colour)).middle();
            if ink.width(name(*phase)) + 8.0 < part.width {
                canvas.text(part.x + part.width / 2.0, part.y + 16.5, name(*phase), ink);
            }
            at += share;
        }
        if ratio(row.cell) > at {
            let rest = bar(at, ratio(row.cell), row.y - 8.0, 24.0);
            canvas.outline(rest, Stroke::new(look.axis, 1.0));
        }
    }
    let notes = [
        "Bars are medians; dashed: the inference itself. Outlined: time between the phases."
            .to_owned(),
        match without {
            0 => String::new(),
            1 => "1 training has no inference of the same batch.".into(),
            many => format!(
                "{} trainings have no inference of the same batch.",
                report::count(many as u64)
            ),
        },
        hidden,
    ];
    Ok(page.finish(field.bottom() + axis::BELOW, &notes))
}
