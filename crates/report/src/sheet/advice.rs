//! Advice in formatted pieces.

use crate::advice::gain;
use crate::clean::clean;
use number::value;
use types::{Advice, Proof};

/// One advice in formatted pieces; nothing is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdviceSheet {
    /// What to do.
    pub title: String,
    /// What it should gain: `1.60 to 4.00 × faster`.
    pub gain: String,
    /// The numbers behind it.
    pub why: Vec<String>,
    /// How the gain was estimated.
    pub basis: String,
    /// The command that proves it.
    pub command: Option<String>,
    /// What it costs or may break, or why nothing here can prove it.
    pub caveats: Vec<String>,
}

/// The pieces of an advice.
#[must_use]
pub fn advice_sheet(advice: &Advice) -> AdviceSheet {
    let why = advice.evidence.iter().map(|evidence| {
        format!("{}: {}", clean(&evidence.text), value(evidence.value, evidence.unit))
    });
    let mut caveats: Vec<String> = advice.caveat.iter().map(|caveat| clean(caveat)).collect();
    if let (None, Proof::Elsewhere { why }) = (&advice.command, &advice.proof) {
        caveats.push(format!("cannot be verified here: {}", clean(why)));
    }
    AdviceSheet {
        title: clean(&advice.title),
        gain: gain(&advice.gain),
        why: why.collect(),
        basis: clean(&advice.gain.basis),
        command: advice.command.as_deref().map(clean),
        caveats,
    }
}
