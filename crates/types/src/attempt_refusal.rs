//! Why a change that a search tried was not kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a change that a search tried was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRefusal")]
pub struct AttemptRefusal {
    /// What kind of reason it is.
    pub kind: AttemptRefusalKind,
    /// The same in words.
    pub why: String,
}

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptRefusalKind {
    /// The change could not be made or proved.
    Failed,
    /// Its outputs could not be compared.
    NotCompared,
    /// Its outputs drift too far.
    Drift,
    /// What was measured does not tell whether it is better.
    CannotTell,
    /// The target could not be measured.
    NotMeasured,
    /// It is not better.
    NotBetter,
    /// Another is better.
    Outdone,
    /// An earlier version kept the words alone.
    Unstated,
}

impl AttemptRefusal {
    /// A reason with its words.
    #[must_use]
    pub fn new(kind: AttemptRefusalKind, why: impl Into<String>) -> AttemptRefusal {
        AttemptRefusal { kind, why: why.into() }
    }
}

/// As it is written, and as earlier versions wrote it.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredRefusal {
    Words(String),
    Coded { kind: AttemptRefusalKind, why: String },
}

impl From<StoredRefusal> for AttemptRefusal {
    fn from(stored: StoredRefusal) -> AttemptRefusal {
        match stored {
            StoredRefusal::Words(why) => AttemptRefusal::new(AttemptRefusalKind::Unstated, why),
            StoredRefusal::Coded { kind, why } => AttemptRefusal { kind, why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_earlier_versions_are_read() {
        let old: AttemptRefusal = serde_json::from_str(r#""its outputs drift by 0.2""#).unwrap();
        assert_eq!(old.kind, AttemptRefusalKind::Unstated);
        assert_eq!(old.why, "its outputs drift by 0.2");
        let new = AttemptRefusal::new(AttemptRefusalKind::Drift, "its outputs drift by 0.2");
        let written = serde_json::to_string(&new).unwrap();
        assert_eq!(written, r#"{"kind":"drift","why":"its outputs drift by 0.2"}"#);
        assert_eq!(serde_json::from_str::<AttemptRefusal>(&written).unwrap(), new);
    }
}
