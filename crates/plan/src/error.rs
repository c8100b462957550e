//! What can be wrong with a plan.

use std::path::PathBuf;
use store::StoreError;

/// What is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An engine is unknown.
    #[error("unknown engine `{id}`; known engines: {}", known.join(", "))]
    UnknownEngine {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// It is not a plan, or cannot be one.
    #[error("{}{}{why}", path.as_ref().map_or_else(String::new, |path| format!("`{}`", path.display())), place(path.is_some(), *line))]
    Wrong {
        /// Its file, where it has one.
        path: Option<PathBuf>,
        /// The line that is wrong.
        line: Option<usize>,
        /// What is wrong.
        why: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// It contradicts itself.
    #[error("{0}")]
    Rule(String),
}

impl PlanError {
    /// Something that is wrong whatever file it comes from.
    #[must_use]
    pub fn wrong(why: impl Into<String>, hint: Option<String>) -> PlanError {
        PlanError::Wrong { path: None, line: None, why: why.into(), hint }
    }

    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            PlanError::Store(error) => error.hint(),
            PlanError::UnknownEngine { id, known } => Some(engine_hint(id, known)),
            PlanError::Wrong { hint, .. } => hint.clone(),
            PlanError::Rule(_) => None,
        }
    }
}

/// What to try next where no engine has this name.
#[must_use]
pub fn engine_hint(id: &str, known: &[String]) -> String {
    const WORKS: &str = "`modelmeter devices` shows what works here";
    match types::nearest(id, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? {WORKS}"),
        None => WORKS.to_owned(),
    }
}

/// What ends a plan while it is measured: something wrong with the plan, or with measuring at all.
pub trait MeasuringError: std::error::Error + From<PlanError> {
    /// What to try next.
    fn hint(&self) -> Option<String>;
}

impl MeasuringError for PlanError {
    fn hint(&self) -> Option<String> {
        PlanError::hint(self)
    }
}

/// `, line 3: ` behind a file's name.
fn place(has_path: bool, line: Option<usize>) -> String {
    match (has_path, line) {
        (true, Some(line)) => format!(", line {line}: "),
        (false, Some(line)) => format!("line {line}: "),
        (true, None) => ": ".into(),
        (false, None) => String::new(),
    }
}
