//! `modelmeter schema`: the JSON Schema of a document that `--json` prints.

use crate::{
    Exit, Failure,
    arguments::Schema,
    command::{bench, db, devices, models, predict},
    output,
};
use exchange::{WHOLE_RUN_SCHEMA, WholeRun};
use report::{DocumentSchema, SCHEMAS};

/// Documents that are not made from a result of the report.
const OWN: [DocumentSchema; 10] = [
    DocumentSchema::of::<bench::PlanDocument<'_>>(bench::PLAN_SCHEMA),
    DocumentSchema::of::<models::ModelsDocument<'_>>(models::MODELS_SCHEMA),
    DocumentSchema::of::<devices::DevicesDocument<'_>>(devices::DEVICES_SCHEMA),
    DocumentSchema::of::<devices::EnginesDocument>(devices::ENGINES_SCHEMA),
    DocumentSchema::of::<db::StatusDocument<'_>>(db::STATUS_SCHEMA),
    DocumentSchema::of::<db::ImportDocument<'_>>(db::IMPORT_SCHEMA),
    DocumentSchema::of::<WholeRun<'_>>(WHOLE_RUN_SCHEMA),
    DocumentSchema::of::<predict::BacktestDocument<'_>>(predict::BACKTEST_SCHEMA),
    DocumentSchema::of::<predict::PredictionDocument<'_>>(predict::PREDICTION_SCHEMA),
    DocumentSchema::of::<predict::HardwareListDocument<'_>>(predict::HARDWARE_SCHEMA),
];

pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let documents = || SCHEMAS.iter().chain(&OWN);
    let Some(name) = &arguments.document else {
        let names: String = documents().map(|document| format!("{}\n", document.name)).collect();
        output::data(&names)?;
        return Ok(Exit::Fine);
    };
    let Some(document) = documents().find(|document| document.name == name) else {
        return Err(Failure::new(Exit::Wrong, format!("no document is called `{name}`"))
            .hint("`modelmeter schema` lists the documents"));
    };
    output::data(&format!("{:#}\n", document.json()))?;
    Ok(Exit::Fine)
}
