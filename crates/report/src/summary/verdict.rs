//! Whether the numbers can be believed, in plain words.

use crate::clean::clean;
use crate::result::{Note, Tone};
use types::{Reason, ReasonCode, Run, Verdict};

/// The verdict.
pub(super) fn note(run: &Run) -> Note {
    let tone = if run.verdict.valid { Tone::Good } else { Tone::Bad };
    Note::of(tone, format!("verdict: {}", words(&run.verdict)))
}

/// What can be said against the measurement.
pub(super) fn notes(run: &Run) -> Vec<Note> {
    run.verdict.reasons.iter().map(reason).collect()
}

/// The verdict in one phrase: `valid, with one remark`.
pub(crate) fn words(verdict: &Verdict) -> String {
    let remarks = verdict.remarks();
    let reasons = verdict.reasons.len() - remarks;
    match (verdict.valid, reasons, remarks) {
        (true, _, 0) => "valid".to_string(),
        (true, _, remarks) => format!("valid, with {}", number_of(remarks, "remark")),
        (false, 0, _) => "NOT VALID".to_string(),
        (false, reasons, 0) => format!("NOT VALID, for {}", number_of(reasons, "reason")),
        (false, reasons, remarks) => {
            let reasons = number_of(reasons, "reason");
            format!("NOT VALID, for {reasons}; {}", number_of(remarks, "remark"))
        }
    }
}

fn number_of(count: usize, thing: &str) -> String {
    match count {
        1 => format!("one {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

fn reason(reason: &Reason) -> Note {
    let text = match &reason.hint {
        Some(hint) => format!("{}; {}", clean(&reason.text), clean(hint)),
        None => clean(&reason.text),
    };
    match (reason.invalidates, reason.code) {
        (true, _) => Note::of(Tone::Bad, text),
        // The mark that stands beside the percentile in the table.
        (false, ReasonCode::UnsupportedPercentile) => Note::marked("*", Tone::Warning, text),
        (false, _) => Note::warning(text),
    }
}
