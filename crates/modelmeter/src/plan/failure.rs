//! Why a cell has no run.

use crate::Error;
use engine::EngineErrorKind;
use meter::MeterError;
use serde::{Deserialize, Serialize};

/// Why a cell has no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, causes and all, in one line.
    pub why: String,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The model cannot be had, on any engine.
    Model,
    /// This combination cannot be.
    Impossible,
    /// Memory ran out.
    Memory,
    /// The worker stayed silent for too long.
    Hang,
    /// The worker ended, or the engine failed.
    Crash,
}

impl CellFailure {
    /// From what went wrong; gives the error back where it concerns the plan and not the cell.
    pub(crate) fn from_error(error: Error) -> Result<CellFailure, Error> {
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
            error if error.is_out_of_memory() => FailureKind::Memory,
            Error::Meter(MeterError::Timeout { .. }) => FailureKind::Hang,
            Error::Meter(MeterError::Engine(failure)) => match failure.kind {
                _ if speaks_of_memory(&failure.message) => FailureKind::Memory,
                EngineErrorKind::Unsupported
                | EngineErrorKind::BadModel
                | EngineErrorKind::BadInput => FailureKind::Impossible,
                _ => FailureKind::Crash,
            },
            Error::Meter(_) => FailureKind::Crash,
            _ => FailureKind::Impossible,
        };
        let why = match &error {
            Error::Meter(error) => crate::error::spell(error),
            Error::NoEngine { why, .. } if why.len() > 1 => {
                let why: Vec<String> = why.iter().map(|(id, why)| format!("{id}: {why}")).collect();
                format!("{error}: {}", why.join("; "))
            }
            other => spell(other),
        };
        Ok(CellFailure { kind, why: one_line(&why) })
    }

    /// As the database keeps it.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.kind.name(), self.why)
    }
}

impl FailureKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Model => "no model",
            FailureKind::Impossible => "impossible",
            FailureKind::Memory => "out of memory",
            FailureKind::Hang => "hang",
            FailureKind::Crash => "crash",
        }
    }

    /// The kind of a reason that the database keeps.
    #[must_use]
    pub fn of_text(text: &str) -> Option<FailureKind> {
        let kinds = [
            FailureKind::Model,
            FailureKind::Impossible,
            FailureKind::Memory,
            FailureKind::Hang,
            FailureKind::Crash,
        ];
        kinds.into_iter().find(|kind| text.starts_with(&format!("{}: ", kind.name())))
    }
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

/// The last words of a worker may have many lines; a table has room for one.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Characters of a reason that are kept.
const LONGEST: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_its_kind_in_the_database() {
        let died = MeterError::Died {
            doing: "run",
            how: "it was killed".into(),
            last_words: "a\nb".into(),
            out_of_memory: true,
        };
        let failure = CellFailure::from_error(died.into()).unwrap();
        assert_eq!(failure.kind, FailureKind::Memory);
        assert!(!failure.why.contains('\n'));
        assert_eq!(FailureKind::of_text(&failure.text()), Some(FailureKind::Memory));
        assert_eq!(FailureKind::of_text("something else"), None);
        assert_eq!(one_line(&"x ".repeat(1000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn what_concerns_the_whole_plan_stops_it() {
        assert!(CellFailure::from_error(Error::NoWorker).is_err());
    }
}
