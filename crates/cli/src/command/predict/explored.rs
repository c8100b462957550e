//! What `bench --explore` found: measured and predicted cells side by side, and what choosing was worth.

use super::answer::{self, Asked, ExplorationDocument};
use crate::command::bench::explore::Found;
use number::{rate, seconds};
use predict::Refused;
use report::{Block, Column, Grid, Note, ResultDocument, Tone, clean};

/// Half of a 90 % interval in deviations of a normal distribution.
const HALF: f64 = 1.645;

pub(crate) fn explored(found: &Found) -> ResultDocument {
    let all: Vec<Asked> = found
        .cases
        .iter()
        .map(|case| Asked {
            case: case.clone(),
            answer: match &found.learned {
                Some(learned) => learned.answer(case),
                None => Err(Refused {
                    why: "too little is measured".into(),
                    nearest: "a longer `--explore`".into(),
                    rows: 1,
                }),
            },
            next: None,
        })
        .collect();
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("engine"),
        Column::left("format"),
        Column::right("batch"),
        Column::left(""),
        Column::right("latency"),
        Column::right("90 % interval"),
        Column::right("samples/s"),
    ]);
    for asked in &all {
        let case = &asked.case;
        let mut row = vec![
            clean(&case.model),
            case.engine.clone(),
            case.precision.clone(),
            case.batch.to_string(),
        ];
        row.extend(match &asked.answer {
            Ok(answer) => {
                let own = &answer.seconds;
                let interval = match answer.is_measured {
                    true => String::new(),
                    false => format!("{} to {}", seconds(own.low), seconds(own.high)),
                };
                let status = if answer.is_measured { "measured" } else { "predicted" };
                let rate = rate(case.batch / own.middle);
                [status.to_owned(), seconds(own.middle), interval, rate]
            }
            Err(_) => ["unknown".to_owned(), String::new(), String::new(), String::new()],
        });
        grid.row(row);
    }
    let steps = found.measured.len().min(found.by_chance.len().saturating_sub(1));
    let width = |deviation: f64| (HALF * deviation).exp();
    let widths: Vec<f64> = all
        .iter()
        .filter_map(|one| {
            let own = &one.answer.as_ref().ok()?.seconds;
            Some((own.high / own.low).sqrt().ln())
        })
        .collect();
    let after = match widths.len() {
        0 => None,
        count => Some((widths.iter().sum::<f64>() / count as f64).exp()),
    };
    let exploration = ExplorationDocument {
        planned: found.cases.len(),
        before: found.before,
        measured: found.measured.len(),
        width_before: found.deviation.first().copied().map(width),
        width_after: after,
        width_by_chance: found.by_chance.get(steps).copied().map(width),
    };
    let open = found.cases.len() - found.before.min(found.cases.len());
    let mut notes = Vec::new();
    if let (Some(before), Some(after)) = (exploration.width_before, after) {
        let chance = exploration.width_by_chance.unwrap_or(f64::NAN);
        notes.push(Note::new(format!(
            "intervals of the plan's cells, typical: × ÷ {before:.2} at first, × ÷ {after:.2} now; × ÷ {chance:.2} expected from \
             as many cells drawn at random"
        )));
    }
    notes.push(Note::new("measured cells are runs of the database; predicted ones are not stored"));
    for (what, why) in &found.failed {
        notes.push(Note::warning(format!("{}: {}", clean(what), clean(why))));
    }
    let measured = found.measured.len();
    ResultDocument {
        title: vec!["Exploration".into(), format!("{measured} of {open} open cells measured")],
        facts: vec![format!("{} cells in the plan", found.cases.len())],
        verdict: Some(match all.iter().all(|one| one.answer.is_ok()) {
            true => Note::of(Tone::Good, "every cell of the plan is measured or predicted"),
            false => Note::of(
                Tone::Warning,
                "some cells are neither measured nor in reach of a prediction",
            ),
        }),
        blocks: vec![Block::table("cells", grid), Block::Notes(notes)],
        json: answer::explored(&found.experience, &all, exploration),
        data: Some(answer::rows(&all)),
        ..ResultDocument::default()
    }
}
