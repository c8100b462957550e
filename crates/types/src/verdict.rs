//! Whether a number can be believed, and why not.

use crate::{Remark, RemarkCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a measurement is limited or invalid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonCode {
    /// The device was not synchronised at the end of a sample.
    NotSynchronised,
    /// Too few samples for a percentile that is shown.
    UnsupportedPercentile,
    /// Fewer samples than a median needs.
    TooFewSamples,
    /// The clock was throttled.
    Throttled,
    /// Another process held the device.
    DeviceShared,
    /// Other work competed for the processor.
    BusyMachine,
    /// Sampling was too short to see other work.
    OtherWorkUnknown,
    /// The hypervisor took processor time away.
    StolenTime,
    /// The number is above the machine's own measured ceiling.
    AboveCeiling,
    /// Warm-up did not settle.
    NotWarm,
    /// The interval is wider than requested.
    WideInterval,
    /// The samples drift over the run.
    Drift,
    /// The engine did not run on the requested device.
    WrongPlacement,
    /// A graphics device was emulated on the processor.
    SoftwareDevice,
    /// The model's outputs hold not-a-number or infinity.
    NonFiniteOutput,
    /// Some operators have no count, so FLOPs are a lower bound.
    PartialCoverage,
    /// Measured inside the calling process.
    NotIsolated,
    /// The machine's clock frequency is not fixed.
    FrequencyScaling,
    /// A value was assumed that neither the model nor the user specifies, such as an image's size.
    Assumption,
    /// Another tool measured the run: which one, what was corrected, and what its file says.
    Imported,
    /// The generator of a load was late, or used too much of its processor.
    GeneratorLate,
    /// Requests were sent at another rate than the schedule's.
    RateNotKept,
    /// More requests of a load failed than allowed.
    RequestsFailed,
    /// The part of a load that counts is too short for its latencies.
    ShortWindow,
    /// The server answered from a cache of prompts.
    CachedPrompts,
    /// The server shares its processors with the generator of the load.
    SharedProcessors,
    /// No reason was stored.
    Unstated,
}

impl ReasonCode {
    /// Every reason.
    pub const ALL: [ReasonCode; 27] = [
        ReasonCode::NotSynchronised,
        ReasonCode::UnsupportedPercentile,
        ReasonCode::TooFewSamples,
        ReasonCode::Throttled,
        ReasonCode::DeviceShared,
        ReasonCode::BusyMachine,
        ReasonCode::OtherWorkUnknown,
        ReasonCode::StolenTime,
        ReasonCode::AboveCeiling,
        ReasonCode::NotWarm,
        ReasonCode::WideInterval,
        ReasonCode::Drift,
        ReasonCode::WrongPlacement,
        ReasonCode::SoftwareDevice,
        ReasonCode::NonFiniteOutput,
        ReasonCode::PartialCoverage,
        ReasonCode::NotIsolated,
        ReasonCode::FrequencyScaling,
        ReasonCode::Assumption,
        ReasonCode::Imported,
        ReasonCode::GeneratorLate,
        ReasonCode::RateNotKept,
        ReasonCode::RequestsFailed,
        ReasonCode::ShortWindow,
        ReasonCode::CachedPrompts,
        ReasonCode::SharedProcessors,
        ReasonCode::Unstated,
    ];

    /// Its name in documents and in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ReasonCode::NotSynchronised => "not-synchronised",
            ReasonCode::UnsupportedPercentile => "unsupported-percentile",
            ReasonCode::TooFewSamples => "too-few-samples",
            ReasonCode::Throttled => "throttled",
            ReasonCode::DeviceShared => "device-shared",
            ReasonCode::BusyMachine => "busy-machine",
            ReasonCode::OtherWorkUnknown => "other-work-unknown",
            ReasonCode::StolenTime => "stolen-time",
            ReasonCode::AboveCeiling => "above-ceiling",
            ReasonCode::NotWarm => "not-warm",
            ReasonCode::WideInterval => "wide-interval",
            ReasonCode::Drift => "drift",
            ReasonCode::WrongPlacement => "wrong-placement",
            ReasonCode::SoftwareDevice => "software-device",
            ReasonCode::NonFiniteOutput => "non-finite-output",
            ReasonCode::PartialCoverage => "partial-coverage",
            ReasonCode::NotIsolated => "not-isolated",
            ReasonCode::FrequencyScaling => "frequency-scaling",
            ReasonCode::Assumption => "assumption",
            ReasonCode::Imported => "imported",
            ReasonCode::GeneratorLate => "generator-late",
            ReasonCode::RateNotKept => "rate-not-kept",
            ReasonCode::RequestsFailed => "requests-failed",
            ReasonCode::ShortWindow => "short-window",
            ReasonCode::CachedPrompts => "cached-prompts",
            ReasonCode::SharedProcessors => "shared-processors",
            ReasonCode::Unstated => "unstated",
        }
    }

    /// What it is in the fewest plain words, for counting: `36 × other work`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ReasonCode::NotSynchronised => "device not synchronised",
            ReasonCode::UnsupportedPercentile => "too few samples for a percentile",
            ReasonCode::TooFewSamples => "too few samples",
            ReasonCode::Throttled => "throttled clock",
            ReasonCode::DeviceShared => "device shared",
            ReasonCode::BusyMachine => "other work",
            ReasonCode::OtherWorkUnknown => "too short to see other work",
            ReasonCode::StolenTime => "time stolen by the hypervisor",
            ReasonCode::AboveCeiling => "above the machine's ceiling",
            ReasonCode::NotWarm => "warm-up did not settle",
            ReasonCode::WideInterval => "interval too wide",
            ReasonCode::Drift => "drift",
            ReasonCode::WrongPlacement => "ran on another device",
            ReasonCode::SoftwareDevice => "graphics emulated on the processor",
            ReasonCode::NonFiniteOutput => "outputs not finite",
            ReasonCode::PartialCoverage => "operators not counted",
            ReasonCode::NotIsolated => "not in a process of its own",
            ReasonCode::FrequencyScaling => "clock not fixed",
            ReasonCode::Assumption => "an assumption",
            ReasonCode::Imported => "not valid in the tool that measured it",
            ReasonCode::GeneratorLate => "the generator was late",
            ReasonCode::RateNotKept => "rate not kept",
            ReasonCode::RequestsFailed => "requests failed",
            ReasonCode::ShortWindow => "window too short",
            ReasonCode::CachedPrompts => "prompts from a cache",
            ReasonCode::SharedProcessors => "server and generator share processors",
            ReasonCode::Unstated => "no reason stored",
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<ReasonCode> {
        ReasonCode::ALL.into_iter().find(|code| code.name() == name)
    }

    /// Whether something other than the measurement caused it, so that measuring again may help.
    #[must_use]
    pub fn is_disturbance(self) -> bool {
        matches!(
            self,
            ReasonCode::BusyMachine
                | ReasonCode::StolenTime
                | ReasonCode::Throttled
                | ReasonCode::DeviceShared
        )
    }
}

