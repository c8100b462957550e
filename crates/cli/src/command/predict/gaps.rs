//! What `recommend --with-predictions` and `capacity` say of configurations that were not measured, marked as predicted.

use super::answer::{self, Asked};
use modelmeter::Experience;
use number::{rate, seconds};
use predict::{Case, Learned};
use report::{Block, Column, Grid, Note, clean};
use serde_json::Value;
use types::Recommendation;

/// So many predictions of one model are shown, the fastest first.
const SHOWN: usize = 8;

/// Predictions for the gaps of a recommendation: a table, and the same for programs.
pub(crate) fn gaps(found: &[Recommendation], experience: &Experience) -> (Vec<Block>, Value) {
    let learned = [experience.learn(false).ok(), experience.learn(true).ok()];
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
    let mut all = Vec::new();
    let (mut refused, mut shown) = (0, 0);
    for one in found {
        let mut own: Vec<Asked> = cases(one, experience)
            .into_iter()
            .filter_map(|case| {
                let learned: &Learned = learned[usize::from(case.is_gpu)].as_ref()?;
                Some(Asked { answer: learned.answer(&case), case, next: None })
            })
            .collect();
        let speed = |asked: &Asked| {
            asked.answer.as_ref().map_or(0.0, |answer| asked.case.batch / answer.seconds.middle)
        };
        own.sort_by(|one, other| speed(other).total_cmp(&speed(one)));
        refused += own.iter().filter(|asked| asked.answer.is_err()).count();
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
                rate(speed(asked)),
                answer
                    .calibrated
                    .as_ref()
                    .map(|own| format!("± {}", number::percent(own.median_error)))
                    .unwrap_or_default(),
            ]);
        }
        all.extend(own);
    }
    let mut blocks = vec![Block::Heading("Predicted, not measured".into())];
    if shown > 0 {
        blocks.push(Block::table("predictions", grid));
    }
    let mut notes = vec![Note::new(
        "no recommendation rests on these: `modelmeter profile` measures one. Backtest: the median error of such answers on cells \
         that were held out",
    )];
    if refused > 0 {
        notes.push(Note::new(format!(
            "{refused} configurations that were not measured cannot be predicted either"
        )));
    }
    blocks.push(Block::Notes(notes));
    (blocks, answer::several(experience, &all))
}

/// The gaps as questions: the model as it was measured elsewhere, the configuration as others were measured with it.
fn cases(one: &Recommendation, experience: &Experience) -> Vec<Case> {
    let known = || experience.processors.iter().chain(&experience.gpus).map(|known| &known.case);
    let length = one.sequence_length.map(|length| length as f64);
    let own = known().find(|case| {
        case.model == one.model && case.mode == one.mode.name() && case.length == length
    });
    let Some(own) = own else { return Vec::new() };
    let mut all = Vec::new();
    for gap in &one.gaps {
        let place = known().find(|case| {
            case.machine == gap.machine
                && case.engine == gap.engine
                && case.precision == gap.precision.name()
        });
        let Some(place) = place else { continue };
        for batch in &gap.batch_sizes {
            let batch = *batch as f64;
            let scaled = |amount: Option<f64>| amount.map(|amount| amount * batch / own.batch);
            all.push(Case {
                model: own.model.clone(),
                family: own.family.clone(),
                mode: own.mode.clone(),
                length: own.length,
                batch,
                flops: scaled(own.flops),
                bytes: scaled(own.bytes),
                weights: own.weights,
                ..place.clone()
            });
        }
    }
    all
}
