//! What a request gets, and what it gets instead.

use crate::documents::{REFUSAL_SCHEMA, RefusalDocument};
use modelmeter::Error;
use serde::Serialize;
use store::StoreError;

/// What a request gets.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
    /// Whether a browser may keep it: its name changes with what is in it.
    pub(crate) is_fixed: bool,
    pub(crate) location: Option<String>,
    pub(crate) cookie: Option<String>,
    /// The name of a file that a browser keeps instead of showing it.
    pub(crate) download: Option<String>,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const CSV: &str = "text/csv; charset=utf-8";
pub(crate) const SVG: &str = "image/svg+xml";
pub(crate) const MARKDOWN: &str = "text/markdown; charset=utf-8";
pub(crate) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Answer {
    pub(crate) fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, kind, body: body.into(), ..Answer::default() }
    }

    pub(crate) fn json(value: &serde_json::Value) -> Answer {
        Answer::new(JSON, format!("{value}\n"))
    }

    /// A document of a type of its own.
    pub(crate) fn document(document: &impl Serialize) -> Answer {
        Answer::json(&report::to_json(document))
    }

    pub(crate) fn see(location: String) -> Answer {
        Answer { status: 303, location: Some(location), ..Answer::new(HTML, "") }
    }
}

/// Why a request does not get what it asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) why: String,
    pub(crate) hint: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn not_found() -> Refusal {
        Refusal::new(404, "there is nothing at this address")
    }

    pub(crate) fn bad(why: impl Into<String>) -> Refusal {
        Refusal::new(400, why)
    }

    pub(crate) fn json(&self) -> Answer {
        let document = RefusalDocument {
            schema: REFUSAL_SCHEMA,
            status: self.status,
            error: &self.why,
            hint: self.hint.as_deref(),
        };
        Answer { status: self.status, ..Answer::document(&document) }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        let status = match &error {
            StoreError::NotFound { .. } => 404,
            StoreError::Ambiguous { .. } | StoreError::BadTag { .. } => 400,
            StoreError::ReadOnly { .. } => 403,
            _ => 503,
        };
        let mut why = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            why += &format!(": {error}");
            cause = error.source();
        }
        Refusal { status, why, hint: error.hint() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Store(error) => Refusal::from(error),
            other => {
                let status = match &other {
                    Error::NoRuns | Error::NotStored { .. } => 404,
                    _ => 400,
                };
                Refusal { status, why: other.to_string(), hint: other.hint() }
            }
        }
    }
}
