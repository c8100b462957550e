//! A number, or why there is none: missing is never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why there is no number.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum MissingCode {
    /// The engine, its library or the system does not report it.
    NotReported,
    /// Nothing measured it.
    NotMeasured,
    /// Measuring it failed.
    Failed,
    /// There is no such number here: the cpu has no speed-up over itself.
    NotApplicable,
    /// It is reported only together with something else.
    NotSeparable,
    /// There are too few values to compute it.
    TooFewValues,
    /// It cannot be computed: a value that it needs is missing.
    Underivable,
    /// There is no valid run.
    NoValidRun,
    /// Stored by a version without codes, or by a newer one.
    #[serde(other)]
    Unstated,
}

/// A value, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading<T> {
    /// The value; `None` exactly if `why` has a reason.
    pub value: Option<T>,
    /// The kind of reason why there is none; runs of earlier versions have none.
    #[serde(default = "Option::<MissingCode>::default", skip_serializing_if = "Option::is_none")]
    pub code: Option<MissingCode>,
    /// Why there is none.
    #[serde(default = "Option::<String>::default", skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl<T> Reading<T> {
    /// A value.
    #[must_use]
    pub fn of(value: T) -> Reading<T> {
        Reading { value: Some(value), code: None, why: None }
    }

    /// No value, and why.
    #[must_use]
    pub fn missing(code: MissingCode, why: impl Into<String>) -> Reading<T> {
        Reading { value: None, code: Some(code), why: Some(why.into()) }
    }

    /// The value, or the reason why there is none.
    #[must_use]
    pub fn or_missing(value: Option<T>, code: MissingCode, why: impl Into<String>) -> Reading<T> {
        value.map_or_else(|| Reading::missing(code, why), Reading::of)
    }

    /// No value of another kind, for the same reason.
    #[must_use]
    pub fn missing_too<U>(&self) -> Reading<U> {
        Reading { value: None, code: self.code, why: self.why.clone() }
    }

    /// What follows from the value; a reason stays.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        Reading { value: self.value.map(change), code: self.code, why: self.why }
    }

    /// A look at the value without taking it.
    #[must_use]
    pub fn as_ref(&self) -> Reading<&T> {
        Reading { value: self.value.as_ref(), code: self.code, why: self.why.clone() }
    }
}

impl<T> Default for Reading<T> {
    fn default() -> Reading<T> {
        Reading::missing(MissingCode::NotReported, "not reported")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_missing_number_says_why_in_words_and_with_a_code() {
        let missing: Reading<u64> = Reading::missing(MissingCode::NotMeasured, "no counter");
        let written = to_value(&missing).unwrap();
        assert_eq!(written, json!({"value": null, "code": "not-measured", "why": "no counter"}));
        assert_eq!(from_value::<Reading<u64>>(written).unwrap(), missing);
        assert_eq!(missing.missing_too::<f64>().code, Some(MissingCode::NotMeasured));
        assert_eq!(to_value(Reading::of(7)).unwrap(), json!({"value": 7}));
    }

    #[test]
    fn a_reason_of_an_earlier_version_is_read_without_a_code() {
        let read: Reading<u64> = from_value(json!({"value": null, "why": "no counter"})).unwrap();
        assert_eq!((read.code, read.why.as_deref()), (None, Some("no counter")));
        let newer = json!({"value": null, "code": "stolen", "why": "x"});
        let newer: Reading<u64> = from_value(newer).unwrap();
        assert_eq!(newer.code, Some(MissingCode::Unstated));
    }
}
