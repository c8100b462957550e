//! `modelmeter capacity`: how many replicas a rate takes.

use crate::{
    Exit, Failure, Sinks,
    arguments::{CapacityArguments, Global},
    command::open_existing_store,
};
use modelmeter::{CapacityPlan, Run, Store, StoreError};
use store::Filter;

/// The most runs that an answer rests on: the newest.
const RUNS: u64 = 64;

pub(crate) fn run(arguments: &CapacityArguments, global: &Global) -> Result<Exit, Failure> {
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    asked.check([])?;
    let store = open_existing_store(global)?;
    let (model, runs) = runs(&arguments.target, &store)?;
    let plan = CapacityPlan {
        rate: arguments.rate,
        arrivals: arguments.arrivals,
        limit: arguments.slo,
        routing: arguments.routing,
        batch_max: arguments.batch_max,
        batch_wait: arguments.batch_wait,
        seed: arguments.seed.value(),
    };
    let report = plan.answer(&model, &runs)?;
    let exit = if report.options.is_empty() { Exit::Failed } else { Exit::Fine };
    let mut sinks = Sinks::new(global);
    sinks.result(&report::capacity_document(&report), &asked, exit);
    Ok(sinks.finish(exit))
}

/// The run of this id, otherwise the newest valid runs of the model of this name.
fn runs(target: &str, store: &Store) -> Result<(String, Vec<Run>), Failure> {
    if let Ok(id) = store.resolve(target) {
        let run = store.run(&id.0)?;
        return Ok((run.model.name.clone(), vec![run]));
    }
    let filter = Filter {
        model: Some(target.to_owned()),
        valid: Some(true),
        limit: Some(RUNS),
        ..Filter::default()
    };
    let rows = store.runs(&filter)?;
    let runs: Result<Vec<Run>, StoreError> = rows.iter().map(|row| store.run(&row.id.0)).collect();
    Ok((target.to_owned(), runs?))
}
