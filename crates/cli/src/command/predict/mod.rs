//! `modelmeter predict`: what was never measured, from what was; and how wrong that is.

mod gaps;
mod learned;
mod matrix;
mod tables;

pub(crate) use gaps::gaps;
pub(crate) use learned::learned_cells;

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Predict},
    command::table_width,
};
use predict::{Catalogue, Effort, Error};
use std::fs;

/// What random choices of a backtest begin with.
const SEED: u64 = 7;

pub(crate) fn run(arguments: &Predict, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let catalogue = catalogue(arguments)?;
    if arguments.catalogue {
        let mut sinks = Sinks::new(global);
        sinks.list(&report::hardware_document(&catalogue), &arguments.result, table_width());
        return Ok(sinks.finish(Exit::Fine));
    }
    if !arguments.learn_from.is_empty() {
        return tables::run(arguments, &catalogue, global);
    }
    if arguments.backtest.is_empty() {
        return learned::run(arguments, &catalogue, global);
    }
    let effort = Effort {
        folds: usize::from(arguments.folds),
        seed: arguments.inputs.seed.seed.unwrap_or(SEED),
        ..Effort::default()
    };
    let found = predict::backtest(&arguments.backtest, &arguments.held_out, &catalogue, &effort)
        .map_err(failure)?;
    // A refusal is an answer, but not one to build on.
    let exit = if found.answered() == 0 { Exit::Untold } else { Exit::Fine };
    let mut sinks = Sinks::new(global);
    sinks.result(&report::backtest_document(&found), &arguments.result, exit);
    Ok(sinks.finish(exit))
}

/// What is known of hardware, with the user's own.
fn catalogue(arguments: &Predict) -> Result<Catalogue, Failure> {
    let own = Catalogue::own();
    let Some(path) = &arguments.hardware else { return Ok(own) };
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::new(Exit::Wrong, format!("could not read `{}`", path.display()))
            .cause(error.to_string())
    })?;
    own.with(&text)
        .map_err(|error| failure(error).cause(format!("it was read from `{}`", path.display())))
}

fn failure(error: Error) -> Failure {
    let exit = match error {
        Error::TooLittle(_) => Exit::Untold,
        _ => Exit::Wrong,
    };
    let failure = Failure::new(exit, error.to_string());
    match error {
        Error::Read { source, .. } => failure.cause(source.to_string()),
        Error::Table { .. } => failure.hint("docs/PREDICTION.md has the columns of both formats"),
        Error::Catalogue(_) => failure
            .hint("docs/PREDICTION.md has an example of an entry; every entry names its source"),
        Error::TooLittle(_) => failure.hint("give more tables"),
    }
}
