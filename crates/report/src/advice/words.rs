//! Gains and outcomes in the fewest words.

use number::{bytes, fixed};
use types::{ExpectedGain, Goal, Interval, Trial, TrialVerdict};

/// Ends of a factor that differ by less look like one.
const ALIKE: f64 = 1.005;

/// `1.6 to 4.0 × faster`, `up to 150 MB less memory (2.0 ×)`.
pub(crate) fn gain(gain: &ExpectedGain) -> String {
    let factor = range(gain.factor);
    match (gain.what, gain.saved) {
        (Goal::Latency, _) => format!("{factor} faster"),
        (Goal::Throughput, _) => format!("{factor} the throughput"),
        (Goal::Start, _) => format!("{factor} sooner"),
        (Goal::Memory, Some(saved)) => format!("up to {} less memory", bytes(saved.0)),
        (Goal::Memory, None) => format!("{factor} less memory"),
    }
}

/// `1.6 to 4.0 ×`, `up to 4.0 ×`, `1.25 ×`.
pub(super) fn range(Interval { low, high }: Interval) -> String {
    let digits = |value: f64| factor(value);
    if high / low < ALIKE {
        format!("{} ×", digits(high))
    } else if low <= ALIKE {
        format!("up to {} ×", digits(high))
    } else {
        format!("{} to {} ×", digits(low), digits(high))
    }
}

/// What became of an advice, without colour.
pub(super) fn trial(trial: &Trial) -> String {
    let word = verdict(trial.verdict);
    let found = trial.found.map(|found| match trial.interval {
        Some(Interval { low, high }) => {
            format!("{} × [{}, {}]", factor(found), factor(low), factor(high))
        }
        None => format!("{} ×", factor(found)),
    });
    match (found, trial.processes) {
        (Some(found), 1) => format!("{word}: {found}, 1 process per side"),
        (Some(found), processes) => format!("{word}: {found}, {processes} processes per side"),
        (None, _) => word.to_owned(),
    }
}

/// The verdict in words.
pub(super) fn verdict(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::CameTrue => "confirmed",
        TrialVerdict::FellShort => "gain, but less than expected",
        TrialVerdict::DidNot => "not confirmed",
        TrialVerdict::CannotTell => "cannot tell",
        TrialVerdict::Refused => "refused",
        TrialVerdict::NotTried => "not tried",
    }
}

/// A factor with as many decimals as its size deserves.
fn factor(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    fixed(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Bytes;

    fn expected(what: Goal, low: f64, high: f64, saved: Option<u64>) -> ExpectedGain {
        let factor = Interval { low, high };
        ExpectedGain { what, factor, saved: saved.map(Bytes), basis: String::new() }
    }

    #[test]
    fn a_gain_is_one_phrase() {
        for (gained, text) in [
            (expected(Goal::Latency, 1.6, 4.0, None), "1.60 to 4.00 × faster"),
            (expected(Goal::Latency, 1.0, 4.0, None), "up to 4.00 × faster"),
            (expected(Goal::Throughput, 1.25, 1.25, None), "1.25 × the throughput"),
            (expected(Goal::Start, 154.0, 260.0, None), "154 to 260 × sooner"),
            (expected(Goal::Memory, 1.0, 2.0, Some(150_000_000)), "up to 150 MB less memory"),
        ] {
            assert_eq!(gain(&gained), text);
        }
    }

    #[test]
    fn an_outcome_says_what_was_found() {
        let mut tried = Trial {
            verdict: TrialVerdict::CameTrue,
            found: Some(1.27),
            interval: Some(Interval { low: 1.22, high: 1.31 }),
            processes: 3,
            remarks: Vec::new(),
        };
        assert_eq!(trial(&tried), "confirmed: 1.27 × [1.22, 1.31], 3 processes per side");
        (tried.verdict, tried.found) = (TrialVerdict::NotTried, None);
        assert_eq!(trial(&tried), "not tried");
    }
}
