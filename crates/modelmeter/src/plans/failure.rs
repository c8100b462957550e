//! Why a cell has no run, from what went wrong.

use crate::Error;
use engine::EngineErrorKind;
use meter::MeterError;
use types::{CellFailure, FailureKind};

/// From what went wrong; gives the error back where it concerns the plan and not the cell.
pub(crate) fn cell_failure(error: Error) -> Result<CellFailure, Error> {
    let kind = match &error {
        Error::Store(_)
        | Error::NoWorker
        | Error::NoFolder { .. }
        | Error::Host { .. }
        | Error::Temporary { .. }
        | Error::Write { .. } => {
            return Err(error);
        }
        Error::Model(_) => FailureKind::Model,
        Error::Meter(error) => return Ok(measurement_failure(error)),
        error if error.is_out_of_memory() => FailureKind::Memory,
        _ => FailureKind::Impossible,
    };
    let why = match &error {
        Error::NoEngine { why, .. } if why.len() > 1 => {
            let why: Vec<String> = why.iter().map(|(id, why)| format!("{id}: {why}")).collect();
            format!("{error}: {}", why.join("; "))
        }
        other => spell(other),
    };
    Ok(CellFailure::new(kind, &why))
}

/// Why a measurement ended without a run.
pub(crate) fn measurement_failure(error: &MeterError) -> CellFailure {
    let kind = match error {
        error if error.is_out_of_memory() => FailureKind::Memory,
        MeterError::Timeout { .. } => FailureKind::Hang,
        MeterError::Engine(failure) => match failure.kind {
            _ if speaks_of_memory(&failure.message) => FailureKind::Memory,
            EngineErrorKind::Unsupported
            | EngineErrorKind::BadModel
            | EngineErrorKind::BadInput => FailureKind::Impossible,
            _ => FailureKind::Crash,
        },
        _ => FailureKind::Crash,
    };
    CellFailure::new(kind, &crate::error::spell(error))
}

/// Whether an engine says that it could not have the memory it wanted; each has its own words for it.
fn speaks_of_memory(message: &str) -> bool {
    let message = message.to_lowercase();
    ["out of memory", "bad allocation", "bad_alloc", "can't allocate memory", "failed to allocate"]
        .iter()
        .any(|words| message.contains(words))
}

fn spell(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_was_killed_for_its_memory_ran_out_of_memory() {
        let died = MeterError::Died {
            doing: "run",
            how: "it was killed".into(),
            last_words: "a\nb".into(),
            out_of_memory: true,
        };
        let failure = cell_failure(died.into()).unwrap();
        assert_eq!(failure.kind, FailureKind::Memory);
        assert!(!failure.why.contains('\n'));
    }

    #[test]
    fn what_concerns_the_whole_plan_stops_it() {
        assert!(cell_failure(Error::NoWorker).is_err());
    }
}
