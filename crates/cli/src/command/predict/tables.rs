//! `predict MODEL --on HARDWARE --learn-from FILE…`: a model of a table on hardware that the table need not have.

use super::failure;
use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Predict, PredictedMode},
};
use modelmeter::Target;
use predict::{Catalogue, Effort, Observation, PictureQuestion, Predictor, Tables};
use report::TableRows;

pub(super) fn run(
    arguments: &Predict,
    catalogue: &Catalogue,
    global: &Global,
) -> Result<Exit, Failure> {
    let model = arguments.model.name().unwrap_or_default();
    let hardware = match Target::named(&arguments.on, None, catalogue)? {
        Target::Stated(hardware) => *hardware,
        _ => {
            let text = "tables answer for hardware with stated peaks";
            return Err(Failure::new(Exit::Wrong, text)
                .hint("`--on \"RTX 5090\"`; `modelmeter predict --catalogue` lists them"));
        }
    };
    if arguments.mode == PredictedMode::Generation {
        return Err(Failure::new(
            Exit::Wrong,
            "tables of timm have inferences and trainings alone",
        ));
    }
    let mut tables = Tables::read(&arguments.learn_from, catalogue).map_err(failure)?;
    tables.finish(None, catalogue);
    let asked = PictureQuestion {
        hardware: &hardware.name,
        precision: arguments.precision.precision.map(modelmeter::Precision::name),
        batch: arguments.batch.batch_size.map(|batch| batch as f64),
        is_training: arguments.mode == PredictedMode::Training,
    };
    let case = tables.picture_question(model, &asked, catalogue).map_err(failure)?;
    let one = &case.observation;
    let rows: Vec<Observation> =
        tables.observations.into_iter().filter(|row| row.domain == one.domain).collect();
    let mut predictor = Predictor::of(&rows, Effort::default());
    let said = predictor.predict(one);
    let is_answered = said.is_ok();
    let score =
        said.as_ref().ok().and_then(|(situation, _)| predictor.score(*situation, &one.test));
    let exit = if is_answered { Exit::Fine } else { Exit::Untold };
    let rows = TableRows {
        times: rows.len(),
        machines: predictor.machines(one),
        left_out: &tables.left_out,
    };
    let document =
        report::table_prediction_document(&case, &hardware, &said, score.as_ref(), &rows);
    let mut sinks = Sinks::new(global);
    sinks.result(&document, &arguments.result, exit);
    Ok(sinks.finish(exit))
}