/// Number of runs that are not valid, each counted once under its main reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("propertyNames" = { "enum": ReasonCode::ALL.map(ReasonCode::name) }))]
pub struct InvalidRuns(BTreeMap<ReasonCode, u64>);

impl InvalidRuns {
    /// So many more for this reason.
    pub fn add(&mut self, reason: ReasonCode, runs: u64) {
        if runs > 0 {
            *self.0.entry(reason).or_default() += runs;
        }
    }

    /// All of these too.
    pub fn merge(&mut self, other: &InvalidRuns) {
        other.0.iter().for_each(|(reason, runs)| self.add(*reason, *runs));
    }

    /// Without those.
    #[must_use]
    pub fn without(&self, those: &InvalidRuns) -> InvalidRuns {
        let mut rest = InvalidRuns::default();
        for (reason, runs) in &self.0 {
            rest.add(*reason, runs.saturating_sub(those.0.get(reason).copied().unwrap_or(0)));
        }
        rest
    }

    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many were disturbed, so that measuring again may go better.
    #[must_use]
    pub fn disturbed(&self) -> u64 {
        self.0.iter().filter(|(reason, _)| reason.is_disturbance()).map(|(_, runs)| runs).sum()
    }

    /// Each reason with its count, the most frequent first.
    #[must_use]
    pub fn by_count(&self) -> Vec<(ReasonCode, u64)> {
        let mut each: Vec<_> = self.0.iter().map(|(reason, runs)| (*reason, *runs)).collect();
        each.sort_by_key(|(reason, runs)| (std::cmp::Reverse(*runs), *reason));
        each
    }
}

impl FromIterator<ReasonCode> for InvalidRuns {
    fn from_iter<I: IntoIterator<Item = ReasonCode>>(reasons: I) -> InvalidRuns {
        let mut runs = InvalidRuns::default();
        reasons.into_iter().for_each(|reason| runs.add(reason, 1));
        runs
    }
}

/// One reason why a measurement is limited or invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Its kind.
    pub code: ReasonCode,
    /// Whether it makes the measurement invalid; otherwise it is a remark.
    pub invalidates: bool,
    /// What happened, with the numbers.
    pub text: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What a remark of the engine or of the preparation is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<RemarkCode>,
}

