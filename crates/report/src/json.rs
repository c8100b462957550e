//! Runs as JSON: one document, or an array of documents.

use crate::document::{RunDocument, to_json};
use serde_json::Value;
use types::Run;

/// What to put into the document beside the derived numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonOptions {
    /// Whether the raw samples come along, under `samples_ns`.
    pub samples: bool,
}

/// The run as a JSON value of `modelmeter.run/1`; keys keep the order of the document.
#[must_use]
pub fn run_json(run: &Run, options: JsonOptions) -> Value {
    to_json(&RunDocument::new(run, options))
}

/// One run as one document, and several as an array of documents.
pub(crate) fn runs_json(runs: &[Run], options: JsonOptions) -> Value {
    match runs {
        [only] => run_json(only, options),
        several => several.iter().map(|run| run_json(run, options)).collect(),
    }
}
