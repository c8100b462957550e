//! `modelmeter capacity`: how many replicas a rate takes.

use crate::{
    Exit, Failure, Sinks,
    arguments::{CapacityArguments, Global},
    command::{
        load::{Screen, stop},
        open_existing_store,
    },
};
use ::load::Lengths;
use modelmeter::{CapacityPlan, Error, Mode, ProofPlan, Run, Store, StoreError};
use store::{Filter, RunRow};
use types::{InvalidRuns, ReasonCode, Scenario};

/// The most runs of each kind that an answer rests on: the newest.
const RUNS: usize = 64;

/// The most runs that are looked through for those.
const LOOKED_THROUGH: u64 = 100_000;

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
        lengths: Lengths { prompt: arguments.prompt, answer: arguments.new_tokens },
        sequence_length: arguments.sequence_length,
        costs: arguments.replicas_cost.clone(),
        seed: arguments.seed.value(),
    };
    let mut report = plan.answer(&model, &runs).map_err(|error| match error {
        error @ Error::NoServiceTimes { .. } => untold(error, &model, &runs, &store),
        error => error.into(),
    })?;
    if let Some(best) = report.options.first().filter(|_| arguments.prove) {
        let how = ProofPlan { duration: arguments.duration, warmup: arguments.duration / 6 };
        let stop = stop::watch()?;
        let mut screen = Screen::new(arguments.progress, global.quiet);
        let proof = plan.prove(&how, best, &runs, &stop, &mut |event| screen.hear(&event));
        screen.clear();
        report.proof = Some(proof?);
    }
    let exit = match (report.options.is_empty(), &report.proof) {
        (true, _) => Exit::Failed,
        (false, None) => Exit::Fine,
        (false, Some(proof)) => match proof.agrees {
            Some(true) => Exit::Fine,
            Some(false) => Exit::Failed,
            None => Exit::Untold,
        },
    };
    let mut sinks = Sinks::new(global);
    sinks.result(&report::capacity_document(&report), &asked, exit);
    Ok(sinks.finish(exit))
}

/// Nothing tells how long a request takes: with what was left out, and why.
fn untold(error: Error, model: &str, runs: &[Run], store: &Store) -> Failure {
    let failure = Failure::from(error);
    let named: InvalidRuns = runs.iter().filter_map(|run| run.verdict.main_reason()).collect();
    let others = if runs.is_empty() { not_valid(model, store) } else { Ok(named) };
    match others {
        Ok(invalid) if !invalid.is_empty() => failure.cause(report::not_valid(&invalid)),
        _ => failure,
    }
}

/// Runs of this model that are not valid, by their reasons.
fn not_valid(model: &str, store: &Store) -> Result<InvalidRuns, StoreError> {
    let filter = Filter {
        model: Some(model.to_owned()),
        valid: Some(false),
        limit: Some(LOOKED_THROUGH),
        ..Filter::default()
    };
    let rows = store.runs(&filter)?;
    let is_it = |row: &&RunRow| row.model.eq_ignore_ascii_case(model);
    let is_name = rows.iter().any(|row| is_it(&row));
    let meant = rows.iter().filter(|row| !is_name || is_it(row));
    Ok(meant.map(|row| row.reason.unwrap_or(ReasonCode::Unstated)).collect())
}

/// The run of this id, otherwise the newest valid runs of the model of this name.
fn runs(target: &str, store: &Store) -> Result<(String, Vec<Run>), Failure> {
    if let Ok(id) = store.resolve(target) {
        let run = store.run(&id.0)?;
        return Ok((run.model.name.clone(), vec![run]));
    }
    Ok((target.to_owned(), stored_runs(target, store)?))
}

/// The newest valid runs of a model that can tell how long a request takes. Each kind apart: many runs of one, or many loads that
/// cannot tell it, must not hide the others.
pub(crate) fn stored_runs(model: &str, store: &Store) -> Result<Vec<Run>, Failure> {
    let mut kinds = Vec::new();
    for mode in [Mode::Inference, Mode::Generate, Mode::Load] {
        let filter = Filter {
            model: Some(model.to_owned()),
            mode: Some(mode),
            valid: Some(true),
            limit: Some(LOOKED_THROUGH),
            ..Filter::default()
        };
        let mut rows = store.runs(&filter)?;
        rows.retain(|row| mode != Mode::Load || row.scenario == Some(Scenario::SingleStream));
        kinds.push(rows);
    }
    // The filter takes parts of names too: a model of exactly this name is meant alone.
    let is_it = |row: &RunRow| row.model.eq_ignore_ascii_case(model);
    let is_name = kinds.iter().flatten().any(is_it);
    let rows =
        kinds.iter().flat_map(|rows| rows.iter().filter(|row| !is_name || is_it(row)).take(RUNS));
    let runs: Result<Vec<Run>, StoreError> = rows.map(|row| store.run(&row.id.0)).collect();
    Ok(runs?)
}