impl From<Remark> for Reason {
    /// What an engine or the preparation says limits a measurement. Only an emulated device invalidates it: its times are those
    /// of another machine.
    fn from(remark: Remark) -> Reason {
        let is_emulated = remark.code == RemarkCode::SoftwareAdapter;
        let hint = "open the page of `modelmeter serve-bench` on a machine with a GPU";
        Reason {
            code: if is_emulated { ReasonCode::SoftwareDevice } else { ReasonCode::Assumption },
            invalidates: is_emulated,
            text: remark.text,
            hint: is_emulated.then(|| hint.to_owned()),
            about: Some(remark.code),
        }
    }
}

/// `valid` or not, with every reason and remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether the numbers are valid.
    pub valid: bool,
    /// The reasons, the invalidating ones first.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// A verdict from its reasons: valid unless one of them invalidates.
    #[must_use]
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Verdict {
        reasons.sort_by_key(|reason| !reason.invalidates);
        Verdict { valid: reasons.iter().all(|reason| !reason.invalidates), reasons }
    }

    /// The main reason why it is not valid: a disturbance before what may have come of it; `None` if it is valid.
    #[must_use]
    pub fn main_reason(&self) -> Option<ReasonCode> {
        let code = self.cause().map_or(ReasonCode::Unstated, |reason| reason.code);
        (!self.valid).then_some(code)
    }

    /// The main reason in full; `None` if it is valid or no reason was stored.
    #[must_use]
    pub fn cause(&self) -> Option<&Reason> {
        let against = || self.reasons.iter().filter(|reason| reason.invalidates);
        let cause = against().find(|reason| reason.code.is_disturbance());
        cause.or_else(|| against().next())
    }

    /// Number of remarks in addition to the invalidating reasons.
    #[must_use]
    pub fn remarks(&self) -> usize {
        self.reasons.iter().filter(|reason| !reason.invalidates).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(invalidates: bool) -> Reason {
        Reason { code: ReasonCode::NotWarm, invalidates, text: "x".into(), hint: None, about: None }
    }

    #[test]
    fn every_reason_is_found_by_the_name_it_has_in_documents() {
        for code in ReasonCode::ALL {
            assert_eq!(ReasonCode::of_name(code.name()), Some(code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }

    #[test]
    fn a_run_counts_once_by_what_disturbed_it() {
        let of = |codes: &[ReasonCode]| {
            let against = |code: &ReasonCode| Reason { code: *code, ..reason(true) };
            Verdict::from_reasons(codes.iter().map(against).collect())
        };
        let both = of(&[ReasonCode::NotWarm, ReasonCode::BusyMachine]);
        assert_eq!(both.main_reason(), Some(ReasonCode::BusyMachine));
        assert_eq!(both.cause().map(|reason| reason.code), Some(ReasonCode::BusyMachine));
        let noisy = of(&[ReasonCode::WideInterval, ReasonCode::NotWarm]);
        assert_eq!(noisy.main_reason(), Some(ReasonCode::WideInterval));
        assert_eq!(Verdict::from_reasons(vec![reason(false)]).main_reason(), None);
        let bare = Verdict { valid: false, reasons: Vec::new() };
        let runs: InvalidRuns =
            [&both, &noisy, &bare, &both].iter().filter_map(|one| one.main_reason()).collect();
        assert_eq!((runs.total(), runs.disturbed()), (4, 2));
        assert_eq!(runs.by_count()[0], (ReasonCode::BusyMachine, 2));
    }

    #[test]
    fn a_remark_keeps_its_code_as_a_reason() {
        let remark = Remark::new(RemarkCode::CheckpointWidened, "ran as fp32");
        let reason = Reason::from(remark);
        assert!(!reason.invalidates);
        let written = serde_json::to_value(&reason).unwrap();
        assert_eq!(written["about"], "checkpoint-widened");
        assert_eq!(serde_json::from_value::<Reason>(written).unwrap(), reason);
        let before = serde_json::json!({"code": "drift", "invalidates": false, "text": "x"});
        assert_eq!(serde_json::from_value::<Reason>(before).unwrap().about, None);
    }

    #[test]
    fn one_invalidating_reason_is_enough_and_comes_first() {
        let verdict = Verdict::from_reasons(vec![reason(false), reason(true)]);
        assert!(!verdict.valid);
        assert!(verdict.reasons[0].invalidates);
        assert!(Verdict::from_reasons(vec![reason(false)]).valid);
    }
}
