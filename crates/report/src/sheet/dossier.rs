//! What a report is made of.

use crate::clean::clean;
use types::{Advice, Ceilings, ComparisonReport, Fine, Run, Unjudged};

/// A run and what is told with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The run.
    pub run: Run,
    /// What it is called here: the beginning of its id.
    pub name: String,
    /// The command that measures the same again; or why there is none.
    pub command: Result<String, String>,
    /// What to do, the largest gain first.
    pub advice: Vec<Advice>,
    /// What was looked at and is fine.
    pub fine: Vec<Fine>,
    /// What could not be judged.
    pub not_judged: Vec<Unjudged>,
    /// What its machine can do at best, where that is known.
    pub ceilings: Option<Ceilings>,
}

/// Everything that one report tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dossier {
    /// Its title; empty for one that follows from the runs.
    pub title: String,
    /// The runs, in order.
    pub subjects: Vec<Subject>,
    /// Comparisons of runs that did the same work.
    pub comparisons: Vec<ComparisonReport>,
    /// Cells of a plan without a run, and why.
    pub unmeasured: Vec<(String, String)>,
    /// Whether layers, memory, environment and samples stay away.
    pub is_brief: bool,
}

impl Dossier {
    /// The title that was given, or the one that follows from the runs.
    #[must_use]
    pub fn heading(&self) -> String {
        let title = clean(&self.title);
        if !title.is_empty() {
            return title;
        }
        let mut models: Vec<String> =
            self.subjects.iter().map(|one| clean(&one.run.model.name)).collect();
        models.sort();
        models.dedup();
        match models.as_slice() {
            [] => "No run".into(),
            [one] if one.is_empty() => "unnamed model".into(),
            [one] => one.clone(),
            [one, two] => format!("{one} and {two}"),
            [one, ..] => format!("{one} and {} other models", models.len() - 1),
        }
    }

    /// How many of the runs are valid.
    #[must_use]
    pub fn valid(&self) -> usize {
        self.subjects.iter().filter(|one| one.run.verdict.valid).count()
    }
}
