//! What `recommend --with-predictions` says of configurations that were not measured, marked as predicted.

use super::{LearnedCells, Prediction, document::answers};
use crate::{
    analysis::words::counted,
    clean::clean,
    result::{Block, Note, ResultDocument},
    sheet::Grid,
    table::Column,
};
use number::{percent, rate, seconds};

/// So many predictions of one model are shown, the fastest first.
const SHOWN: usize = 8;

/// A recommendation with predictions of what was not measured: for every model its gaps, the fastest first.
#[must_use]
pub fn with_gap_predictions(
    mut document: ResultDocument,
    models: &[Vec<Prediction>],
    from: &LearnedCells<'_>,
) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("engine"),
        Column::left("format"),
        Column::right("batch"),
        Column::right("predicted latency"),
        Column::right("90 % interval"),
        Column::right("samples/s"),
        Column::right("backtest"),
    ]);
    let mut shown = 0;
    for own in models {
        for asked in own.iter().take(SHOWN) {
            let Ok(answer) = &asked.answer else { continue };
            let reach = &answer.seconds;
            shown += 1;
            grid.row([
                clean(&asked.case.model),
                asked.case.engine.clone(),
                asked.case.precision.clone(),
                asked.case.batch.to_string(),
                seconds(reach.middle),
                format!("{} to {}", seconds(reach.low), seconds(reach.high)),
                rate(asked.case.batch / reach.middle),
                answer
                    .calibrated
                    .as_ref()
                    .map(|own| format!("± {}", percent(own.median_error)))
                    .unwrap_or_default(),
            ]);
        }
    }
    document.blocks.push(Block::Heading("Predicted, not measured".into()));
    if shown > 0 {
        document.blocks.push(Block::table("predictions", grid));
    }
    let mut notes = vec![Note::new(
        "no recommendation rests on these: `modelmeter profile` measures one. Backtest: the median error of such answers on cells \
         that were held out",
    )];
    let all = || models.iter().flatten();
    let refused = all().filter(|asked| asked.answer.is_err()).count();
    if refused > 0 {
        notes.push(Note::new(format!(
            "{}, not measured, cannot be predicted either",
            counted(refused as u64, "configuration")
        )));
    }
    document.blocks.push(Block::Notes(notes));
    document.json["predictions"] = answers(from, all().map(Prediction::document).collect(), None);
    document
}
