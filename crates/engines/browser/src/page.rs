//! A page that measures: a question out, an answer in, and what each of them says.

use crate::server::{Content, Server};
use engine::{EngineError, EngineErrorKind};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{cell::Cell, sync::Arc, time::Duration};

/// A page that is connected.
pub(crate) struct Page {
    pub(crate) server: Server,
    asked: Cell<u64>,
    hidden: Cell<bool>,
}

/// What the page answers.
#[derive(Deserialize)]
struct Answer {
    id: u64,
    done: Option<Value>,
    failed: Option<String>,
    #[serde(default)]
    hidden: bool,
}

/// The browser's graphics.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Adapter {
    #[serde(default)]
    pub(crate) vendor: String,
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default)]
    pub(crate) description: String,
    pub(crate) is_fallback: bool,
    pub(crate) half_floats: bool,
}

/// What the page knows of where it runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Surroundings {
    pub(crate) user_agent: String,
    pub(crate) cores: u32,
    /// GiB, rounded by the browser.
    #[serde(default)]
    pub(crate) memory: Option<f64>,
    pub(crate) is_secure: bool,
    pub(crate) is_isolated: bool,
    /// Milliseconds.
    pub(crate) clock_step: f64,
    pub(crate) has_webgpu: bool,
    pub(crate) has_webnn: bool,
    pub(crate) has_promise_integration: bool,
    pub(crate) adapter: Option<Adapter>,
}

/// How the runtime was made ready; milliseconds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Prepared {
    pub(crate) version: Option<String>,
    pub(crate) download: f64,
    pub(crate) compile: f64,
}

/// A value that goes in or comes out.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Port {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) shape: Option<Vec<Value>>,
}

/// How the model was loaded; milliseconds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Loaded {
    pub(crate) download: f64,
    pub(crate) create: f64,
    /// What the runtime said of where nodes go.
    pub(crate) said: Vec<String>,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

impl Page {
    pub(crate) fn new(server: Server) -> Page {
        Page { server, asked: Cell::new(0), hidden: Cell::new(false) }
    }

    /// Asks, waits, and reads the answer.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        more: Value,
    ) -> Result<T, EngineError> {
        self.asked.set(self.asked.get() + 1);
        let mut question = more;
        question["ask"] = json!(what);
        question["id"] = json!(self.asked.get());
        let gone = |why: String| {
            EngineError::new(EngineErrorKind::Failed, format!("{why} while it should {what}"))
        };
        let strange = |why: String| {
            EngineError::new(
                EngineErrorKind::Failed,
                format!("the page's answer to {what} is wrong"),
            )
            .with_source(why)
        };
        let answer = self.server.ask(question.to_string()).map_err(gone)?;
        let answer: Answer =
            serde_json::from_str(&answer).map_err(|error| strange(error.to_string()))?;
        self.hidden.set(answer.hidden);
        match (answer.done, answer.failed) {
            (Some(done), _) if answer.id == self.asked.get() => {
                serde_json::from_value(done).map_err(|error| strange(error.to_string()))
            }
            (_, Some(why)) => Err(of_runtime(&why)),
            _ => Err(strange("it belongs to another question".to_owned())),
        }
    }

    /// Puts bytes where the page can fetch them.
    pub(crate) fn offer(&self, path: &str, bytes: Vec<u8>) {
        self.server.put(path, Content::Bytes(Arc::from(bytes)));
    }

    /// Whether the page was in the background at any time since the answer before the last, where browsers slow it down.
    pub(crate) fn was_hidden(&self) -> bool {
        self.hidden.get()
    }
}

/// An error in the runtime's words, which say what kind it is.
fn of_runtime(why: &str) -> EngineError {
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    let out_of_memory = ["bad_alloc", "out of memory", "Out of memory", "Array buffer allocation"];
    let kind = if has(&out_of_memory) || why == "RangeError" {
        EngineErrorKind::OutOfMemory
    } else if has(&["protobuf parsing failed", "INVALID_PROTOBUF", "Failed to load model"]) {
        EngineErrorKind::BadModel
    } else if has(&["NOT_IMPLEMENTED", "not implemented", "Could not find an implementation"]) {
        EngineErrorKind::Unsupported
    } else {
        EngineErrorKind::Failed
    };
    let error = EngineError::new(kind, "ONNX Runtime Web failed in the page");
    error.with_source(why.to_owned())
}

/// Milliseconds of the page as a time.
pub(crate) fn duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_runtime_say_what_kind_of_error_it_is() {
        let kind = |why: &str| of_runtime(why).kind;
        assert_eq!(kind("std::bad_alloc"), EngineErrorKind::OutOfMemory);
        assert_eq!(kind("ERROR_CODE: 7, protobuf parsing failed"), EngineErrorKind::BadModel);
        assert_eq!(
            kind("Could not find an implementation for Det(11)"),
            EngineErrorKind::Unsupported
        );
        assert_eq!(kind("something else"), EngineErrorKind::Failed);
    }

    #[test]
    fn a_time_that_is_none_is_zero() {
        assert_eq!(duration(1.5), Duration::from_micros(1500));
        assert_eq!(duration(-1.0), Duration::ZERO);
        assert_eq!(duration(f64::NAN), Duration::ZERO);
    }
}
