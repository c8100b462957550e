//! A number, or why there is none: missing is never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading<T> {
    /// The value; `None` exactly if `why` has a reason.
    pub value: Option<T>,
    /// Why there is none.
    #[serde(default = "Option::<String>::default", skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl<T> Reading<T> {
    /// A value.
    #[must_use]
    pub fn of(value: T) -> Reading<T> {
        Reading { value: Some(value), why: None }
    }

    /// No value, and why.
    #[must_use]
    pub fn missing(why: impl Into<String>) -> Reading<T> {
        Reading { value: None, why: Some(why.into()) }
    }

    /// The value, or the reason why there is none.
    #[must_use]
    pub fn or_missing(value: Option<T>, why: impl Into<String>) -> Reading<T> {
        value.map_or_else(|| Reading::missing(why), Reading::of)
    }

    /// What follows from the value; a reason stays.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        Reading { value: self.value.map(change), why: self.why }
    }

    /// A look at the value without taking it.
    #[must_use]
    pub fn as_ref(&self) -> Reading<&T> {
        Reading { value: self.value.as_ref(), why: self.why.clone() }
    }
}

impl<T> Default for Reading<T> {
    fn default() -> Reading<T> {
        Reading::missing("not reported")
    }
}
