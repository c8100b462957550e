//! The socket for rules, and what a rule may say.

use super::facts::{Facts, Missing};
use types::{Advice, Change, Evidence, ExpectedGain, Goal, Interval, Proof, Unit};

/// A gain below this is not worth a change: below it nobody can see it on a machine that does other things too.
pub(crate) const WORTH_IT: f64 = 1.05;

/// What a rule's numbers are; times of an invalid run say nothing, sizes stay what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rests {
    /// On times.
    OnTimes,
    /// On sizes and counts.
    OnSizes,
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// Do this.
    Advice(Box<Advice>),
    /// Nothing to do, and the number that says so.
    Fine(Evidence),
    /// A number is missing.
    CannotTell(Missing),
    /// It does not concern this run.
    Beside(String),
}

impl From<Missing> for Judgement {
    fn from(missing: Missing) -> Judgement {
        Judgement::CannotTell(missing)
    }
}

/// One question about a run.
pub trait Rule: Sync {
    /// Its stable name: `batch-size`.
    fn id(&self) -> &'static str;

    /// What it looks at, in one line.
    fn about(&self) -> &'static str;

    /// What its numbers are.
    fn rests(&self) -> Rests {
        Rests::OnTimes
    }

    /// Why it has nothing to say of a training run, where it has not.
    fn beside_training(&self) -> Option<&'static str> {
        None
    }

    /// Why it has nothing to say of a language model that reads a prompt or writes token by token, where it has not.
    fn beside_generating(&self) -> Option<&'static str> {
        None
    }

    /// Whether its numbers are measurements of the very change it advises, made just now.
    fn has_measured(&self) -> bool {
        false
    }

    /// What it says.
    ///
    /// # Errors
    /// What is missing, where a number is; the same as [`Judgement::CannotTell`].
    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing>;
}

/// A number for a judgement.
pub(crate) fn evidence(
    text: impl Into<String>,
    key: impl Into<String>,
    value: f64,
    unit: Unit,
) -> Evidence {
    Evidence { text: text.into(), key: key.into(), value, unit }
}

/// An expected gain between two factors.
pub(crate) fn gain(what: Goal, low: f64, high: f64, basis: impl Into<String>) -> ExpectedGain {
    let factor = Interval { low: low.min(high), high: high.max(low) };
    ExpectedGain { what, factor, saved: None, basis: basis.into() }
}

/// A proof by changing the cell.
pub(crate) fn change(change: Change) -> Proof {
    Proof::Change { change }
}

/// How much faster the whole gets when a share of it gets faster by a factor (Amdahl).
pub(crate) fn amdahl(share: f64, factor: f64) -> f64 {
    1.0 / ((1.0 - share) + share / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_time_twice_as_fast_is_a_third_faster() {
        assert!((amdahl(0.5, 2.0) - 4.0 / 3.0).abs() < 1e-12);
        assert!((amdahl(1.0, 3.0) - 3.0).abs() < 1e-12);
        assert!((amdahl(0.0, 3.0) - 1.0).abs() < 1e-12);
    }
}
