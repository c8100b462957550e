//! Whether a number can be believed, and why not.

use serde::{Deserialize, Serialize};

/// What can be said against a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonCode {
    /// The device was not synchronised when a sample was closed.
    NotSynchronised,
    /// Too few samples for a percentile that is shown.
    UnsupportedPercentile,
    /// Fewer samples than the median's own floor.
    TooFewSamples,
    /// The clock was throttled.
    Throttled,
    /// Another process held the device.
    DeviceShared,
    /// Other work competed for the processor.
    BusyMachine,
    /// The hypervisor took time away.
    StolenTime,
    /// Above the machine's own measured ceiling.
    AboveCeiling,
    /// Warm-up never settled.
    NotWarm,
    /// The interval is wider than asked.
    WideInterval,
    /// The samples drift over the run.
    Drift,
    /// The engine ran somewhere else than asked.
    WrongPlacement,
    /// The model's outputs hold not-a-number or infinity.
    NonFiniteOutput,
    /// Some operators have no count, so FLOPs are a lower bound.
    PartialCoverage,
    /// Measured inside the calling process.
    NotIsolated,
    /// The machine's clock frequency is not fixed.
    FrequencyScaling,
    /// Something neither the model nor the user says was assumed, such as an image's size.
    Assumption,
    /// Another tool measured it: who, what was put right, what it says itself.
    Imported,
}

/// One thing that can be said against a measurement, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What kind.
    pub code: ReasonCode,
    /// Whether it makes the measurement invalid; otherwise it is a remark.
    pub invalidates: bool,
    /// What happened, in plain words, with the numbers.
    pub text: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `valid` or not, with every reason and remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the numbers can be believed.
    pub valid: bool,
    /// What was found, the invalidating ones first.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// A verdict from its reasons: valid unless one of them invalidates.
    #[must_use]
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Verdict {
        reasons.sort_by_key(|reason| !reason.invalidates);
        Verdict { valid: reasons.iter().all(|reason| !reason.invalidates), reasons }
    }

    /// How many remarks stand beside the invalidating reasons.
    #[must_use]
    pub fn remarks(&self) -> usize {
        self.reasons.iter().filter(|reason| !reason.invalidates).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(invalidates: bool) -> Reason {
        Reason { code: ReasonCode::NotWarm, invalidates, text: "x".into(), hint: None }
    }

    #[test]
    fn one_invalidating_reason_is_enough_and_comes_first() {
        let verdict = Verdict::from_reasons(vec![reason(false), reason(true)]);
        assert!(!verdict.valid);
        assert!(verdict.reasons[0].invalidates);
        assert!(Verdict::from_reasons(vec![reason(false)]).valid);
    }
}
