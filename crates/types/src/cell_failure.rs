//! Why a cell has no run.

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
    /// What happened, in one line: the last words of a worker may have many.
    #[must_use]
    pub fn new(kind: FailureKind, why: &str) -> CellFailure {
        CellFailure { kind, why: one_line(why) }
    }

    /// As the database keeps it.
    #[must_use]
    pub fn text(&self) -> String {
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

/// A table has room for one line.
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
        let failure = CellFailure::new(FailureKind::Memory, "it was killed\na\nb");
        assert!(!failure.why.contains('\n'));
        assert_eq!(FailureKind::of_text(&failure.text()), Some(FailureKind::Memory));
        assert_eq!(FailureKind::of_text("something else"), None);
        assert_eq!(one_line(&"x ".repeat(1000)).chars().count(), LONGEST + 1);
    }
}
